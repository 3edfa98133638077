"""The family of a process: its group, its descendants, and daemons that left both but still carry its mark.

The mark is an environment variable, `NAME=value`, that children inherit. Only processes that started after the step
began are examined, so that a search costs a few milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from donewhen.workspace.processes.ending import SIGKILL, end_all, signal_each

_HAS_FD = Path("/proc/self/fd").is_dir()
"""Whether the system tells there what a process has open."""


_SHORT = 2.0
"""Seconds within which the system can't reuse a pid."""
_MANY = 256
_FEW = 16
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process. `born` is seconds after boot, on systems other than Linux epoch seconds; `session` is 0 there."""

    pid: int
    parent: int
    session: int
    born: float
    threads: int = 1


class Family:
    """Everything that descends from one process. Not for a process that shares its session with others.

    On Linux all of it inherits one end of a pipe to which nothing is ever written, and which ends when its last holder
    does: what shed its mark, its session and its parent holds it still.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._since = uptime()
        self._begun = time.monotonic()
        self._leader: int | None = None
        self._gone = False
        self._known: dict[int, float] = {}
        self._pipe = list(os.pipe()) if sys.platform == "linux" and _HAS_FD else []
        """The end to read from, and, until the first process has it, the other one."""

    def descriptors(self) -> tuple[int, ...]:
        """What the first process must inherit."""
        return tuple(self._pipe[1:])

    def begin(self, leader: int) -> None:
        self._leader = leader
        for descriptor in self._pipe[1:]:
            os.close(descriptor)
        del self._pipe[1:]

    def close(self) -> None:
        for descriptor in self._pipe:
            os.close(descriptor)
        self._pipe.clear()

    def members(self) -> set[int]:
        """The pids of those that still live; zombies count as gone.

        A process that was once seen to belong stays a member, even if its parents have ended or its mark was
        overwritten.
        """
        young = [p for p in _other_processes(self._candidates()) if p.born >= self._since]
        members = _marked(young, self._mark, self._leader)
        members |= self._holders(p.pid for p in young)
        members |= {p.pid for p in young if self._known.get(p.pid) == p.born}
        self._known = {p.pid: p.born for p in young if p.pid in members}
        return members

    async def end(self, *, running: bool, at_once: bool = False) -> None:
        """Ends all members within 2 s: asks first (SIGTERM), unless `at_once`, then kills. `running`: the first process
        hasn't exited."""
        if at_once and self._leader is not None:
            _signal_group(self._leader, SIGKILL)
        if running and self._leader is not None:
            await asyncio.to_thread(self.members)  # while the parents that show who belongs still live
            _signal_group(self._leader, signal.SIGTERM)
        _, left = await end_all(self._members_now, at_once=at_once)
        self._gone = not left

    async def _members_now(self) -> set[int]:
        candidates = self._candidates()
        few = candidates is not None and len(candidates) <= _FEW  # cheaper than a thread
        return self.members() if few else await asyncio.to_thread(self.members)

    def _holders(self, pids: Iterable[int]) -> set[int]:
        """Those of `pids` that hold the pipe."""
        if not self._pipe:
            return set()
        poll = select.poll()  # with many files open `select` can't
        poll.register(self._pipe[0], select.POLLIN)
        if poll.poll(0):
            return set()  # it is at its end: every holder has ended
        name = f"pipe:[{os.fstat(self._pipe[0]).st_ino}]"
        return {pid for pid in pids if name in open_paths(pid)}

    def _candidates(self) -> range | None:
        """The only pids that may belong: after a short step, those assigned since it began. None: any."""
        if self._leader is None or time.monotonic() - self._begun > _SHORT:
            return None
        fields = _read_proc("/proc/loadavg").split()
        last = int(fields[-1]) if fields and fields[-1].isdigit() else -1  # the pid that was assigned last
        return range(self._leader, last + 1) if 0 <= last - self._leader < _MANY else None

    def kill_now(self) -> None:
        """Doesn't wait: the last resort, which does nothing if all are gone."""
        for _ in range(0 if self._gone else 3):
            signal_each(self.members(), SIGKILL)


def find_marked(mark: str) -> set[int]:
    """The pids of live processes that carry `mark` ("NAME=value") in their environment, and of what descends from
    them."""
    return _marked(_other_processes(), mark, None)


def _other_processes(pids: range | None = None) -> list[SeenProcess]:
    me = os.getpid()
    return [p for p in all_processes(pids) if p.pid != me]


def _marked(young: list[SeenProcess], mark: str, leader: int | None) -> set[int]:
    found = {p.pid for p in young if (leader is not None and leader in (p.pid, p.session)) or _carries(p.pid, mark)}
    found = with_descendants(young, found if leader is None else found | {leader})
    return found.intersection(p.pid for p in young)


def with_descendants(processes: Iterable[SeenProcess], pids: set[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    found, ahead = set(pids), list(pids)
    while ahead:
        fresh = [pid for pid in children.get(ahead.pop(), ()) if pid not in found]
        found.update(fresh)
        ahead += fresh
    return found


def uptime() -> float:
    """Seconds after boot, rounded down: the kernel measures a process's start in hundredths."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME) - 0.05
    return time.time() - 1.0


def all_processes(pids: range | None = None, *, zombies: bool = False) -> Iterator[SeenProcess]:
    """Those that live now, and those that have ended and are still listed if `zombies`; on Linux, of `pids` alone where
    they are given. What has lost its first thread, and has others, lives."""
    if hasattr(time, "CLOCK_BOOTTIME") and _PROC.is_dir():
        ticks = os.sysconf("SC_CLK_TCK")
        # Listed even if the pids are known: threads have files there too, and are not processes.
        for name in os.listdir(_PROC):  # noqa: PTH208 # names are all that is needed, and this is the hot path
            if name.isdecimal() and (pids is None or int(name) in pids):
                fields = stat_fields(name)
                if fields and (zombies or fields[0] not in (b"Z", b"X") or int(fields[17]) > 1):
                    born, threads = int(fields[19]) / ticks, int(fields[17])
                    yield SeenProcess(int(name), int(fields[1]), int(fields[3]), born, threads)
        return
    import psutil

    for process in psutil.process_iter(["pid", "ppid", "status", "create_time"]):
        facts = process.info
        if zombies or facts["status"] != psutil.STATUS_ZOMBIE:
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
