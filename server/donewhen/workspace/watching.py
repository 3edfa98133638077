"""Learns from the operating system where something happened, through `watchfiles`. These are only hints: the disk is
read again.

One watch for each covered folder and none below it, so that ignored trees cost nothing. `watchfiles` watches what it
was given at the start, so another watcher takes over when folders come; until then, and once more afterwards, whoever
looks looks at those folders too. Whoever must know of all that happened before makes a mark: a file of ours in a
watched folder is renamed, and once that is heard of, so is everything before it, since the system reports in order.

`watchfiles` never calls: it looks, after each pause, for what came, so that it either wakes all the time or hears late.
Here the pauses are ours (`_Source.is_set`), and on Linux they end when something comes: the system signals our thread.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import logging
import os
import shutil
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from donewhen.regular import read_text

Wake = Callable[[], None]
"""Called on the event loop when there is something to look at."""

_MARK_WAIT = 0.5
_QUIET = 0.01
"""Seconds without a new folder after which those that came are watched: a walk names them one by one."""
_QUIET_SHARE = 5
"""But at least this many times as long as it took to watch them all the last time."""
_FAILURES, _FAILURES_WITHIN, _REFUSALS = 8, 10.0, 5
"""How often a source may fail within these seconds, and the system refuse to watch in a row, before walks alone find
changes."""
_RETRY = 30.0

_CROWD, _EVENT_SIZE = 1000, 32
"""More events at once than this, and everything is looked at: the system keeps some thousands, and drops the rest. The
size is that of one with a short name."""

_LOOKS = (0.0, 0.0002, 0.0004, 0.0016, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
"""Seconds before each look for what came, once something may have: its way to us takes a moment."""
_UNINTERRUPTED = 0.002
"""Seconds that a pause may last without being ended by a signal: many files that are opened, one after the other,
should not keep us busy."""
_ASLEEP = 300.0
"""Seconds from look to look where the system wakes us: fifty idle folders should cost what one does."""
_UNRUNG = ((2.0, 0.01), (60.0, 0.05), (float("inf"), 0.5))
"""Where it doesn't: seconds since something happened, and from look to look until then."""

_NAMELESS = (
    "folders whose names are not UTF-8 can't be watched: changes in them are looked for every few seconds; rename them "
    "for prompt updates"
)

_REMOTE_TYPES = "nfs nfs4 cifs smb3 smbfs 9p drvfs vboxsf fuse.sshfs fuse.rclone afs ncpfs prl_fs"
_REMOTE = frozenset(_REMOTE_TYPES.split())


@dataclass(frozen=True)
class Hints:
    """Paths to look at again; `everything` if hints were lost and only a walk helps."""

    paths: frozenset[str] = frozenset()
    everything: bool = False


class Watcher(Protocol):
    """Watches the folders of one workspace."""

    @property
    def warning(self) -> str | None:
        """Why changes are noticed late, and what to do about it; None if all is well."""
        ...

    @property
    def polls(self) -> bool:
        """True if changes are not reported: only walks find them."""
        ...

    def start(self, wake: Wake) -> None:
        """Begins to watch; on the event loop."""
        ...

    def watch(self, place: str) -> None:
        """Watches one folder from now on; called from the scanning thread, without effect if it is watched already."""
        ...

    async def drain(self) -> bool:
        """Waits until everything that has happened is known. False if there is nothing to look at."""
        ...

    def take(self) -> Hints:
        """What was heard since the last call; called from the scanning thread."""
        ...

    def close(self) -> None: ...


class NoWatcher:
    """Hears nothing: every look is a walk."""

    def __init__(self, warning: str | None = None) -> None:
        self.warning = warning
        self.polls = True

    def start(self, wake: Wake) -> None:
        """Nothing to start."""

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
    """The watcher that fits the file system of the folder; `state` is a folder of ours for its marks."""
    remote = remote_file_system(root)
    if remote is not None:
        return NoWatcher(f"{root} is on {remote}, which reports no changes: they are looked for every few seconds")
    return FolderWatcher(root, state)


