"""The family of a process: its group, its descendants, and daemons that left both but still carry its mark.

The mark is an environment variable, `NAME=value`, that children inherit. Only processes that started after the step
began are examined, so that a search costs a few milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_HAS_FD = Path("/proc/self/fd").is_dir()
"""Whether the system tells there what a process has open."""


class LivenessPipe:
    """Nothing is ever written to it: it ends when its last holder does. On systems other than Linux it finds nobody."""

    def __init__(self) -> None:
        self._read: int | None = None
        self._write: int | None = None
        if sys.platform == "linux" and _HAS_FD:
            self._read, self._write = os.pipe()

    def descriptors(self) -> tuple[int, ...]:
        """What the first process must inherit."""
        return () if self._write is None else (self._write,)

    def hand_over(self) -> None:
        """The first process has its end of the pipe: this process closes its own."""
        if self._write is not None:
            os.close(self._write)
            self._write = None

    def close(self) -> None:
        self.hand_over()
        if self._read is not None:
            os.close(self._read)
            self._read = None

    def holders(self, pids: Iterable[int]) -> set[int]:
        """Those of `pids` that hold the pipe."""
        if self._read is None:
            return set()
        import select

        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        if poll.poll(0):
            return set()  # it is at its end: every holder has ended
        name = f"pipe:[{os.fstat(self._read).st_ino}]"
        return {pid for pid in pids if name in open_paths(pid)}


_TERM_GRACE = 0.7
_GIVE_UP = 1.9
_POLL = 0.02
_SHORT = 2.0
"""Seconds within which the system can't reuse a pid."""
_MANY = 256
_FEW = 16
_PROC = Path("/proc")
_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has none: its SIGTERM ends a process at once


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A live process. `born` is seconds after boot, on systems other than Linux epoch seconds; `session` is 0 there."""

    pid: int
    parent: int
    session: int
    born: float


class Family:
    """Everything that descends from one process. Not for a process that shares its session with others."""

    def __init__(self, mark: str, since: float | None = None) -> None:
        """`since`: the earliest birth of one that may belong; now, unless it is given."""
        self._mark = mark
        self._since = uptime() if since is None else since
        self._begun = time.monotonic()
        self._leader: int | None = None
        self._gone = False
        self._known: dict[int, float] = {}
        self._liveness = LivenessPipe()

    def descriptors(self) -> tuple[int, ...]:
        """What the first process must inherit."""
        return self._liveness.descriptors()

    def begin(self, leader: int) -> None:
        self._leader = leader
        self._liveness.hand_over()

    def close(self) -> None:
        self._liveness.close()

    def members(self) -> set[int]:
        """The pids of those that still live; zombies count as gone.

        A process that was once seen to belong stays a member, even if its parents have ended or its mark was
        overwritten.
        """
        young = [p for p in _other_processes(self._candidates()) if p.born >= self._since]
        members = _marked(young, self._mark, self._leader)
        members |= self._liveness.holders(p.pid for p in young)
        members |= {p.pid for p in young if self._known.get(p.pid) == p.born}
        self._known = {p.pid: p.born for p in young if p.pid in members}
        return members

    async def end(self, *, running: bool, at_once: bool = False) -> None:
        """Ends all members within 2 s: asks first (SIGTERM), unless `at_once`, then kills. `running`: the first process
        hasn't exited."""
        begun = time.monotonic() - (_TERM_GRACE if at_once else 0.0)
        if at_once and self._leader is not None:
            _signal_group(self._leader, _SIGKILL)
        if running and self._leader is not None:
            await asyncio.to_thread(self.members)  # while the parents that show who belongs still live
            _signal_group(self._leader, signal.SIGTERM)
        asked: set[int] = set()
        while members := await self._members_now():
            waited = time.monotonic() - begun
            if waited > _GIVE_UP:
                return
            if waited > _TERM_GRACE:
                _signal_each(members, _SIGKILL)
            else:
                _signal_each(members - asked, signal.SIGTERM)
                asked |= members
            await asyncio.sleep(_POLL)
        self._gone = True

    async def _members_now(self) -> set[int]:
        candidates = self._candidates()
        if candidates is not None and len(candidates) <= _FEW:
            return self._members_twice()  # cheaper than a thread
        return await asyncio.to_thread(self._members_twice)

    def _candidates(self) -> range | None:
        """The only pids that may belong: after a short step, those assigned since it began. None: any."""
        if self._leader is None or time.monotonic() - self._begun > _SHORT:
            return None
        fields = _read_proc("/proc/loadavg").split()
        last = int(fields[-1]) if fields and fields[-1].isdigit() else -1  # the pid that was assigned last
        return range(self._leader, last + 1) if 0 <= last - self._leader < _MANY else None

    def _members_twice(self) -> set[int]:
        """Looks twice before it reports that nobody is left: a process that forks and ends can escape one look."""
        return self.members() or self.members()

    def kill_now(self) -> None:
        """Doesn't wait: the last resort, which does nothing if all are gone."""
        for _ in range(0 if self._gone else 3):
            _signal_each(self.members(), _SIGKILL)


