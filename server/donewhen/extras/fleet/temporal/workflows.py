"""The workflows: the fleet's, which holds its board, and one for each goal, which performs what it is granted.

They only wait, decide by the board, and pass on documents: everything here is deterministic.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, FailureError
from temporalio.workflow import ActivityCancellationType, ParentClosePolicy

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.board import Board, Grant, Outcome
from donewhen.extras.fleet.local import apply
from donewhen.extras.fleet.manifest import Fleet

WORKFLOWS = "donewhen-fleet"
"""The queue that every worker takes workflows from."""
LONGEST_ITERATION = timedelta(days=1)
RETRIES = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=15))
"""Without end: what can't be done at all is an outcome, and no failure."""


def queue_of(name: str) -> str:
    """The task queue of the machines that take from `name`."""
    return f"donewhen-host-{name}"


def workflow_of(fleet: str) -> str:
    """The id of a fleet's workflow."""
    return f"donewhen-fleet/{fleet}"


@workflow.defn(name="donewhen-fleet")
class FleetWorkflow:
    """`document` is the board's, with the ids of the goals' workflows that are open as `begun`. Ends with the board
    when every goal has ended."""

    @workflow.init
    def __init__(self, document: dict[str, Any]) -> None:
        self._board = Board.of(document)
        self._begun: dict[str, str] = dict(document.get("begun", {}))
        self._changed = True

    @workflow.run
    async def run(self, document: dict[str, Any]) -> dict[str, Any]:
        while True:
            self._changed = False
            for grant in self._board.grants():
                await self._signal_goal("go", grant)
            if self._board.ended and workflow.all_handlers_finished():
                # The workflows of goals that ended between two iterations, by a budget, are still open.
                for name in self._begun.values():
                    with suppress(FailureError):
                        await workflow.get_external_workflow_handle(name).signal("leave")
                return self._board.document()
            if workflow.info().is_continue_as_new_suggested() and workflow.all_handlers_finished():
                workflow.continue_as_new({**self._board.document(), "begun": self._begun})
            await workflow.wait_condition(lambda: self._changed)

    async def _signal_goal(self, signal: Literal["go", "stop"], grant: Grant) -> None:
        """Hands a grant to the goal's workflow, which is started if there is none, or somebody has terminated it."""
        goal, own = grant.goal.id, workflow.info().workflow_id
        if goal in self._begun:
            try:
                await workflow.get_external_workflow_handle(self._begun[goal]).signal(signal, grant)
            except FailureError:
                self._begun.pop(goal, None)
            else:
                return
        name = f"{own}/{self._board.serial}/{goal}" + (f"/{grant.number}" if grant.number > 1 else "")
        self._begun[goal] = name
        begun = GoalStart(own, self._board.fleet.lost_after, **{signal: grant})
        await workflow.start_child_workflow(
            GoalWorkflow.run, begun, id=name, parent_close_policy=ParentClosePolicy.ABANDON
        )

    @workflow.signal
    async def settled(self, outcome: Outcome) -> None:
        self._board.settle(outcome)
        if not self._board.goals[outcome.goal_id].open:
            self._begun.pop(outcome.goal_id, None)
        self._changed = True

    @workflow.signal
    async def again(self, fleet: Fleet) -> None:
        self._board.again(fleet)
        self._changed = True

    @workflow.update
    async def ask(self, document: dict[str, Any]) -> None:
        """What a person asks; one that makes no sense as the fleet stands is refused with the reason."""
        try:
            stopped = apply(self._board, document["operation"], document["arguments"])
        except UsageError as error:
            raise ApplicationError(str(error), type="UsageError") from error
        self._changed = True
        for one in stopped:
            await self._signal_goal("stop", Grant(one.goal, one.run_id, one.number))

    @workflow.query
    def board(self) -> dict[str, Any]:
        return self._board.document()


@dataclass(frozen=True, slots=True)
class GoalStart:
    """What a goal's workflow begins with: the workflow of its fleet, and a grant, if it has one already."""

    fleet: str
    lost_after: float
    go: Grant | None = None
    stop: Grant | None = None


@workflow.defn(name="donewhen-goal")
class GoalWorkflow:
    """Performs the grants of one goal, one after the other, and tells the fleet's workflow what each came to."""

    @workflow.init
    def __init__(self, begun: GoalStart) -> None:
        self._granted = [] if begun.go is None else [begun.go]
        self._stop = begun.stop
        self._left = False
        self._activity: asyncio.Task[Outcome] | None = None

    @workflow.run
    async def run(self, begun: GoalStart) -> str:
        while True:
            await workflow.wait_condition(lambda: bool(self._granted) or self._stop is not None or self._left)
            if self._left:
                return ""
            outcome = await self._performed(timedelta(seconds=begun.lost_after))
            if self._stop is not None and outcome.state != "ended":
                continue
            await workflow.get_external_workflow_handle(begun.fleet).signal("settled", outcome)
            if outcome.state == "ended":
                return outcome.end or ""
            if workflow.info().is_continue_as_new_suggested() and not self._granted and self._stop is None:
                workflow.continue_as_new(GoalStart(begun.fleet, begun.lost_after))

    async def _performed(self, lost_after: timedelta) -> Outcome:
        name, grant = ("end", self._stop) if self._stop is not None else ("iterate", self._granted.pop(0))
        self._activity = workflow.start_activity(
            name,
            grant,
            task_queue=queue_of(grant.goal.queue),
            result_type=Outcome,
            start_to_close_timeout=LONGEST_ITERATION,
            heartbeat_timeout=lost_after,
            retry_policy=RETRIES,
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        try:
            return await self._activity
        except ActivityError as error:
            if self._stop is not None and name == "iterate":
                return Outcome(grant.goal.id, grant.number, "ready")
            return Outcome(grant.goal.id, grant.number, "ended", "crashed", str(error.cause or error))
        finally:
            self._activity = None

    @workflow.signal
    async def go(self, grant: Grant) -> None:
        self._granted.append(grant)

    @workflow.signal
    async def leave(self) -> None:
        self._left = True

    @workflow.signal
    async def stop(self, grant: Grant) -> None:
        self._stop = grant
        self._granted.clear()
        if self._activity is not None:
            self._activity.cancel()