class FolderWatcher:
    """A `Watcher` through `watchfiles`, which a thread of its own listens to. If the system refuses to watch, `warning`
    says so, and only walks help."""

    def __init__(self, root: Path, state: Path) -> None:
        self._root = os.path.realpath(root)
        self._state = os.path.realpath(state)
        self._lock = threading.Lock()  # the loop's thread, the scanning one and the listening one meet here
        self._wanted: set[str] = set()
        self._covered: set[str] = set()
        self._heard: set[str] = set()
        self._nameless: set[str] = set()
        self._lost = self._given_up = False
        self._grown_at: float | None = None
        self._quiet = _QUIET
        self._awaited: dict[str, asyncio.Event] = {}
        self._failed_at: list[float] = []
        self._refusals = 0
        self._listener: _Listener | None = None
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
            self._grown_at, self._quiet, self._failed_at = time.monotonic(), _QUIET, []
            self._refusals = 0
            listener = self._listener = _Listener(asyncio.get_running_loop(), wake, _Marks(self._state))
        listener.start(self._listen)

    def watch(self, place: str) -> None:
        if place in self._wanted:
            return
        with self._lock:
            try:
                place.encode()
            except UnicodeEncodeError:
                self._nameless.add(place)
                self.warning = self.warning or _NAMELESS
                return
            self._wanted.add(place)
            known, self._grown_at = self._grown_at, time.monotonic()
            listener = self._listener
        if known is None and listener is not None:
            listener.ring()

    async def drain(self) -> bool:
        if self._given_up or "" not in self._covered:
            return True
        if not await self._hears_all():
            self._lost = True
        return self._lost or bool(self._heard or self._nameless) or not self._wanted <= self._covered

    def take(self) -> Hints:
        with self._lock:
            heard, self._heard = self._heard, set()
            lost, self._lost = self._lost or self._given_up or "" not in self._covered, False
            return Hints(frozenset(heard | self._nameless | (self._wanted - self._covered)), lost)

    def close(self) -> None:
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()

    async def _hears_all(self) -> bool:
        """Whether all that happened before this call has been heard of."""
        listener = self._listener
        if listener is None:
            return False
        heard, mark = asyncio.Event(), listener.marks.new()
        self._awaited[mark] = heard
        try:
            listener.marks.rename_to(mark)
            listener.ring()
            # Not wait_for: before Python 3.12 it loses a cancellation that comes together with the event.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_MARK_WAIT):
                    await heard.wait()
        except OSError:
            return False
        finally:
            self._awaited.pop(mark, None)
        return heard.is_set()

    # ------------------------------------------------------------------------- in the listening thread

    def _listen(self, listener: _Listener) -> None:
        source: _Source | None = None
        try:
            while not listener.stopped:
                try:
                    if source is None or self._renewal_in() == 0:
                        source = self._renewed(source, listener)
                    self._understand(source.next_paths(), listener)
                    if source.may_have_lost():
                        self._lose(listener)
                except (FileNotFoundError, PermissionError):
                    listener.wait(_QUIET)  # a folder went before it was watched: the next try leaves it out
                except (OSError, RuntimeError, StopIteration) as error:
                    # A changed file whose name is not UTF-8 ends the source, too.
                    source = self._begin_anew(error, listener)
        except Exception as error:  # noqa: BLE001 # whatever it is: who relies on the watcher must learn of it
            self._give_up(error, listener)
        finally:
            if source is not None:
                source.close()
            listener.marks.end()

    def _renewal_in(self) -> float | None:
        """Seconds until another source is to take over; None if this one watches all that is wanted."""
        grown = self._grown_at
        return None if grown is None else max(0.0, grown + self._quiet - time.monotonic())

    def _renewed(self, before: _Source | None, listener: _Listener) -> _Source:
        """A source that watches all that is wanted, once the one before it has told all that it heard."""
        with self._lock:
            wanted, grown = set(self._wanted), self._grown_at
        begun = time.monotonic()
        listener.marks.prepare()
        gone = {place for place in wanted if not os.path.isdir(self._full(place))}  # noqa: PTH112 # a text, as heard
        places = wanted - gone
        # An unreadable folder has nothing that counts, and its parent tells when it becomes readable.
        readable = [self._full(place) for place in sorted(places) if os.access(self._full(place), os.R_OK)]
        earlier = set(self._awaited)
        try:
            source = _Source(readable, listener, self._renewal_in)
        except OSError as error:
            if before is not None and not isinstance(error, FileNotFoundError | PermissionError):
                before.close()  # while two sources watch, each folder counts twice for the system's limit
            raise
        with self._lock:
            if not listener.stopped:
                self._heard |= places - self._covered
                self._lost |= "" in gone
                self._covered = places
                self._wanted -= gone
                self._grown_at = None if self._grown_at == grown else self._grown_at
                self._quiet = max(_QUIET, _QUIET_SHARE * (time.monotonic() - begun))
                self._refusals = 0
                if self._given_up:
                    self._given_up = False
                    self.warning = _NAMELESS if self._nameless else None
        if before is not None and not self._drain(before, earlier, listener):
            self._lose(listener)
        self._understand(source.first, listener)
        listener.call_on_loop(listener.wake)
        return source

    def _drain(self, source: _Source, earlier: Set[str], listener: _Listener) -> bool:
        """Ends a source; whether all that happened before was heard of from it. What a later mark than `earlier` waits
        for may have been told to the next source alone, which hears of that mark too."""
        mark, found = listener.marks.new(), False
        source.until = time.monotonic() + _MARK_WAIT
        try:
            listener.marks.rename_to(mark)
            while not found:
                heard = source.next_paths()
                self._understand(heard, listener, earlier)
                found = mark in heard
        except (OSError, RuntimeError, StopIteration):
            return False
        finally:
            source.close()
        return not source.may_have_lost()

    def _understand(self, heard: Set[str], listener: _Listener, answered: Set[str] | None = None) -> None:
        """Keeps what was heard, and answers the marks in it: all, or those of `answered`."""
        start, marks = self._root + os.sep, listener.marks.folder + os.sep
        inside = {
            path[len(start) :].replace(os.sep, "/")
            for path in heard
            if path.startswith(start) and not path.startswith(marks)
        }
        with self._lock:
            if listener.stopped:
                return
            self._heard |= inside
            # A folder that is heard of may be another one of the same name: whoever looks at it names it again.
            if again := inside & self._covered:
                below = {place for place in self._covered | self._wanted if _is_at_or_below(place, again)}
                self._covered -= below
                self._wanted -= below
            if self._root in heard or listener.marks.folder in heard:
                self._lost = True
                self._covered.clear()
                self._grown_at = time.monotonic()
        for mark in heard & self._awaited.keys():
            if (answered is None or mark in answered) and (waiting := self._awaited.get(mark)) is not None:
                listener.call_on_loop(waiting.set)
        if inside or self._lost:
            listener.call_on_loop(listener.wake)

    def _begin_anew(self, error: Exception, listener: _Listener) -> None:
        """Waits after a failure: a moment or, if there were too many, so long that changes have to be looked for."""
        now = time.monotonic()
        self._failed_at = [at for at in self._failed_at if now - at < _FAILURES_WITHIN] + [now]
        self._refusals += isinstance(error, OSError)
        refused = self._refusals > _REFUSALS or len(self._failed_at) > _FAILURES
        with self._lock:
            if listener.stopped:
                return
            self._covered.clear()
            self._grown_at = now
        if refused:
            self._give_up(error, listener)
        else:
            self._lose(listener)
        until = now + (_RETRY if refused else _QUIET * 2 ** len(self._failed_at))
        while not listener.stopped and (rest := until - time.monotonic()) > 0:
            listener.wait(rest)

    def _lose(self, listener: _Listener) -> None:
        """Something may have gone unheard: whoever waits, or asks next, walks."""
        with self._lock:
            if listener.stopped:
                return
            self._lost = True
            waiting = list(self._awaited.values())
        for one in waiting:
            listener.call_on_loop(one.set)
        listener.call_on_loop(listener.wake)

    def _give_up(self, error: Exception, listener: _Listener) -> None:
        limited = sys.platform == "linux" and isinstance(error, OSError)
        raising = "; raise fs.inotify.max_user_watches and fs.inotify.max_user_instances for prompt updates"
        with self._lock:
            if listener.stopped:
                return
            self.warning = (
                f"folders can't be watched ({error}): changes are looked for every few seconds{raising * limited}"
            )
            self._given_up = True
        self._lose(listener)

    def _full(self, place: str) -> str:
        return f"{self._root}{os.sep}{place}" if place else self._root


