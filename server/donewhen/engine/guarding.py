"""A goal on guard: its checks run again after edits, as in a run of worker `human`, beside no run."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from donewhen.core.errors import DoneWhenError, LedgerError, WorkspaceError
from donewhen.core.events import GuardLifted, Warned
from donewhen.core.proof import Present
from donewhen.core.state import RunState
from donewhen.core.work import Actor
from donewhen.engine.active import ActiveRun
from donewhen.engine.audits import audit
from donewhen.engine.tasks import cancel_all
from donewhen.engine.watching import amend_if_edited, named_globs, watched
from donewhen.ports import TreeState, Workspace

# What is left of a result: the workspace of a run that nobody pursues, compared with what the run last saw.


def result_name(state: RunState) -> str:
    """The name under which the workspace is remembered with a run's result: each goal has one of its newest run, and
    one of its newest audit."""
    goal = hashlib.sha256((state.goal.path or "").encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{state.mode}-{goal}"


def comparable(state: RunState) -> bool:
    """True for a run that isn't being pursued and whose result is about files."""
    return not state.active and state.goal.about == "workspace"


async def remember(state: RunState, workspace: Workspace) -> None:
    """Keeps what the result was made of. It can be compared without, by reading everything."""
    if comparable(state):
        with contextlib.suppress(OSError):
            await workspace.remember(result_name(state))


async def reopened(state: RunState, workspace: Workspace) -> Present:
    """Opens a workspace as the run had it, and compares. Raises WorkspaceError if it can't be read."""
    globs = named_globs(state.goal)
    return present_of(await workspace.recall(result_name(state), state.revision, globs, state.run_id), workspace)


def present_of(tree: TreeState, workspace: Workspace) -> Present:
    """The workspace as it was just looked at."""
    departed = workspace.departed()
    return Present(tree.revision, None if departed is None else tuple(departed))


async def compared_once(state: RunState, workspace: Workspace) -> Present | None:
    """One look. None if the folder can't be read."""
    try:
        return await reopened(state, workspace)
    except WorkspaceError:
        return None
    finally:
        await workspace.close()


# Watches the results of runs that are over: one watcher per folder, and no work while nothing happens.


LOOKS_AGAIN = 0.25
"""Seconds between two looks while files go on changing."""


@dataclass(slots=True)
class _WatchedResult:
    """One result that is watched. `revision` is the one that it is compared with."""

    revision: str
    workspace: Workspace
    task: asyncio.Task[None] | None = None
    present: Present | None = None
    looked: asyncio.Event | None = None
    poked: asyncio.Event | None = None
    acting: asyncio.Future[str] | None = None


