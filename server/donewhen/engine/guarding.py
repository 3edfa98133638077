"""A goal on guard: its checks run again after edits, as in a run of worker `human`, beside no run."""

from __future__ import annotations

import asyncio

from donewhen.core.errors import (
    AlreadyRunning,
    DoneWhenError,
    HeldElsewhere,
    LedgerError,
    LedgerUnavailable,
    RecordGone,
    UsageError,
)
from donewhen.core.events import GuardSet, Warned
from donewhen.core.proof import guardable
from donewhen.core.state import RunState
from donewhen.core.work import Actor
from donewhen.engine.active import ActiveRun, Parts
from donewhen.engine.api import RunView
from donewhen.engine.audits import audit
from donewhen.engine.registry import Registry
from donewhen.engine.results import remember
from donewhen.engine.watching import amend_if_edited, goal_file_gone, watched
from donewhen.ports import TreeState, Workspace

QUIET = 0.15
WAITS = 10
"""How many times to wait until the files settle; after that they are looked at as they are."""


class Guard:
    """The part of `engine.api.Runs` that proves again what is on guard."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._setup = registry.setup
        self._records = registry.records
        self._active = registry.active
        self._suspended: dict[str, str] = {}
        """Runs whose guard another run has suspended, with that run."""

    async def guard(self, on: bool, *, run_id: str | None = None, goal_path: str | None = None) -> RunView:
        state = await self._to_guard(run_id, goal_path)
        if on and state.guard is None:
            self._registry.may_execute()
            await self._registry.append(state.run_id, GuardSet())
        elif not on and state.guard is not None:
            await self._registry.append(state.run_id, GuardSet(None, "a person lifted it"))
        self._registry.watch_again()
        return await self._registry.known_view(state.run_id)

    async def _to_guard(self, run_id: str | None, goal_path: str | None) -> RunState:
        if run_id is not None:
            state = await self._records.state(run_id)
            if not guardable(state):
                is_ = state.status or "a check"
                raise UsageError(f"run {run_id} is {is_}: only what a complete run has proven can be guarded")
            return state
        for state in await self._records.newest():
            if state.mode == "pursue" and goal_path in (None, state.goal.path):
                if guardable(state):
                    return state
                break
        named = f"of {goal_path} " if goal_path is not None else ""
        raise UsageError(
            f"the newest run {named}is not complete, so nothing is proven yet", typed=": `donewhen run` first"
        )

    async def run_on_guard(self, goal_path: str | None) -> RunState | None:
        """The run of that goal that is on guard."""
        newest = await self._records.newest()
        return next((s for s in newest if s.goal.path == goal_path and s.guard is not None), None)

    async def keep_proven(self, run_id: str, workspace: Workspace) -> str:
        """An audit of what is on guard, where one is due and nothing stands in its way: a run in this folder, another
        process that does it, a workspace that isn't trusted."""
        state = await self._records.state(run_id)
        if state.guard is None or not self._setup.trusted():
            return state.revision
        owner = await self._registry.owner()
        if owner is not None:
            self._suspended[run_id] = owner.run_id
            return state.revision
        by = await self._changed_by(run_id)
        tree = await quiet(workspace)
        if tree.revision == state.revision and not state.auditing.due:
            return state.revision
        token, lock = self._setup.random_hex(16), self._setup.guard_lock
        try:
            if lock is not None:
                lock.acquire(run_id, token)
        except (AlreadyRunning, HeldElsewhere, LedgerUnavailable):
            return state.revision
        try:
            state = await self._records.state(run_id)
            if state.guard is not None:
                run = ActiveRun(Parts(self._setup, workspace), token, self._registry.run_changed, state)
                await self._proven_again(run, by)
        finally:
            if lock is not None:
                lock.release()
        return (await self._records.state(run_id)).revision

    async def _changed_by(self, run_id: str) -> Actor:
        """Who changed files: the worker of the run that suspended the guard, else a person, for no worker's turn was
        open (product.md, "Who did it")."""
        other = self._suspended.pop(run_id, None)
        if other is not None and (await self._records.state(other)).options.worker != "human":
            return "worker"
        return "person"

    async def _proven_again(self, run: ActiveRun, by: Actor) -> None:
        self._active[run.run_id] = run
        try:
            await prove_again(run, by)
        except RecordGone as error:
            self._registry.failure = error  # whoever follows hears of it
        except LedgerError:
            pass  # it goes on with the next edit
        except Exception as error:  # noqa: BLE001  # a defect that can't be put on record either: so does this
            self._registry.failure = error
        finally:
            self._active.pop(run.run_id, None)
            await remember(run.state, run.parts.workspace)
            run.touch()


async def quiet(workspace: Workspace) -> TreeState:
    """The workspace once it stayed the same for a moment."""
    tree = await workspace.current()
    for _ in range(WAITS):
        await asyncio.sleep(QUIET)
        later = await workspace.current()
        if later.revision == tree.revision:
            break
        tree = later
    return tree


async def prove_again(run: ActiveRun, by: Actor) -> None:
    """Puts on record what changed, and audits until every check has a result at the current revision. `by` is who
    changed files until now; from here on it is a person."""
    try:
        tree = await run.parts.workspace.current()
        # What changed since the result: looks in between have taken note of it already.
        await run.record_tree(TreeState(tree.revision, tuple(run.parts.workspace.departed() or ())), by)
        await amend_if_edited(run)
        if goal_file_gone(run):
            await run.append(GuardSet(None, f"the goal file {run.state.goal.path} is gone"))
        while run.state.guard is not None and run.state.auditing.due:
            await watched(run, audit(run, run.state.iteration))
    except LedgerError:
        raise
    except Exception as error:  # noqa: BLE001  # invariant 8: a defect is said too, and the guard goes on
        why = error if isinstance(error, DoneWhenError | OSError) else f"{type(error).__name__}: {error}"
        await run.append(Warned("guard", f"what is on guard could not be proven again: {why}"))