class _Source:
    """Folders that `watchfiles` watches. It looks for what came whenever its `stop_event` has been asked whether to
    stop, and not on its own: we are the `stop_event`, and answer when there may be something."""

    def __init__(self, places: Sequence[str], listener: _Listener, due: Callable[[], float | None]) -> None:
        """Watches the folders and the listener's marks. `due` gives the seconds until `hear` should return although
        nothing has changed. Raises OSError if the system refuses."""
        # Takes 50 ms, which a command that only reads a ledger doesn't pay.
        from watchfiles import watch

        logging.getLogger("watchfiles").setLevel(logging.WARNING)  # else it logs each change
        self.until: float | None = None
        """The time, on the monotonic clock, after which `hear` gives up."""
        self._listener = listener
        self._due: Callable[[], float | None] = lambda: 0.0
        self._marked = False
        self._looks = 0
        self._descriptor: int | None = None
        self._crowded = False
        self._moved_at = time.monotonic()
        known = _inotify_descriptors()
        self._changes = watch(
            listener.marks.folder,
            *places,
            watch_filter=None,
            debounce=20,
            step=0,
            rust_timeout=0,  # another value throws away what comes between its last look and its end
            stop_event=self,
            raise_interrupt=False,
            force_polling=False,  # walks are the fallback: they find the same and cost less
            recursive=False,
            ignore_permission_denied=False,  # True would also pass over the system's limit
        )
        try:
            self.first = self.next_paths()
            """What it heard while it was made."""
        except RuntimeError as error:
            if self._marked:
                raise
            raise OSError(str(error)) from error  # no watcher could be made
        self._due = due
        self._descriptor = next((one for one in _inotify_descriptors() - known if listener.is_rung_by(one)), None)

    def next_paths(self) -> Set[str]:
        """The absolute paths of what changed. Waits until something has, or its caller is due. Raises StopIteration if
        it was stopped, RuntimeError if `watchfiles` failed."""
        self._looks, self._marked = 0, False
        heard = {path for _, path in next(self._changes)}
        self._moved_at = time.monotonic()
        self._crowded |= len(heard) > _CROWD
        return heard

    def may_have_lost(self) -> bool:
        """Whether so much came since the last call that the system may have dropped something: it isn't said."""
        crowded, self._crowded = self._crowded, False
        return crowded

    def is_set(self) -> bool:
        """Whether to stop; waits first."""
        self._crowded |= self._descriptor is not None and _backlog(self._descriptor) > _CROWD
        due = None if self._marked else self._due()
        if due == 0:
            self._marked = True
            try:
                self._listener.marks.rename_to(self._listener.marks.new())
            except OSError:
                return True
        if self._looks < len(_LOOKS):
            pause = _LOOKS[self._looks]
        elif self._descriptor is not None:
            pause = _ASLEEP
        else:
            since = time.monotonic() - self._moved_at
            pause = next(pause for within, pause in _UNRUNG if since < within)
        pause = pause if not due else min(pause, due)
        rung = self._listener.wait(pause)
        self._looks = 0 if rung else self._looks + 1
        return self._listener.stopped or (self.until is not None and time.monotonic() > self.until)

    def close(self) -> None:
        """Watches no longer."""
        self._changes.close()