def find_marked(mark: str) -> set[int]:
    """The pids of live processes that carry `mark` ("NAME=value") in their environment, and of what descends from
    them."""
    return _marked(_other_processes(), mark, None)


def _other_processes(pids: range | None = None) -> list[SeenProcess]:
    me = os.getpid()
    return [p for p in all_processes(pids) if p.pid != me]


def _marked(young: list[SeenProcess], mark: str, leader: int | None) -> set[int]:
    found = {p.pid for p in young if (leader is not None and leader in (p.pid, p.session)) or _carries(p.pid, mark)}
    fresh = roots = found if leader is None else found | {leader}
    while fresh:
        fresh = {p.pid for p in young if p.parent in fresh} - found - roots
        found |= fresh
    return found


def uptime() -> float:
    """Seconds after boot, rounded down: the kernel measures a process's start in hundredths."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME) - 0.05
    return time.time() - 1.0


def all_processes(pids: range | None = None) -> Iterator[SeenProcess]:
    """Those that live now, zombies left out; on Linux, of `pids` alone where they are given."""
    if hasattr(time, "CLOCK_BOOTTIME") and _PROC.is_dir():
        ticks = os.sysconf("SC_CLK_TCK")
        # Listed even if the pids are known: threads have files there too, and are not processes.
        for name in os.listdir(_PROC):  # noqa: PTH208 # names are all that is needed, and this is the hot path
            if name.isdecimal() and (pids is None or int(name) in pids):
                fields = stat_fields(name)
                if fields and fields[0] not in (b"Z", b"X"):
                    yield SeenProcess(int(name), int(fields[1]), int(fields[3]), int(fields[19]) / ticks)
        return
    import psutil

    for process in psutil.process_iter(["pid", "ppid", "status", "create_time"]):
        facts = process.info
        if facts["status"] != psutil.STATUS_ZOMBIE:
            yield SeenProcess(facts["pid"], facts["ppid"] or 0, 0, facts["create_time"] or 0.0)


def stat_fields(pid: int | str) -> list[bytes]:
    """What Linux says of a process in `stat` (proc(5)), from its state on; empty if there is none, or it is hidden."""
    text = _read_proc(f"/proc/{pid}/stat")
    # The name in parentheses may itself contain spaces and parentheses.
    return text[text.rindex(b")") + 2 :].split() if text else []


def open_paths(pid: int) -> set[str]:
    """What a process has open, as far as this user may see: files and, on Linux, pipes and the like, each as the system
    names it, in the form of `os.path.normcase`."""
    found: set[str] = set()
    if not _HAS_FD:
        import psutil

        with suppress(psutil.Error, OSError):  # it has ended, or belongs to another user
            for opened in psutil.Process(pid).open_files():
                with suppress(OSError, RuntimeError):  # links that lead in a circle say nothing of the others
                    found.add(os.path.normcase(Path(opened.path).resolve()))
        return found
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):  # likewise
        for descriptor in os.listdir(folder):  # noqa: PTH208  # names are all that is needed
            # One that was closed since says nothing of the others.
            with suppress(OSError):
                found.add(os.readlink(f"{folder}/{descriptor}"))  # noqa: PTH115  # hundreds of them, and not all are paths
    return found


def _carries(pid: int, mark: str) -> bool:
    if hasattr(time, "CLOCK_BOOTTIME"):
        return mark.encode() in _read_proc(f"/proc/{pid}/environ").split(b"\0")
    import psutil

    name, _, value = mark.partition("=")
    try:
        return psutil.Process(pid).environ().get(name) == value
    except (psutil.Error, OSError):
        return False


def _read_proc(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 # the hot path of a search
            return file.read()
    except OSError:
        return b""  # it has ended, or belongs to another user


def _signal_group(leader: int, number: int) -> None:
    try:
        if os.name == "nt":
            os.kill(leader, getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))
        else:
            os.killpg(leader, number)
    except (ProcessLookupError, PermissionError, OSError):
        return  # there is nobody left to signal


def _signal_each(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue  # it has ended since the search
