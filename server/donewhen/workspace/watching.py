"""Learns from the operating system where something happened, through `watchfiles`. What it learns are hints: the disk
is read again.

One watch for each covered folder and none below it, so that ignored trees cost nothing. `watchfiles` watches what it
was given at the start, so a new watcher takes over when folders come; until then, and once more afterwards, whoever
looks looks at those folders too. All that happened before is heard of once a cookie, a file written into a watched
folder of our own, has been heard of: the system reports in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from donewhen.regular import read_text

Wake = Callable[[], None]
"""Called on the event loop when there is something to look at."""

Source = Generator[Set[tuple[int, str]]]
"""Gives at each step what changed since the one before, as absolute paths, and waits for nothing."""

_COOKIE_WAIT = 0.5
_ALERT, _CALM, _ASLEEP = 0.01, 0.05, 0.1
"""Seconds between two steps: for a moment after something happened, for a minute after that, and then."""
_ALERT_FOR, _CALM_FOR = 2.0, 60.0
_QUIET = 0.01
"""Seconds without a new folder after which those that came are watched: a walk names them one by one."""
_FAILURES, _FAILURES_WITHIN = 3, 10.0

_REMOTE_TYPES = "nfs nfs4 cifs smb3 smbfs 9p drvfs vboxsf fuse.sshfs fuse.rclone afs ncpfs prl_fs"
_REMOTE = frozenset(_REMOTE_TYPES.split())


@dataclass(frozen=True)
class Hints:
    """Paths to look at again; `everything` where hints were lost and only a walk helps."""

    paths: frozenset[str] = frozenset()
    everything: bool = False


class Watcher(Protocol):
    """Watches the folders of one workspace."""

    @property
    def warning(self) -> str | None:
        """Why changes are noticed late, and what to do about it; None where all is well."""
        ...

    @property
    def polls(self) -> bool:
        """True where not everything is noticed by itself: only looking finds changes."""
        ...

    def start(self, wake: Wake) -> None:
        """Begins to watch; on the event loop."""
        ...

    def watch(self, place: str) -> None:
        """Watches one folder from now on; from the scanning thread, without effect where it is watched already."""
        ...

    async def drain(self) -> bool:
        """Waits until all that happened so far has been heard of. False where there is nothing to look at."""
        ...

    def take(self) -> Hints:
        """What was heard since the last call; from the scanning thread."""
        ...

    def close(self) -> None: ...


class NoWatcher:
    """Hears nothing: every look is a walk."""

    def __init__(self, warning: str | None = None) -> None:
        self.warning = warning
        self.polls = True

    def start(self, wake: Wake) -> None:
        """Nothing to begin."""

    def watch(self, place: str) -> None:
        """Nothing to watch."""

    async def drain(self) -> bool:
        """There may always be something to look at."""
        return True

    def take(self) -> Hints:
        """Look at everything."""
        return Hints(everything=True)

    def close(self) -> None:
        """Nothing to end."""


def watcher_for(root: Path, state: Path) -> Watcher:
    """The watcher that fits the file system of the folder; `state` is a folder of ours for its cookies."""
    remote = remote_file_system(root)
    if remote is not None:
        return NoWatcher(f"{root} is on {remote}, which reports no changes: they are looked for every few seconds")
    return FolderWatcher(root, state)


class FolderWatcher:
    """A `Watcher` through `watchfiles`; a thread of its own takes the steps. Where the system refuses to watch, it says
    so in `warning`, and only walks help."""

    def __init__(self, root: Path, state: Path) -> None:
        self._root = os.path.realpath(root)
        self._cookies = os.path.join(os.path.realpath(state), "watching")  # noqa: PTH118 # a text, as paths are heard
        self._numbers = itertools.count()
        self._lock = threading.Lock()  # the loop's thread, the scanning one and the listening one meet here
        self._wanted: set[str] = set()
        self._covered: set[str] = set()
        self._heard: set[str] = set()
        self._nameless: set[str] = set()
        self._lost = self._given_up = False
        self._asked = threading.Event()
        self._stop = threading.Event()
        self._awaited: dict[str, asyncio.Event] = {}
        self._moved_at = self._grown_at = 0.0
        self._failed_at: list[float] = []
        self.warning: str | None = None

    @property
    def polls(self) -> bool:
        return self.warning is not None

    @property
    def places(self) -> set[str]:
        """The folders that are watched, or are about to be."""
        with self._lock:
            return self._wanted | self._covered

    def start(self, wake: Wake) -> None:
        with self._lock:
            self._wanted, self._covered, self._heard, self._nameless = {""}, set(), set(), set()
            self._lost, self._given_up, self.warning = False, False, None
            self._asked, self._stop = threading.Event(), threading.Event()
        listening = _Listening(asyncio.get_running_loop(), wake, self._stop, self._asked)
        threading.Thread(target=self._listen, args=(listening,), name="watching", daemon=True).start()

    def watch(self, place: str) -> None:
        if place in self._wanted:
            return
        with self._lock:
            if not _has_name(place):
                self._nameless.add(place)
                self.warning = self.warning or (
                    "folders whose names are not UTF-8 can't be watched: changes in them are looked for every few "
                    "seconds; rename them for prompt updates"
                )
                return
            self._wanted.add(place)
            self._grown_at = time.monotonic()

    async def drain(self) -> bool:
        if self._given_up or "" not in self._covered:
            return True
        if not await self._cookie():
            self._lost = True
        return self._lost or bool(self._heard or self._nameless or self._wanted - self._covered)

    def take(self) -> Hints:
        with self._lock:
            heard, self._heard = self._heard, set()
            lost, self._lost = self._lost or self._given_up or "" not in self._covered, False
            return Hints(frozenset(heard | self._nameless | (self._wanted - self._covered)), lost)

    def close(self) -> None:
        with self._lock:
            self._stop.set()  # from now on the thread changes nothing here: the next start may be at once
        self._asked.set()

    async def _cookie(self) -> bool:
        """Whether all that happened before this call has been heard of."""
        heard = asyncio.Event()
        cookie = self._new_cookie()
        self._awaited[cookie] = heard
        try:
            _write(cookie)
            self._asked.set()
            # Not wait_for: before Python 3.12 it loses a cancellation that comes together with the event.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_COOKIE_WAIT):
                    await heard.wait()
        except OSError:
            return False
        finally:
            self._awaited.pop(cookie, None)
            _remove(cookie)
        return heard.is_set()

    def _new_cookie(self) -> str:
        return f"{self._cookies}{os.sep}{os.getpid()}-{id(self)}-{next(self._numbers)}"

    # ------------------------------------------------------------------------- in the listening thread

    def _listen(self, listening: _Listening) -> None:
        source: Source | None = None
        try:
            while not listening.stop.is_set():
                try:
                    if source is None or self._has_grown():
                        source = self._renewed(source, listening)
                    self._understand(next(source), listening)
                except FileNotFoundError:
                    pass  # a folder went before it was watched: once more, after a moment
                except (RuntimeError, StopIteration) as error:
                    # A file whose name is not UTF-8 ends the source, too.
                    source = self._begin_anew(error, listening)
                listening.asked.wait(self._pause())
                listening.asked.clear()
        except Exception as error:  # noqa: BLE001 # whatever it is: who relies on the watcher must learn of it
            self._give_up(error, listening)
        finally:
            if source is not None:
                source.close()

    def _has_grown(self) -> bool:
        return not self._wanted <= self._covered and time.monotonic() - self._grown_at >= _QUIET

    def _renewed(self, before: Source | None, listening: _Listening) -> Source:
        """A source that watches all that is wanted, once the one before it has told all that it heard."""
        with self._lock:
            wanted = set(self._wanted)
        os.makedirs(self._cookies, exist_ok=True)  # noqa: PTH103 # a text, as paths are heard
        gone = {place for place in wanted if not os.path.isdir(self._full(place))}  # noqa: PTH112 # likewise
        places = wanted - gone
        # An unreadable folder has nothing that counts, and its parent tells when it becomes readable.
        readable = sorted(place for place in places if os.access(self._full(place), os.R_OK))
        earlier = set(self._awaited)
        source = _watched([self._cookies, *map(self._full, readable)])
        first = next(source)
        with self._lock:
            if not listening.stop.is_set():
                self._heard |= places - self._covered
                self._lost |= "" in gone
                self._covered = places
                self._wanted -= gone
        if before is not None and not self._heard_out(before, earlier, listening):
            self._lose(listening)
        self._understand(first, listening)
        listening.wake_up()
        return source

    def _heard_out(self, source: Source, earlier: Set[str], listening: _Listening) -> bool:
        """Ends a source; whether all that happened before was heard of from it. What a later cookie than `earlier`
        waits for may have been told to the next source alone, which hears of that cookie too."""
        cookie, until, found = self._new_cookie(), time.monotonic() + _COOKIE_WAIT, False
        with contextlib.closing(source):
            try:
                _write(cookie)
                while not found and time.monotonic() < until:
                    heard = next(source)
                    self._understand(heard, listening, earlier)
                    found = any(path == cookie for _, path in heard)
            except (OSError, RuntimeError, StopIteration):
                return False
            finally:
                _remove(cookie)
        return found

    def _understand(
        self, heard: Iterable[tuple[int, str]], listening: _Listening, answered: Set[str] | None = None
    ) -> None:
        """Keeps what was heard, and answers the cookies in it: all, or those of `answered`."""
        start, cookies = self._root + os.sep, self._cookies + os.sep
        full = {path for _, path in heard}
        if not full:
            return
        inside = {
            path[len(start) :].replace(os.sep, "/")
            for path in full
            if path.startswith(start) and not path.startswith(cookies)
        }
        with self._lock:
            if listening.stop.is_set():
                return
            self._heard |= inside
            # A folder that is heard of may be another one of the same name: whoever looks at it names it again.
            self._forget(inside & self._covered)
            if full & {self._root, self._cookies}:
                self._lost = True
                self._covered.clear()
        for cookie in full & self._awaited.keys():
            if (answered is None or cookie in answered) and (waiting := self._awaited.get(cookie)) is not None:
                listening.call(waiting.set)
        if inside or self._lost:
            self._moved_at = time.monotonic()
            listening.wake_up()

    def _forget(self, places: set[str]) -> None:
        if not places:
            return
        below = {place for place in self._covered | self._wanted if _is_at_or_below(place, places)}
        self._covered -= below
        self._wanted -= below

    def _begin_anew(self, error: Exception, listening: _Listening) -> None:
        now = time.monotonic()
        self._failed_at = [at for at in self._failed_at if now - at < _FAILURES_WITHIN] + [now]
        if len(self._failed_at) > _FAILURES:
            raise error
        with self._lock:
            self._covered.clear()
        self._lose(listening)

    def _lose(self, listening: _Listening) -> None:
        """Something may have gone unheard: whoever waits, or asks next, walks."""
        with self._lock:
            if listening.stop.is_set():
                return
            self._lost = True
            waiting = list(self._awaited.values())
        for one in waiting:
            listening.call(one.set)
        listening.wake_up()

    def _give_up(self, error: Exception, listening: _Listening) -> None:
        raising = "; raise fs.inotify.max_user_watches and max_user_instances for prompt updates"
        with self._lock:
            if listening.stop.is_set():
                return
            self.warning = (
                f"folders can't be watched ({error}): changes are looked for every few seconds"
                f"{raising if sys.platform == 'linux' else ''}"
            )
            self._given_up = True
        self._lose(listening)

    def _pause(self) -> float:
        since = time.monotonic() - self._moved_at
        if since < _ALERT_FOR or not self._wanted <= self._covered:
            return _ALERT
        return _CALM if since < _CALM_FOR else _ASLEEP

    def _full(self, place: str) -> str:
        return f"{self._root}{os.sep}{place}" if place else self._root


@dataclass(frozen=True)
class _Listening:
    """What one listening thread was started with."""

    loop: asyncio.AbstractEventLoop
    wake: Wake
    stop: threading.Event
    asked: threading.Event

    def wake_up(self) -> None:
        self.call(self.wake)

    def call(self, on_loop: Callable[[], None]) -> None:
        if not self.stop.is_set():
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                self.loop.call_soon_threadsafe(on_loop)


def _watched(places: Sequence[str]) -> Source:
    # Takes 50 ms, which a command that only reads a ledger doesn't pay.
    from watchfiles import watch

    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # else it logs each change
    return watch(
        *places,
        watch_filter=None,
        debounce=20,
        step=1,
        rust_timeout=1,
        yield_on_timeout=True,
        raise_interrupt=False,
        force_polling=False,  # walks are the fallback: they find the same and cost less
        recursive=False,
        ignore_permission_denied=False,  # True would also pass over the system's limit
    )


def _has_name(place: str) -> bool:
    try:
        place.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_at_or_below(place: str, places: set[str]) -> bool:
    while place not in places:
        place, slash, _ = place.rpartition("/")
        if not slash:
            return place in places
    return True


def _write(cookie: str) -> None:
    os.close(os.open(cookie, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))


def _remove(cookie: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(cookie)  # noqa: PTH108 # a text, as paths are heard


def remote_file_system(root: Path) -> str | None:
    """The type of the file system that holds a folder, where it is one that reports no changes."""
    place, kind = "", ""
    with contextlib.suppress(OSError):
        real = os.path.realpath(root)
        for line in read_text(Path("/proc/self/mounts"), "utf-8", "surrogateescape").splitlines():
            _, mounted, found, *_ = line.split(" ")
            mounted = mounted.replace("\\040", " ").rstrip("/")
            if (real == mounted or real.startswith(mounted + "/")) and len(mounted) >= len(place):
                place, kind = mounted, found
    return kind if kind in _REMOTE else None
