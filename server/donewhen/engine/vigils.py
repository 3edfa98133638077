"""Watches the results of runs that are over: one watcher per folder, and no work while nothing happens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from donewhen.core.errors import DoneWhenError
from donewhen.core.freshness import Present
from donewhen.core.state import RunState
from donewhen.engine.comparing import comparable, present_of, recalled
from donewhen.engine.tasks import cancelled
from donewhen.ports import Workspace

LOOKS_AGAIN = 0.25
"""Seconds between two looks while files go on changing."""


@dataclass(slots=True)
class _Vigil:
    """One result that is watched. `revision` is the one that it is compared with."""

    revision: str
    workspace: Workspace
    task: asyncio.Task[None] | None = None
    present: Present | None = None
    looked: asyncio.Event | None = None
    poked: asyncio.Event | None = None
    acting: asyncio.Future[str] | None = None


class Vigils:
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
        self._kept: dict[str, _Vigil] = {}

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
                vigil = _Vigil(state.revision, self._open(), looked=asyncio.Event(), poked=asyncio.Event())
                self._kept[run_id] = vigil
                vigil.task = asyncio.ensure_future(self._watch(state, vigil))

    async def stand_back(self) -> None:
        """Whatever is being done for a result is cut off: a run begins. It is taken up when something changes."""
        await cancelled(*(vigil.acting for vigil in self._kept.values() if vigil.acting is not None))

    def saved_by_client(self, path: str, text: str) -> None:
        for vigil in self._kept.values():
            vigil.workspace.saved_by_client(path, text)

    async def close(self) -> None:
        for run_id in list(self._kept):
            await self._end(run_id)

    async def _end(self, run_id: str) -> None:
        vigil = self._kept.pop(run_id)
        if vigil.task is not None:
            await cancelled(vigil.task)

    async def _watch(self, state: RunState, vigil: _Vigil) -> None:
        try:
            await self._look(state, vigil)
        except (DoneWhenError, OSError):
            self._seen(state.run_id, vigil, None)  # the folder is gone, or can't be read: nothing is known
        finally:
            if vigil.looked is not None:
                vigil.looked.set()
            with contextlib.suppress(DoneWhenError, OSError):
                await vigil.workspace.close()

    async def _look(self, state: RunState, vigil: _Vigil) -> None:
        self._seen(state.run_id, vigil, await recalled(state, vigil.workspace))
        if vigil.looked is not None:
            vigil.looked.set()
        while True:
            if await self._acted(state.run_id, vigil):
                continue
            await self._moved_or_poked(vigil)
            tree = await vigil.workspace.current()
            self._seen(state.run_id, vigil, present_of(tree, vigil.workspace))
            await asyncio.sleep(LOOKS_AGAIN)

    async def _acted(self, run_id: str, vigil: _Vigil) -> bool:
        """True if files changed meanwhile that it did not look at."""
        before = (await vigil.workspace.current()).revision
        vigil.acting = asyncio.ensure_future(self._act(run_id, vigil.workspace))
        try:
            await asyncio.wait({vigil.acting})
            if not vigil.acting.cancelled():
                vigil.revision = vigil.acting.result()
        finally:
            await cancelled(vigil.acting)
            vigil.acting = None
        tree = await vigil.workspace.current()
        self._seen(run_id, vigil, present_of(tree, vigil.workspace))
        return tree.revision not in (before, vigil.revision)

    async def _moved_or_poked(self, vigil: _Vigil) -> None:
        poked = vigil.poked or asyncio.Event()
        waiting = [asyncio.ensure_future(one) for one in (vigil.workspace.moved(), poked.wait())]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancelled(*waiting)
        poked.clear()
        for one in done:
            one.result()

    def _seen(self, run_id: str, vigil: _Vigil, present: Present | None) -> None:
        if present != vigil.present and self._kept.get(run_id) is vigil:
            vigil.present = present
            self._changed(run_id)
