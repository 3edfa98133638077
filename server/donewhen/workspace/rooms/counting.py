"""A control group for the processes of a room, where this user may make one: the kernel then counts them itself.

Elsewhere there are limits by user, which don't hold for root, and looking (`watching`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from donewhen.regular import read_text
from donewhen.workspace.rooms.looking import is_there

_PREFIX = "donewhen-"
_PATIENCE = 1.0


class Counted:
    """A control group. `joins` is the file that a process writes itself into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.joins = folder / "cgroup.procs"

    def refused(self) -> int:
        """How often a process in it could start no other."""
        with contextlib.suppress(OSError, ValueError):
            for line in read_text(self._folder / "pids.events", "ascii").splitlines():
                key, _, times = line.partition(" ")
                if key == "max":
                    return int(times)
        return 0

    def close(self) -> None:
        """Removes it, once its last process is gone."""
        deadline = time.monotonic() + _PATIENCE
        while not _removed(self._folder) and time.monotonic() < deadline:
            time.sleep(0.01)


def counted(processes: int) -> Counted | None:
    """A new group that takes at most so many processes and threads; None if none can be made."""
    for above in _candidates():
        for left in above.glob(f"{_PREFIX}*"):
            if not _has_maker(left.name):
                _removed(left)  # what a crash left; one that is in use stays
        folder = above / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / "pids.max").write_text(str(processes))
        except OSError:
            _removed(folder)
            continue
        return Counted(folder)
    return None


def _has_maker(name: str) -> bool:
    """Whether the process lives that made the group of this name: its command may be about to join it."""
    maker = name.removeprefix(_PREFIX).partition("-")[0]
    return maker.isdecimal() and psutil.pid_exists(int(maker))


def _candidates() -> Iterator[Path]:
    """The groups in which one may be made that counts."""
    own: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in read_text("/proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            own[controllers] = path
    for kind, place, options in _hierarchies():
        if kind == "cgroup" and "pids" in options:
            yield place / own.get("pids", "/").lstrip("/")
        elif kind == "cgroup2":
            group = place / own.get("", "/").lstrip("/")
            for above in (group, *group.parents):
                if above.is_relative_to(place) and _hands_on(above):
                    yield above


def _hands_on(group: Path) -> bool:
    """Whether it counts the processes of groups in it, and this user may make one."""
    with contextlib.suppress(OSError):
        counts = "pids" in read_text(group / "cgroup.subtree_control").split()
        return counts and all(os.access(place, os.W_OK) for place in (group, group / "cgroup.procs"))
    return False


def _hierarchies() -> Iterator[tuple[str, Path, list[str]]]:
    with contextlib.suppress(OSError):
        for line in read_text("/proc/self/mountinfo", "utf-8", "surrogateescape").splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = ([*after.split(" ", 2), "", ""])[:3]
            if kind in ("cgroup", "cgroup2"):
                yield kind, Path(before.split(" ")[4]), options.split(",")


def _removed(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not is_there(folder)
