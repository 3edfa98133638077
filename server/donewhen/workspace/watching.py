"""Learns from the operating system where something happened. These are only hints: the disk is read again.

On Linux the kernel's inotify is asked itself, with one watch for each covered folder and none below it, so that ignored
trees cost nothing. It queues an event before the call that changed something returns: whoever has read the queue knows
of all that happened before. Where it had to drop events, it says so, and everything is looked at. One descriptor serves
all who watch in an event loop, no thread listens, and nothing wakes while nothing happens.

Elsewhere `watchfiles` says that something happened, and every look is a walk.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from donewhen.regular import read_text

Wake = Callable[[], None]
"""Called on the event loop when there is something to look at."""

_LATE = "changes are looked for every few seconds"
_RAISE = "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances for prompt updates"

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
        """Watches one folder from now on; called from the scanning thread."""
        ...

    def take(self) -> Hints | None:
        """What happened since the last call, on the event loop; None if there is nothing to look at."""
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

    def take(self) -> Hints | None:
        """There may always be something to look at."""
        return Hints(everything=True)

    def close(self) -> None:
        """Nothing to end."""


def watcher_for(root: Path) -> Watcher:
    """The watcher that fits the system, and the file system of the folder."""
    remote = remote_file_system(root)
    if remote is not None:
        return NoWatcher(f"{root} is on {remote}, which reports no changes: they are looked for every few seconds")
    return FolderWatcher(root) if sys.platform == "linux" else WakingWatcher(root)


class FolderWatcher:
    """A `Watcher` through inotify. If the system refuses to watch, `warning` says so, and walks find what changes: each
    of them tries again."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self._queue: _Queue | None = None
        self._wake: Wake = lambda: None
        self._watches: dict[str, int] = {}
        self._places: dict[int, str] = {}
        self._heard: set[str] = set()
        self._lost = True
        self._refused = False
        self.warning: str | None = None

    @property
    def polls(self) -> bool:
        return self.warning is not None

    @property
    def places(self) -> dict[int, str]:
        """The folders that are watched, by the number of their watch."""
        return self._places

    def start(self, wake: Wake) -> None:
        self._wake = wake
        self._watches, self._places, self._heard = {}, {}, set()
        self._lost, self._refused, self.warning = True, False, None
        self._join()

    def watch(self, place: str) -> None:
        queue = self._queue
        if queue is None:
            return
        with queue.lock:
            if self._queue is None:
                return  # closed meanwhile
            try:
                watch = queue.add(f"{self._root}/{place}" if place else self._root)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                return  # the folder above says when there is one that can be read
            except OSError as error:
                self._refuse(error)
                return
            known = self._places.get(watch)
            if known == place:
                return
            if known is not None:
                del self._watches[known]  # the same folder had another name
            if place in self._watches:
                self._forget(self._watches[place])  # another folder had this one
            self._places[watch], self._watches[place] = place, watch

    def take(self) -> Hints | None:
        refused, self._refused = self._refused, False
        if refused and self._queue is None:
            self._join()
        if self._queue is not None:
            self._queue.read()
        if not refused:
            self.warning = None  # the last walk watched every folder
        heard, self._heard = self._heard, set()
        lost, self._lost = self._lost or refused, False
        return Hints(frozenset(heard), lost) if lost or heard else None

    def close(self) -> None:
        queue = self._queue
        if queue is not None:
            with queue.lock:
                self._queue = None
                queue.leave(self)

    def hear(self, watch: int, mask: int, name: bytes) -> bool:
        """Takes in an event of the queue, which holds its lock; whether it means this workspace."""
        if mask & _OVERFLOW:
            self._lost = True
            return True
        place = self._places.get(watch)
        if place is None:
            return False
        path = os.fsdecode(name) if not place else f"{place}/{os.fsdecode(name)}" if name else place
        self._heard.add(path)
        self._lost |= not path
        if mask & _MOVED_ITSELF:  # it and all below it have other names now, or are outside: a look watches them anew
            below = [one for at, one in self._watches.items() if not place or f"{at}/".startswith(f"{place}/")]
            for one in below:
                self._forget(one)
        elif mask & _IGNORED:
            self._forget(watch)
        return True

    def wake(self) -> None:
        self._wake()

    def _join(self) -> None:
        try:
            self._queue = _Queue.join(self)
        except OSError as error:
            self._refuse(error)

    def _refuse(self, error: OSError) -> None:
        self._refused = True
        self.warning = f"folders can't be watched ({error}): {_LATE}; {_RAISE}"

    def _forget(self, watch: int) -> None:
        del self._watches[self._places.pop(watch)]
        if self._queue is not None:
            self._queue.drop(watch)


