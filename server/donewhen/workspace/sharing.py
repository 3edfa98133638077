"""One watcher of a folder for everyone who looks at it: a run, an audit, and the results that are monitored."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from donewhen.workspace.watching import Hints, Wake, Watcher, watcher_for


class SharedWatcher:
    """Hands out `Watcher`s of one folder that share a single system watcher, which exists while any of them does."""

    def __init__(self, make: Callable[[Path, Path], Watcher] = watcher_for) -> None:
        self._make = make
        self._real: Watcher | None = None
        self._shares: list[_Share] = []
        # Each workspace scans in its own thread, and what one of them hears is for all.
        self._lock = threading.Lock()

    def share(self, root: Path, state: Path) -> Watcher:
        """Fits the parameter `watcher` of a workspace."""
        return _Share(self, root, state)

    @property
    def real(self) -> Watcher | None:
        """The system's watcher, while there is one."""
        return self._real

    def join(self, share: _Share) -> None:
        with self._lock:
            self._shares.append(share)
            if self._real is not None:
                return
            self._real = self._make(share.root, share.state)
        self._real.start(self._wake_all)

    def close_share(self, share: _Share) -> None:
        with self._lock:
            if share in self._shares:
                self._shares.remove(share)
            if self._shares or self._real is None:
                return
            real, self._real = self._real, None
        real.close()

    def watch(self, place: str) -> None:
        with self._lock:
            if self._real is not None:
                self._real.watch(place)

    def spread(self, listener: _Share) -> None:
        """Gives every share what was heard; if watches were lost, shares that aren't looking now are woken."""
        with self._lock:
            real = self._real
            if real is None:
                return
            hints = real.take()
            for share in self._shares:
                share.paths |= hints.paths
                share.lost |= hints.everything
            others = [share for share in self._shares if share is not listener]
        if hints.everything and not real.polls:
            for share in others:
                share.wake_soon()

    def _wake_all(self) -> None:
        for share in tuple(self._shares):
            share.wake()


class _Share:
    """A `Watcher` of one workspace."""

    def __init__(self, hub: SharedWatcher, root: Path, state: Path) -> None:
        self._hub = hub
        self.root, self.state = root, state
        self.paths: set[str] = set()
        self.lost = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: Wake | None = None

    @property
    def warning(self) -> str | None:
        return self._hub.real.warning if self._hub.real is not None else None

    @property
    def polls(self) -> bool:
        return self._hub.real is not None and self._hub.real.polls

    def start(self, wake: Wake) -> None:
        self._wake, self._loop = wake, asyncio.get_running_loop()
        self.paths, self.lost = set(), False
        self._hub.join(self)

    def watch(self, place: str) -> None:
        self._hub.watch(place)

    async def drain(self) -> bool:
        real = self._hub.real
        return (real is not None and await real.drain()) or self.lost or bool(self.paths)

    def take(self) -> Hints:
        self._hub.spread(self)
        paths, self.paths = self.paths, set()
        lost, self.lost = self.lost, False
        return Hints(frozenset(paths), lost)

    def close(self) -> None:
        self._hub.close_share(self)

    def wake(self) -> None:
        if self._wake is not None:
            self._wake()

    def wake_soon(self) -> None:
        """Called from the thread of another workspace."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.wake)
