"""The results of runs that are over, compared with the workspace."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from donewhen.core.errors import DoneWhenError, WorkspaceError
from donewhen.core.proof import Present
from donewhen.core.state import RunState
from donewhen.engine.tasks import cancel_all
from donewhen.engine.watching import named_globs
from donewhen.ports import TreeState, Workspace


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


async def committed_as(state: RunState, workspace: Workspace) -> str | None:
    """The commit that holds what the run last looked at; None where the files are not that any more."""
    try:
        present = await reopened(state, workspace)
        return await workspace.commit() if present.revision == state.revision else None
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
    looked: asyncio.Event = field(default_factory=asyncio.Event)
    poked: asyncio.Event = field(default_factory=asyncio.Event)
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
        """What is known of the workspace for this run; None if it is pursued or isn't watched, or was not looked at
        yet."""
        result = self._kept.get(state.run_id) if comparable(state) else None
        return result.present if result is not None and result.revision == state.revision else None

    async def looked_at(self, state: RunState) -> Present | None:
        """As `present`, once the first look is over."""
        result = self._kept.get(state.run_id)
        if result is not None:
            await result.looked.wait()
        return self.present(state)

    async def keep(self, states: Sequence[RunState]) -> None:
        """Watches these results, and no others."""
        wanted = {state.run_id: state for state in states if comparable(state)}
        for run_id, result in list(self._kept.items()):
            moved_on = run_id in wanted and wanted[run_id].revision != result.revision and result.acting is None
            if run_id not in wanted or moved_on:
                await self._end(run_id)
            else:
                result.poked.set()
        for run_id, state in wanted.items():
            if run_id not in self._kept:
                result = _WatchedResult(state.revision, self._open())
                self._kept[run_id] = result
                result.task = asyncio.ensure_future(self._watch(state, result))

    async def suspend(self) -> None:
        """Whatever is being done for a result is cut off: a run begins. It is taken up when something changes."""
        await cancel_all(*(result.acting for result in self._kept.values() if result.acting is not None))

    def saved_by_client(self, path: str, text: str) -> None:
        for result in self._kept.values():
            result.workspace.saved_by_client(path, text)

    async def close(self) -> None:
        for run_id in list(self._kept):
            await self._end(run_id)

    async def _end(self, run_id: str) -> None:
        result = self._kept.pop(run_id)
        if result.task is not None:
            await cancel_all(result.task)

    async def _watch(self, state: RunState, result: _WatchedResult) -> None:
        try:
            self._set_present(state.run_id, result, await reopened(state, result.workspace))
            result.looked.set()
            while True:
                if await self._acted(state.run_id, result):
                    continue
                await self._moved_or_poked(result)
                tree = await result.workspace.current()
                self._set_present(state.run_id, result, present_of(tree, result.workspace))
                await asyncio.sleep(LOOKS_AGAIN)
        except (DoneWhenError, OSError):
            self._set_present(state.run_id, result, None)  # the folder is gone, or can't be read: nothing is known
        finally:
            result.looked.set()
            with contextlib.suppress(DoneWhenError, OSError):
                await result.workspace.close()

    async def _acted(self, run_id: str, result: _WatchedResult) -> bool:
        """True if files changed meanwhile that it did not look at."""
        before = (await result.workspace.current()).revision
        result.acting = asyncio.ensure_future(self._act(run_id, result.workspace))
        try:
            await asyncio.wait({result.acting})
            if not result.acting.cancelled():
                result.revision = result.acting.result()
        finally:
            await cancel_all(result.acting)
            result.acting = None
        tree = await result.workspace.current()
        self._set_present(run_id, result, present_of(tree, result.workspace))
        return tree.revision not in (before, result.revision)

    async def _moved_or_poked(self, result: _WatchedResult) -> None:
        waiting = [asyncio.ensure_future(one) for one in (result.workspace.moved(), result.poked.wait())]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_all(*waiting)
        result.poked.clear()
        for one in done:
            one.result()

    def _set_present(self, run_id: str, result: _WatchedResult, present: Present | None) -> None:
        if present != result.present and self._kept.get(run_id) is result:
            result.present = present
            self._changed(run_id)