# inotify, of Linux: inotify(7), sys/inotify.h.


_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETED_ITSELF, _MOVED_ITSELF = 0x400, 0x800
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLY_FOLDER, _NO_LINK, _NO_UNLINKED = 0x0100_0000, 0x0200_0000, 0x0400_0000

# What was written through a mapping is told when the file is closed.
_CONTENT = _MODIFY | _ATTRIB | _CLOSE_WRITE
_NAMES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETED_ITSELF | _MOVED_ITSELF
_WANTED = _CONTENT | _NAMES | _ONLY_FOLDER | _NO_LINK | _NO_UNLINKED

_EVENT = struct.Struct("iIII")


class _Queue:
    """The events for all who watch in one event loop: each folder counts once for the system's limits."""

    _of_loops: ClassVar[dict[asyncio.AbstractEventLoop, _Queue]] = {}

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        import ctypes  # takes some milliseconds, which a command that only reads a ledger doesn't pay

        libc: Any = ctypes.CDLL(None, use_errno=True)
        self._libc, self._errno = libc, ctypes.get_errno
        self._loop = loop
        self._descriptor = self._checked(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._members: list[FolderWatcher] = []
        self.lock = threading.RLock()
        """Held while events are taken in, and while a folder is added, which scanning threads do."""
        loop.add_reader(self._descriptor, self.read)

    @classmethod
    def join(cls, member: FolderWatcher) -> _Queue:
        """The queue of the running loop. Raises OSError if the system refuses one."""
        loop = asyncio.get_running_loop()
        queue = cls._of_loops.get(loop) or cls(loop)
        cls._of_loops[loop] = queue
        with queue.lock:
            queue._members.append(member)
        return queue

    def leave(self, member: FolderWatcher) -> None:
        self._members.remove(member)
        if self._members:
            for watch in member.places:
                self.drop(watch)
            return
        del self._of_loops[self._loop]
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)

    def add(self, path: str) -> int:
        """The watch of a folder, which is another one than before only if the folder is. Raises OSError."""
        return self._checked(self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), _WANTED))

    def drop(self, watch: int) -> None:
        """Ends a watch that nobody uses any more."""
        if not any(watch in one.places for one in self._members):
            self._libc.inotify_rm_watch(self._descriptor, watch)

    def read(self) -> None:
        """Hands out what is in the queue by now; on the event loop."""
        woken: set[FolderWatcher] = set()
        with self.lock:
            members = tuple(self._members)
            for event in self._events():
                woken.update(one for one in members if one.hear(*event))
        for one in woken:
            one.wake()

    def _events(self) -> Iterator[tuple[int, int, bytes]]:
        """Watch, mask and name of each."""
        import fcntl  # doesn't exist everywhere
        import termios  # likewise

        size = int.from_bytes(fcntl.ioctl(self._descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
        said = os.read(self._descriptor, size) if size else b""
        at = 0
        while at < len(said):
            watch, mask, _, length = _EVENT.unpack_from(said, at)
            at += _EVENT.size + length
            yield watch, mask, said[at - length : at].rstrip(b"\0")

    def _checked(self, result: int) -> int:
        if result < 0:
            raise OSError(self._errno(), os.strerror(self._errno()))
        return result


# Other systems.


class WakingWatcher:
    """A `Watcher` through `watchfiles`, which says that something happened: a walk finds out what, so that nothing
    depends on having heard of all."""

    _STEP = 100
    """Milliseconds from one of its looks to the next."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listening: asyncio.Task[None] | None = None
        self.warning: str | None = None

    @property
    def polls(self) -> bool:
        return self.warning is not None

    def start(self, wake: Wake) -> None:
        self.warning = None
        self._listening = asyncio.ensure_future(self._listen(wake))

    def watch(self, place: str) -> None:
        """All below the root is watched."""

    def take(self) -> Hints | None:
        """Look at everything."""
        return Hints(everything=True)

    def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()

    async def _listen(self, wake: Wake) -> None:
        # Takes 50 ms, which a command that only reads a ledger doesn't pay.
        from watchfiles import awatch  # pyright: ignore  # annotated with a library that needn't be installed

        logging.getLogger("watchfiles").setLevel(logging.WARNING)  # else it logs each change
        try:
            async for _ in awatch(self._root, step=self._STEP, debounce=self._STEP, force_polling=False):
                wake()
        except (OSError, RuntimeError) as error:
            self.warning = f"folders can't be watched ({error}): {_LATE}"
            wake()


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