class ResultWatcher:
    """The results of one folder that are compared with its files as these change. `changed` is told of each run whose
    result became another's, or its own again. `act` is given each of them with its workspace after each look, and when
    something else may have changed: it returns the revision that the result is of by then."""

    def __init__(
        self,
        open_workspace: Callable[[], Workspace],
        changed: Callable[[str], None],
        act: Callable[[str, Workspace], Awaitable[str]],
    ) -> None:
        self._open = open_workspace
        self._changed = changed
        self._act = act
        self._kept: dict[str, _WatchedResult] = {}

    def present(self, state: RunState) -> Present | None:
        """What is known of the workspace for this run; None if it isn't watched, or was not looked at yet."""
        vigil = self._kept.get(state.run_id)
        return vigil.present if vigil is not None and vigil.revision == state.revision else None

    async def looked_at(self, state: RunState) -> Present | None:
        """As `present`, once the first look is over."""
        vigil = self._kept.get(state.run_id)
        if vigil is not None and vigil.looked is not None:
            await vigil.looked.wait()
        return self.present(state)

    async def keep(self, states: Sequence[RunState]) -> None:
        """Watches these results, and no others."""
        wanted = {state.run_id: state for state in states if comparable(state)}
        for run_id, vigil in list(self._kept.items()):
            moved_on = run_id in wanted and wanted[run_id].revision != vigil.revision and vigil.acting is None
            if run_id not in wanted or moved_on:
                await self._end(run_id)
            elif vigil.poked is not None:
                vigil.poked.set()
        for run_id, state in wanted.items():
            if run_id not in self._kept:
                vigil = _WatchedResult(state.revision, self._open(), looked=asyncio.Event(), poked=asyncio.Event())
                self._kept[run_id] = vigil
                vigil.task = asyncio.ensure_future(self._watch(state, vigil))

    async def suspend(self) -> None:
        """Whatever is being done for a result is cut off: a run begins. It is taken up when something changes."""
        await cancel_all(*(vigil.acting for vigil in self._kept.values() if vigil.acting is not None))

    def saved_by_client(self, path: str, text: str) -> None:
        for vigil in self._kept.values():
            vigil.workspace.saved_by_client(path, text)

    async def close(self) -> None:
        for run_id in list(self._kept):
            await self._end(run_id)

    async def _end(self, run_id: str) -> None:
        vigil = self._kept.pop(run_id)
        if vigil.task is not None:
            await cancel_all(vigil.task)

    async def _watch(self, state: RunState, vigil: _WatchedResult) -> None:
        try:
            await self._look(state, vigil)
        except (DoneWhenError, OSError):
            self._seen(state.run_id, vigil, None)  # the folder is gone, or can't be read: nothing is known
        finally:
            if vigil.looked is not None:
                vigil.looked.set()
            with contextlib.suppress(DoneWhenError, OSError):
                await vigil.workspace.close()

    async def _look(self, state: RunState, vigil: _WatchedResult) -> None:
        self._seen(state.run_id, vigil, await reopened(state, vigil.workspace))
        if vigil.looked is not None:
            vigil.looked.set()
        while True:
            if await self._acted(state.run_id, vigil):
                continue
            await self._moved_or_poked(vigil)
            tree = await vigil.workspace.current()
            self._seen(state.run_id, vigil, present_of(tree, vigil.workspace))
            await asyncio.sleep(LOOKS_AGAIN)

    async def _acted(self, run_id: str, vigil: _WatchedResult) -> bool:
        """True if files changed meanwhile that it did not look at."""
        before = (await vigil.workspace.current()).revision
        vigil.acting = asyncio.ensure_future(self._act(run_id, vigil.workspace))
        try:
            await asyncio.wait({vigil.acting})
            if not vigil.acting.cancelled():
                vigil.revision = vigil.acting.result()
        finally:
            await cancel_all(vigil.acting)
            vigil.acting = None
        tree = await vigil.workspace.current()
        self._seen(run_id, vigil, present_of(tree, vigil.workspace))
        return tree.revision not in (before, vigil.revision)

    async def _moved_or_poked(self, vigil: _WatchedResult) -> None:
        poked = vigil.poked or asyncio.Event()
        waiting = [asyncio.ensure_future(one) for one in (vigil.workspace.moved(), poked.wait())]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_all(*waiting)
        poked.clear()
        for one in done:
            one.result()

    def _seen(self, run_id: str, vigil: _WatchedResult, present: Present | None) -> None:
        if present != vigil.present and self._kept.get(run_id) is vigil:
            vigil.present = present
            self._changed(run_id)


QUIET = 0.15
WAITS = 10
"""How many times to wait until the files settle; after that they are looked at as they are."""


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
        await run.noticed(TreeState(tree.revision, tuple(run.parts.workspace.departed() or ())), by)
        await amend_if_edited(run)
        if _goal_file_gone(run):
            await run.append(GuardLifted(f"the goal file {run.state.goal.path} is gone"))
        while run.state.guard is not None and run.state.audit_due:
            await watched(run, audit(run, run.state.iteration))
    except LedgerError:
        raise
    except (DoneWhenError, OSError) as error:
        await run.append(Warned("guard", f"what is on guard could not be proven again: {error}"))


def _goal_file_gone(run: ActiveRun) -> bool:
    path = run.state.goal.path
    return path is not None and run.parts.workspace.digest(path) is None
