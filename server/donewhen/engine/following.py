"""Tells whoever listens what happens to the runs of a folder, whichever process works on them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from donewhen.core.errors import DoneWhenError, RecordGone, UnknownRun, UnreadableRun
from donewhen.engine.api import RunView
from donewhen.engine.registry import Registry
from donewhen.engine.tasks import cancel_all
from donewhen.ports import Owner

FOLLOWS_AGAIN = 0.5
LOOKED_FOR_AGAIN = 5.0
"""Seconds after which a record that was taken away is looked for again."""


class Following:
    """The part of `engine.api.Runs` that tells of changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._background: asyncio.Task[None] | None = None
        self._followed: dict[str, tuple[float, int, str | None]] = {}
        self._looked_at_others = False
        self._awaited: Owner | None = None
        """The process whose end is awaited."""
        self._owner_ends: asyncio.Task[None] | None = None

    def subscribe(self, on_change: Callable[[RunView], None]) -> Callable[[], None]:
        self._registry.listeners.append(on_change)
        if self._background is None or self._background.done():
            self._background = asyncio.ensure_future(self._follow_others())

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._registry.listeners.remove(on_change)

        return unsubscribe

    async def follow(self, run_id: str, *, guarded: bool = False) -> AsyncIterator[RunView]:
        """The view now, then after every change: see `api`."""
        view = await self._registry.view(run_id)
        yield view
        waiter: asyncio.Queue[RunView] = asyncio.Queue()
        unsubscribe = self.subscribe(lambda one: waiter.put_nowait(one) if one.state.run_id == run_id else None)
        try:
            again = await self._registry.view(run_id)
            if again.state.sequence > view.state.sequence:
                view = again
                yield view
            while view.state.active or (guarded and view.state.guard is not None):
                view = await waiter.get()
                while not waiter.empty():
                    view = waiter.get_nowait()
                if not view.state.active:
                    if (task := self._registry.tasks.get(run_id)) is not None:
                        await asyncio.wait({task})  # until it has let go of everything
                    lost = self._registry.failure
                    if lost is not None and (isinstance(lost, RecordGone) or not isinstance(lost, DoneWhenError)):
                        raise lost
                yield view
        finally:
            unsubscribe()

    async def close(self) -> None:
        await cancel_all(*(task for task in (self._background, self._owner_ends) if task is not None))

    async def _follow_others(self) -> None:
        """Looks at what other processes write, from when somebody here first wants to know."""
        registry = self._registry
        while True:
            try:
                await self._tell_of_others()
                async for _ in registry.setup.ledger.changes():
                    registry.failure = None if isinstance(registry.failure, RecordGone) else registry.failure
                    await self._tell_of_others()
                return
            except RecordGone as error:
                await self._record_is_gone(error)
                await asyncio.sleep(LOOKED_FOR_AGAIN)  # somebody may put it back
            except DoneWhenError:
                # A full disk or a busy ledger: followers get another chance.
                await asyncio.sleep(FOLLOWS_AGAIN)

    async def _record_is_gone(self, error: RecordGone) -> None:
        """Nothing can be kept any more: what is pursued or on guard here ends."""
        registry = self._registry
        if isinstance(registry.failure, RecordGone):
            return  # it is said already
        registry.failure = error
        for run in list(registry.active.values()):
            run.lose_record(error)
        with contextlib.suppress(DoneWhenError):
            for state in await registry.records.newest():
                await registry.tell_of(state.run_id)

    async def _tell_of_others(self) -> None:
        """Runs of other processes: those that are pursued, and those that changed since the last look."""
        registry = self._registry
        if not registry.listeners:
            return
        await registry.find_dead()
        registry.watch_again()
        self._await_owner()
        for summary in await registry.setup.ledger.runs():
            if summary.run_id in registry.active or summary.mode == "audit":
                continue
            known = self._followed.get(summary.run_id)
            pursued = summary.status in ("running", "waiting")
            if not pursued and known is not None and known[0] == summary.updated_at:
                continue
            try:
                state = await registry.records.state(summary.run_id)
                view = registry.watched_view(state, await registry.setup.ledger.live(summary.run_id))
            except (UnreadableRun, UnknownRun):
                continue  # it is listed as that, or was removed since it was listed
            if summary.run_id in registry.active:
                continue  # it was resumed here meanwhile, and what it does is told as it happens
            now = (summary.updated_at, view.state.sequence, view.live.activity)
            self._followed[summary.run_id] = now
            # What was there at the first look is shown already; what comes later may never change again.
            if self._looked_at_others and now != known:
                registry.tell(view)
        self._looked_at_others = True

    def _await_owner(self) -> None:
        """From now on, the end of the other process that supervises a run here is noticed: no entry of the ledger tells
        of a process that was killed."""
        owner = self._registry.setup.lock.owner()
        if owner is not None and owner.run_id in self._registry.active:
            owner = None
        if owner != self._awaited:
            if self._owner_ends is not None:
                self._owner_ends.cancel()
            self._awaited = owner
            self._owner_ends = None if owner is None else asyncio.ensure_future(self._owner_ended(owner))

    async def _owner_ended(self, owner: Owner) -> None:
        await self._registry.setup.lock.until_gone(owner)
        await self._registry.find_dead()
