"""Lock files of the operating system, and who has them open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc/self/fd")


def open_lock_file(file: Path) -> int:
    """A descriptor that no child inherits unless it is passed on. Raises OSError."""
    return os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)


def try_lock(descriptor: int) -> bool:
    """Takes the lock if nobody has it. It ends when the last copy of the descriptor is closed, however that comes."""
    # Neither module exists everywhere.
    if os.name == "nt":
        return _try_lock_windows(descriptor)
    import fcntl

    try:
        # flock, not lockf: it belongs to the open file, which children share, and not to one process.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import msvcrt

    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # pyright: ignore  # Windows only
    except OSError:
        return False
    return True


def holders(file: Path) -> list[int]:
    """The pids of the processes that have `file` open, as far as this user may see."""
    path = file.resolve()
    found = _holders_from_proc(path) if _PROC.is_dir() else _holders_from_psutil(path)
    return sorted(found)


def _holders_from_proc(path: Path) -> Iterator[int]:
    wanted = str(path)
    for name in os.listdir("/proc"):  # noqa: PTH208  # names are all that is needed
        if name.isdecimal() and wanted in open_paths(name):
            yield int(name)


def open_paths(pid: str) -> set[str]:
    """The files that a process has open, as far as this user may see."""
    if not _PROC.is_dir():
        return _open_paths_from_psutil(int(pid))
    folder = f"/proc/{pid}/fd"
    found: set[str] = set()
    try:
        for descriptor in os.listdir(folder):  # noqa: PTH208  # names are all that is needed
            found.add(os.readlink(f"{folder}/{descriptor}"))  # noqa: PTH115  # hundreds of them: no Path for each
    except OSError:
        return found  # it ended meanwhile, or is another user's
    return found


def _holders_from_psutil(path: Path) -> Iterator[int]:
    import psutil

    for process in psutil.process_iter():
        try:
            if any(Path(opened.path) == path for opened in process.open_files()):
                yield process.pid
        except (psutil.Error, OSError):
            continue  # it ended meanwhile, or is another user's


def _open_paths_from_psutil(pid: int) -> set[str]:
    import psutil

    try:
        return {str(Path(opened.path).resolve()) for opened in psutil.Process(pid).open_files()}
    except (psutil.Error, OSError):
        return set()  # it ended meanwhile, or is another user's
