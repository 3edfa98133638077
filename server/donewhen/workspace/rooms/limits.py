"""Limits what a command in a room consumes, with everything that it starts: it is ended if it exceeds a limit.

A control group counts if this user may create one. Otherwise the kernel's limits per process and per user apply, which
don't hold for root, together with a check several times a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import platform
import re
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from donewhen.ports import RoomLimits
from donewhen.regular import read_text
from donewhen.workspace.processes.leftovers import all_processes, stat_fields, with_descendants
from donewhen.workspace.rooms.home import is_there

_PREFIX = "donewhen-"
_PATIENCE = 1.0


class Counted:
    """A control group. A process joins it by writing to the file `joins`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.joins = folder / "cgroup.procs"

    def refused(self) -> int:
        """How often the kernel refused a new process to a process in it."""
        lines = (line.split() for line in _lines_of(self._folder / "pids.events"))
        return next((int(times) for key, times in lines if key == "max"), 0)

    def close(self) -> None:
        """Removes it once its last process is gone."""
        deadline = time.monotonic() + _PATIENCE
        while not _removed(self._folder) and time.monotonic() < deadline:
            time.sleep(0.01)


def control_group(processes: int) -> Counted | None:
    """A new group that allows at most this many processes and threads; None if none can be made."""
    for above in _candidates():
        for left in above.glob(f"{_PREFIX}*"):
            maker = left.name.removeprefix(_PREFIX).partition("-")[0]
            # While its maker lives, a command may be about to join it; a group in use stays.
            if not (maker.isdecimal() and psutil.pid_exists(int(maker))):
                _removed(left)
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


