"""One iteration of one goal, by the engine: started or resumed for one turn, followed to its end, and let go.

Whatever came before, the run's ledger says where it stands: an iteration that is tried again, because its process or
its host died, goes on with the run as it is, and starts no second one.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from donewhen.app.services import Services
from donewhen.app.starting import start_options
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.answers import WAITS
from donewhen.core.errors import (
    AlreadyRunning,
    DoneWhenError,
    HeldElsewhere,
    LedgerUnavailable,
    UnknownInterrupt,
    UnknownRun,
    UsageError,
)
from donewhen.core.resume import resumable
from donewhen.core.state import RunState
from donewhen.core.work import Answer
from donewhen.engine.api import OUT_OF_TURNS, LimitChanges, Runs, RunView, StartOptions
from donewhen.extras.fleet.board import Given, Grant, Outcome, Question
from donewhen.extras.fleet.manifest import FleetGoal
from donewhen.goalfile.files import WorkspaceGoalFiles
from donewhen.settings.loading import Settings, load_settings

PASSES = (AlreadyRunning, HeldElsewhere, LedgerUnavailable)
"""What is in the way for a while: somebody else's run in the workspace, or an attempt before this one that still lives.
The iteration is to be tried again later."""
BY_A_PERSON = ("human", "gate")


@dataclass(frozen=True, slots=True)
class IteratingPlace:
    """Where what a board grants is performed by the engine: this machine's record, and the person's own settings."""

    services: Services
    state_dir: Path | None = None
    environ: Callable[[], Mapping[str, str]] = lambda: dict(os.environ)
    user_file: Path | None = None

    async def refuse_unready(self, goal: FleetGoal) -> None:
        """Raises UsageError if a worker or a model that the goal needs is not here. Whatever else is wrong with it is
        for its iteration to say."""
        try:
            async with self._opened(goal) as (settings, _, runs):
                await runs.ready(goal.file, start_options(settings))
        except (DoneWhenError, OSError) as error:
            if isinstance(error, DoneWhenError) and error.lacks is not None:
                raise UsageError(f"{goal.id}: {error}", lacks=error.lacks) from error

    async def iterate(self, grant: Grant) -> Outcome:
        """Performs one iteration. What can't be done at all is an outcome of its own, `failed`; raises only what passes
        (PASSES). Cancelling it leaves the run as interrupted, with every process of it gone."""
        try:
            async with self._opened(grant.goal) as (settings, root, runs):
                view = await _run_for_one_turn(runs, settings, root, grant)
                if view.state.active:
                    if view.state.options.worker in BY_A_PERSON:
                        await runs.stop(grant.run_id, "a fleet has nobody who edits")
                        raise UsageError("a fleet needs a worker that works by itself: set `worker` in the manifest")
                    view = await _followed(runs, grant.run_id)
                return _iteration_outcome(grant, view, settings, root)
        except PASSES:
            raise
        except (DoneWhenError, OSError) as error:
            return Outcome(grant.goal.id, grant.number, "ended", "failed", str(error))

    async def end(self, grant: Grant) -> Outcome:
        """Ends the goal's run as cancelled, if it hasn't ended."""
        try:
            async with self._opened(grant.goal) as (settings, root, runs):
                try:
                    view = await runs.view(grant.run_id)
                except UnknownRun:
                    return Outcome(grant.goal.id, grant.number, "ended", "cancelled", "stopped before it began")
                if not view.state.lifecycle.ended:
                    view = await runs.stop(grant.run_id, "the fleet was told to stop")
                elif view.state.status != "complete":
                    return replace(
                        _iteration_outcome(grant, view, settings, root), state="ended", end="cancelled", short=False
                    )
                return _iteration_outcome(grant, view, settings, root)
        except PASSES:
            raise
        except (DoneWhenError, OSError) as error:
            return Outcome(grant.goal.id, grant.number, "ended", "cancelled", str(error))

    @asynccontextmanager
    async def _opened(self, goal: FleetGoal) -> AsyncGenerator[tuple[Settings, Path, Runs]]:
        """The settings, the root and the runs of a goal's workspace, closed at the end whatever happens."""
        root = _workspace(goal)
        settings = load_settings(goal.settings, self.environ(), root, user_file=self.user_file)
        context = WorkspaceContext(environment=self.environ, where="program")
        runs = await self.services.open_runs(root, self.state_dir, settings, context)
        try:
            yield settings, root, runs
        finally:
            await runs.close("the fleet let go of it")


