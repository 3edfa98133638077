"""Watches on Linux, with one inotify watch per covered folder: ignored trees cost nothing, no thread, no polling.

The kernel queues events before the call that caused them returns, so reading the queue reveals everything that
happened before. Folders are watched before they are listed, so that nothing in a new folder is missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from donewhen.regular import read_text
from donewhen.workspace.watching import Hints, Wake

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK, _ISDIR = 0x0100_0000, 0x0200_0000, 0x0400_0000, 0x4000_0000
_INSIDE = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_ITSELF = _DELETE_SELF | _MOVE_SELF | _UNMOUNT
_MASK = _INSIDE | _DELETE_SELF | _MOVE_SELF | _ONLYDIR | _DONT_FOLLOW | _EXCL_UNLINK
_EVENT = struct.Struct("iIII")
_BACKLOG = 8 << 20

_REMOTE_TYPES = "nfs nfs4 cifs smb3 smbfs 9p drvfs vboxsf fuse.sshfs fuse.rclone afs ncpfs prl_fs"
_REMOTE = frozenset(_REMOTE_TYPES.split())


class InotifyWatcher:
    """A `Watcher` on inotify. When the system's limit is reached, `warning` says so and only walks help."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = -1
        self._places: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self._heard = bytearray()
        self._lost = False
        self._lock = threading.Lock()  # the scanning thread takes what the loop's thread has received
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: Wake | None = None
        self.warning: str | None = None

    @property
    def polls(self) -> bool:
        return self.warning is not None

    def start(self, wake: Wake) -> None:
        self._wake, self.warning = wake, None
        self._places, self._watches, self._heard, self._lost = {}, {}, bytearray(), False
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            self._give_up(ctypes.get_errno())
            return
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._descriptor, self._on_readable)

    def watch(self, place: str) -> None:
        if place in self._watches or self._descriptor < 0 or self.warning is not None:
            return
        path = os.fsencode(f"{self._root}/{place}")
        watch = self.add_watch(path)
        if watch < 0:
            if ctypes.get_errno() in (errno.ENOSPC, errno.ENOMEM):
                self._give_up(ctypes.get_errno())
            return
        # A moved folder keeps its watch under its new name.
        if (known := self._places.get(watch)) is not None:
            self._watches.pop(known, None)
        self._places[watch] = place
        self._watches[place] = watch

    def add_watch(self, path: bytes) -> int:
        """The system call: a watch's number, or less than 0 with the C library's errno set."""
        return self._libc.inotify_add_watch(self._descriptor, path, _MASK)

    @property
    def places(self) -> set[str]:
        """The folders that are watched now."""
        return set(self._watches)

    async def drain(self) -> bool:
        self._hear()
        return self.polls or self._lost or bool(self._heard)

    def take(self) -> Hints:
        with self._lock:
            heard, self._heard = self._heard, bytearray()
            lost, self._lost = self._lost or self.polls, False
        paths: set[str] = set()
        for event in _events(bytes(heard)):
            lost |= not self._understand(*event, paths)
        if lost:
            # It is unknown what moved or disappeared, so the watches' names are too: the next walk sets them again.
            self._unwatch(list(self._watches))
        return Hints(frozenset(paths), lost)

    def close(self) -> None:
        if self._descriptor >= 0:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _on_readable(self) -> None:
        self._hear()
        if self._wake is not None:
            self._wake()

    def _hear(self) -> None:
        while self._descriptor >= 0:
            try:
                heard = os.read(self._descriptor, 1 << 18)
            except (BlockingIOError, InterruptedError):
                return
            with self._lock:
                self._heard += heard
                if len(self._heard) > _BACKLOG:
                    # Nobody looked for a long time: a walk will find the changes.
                    self._lost, self._heard = True, bytearray()

    def _understand(self, watch: int, mask: int, name: str, paths: set[str]) -> bool:
        """Adds the event's path; False if events were lost."""
        if mask & _OVERFLOW:
            return False
        place = self._places.get(watch)
        if place is None:
            return True
        if mask & _IGNORED:
            self._forget(place)
        elif mask & _ITSELF:
            return bool(place)
        else:
            path = f"{place}/{name}" if place else name
            if mask & _MOVED_FROM and mask & _ISDIR:
                self._unwatch_below(path)
            paths.add(path)
        return True

    def _unwatch_below(self, path: str) -> None:
        start = f"{path}/"
        self._unwatch([place for place in self._watches if place == path or place.startswith(start)])

    def _unwatch(self, places: list[str]) -> None:
        for place in places:
            self._libc.inotify_rm_watch(self._descriptor, self._watches[place])
            self._forget(place)

    def _forget(self, place: str) -> None:
        watch = self._watches.pop(place, None)
        if watch is not None:
            self._places.pop(watch, None)

    def _give_up(self, error: int) -> None:
        setting = "max_user_instances" if error == errno.EMFILE else "max_user_watches"
        self.warning = (
            f"the system's limit on watched folders is reached ({os.strerror(error)}): changes are looked for every "
            f"few seconds; raise fs.inotify.{setting} for prompt updates"
        )
        if self._loop is not None and self._wake is not None:
            self._loop.call_soon_threadsafe(self._wake)


def _events(heard: bytes) -> Iterator[tuple[int, int, str]]:
    """Watch, mask and name of each event."""
    at = 0
    while at < len(heard):
        watch, mask, _, length = _EVENT.unpack_from(heard, at)
        at += _EVENT.size + length
        yield watch, mask, os.fsdecode(heard[at - length : at].rstrip(b"\0"))


def remote_file_system(root: Path) -> str | None:
    """The type of the folder's file system, if it is one that reports no changes."""
    place, kind = "", ""
    with contextlib.suppress(OSError):
        real = os.path.realpath(root)
        for line in read_text(Path("/proc/self/mounts"), "utf-8", "surrogateescape").splitlines():
            _, mounted, found, *_ = line.split(" ")
            mounted = mounted.replace("\\040", " ").rstrip("/")
            if (real == mounted or real.startswith(mounted + "/")) and len(mounted) >= len(place):
                place, kind = mounted, found
    return kind if kind in _REMOTE else None