def _candidates() -> Iterator[Path]:
    """The groups in which a counting group may be made: by both versions, where everybody mounts them."""
    top = Path("/sys/fs/cgroup")
    for line in _lines_of("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if "pids" in controllers.split(","):
            yield top / controllers / path.lstrip("/")
        elif not controllers:
            group = top / path.lstrip("/")
            yield from (above for above in (group, *group.parents) if above.is_relative_to(top) and _hands_on(above))


def _hands_on(group: Path) -> bool:
    """Whether it counts the processes of its subgroups, and this user may create one."""
    counts = any("pids" in line.split() for line in _lines_of(group / "cgroup.subtree_control"))
    return counts and all(os.access(place, os.W_OK) for place in (group, group / "cgroup.procs"))


def _lines_of(file: Path | str) -> list[str]:
    with contextlib.suppress(OSError, ValueError):
        return [line for line in read_text(file).split("\n") if line]
    return []


def _removed(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not is_there(folder)


_GLANCE = 0.02
_LOOK = 0.25
_SHARE = 4
"""How many times as long as a look took, a command with many processes goes on until the next."""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_NO_FORK = re.compile(
    r"cannot fork|can't fork|fork: (?:retry|resource temporarily)|can't start new thread", re.IGNORECASE
)
_LEAST_FREE = 0.05
"""Share of the machine's memory: if less is available, a command that uses a good part of it is ended."""


class RoomWatch:
    """Monitors what the commands of one room consume.

    `places` are folders on the disks that the commands may fill; `refused` says how often the kernel refused them a new
    process, if it counts that.
    """

    def __init__(self, limits: RoomLimits, places: Sequence[Path], refused: Callable[[], int] | None = None) -> None:
        self._limits = limits
        self._memory = limits.memory or most_memory()
        self._places = places
        self._refused = refused
        self._told = 0

    async def exceeded(self, leader: int) -> str:
        """Waits until the command that began with this process exceeds a limit, and says which one."""
        limit = self._limits.processes
        before = {place: _used(place) for place in self._places}, psutil.virtual_memory().available
        others, ended, took = _tasks(), 0.0, 0.0
        while True:
            await asyncio.sleep(_GLANCE)
            # The machine's tasks may be anybody's: that there are more is a reason to look whose they are.
            more = _tasks() - others
            due = ended + (_SHARE * took if 0 < limit // 2 < more else _LOOK + took)
            began = time.monotonic()
            if began < due and not 0 < limit < more:
                continue
            said, others = await self._look(leader, *before, others)
            if said:
                return said
            ended = time.monotonic()
            took = ended - began

    async def _look(self, leader: int, used: Mapping[Path, int], available: int, others: int) -> tuple[str, int]:
        """The limit that is exceeded, and the tasks of others. What forks for ever leaves no time to count it: where
        there are many more tasks than those of `others`, the command rests meanwhile."""
        said, at_rest = "", False

        def rests() -> bool:
            return 0 < self._limits.processes // 2 < _tasks() - others and _signalled(leader, signal.SIGSTOP)

        try:
            while True:
                at_rest = throughout = at_rest or rests()
                looking = asyncio.ensure_future(asyncio.to_thread(self._counted, leader, used, available))
                try:
                    while not looking.done():
                        await asyncio.wait((looking,), timeout=_GLANCE)
                        at_rest = at_rest or rests()
                finally:
                    looking.cancel()
                said, found = looking.result()
                if said or at_rest == throughout:
                    return said, found
        finally:
            if at_rest and not said:
                _signalled(leader, signal.SIGCONT)

    def _counted(self, leader: int, used: Mapping[Path, int], available: int) -> tuple[str, int]:
        threads = _threads_of(leader)
        others = _tasks() - sum(threads.values())
        return self._exceeded_limit(threads, used, available), others

    def failed_of(self, output: str) -> str:
        """The limit that made a command fail by itself with this output; empty if it failed for another reason."""
        if not self._limits.processes:
            return ""
        if self._refused is None:
            return self._too_many() if _NO_FORK.search(output) else ""
        before, self._told = self._told, self._refused()
        return self._too_many() if self._told > before else ""

    def _too_many(self) -> str:
        return _took_too_much(f"{self._limits.processes:,} processes and threads at once", "room_processes")

    def _exceeded_limit(self, threads: Mapping[int, int], used: Mapping[Path, int], available: int) -> str:
        if 0 < self._limits.processes < sum(threads.values()):
            return self._too_many()
        memory = psutil.virtual_memory()
        scarce = memory.available < _LEAST_FREE * memory.total
        scarce = scarce and available - memory.available > min(self._memory, memory.total // 2)
        # Shared memory is resident in each process: a closer look is needed only if the sum is too large. Memory in a
        # file without a name need not be resident in any.
        unnamed = _in_unnamed_files(threads)
        tasks = [_living_task(pid, count) for pid, count in threads.items()]
        much = sum(map(_resident, tasks)) + unnamed > self._memory
        if scarce or (much and _proportional(tasks, unnamed) > self._memory):
            return _took_too_much(f"{size_text(self._memory)} of memory", "room_memory")
        if self._limits.disk and any(_used(place) - before > self._limits.disk for place, before in used.items()):
            return _took_too_much(f"{size_text(self._limits.disk)} of the disk", "room_disk")
        return ""


def most_memory() -> int:
    """The default memory limit of a command: three quarters of the machine's memory."""
    return psutil.virtual_memory().total * 3 // 4


def size_text(size: int) -> str:
    """Bytes in the notation of settings."""
    for unit, name in ((1024**3, "GB"), (1024**2, "MB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:,} bytes"


def _took_too_much(what: str, setting: str) -> str:
    return f"it took more than {what}; `{setting}` of your settings changes that"


def _signalled(leader: int, number: int) -> bool:
    """Signals the group of processes that this one leads; whether there is one."""
    try:
        os.killpg(leader, number)
    except OSError:
        return False
    return True


def _threads_of(leader: int) -> Mapping[int, int]:
    """A process and its descendants, and how many threads each has."""
    seen = list(all_processes(zombies=True))
    ours = with_descendants(seen, {leader})
    return {one.pid: one.threads for one in seen if one.pid in ours}


def _living_task(pid: int, threads: int) -> str:
    """The name in /proc of a task with the memory of a process: its first thread, unless that has ended before others,
    and shows nothing any more."""
    if threads > 1 and stat_fields(pid)[:1] == [b"Z"]:
        return next((f"{pid}/task/{name}" for name in _other_tasks(pid)), str(pid))
    return str(pid)


def _other_tasks(pid: int) -> list[str]:
    """The threads of a process, except its first one."""
    with contextlib.suppress(OSError):  # it has ended
        return [name for name in os.listdir(f"/proc/{pid}/task") if name != str(pid)]  # noqa: PTH208  # the hot path
    return []


def _resident(task: str) -> int:
    """All of a process's memory that is resident, whoever shares it."""
    try:
        with open(f"/proc/{task}/statm", "rb") as file:  # noqa: PTH123  # the hot path
            fields = file.read().split()
    except OSError:
        return 0
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _in_unnamed_files(threads: Mapping[int, int]) -> int:
    """The memory in files that `memfd_create` made and that these processes have open."""
    found: dict[tuple[int, int], int] = {}
    for pid, count in threads.items():
        others = _other_tasks(pid) if count > 1 else ()
        own = (f"{pid}/task/{name}" for name in others if not _shares_descriptors(pid, int(name)))
        for task in (str(pid), *own):
            folder = f"/proc/{task}/fd"
            with contextlib.suppress(OSError):  # it has ended
                for name in os.listdir(folder):  # noqa: PTH208  # the hot path
                    with contextlib.suppress(OSError):
                        if os.readlink(f"{folder}/{name}").startswith("/memfd:"):  # noqa: PTH115  # as above
                            status = os.stat(f"{folder}/{name}")  # noqa: PTH116  # as above
                            found[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(found.values())


_KCMP = {"x86_64": 312, "aarch64": 272}.get(platform.machine(), -1)
_KCMP_FILES = 2


def _shares_descriptors(pid: int, thread: int) -> bool:
    """Whether a thread has the table of descriptors of its process's first one; no where the kernel doesn't say."""
    return ctypes.CDLL(None).syscall(_KCMP, pid, thread, _KCMP_FILES, 0, 0) == 0


_PARTS = re.compile(rb"(?m)^Pss_(Anon|Shmem):\s+(\d+) kB$")


def _proportional(tasks: Iterable[str], unnamed: int) -> int:
    """The memory of these processes, each with its part of what it shares, if the kernel reports that. What is in files
    without a name may also be mapped."""
    private = mapped = 0
    for task in tasks:
        parts: dict[bytes, int] = {}
        with contextlib.suppress(OSError), open(f"/proc/{task}/smaps_rollup", "rb") as file:  # noqa: PTH123  # as above
            parts = {name: int(size) * 1024 for name, size in _PARTS.findall(file.read())}
        private += parts.get(b"Anon", 0) if parts else _resident(task)
        mapped += parts.get(b"Shmem", 0)
    return private + max(mapped, unnamed)


def _tasks() -> int:
    """The processes and threads of the machine."""
    fields = read_text("/proc/loadavg", "ascii").split()
    return int(fields[3].partition("/")[2])


def _used(place: Path) -> int:
    with contextlib.suppress(OSError):
        return shutil.disk_usage(place).used
    return 0
