"""The files that this process prints to: `donewhen run --json > out.jsonl` must not take its own output for work."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

STANDARD = (1, 2)
_F_GETPATH = 50  # of macOS: fcntl.h


def own_streams(root: Path, descriptors: tuple[int, ...] = STANDARD) -> tuple[str, ...]:
    """The paths, relative to `root`, of the regular files inside it that stdout and stderr of this process go to; told
    by device and inode. A pipe, such as to `tee`, tells nothing of what is behind it."""
    found: list[str] = []
    for descriptor in descriptors:
        try:
            status = os.fstat(descriptor)
        except OSError:  # closed
            continue
        path = _path_of(descriptor, status, root.resolve()) if stat.S_ISREG(status.st_mode) else None
        if path is not None:
            found.append(path)
    return tuple(dict.fromkeys(found))


def _path_of(descriptor: int, status: os.stat_result, root: Path) -> str | None:
    named = _name_of(descriptor)
    candidates = [Path(named)] if named else []
    for place in (*candidates, *_listed(root)):
        try:
            same = os.path.samestat(place.stat(), status)
        except (OSError, ValueError):
            continue
        if same and place.resolve().is_relative_to(root):
            return place.resolve().relative_to(root).as_posix()
    return None


def _listed(root: Path) -> list[Path]:
    """Where a system doesn't tell a descriptor's path: the files of the folder itself, where a redirection lands."""
    try:
        return [Path(entry.path) for entry in os.scandir(root)]
    except OSError:
        return []


def _name_of(descriptor: int) -> str:
    try:
        if sys.platform == "darwin":
            import fcntl  # only there

            return os.fsdecode(fcntl.fcntl(descriptor, _F_GETPATH, bytes(1024)).rstrip(b"\0"))
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return ""
