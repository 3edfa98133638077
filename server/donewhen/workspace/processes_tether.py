"""A pipe that every descendant of a process inherits, so that those which still live can be told (Linux).

It finds what gave up its session and its environment; the mark in the environment finds what closed its descriptors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path


class Tether:
    """Nothing is ever written to it: it ends when its last holder does. Elsewhere than on Linux it finds nobody."""

    def __init__(self) -> None:
        self._read: int | None = None
        self._write: int | None = None
        if sys.platform == "linux" and Path("/proc/self/fd").is_dir():
            self._read, self._write = os.pipe()

    def descriptors(self) -> tuple[int, ...]:
        """What the first process must inherit."""
        return () if self._write is None else (self._write,)

    def hand_over(self) -> None:
        """The first process has its end: this one gives up its own."""
        if self._write is not None:
            os.close(self._write)
            self._write = None

    def close(self) -> None:
        self.hand_over()
        if self._read is not None:
            os.close(self._read)
            self._read = None

    def holders(self, pids: Iterable[int]) -> set[int]:
        """Those of `pids` that hold it."""
        if self._read is None or not self._held():
            return set()
        name = f"pipe:[{os.fstat(self._read).st_ino}]"
        return {pid for pid in pids if name in _open_files(pid)}

    def _held(self) -> bool:
        """False once every holder has ended: then the pipe is at its end."""
        import select

        poll = select.poll()
        poll.register(self._read or 0, select.POLLIN)
        return not poll.poll(0)


def _open_files(pid: int) -> set[str]:
    found: set[str] = set()
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 # names are all that is needed
            found.add(os.readlink(f"/proc/{pid}/fd/{name}"))  # noqa: PTH115 # a name that is no path
    except OSError:
        return found  # it ended meanwhile, or is another user's
    return found
