"""Watches on macOS and Windows, where the system watches a whole tree at once, with `watchfiles`.

A cookie, a file written into a watched folder of our own, marks a moment: once its event arrives, everything earlier
has arrived. Tested on Linux, where watching a whole tree costs one watch per folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from pathlib import Path

from donewhen.workspace.watching import Hints, Wake

_DEBOUNCE_MS, _STEP_MS, _TIMEOUT_MS = 30, 10, 2000
_COOKIE_WAIT = 0.5


class NativeWatcher:
    """A `Watcher` on the system's recursive one; it listens in its own thread (the second thread of the locks here)."""

    def __init__(self, root: Path, state: Path) -> None:
        self._root = os.path.realpath(root)
        self._cookies = Path(os.path.realpath(state)) / "watching"
        self._number = 0
        self._awaited: asyncio.Event | None = None
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._lost = False
        self._stop = threading.Event()
        self.warning: str | None = None

    @property
    def polls(self) -> bool:
        return self.warning is not None

    def start(self, wake: Wake) -> None:
        from watchfiles._rust_notify import RustNotify

        self._stop, self.warning = threading.Event(), None
        loop = asyncio.get_running_loop()
        places = [self._root, os.fspath(self._cookies)]
        try:
            self._cookies.mkdir(parents=True, exist_ok=True)
            notify = RustNotify(places, False, False, 300, True, True)
        except (OSError, RuntimeError) as error:
            self._give_up(error)
            return
        threading.Thread(
            target=self._listen, args=(notify, loop, wake, self._stop), name="watching", daemon=True
        ).start()

    def watch(self, place: str) -> None:
        """Does nothing: the whole tree is watched already."""

    async def drain(self) -> bool:
        if not self.polls and not await self._cookie():
            self._lost = True
        return self.polls or self._lost or bool(self._paths)

    def take(self) -> Hints:
        with self._lock:
            paths, self._paths = self._paths, set()
            lost, self._lost = self._lost or self.polls, False
        return Hints(frozenset(paths), lost)

    def close(self) -> None:
        self._stop.set()

    async def _cookie(self) -> bool:
        self._awaited = heard = asyncio.Event()
        self._number += 1
        try:
            (self._cookies / "cookie").write_text(str(self._number))
        except OSError:
            return False
        # Not wait_for: before Python 3.12 it loses a cancellation that arrives together with the event.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_COOKIE_WAIT):
                await heard.wait()
        return heard.is_set()

    def _listen(self, notify: object, loop: asyncio.AbstractEventLoop, wake: Wake, stop: threading.Event) -> None:
        from watchfiles._rust_notify import RustNotify

        assert isinstance(notify, RustNotify)
        with notify:
            while not stop.is_set():
                try:
                    heard = notify.watch(_DEBOUNCE_MS, _STEP_MS, _TIMEOUT_MS, stop)
                except (OSError, RuntimeError) as error:
                    self._give_up(error)
                    return
                if not isinstance(heard, str):
                    with contextlib.suppress(RuntimeError):  # the loop has been closed
                        loop.call_soon_threadsafe(self._hear, {path for _, path in heard}, wake)

    def _hear(self, full: set[str], wake: Wake) -> None:
        start, cookies = self._root + os.sep, os.fspath(self._cookies)
        inside = {path[len(start) :].replace(os.sep, "/") for path in full if path.startswith(start)}
        inside = {path for path in inside if not f"{start}{path}".startswith(cookies)}
        with self._lock:
            self._paths |= inside
            self._lost |= self._root in full
        if any(path.startswith(cookies) for path in full) and self._awaited is not None:
            self._awaited.set()
        if inside or self._lost:
            wake()

    def _give_up(self, error: Exception) -> None:
        self.warning = f"the folder can't be watched ({error}): changes are looked for every few seconds"