class _Marks:
    """A file in a folder of ours, which is renamed to mark a moment."""

    def __init__(self, state: str) -> None:
        self.folder = os.path.join(state, "watching", f"{os.getpid()}-{next(_MARKERS)}")  # noqa: PTH118 # a text, as heard
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._ended = False
        self._file = self.new()

    def new(self) -> str:
        """The path of a mark to make."""
        return f"{self.folder}{os.sep}{next(self._numbers)}"

    def rename_to(self, mark: str) -> None:
        """Raises OSError if the folder is gone."""
        with self._lock:
            try:
                os.rename(self._file, mark)  # noqa: PTH104 # likewise
            except FileNotFoundError:
                os.close(os.open(mark, os.O_CREAT | os.O_WRONLY, 0o600))
            self._file = mark

    def prepare(self) -> None:
        """Makes the folder, and removes those of processes that were killed. Raises FileNotFoundError after its end, or
        where the folder of ours that it stands in is gone: that isn't made anew."""
        marks = Path(self.folder)
        with self._lock:
            if self._ended:
                raise FileNotFoundError(self.folder)
            marks.parent.mkdir(exist_ok=True)
            marks.mkdir(exist_ok=True)
        for one in marks.parent.iterdir():
            owner = one.name.partition("-")[0]
            if owner.isdecimal() and not psutil.pid_exists(int(owner)):
                shutil.rmtree(one, ignore_errors=True)

    def end(self) -> None:
        """Removes the folder, for good: whoever asked for this may remove what it stands in."""
        with self._lock:
            self._ended = True
            shutil.rmtree(self.folder, ignore_errors=True)


