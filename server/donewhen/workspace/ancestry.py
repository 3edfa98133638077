"""Where a process came from, whose it is, and whether it has a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from donewhen.regular import read_bytes
from donewhen.workspace.processes_leftovers import SeenProcess, all_processes

__all__ = ["all_processes", "family", "has_terminal", "owner_of"]

_PROC = Path("/proc")


def family(pid: int, processes: Mapping[int, SeenProcess]) -> list[SeenProcess]:
    """A process, its parent, and so on."""
    found: list[SeenProcess] = []
    while (one := processes.get(pid)) is not None and one not in found:
        found.append(one)
        pid = one.parent
    return found


def has_terminal(pid: int) -> bool | None:
    """Whether that process has a controlling terminal; None if the system doesn't tell."""
    if _PROC.joinpath("self", "stat").exists():
        try:
            text = read_bytes(Path(f"/proc/{pid}/stat"))
        except OSError:
            return False
        # The name in parentheses may itself hold spaces and parentheses.
        return int(text[text.rindex(b")") + 2 :].split()[4]) != 0
    if sys.platform == "win32":
        return os.isatty(0) if pid == os.getpid() else None
    import psutil

    try:
        return bool(psutil.Process(pid).terminal())
    except psutil.Error:
        return False


def owner_of(pid: int) -> str:
    """The name of the account that a process runs under."""
    if os.name == "nt":
        import psutil

        try:
            return psutil.Process(pid).username()
        except psutil.Error:
            return "unknown"
    import pwd

    try:
        user = _PROC.joinpath(str(pid)).stat().st_uid if _PROC.joinpath("self").exists() else os.getuid()
    except OSError:
        user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