def _workspace(goal: FleetGoal) -> Path:
    root = Path(goal.workspace)
    if not root.is_dir():
        raise UsageError(f"the workspace {root} is not a folder on this machine: name it as it is here, or its queue")
    return root


async def _run_for_one_turn(runs: Runs, settings: Settings, root: Path, grant: Grant) -> RunView:
    """The run under way for one turn; or as it is, where it has ended or a question is still open."""
    options = replace(start_options(settings), turns=1)
    try:
        view = await runs.view(grant.run_id)
    except UnknownRun:
        limits = options.limits
        if grant.usd is not None:
            limits = replace(limits, budget=_least(grant.usd, _own_budget(settings, root, grant)))
        return await runs.start(grant.goal.file, replace(options, run_id=grant.run_id, limits=limits))
    for given in grant.answers:
        await _give_answer(runs, grant.run_id, given)
    if grant.answers:
        view = await runs.view(grant.run_id)
    state = view.state
    if state.status in ("complete", "cancelled") or (state.lifecycle.ended and not resumable(state)):
        return view
    own = _own_budget(settings, root, grant)
    limits = options.limits
    if grant.usd is not None:
        limits = replace(limits, budget=_least(state.spend.known_usd + grant.usd, own))
    elif state.status == "over_budget":
        limits = replace(limits, budget=own if own is not None else "unlimited")
    if state.lifecycle.ended and _still_bounded(state, limits):
        return view  # a retry of an iteration that had ended, before anybody heard of it, finds its end
    return await runs.resume(grant.run_id, limits, StartOptions(approve=None, askable=options.askable, turns=1))


def _still_bounded(state: RunState, limits: LimitChanges) -> bool:
    """The limit that ended it is as it was: continuing would change nothing."""
    if state.status == "capped":
        new, used = limits.max_iterations, float(state.iteration)
    elif state.status == "timed_out":
        new, used = limits.timeout, state.elapsed
    elif state.status == "over_budget":
        new, used = limits.budget, state.spend.known_usd
    else:
        return False
    return new is None or (new != "unlimited" and new <= used)


async def _give_answer(runs: Runs, run_id: str, given: Given) -> None:
    answer = Answer(cast("Any", given.response), given.text, given.input, given.reason, cast("Any", given.remember))
    try:
        await runs.answer(run_id, given.interrupt_id, answer)
    except UnknownInterrupt:
        return  # an attempt before this one gave the answer, or somebody did in the workspace


async def _followed(runs: Runs, run_id: str) -> RunView:
    """The run once it does nothing more by itself: a question lets it go, so that nothing is held while it waits."""
    async for view in runs.follow(run_id):
        if view.state.active and view.state.interrupts:
            asked = ", ".join(one.id for one in view.state.interrupts)
            return await runs.pause(run_id, f"{WAITS}: {asked}", "run")
    return await runs.view(run_id)


def _own_budget(settings: Settings, root: Path, grant: Grant) -> float | None:
    """What the goal itself may cost, in US dollars, whatever the fleet sets aside."""
    given = settings.given.budget
    if given is None:
        given = WorkspaceGoalFiles(root, lambda: True).load(grant.goal.file).limits.budget
    if given is None:
        given = settings.configured.budget
    return None if given is None or given == "unlimited" else float(given)


def _least(granted: float, own: float | None) -> float:
    return granted if own is None else min(granted, own)


def _iteration_outcome(grant: Grant, view: RunView, settings: Settings, root: Path) -> Outcome:
    state = view.state
    found = Outcome(
        grant.goal.id,
        grant.number,
        "waiting",
        reason=state.lifecycle.paused or state.lifecycle.interrupted or state.lifecycle.reason or "",
        iteration=state.iteration,
        usd=state.spend.known_usd,
        tokens=state.usage.tokens,
    )
    if state.lifecycle.ended:
        found.state, found.end = "ended", state.status or "crashed"
        if state.status == "over_budget" and grant.usd is not None:
            own = _own_budget(settings, root, grant)
            found.short = own is None or state.spend.known_usd + grant.usd < own
            if found.short:
                found.state, found.end = "ready", None
    elif state.interrupts:
        found.questions = [Question(i.id, i.title, i.tool, i.preview, i.kind, i.about) for i in state.interrupts]
    elif state.halted and state.plugins.halt is not None:
        found.reason = (
            f"{state.plugins.halt.plugin}: {state.plugins.halt.reason}; resume it in its workspace, then in the fleet"
        )
    elif state.lifecycle.paused == OUT_OF_TURNS or state.lifecycle.interrupted is not None:
        found.state = "ready"
    return found