_MARKERS = itertools.count()


class _Listener:
    """A thread that listens, until it is stopped, and what it was started with.

    On Linux its pauses are ended by SIGIO, which is blocked in it and sent to it alone: by `ring`, and by the system
    whenever an event comes for a descriptor that `is_rung_by` was told of."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Wake, marks: _Marks) -> None:
        self.wake = wake
        self.marks = marks
        self.stopped = False
        self._loop = loop
        self._rung = threading.Event()
        self._lock = threading.Lock()
        self._identity: int | None = None

    def start(self, listen: Callable[[_Listener], None]) -> None:
        def run() -> None:
            if sys.platform == "linux":
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
            with self._lock:
                self._identity = threading.get_ident()
            try:
                listen(self)
            finally:
                with self._lock:
                    self._identity = None
                atexit.unregister(end)

        thread = threading.Thread(target=run, name="watching", daemon=True)

        def end() -> None:
            self.stop()
            thread.join(_MARK_WAIT)

        # A thread that comes back from `watchfiles` once the interpreter is gone would abort the process.
        atexit.register(end)
        thread.start()

    def call_on_loop(self, on_loop: Callable[[], None]) -> None:
        """Has something done on the event loop."""
        if not self.stopped:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(on_loop)

    def ring(self) -> None:
        """Ends the pause that the thread makes, or its next one."""
        self._rung.set()
        with self._lock:
            if sys.platform == "linux" and self._identity is not None:
                signal.pthread_kill(self._identity, signal.SIGIO)

    def stop(self) -> None:
        """From now on the thread changes nothing, and ends."""
        self.stopped = True
        self.marks.end()
        self.ring()

    def wait(self, seconds: float) -> bool:
        """Pauses the thread; whether something ended the pause."""
        if sys.platform != "linux":
            rung = self._rung.wait(seconds)
            self._rung.clear()
            return rung
        if seconds < _UNINTERRUPTED:
            time.sleep(seconds)
            return False
        return signal.sigtimedwait((signal.SIGIO,), seconds) is not None

    def is_rung_by(self, descriptor: int) -> bool:
        """Has the system end pauses whenever an event comes for this descriptor, if it is inotify's for our marks;
        whether it will."""
        if sys.platform != "linux":
            return False
        import fcntl  # exists only there

        try:
            watched = read_text(Path(f"/proc/self/fdinfo/{descriptor}"), "ascii", "replace")
            if f" ino:{os.stat(self.marks.folder).st_ino:x} " not in watched:  # noqa: PTH116 # a text, as heard
                return False
            owner = struct.pack("ii", _F_OWNER_TID, threading.get_native_id())
            fcntl.fcntl(descriptor, _F_SETOWN_EX, owner)
            fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | fcntl.FASYNC)
        except OSError:
            return False
        return True


def _backlog(descriptor: int) -> int:
    """About how many events wait in the system's queue."""
    import fcntl  # doesn't exist everywhere
    import termios  # likewise

    try:
        return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder) // _EVENT_SIZE
    except OSError:
        return 0


_F_SETOWN_EX, _F_OWNER_TID = 15, 0  # of Linux: fcntl.h


def _inotify_descriptors() -> set[int]:
    """Those of this process; none on other systems."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 # the names are all that is wanted
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:inotify":  # noqa: PTH115 # likewise
                    found.add(int(name))
    return found


def _is_at_or_below(place: str, places: set[str]) -> bool:
    while place not in places:
        place, slash, _ = place.rpartition("/")
        if not slash:
            return place in places
    return True


def remote_file_system(root: Path) -> str | None:
    """The type of the file system that holds a folder, if it is one that reports no changes."""
    place, kind = "", ""
    with contextlib.suppress(OSError):
        real = os.path.realpath(root)
        for line in read_text(Path("/proc/self/mounts"), "utf-8", "surrogateescape").splitlines():
            _, mounted, found, *_ = line.split(" ")
            mounted = mounted.replace("\\040", " ").rstrip("/")
            if (real == mounted or real.startswith(mounted + "/")) and len(mounted) >= len(place):
                place, kind = mounted, found
    return kind if kind in _REMOTE else None
