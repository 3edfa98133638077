"""Who may supervise a run in a workspace folder.

Two things record this, and each covers what the other can't. The owner record names the supervising process; it is
alive if a process with that pid and birth exists. The lock file is held by the supervisor and, through an inherited
descriptor, by every process that the run started: while orphans of a dead supervisor live, nobody starts over.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from donewhen.core.errors import AlreadyRunning, HeldElsewhere, LedgerUnavailable
from donewhen.ports import Owner
from donewhen.regular import read_bytes, read_text
from donewhen.workspace.door import Door, PipeDoor, SocketDoor
from donewhen.workspace.processes.ending import end_all, until_gone
from donewhen.workspace.processes.leftovers import find_marked, open_paths, stat_fields, uptime

TOKEN_VARIABLE = "DONEWHEN_RUN_TOKEN"  # noqa: S105  # the name of the variable, not a secret

_GATE_SECONDS = 2.0
_POLL = 0.02
_SETTLE = 0.3


class FileRunLock:
    """The run lock of the workspace whose state is in `folder` (ports.RunLock). The folder is created when the lock is
    first taken.

    Children of a run hold the lock too if they get `inherited_descriptors()` (`pass_fds` of subprocess). `runtime` is
    the folder of the `door` that the owner has. `held` is what this process holds, `since` the time from which it holds
    it, measured like the start of a process.
    """

    held: Owner | None = None
    since: float = 0.0
    door: SocketDoor | PipeDoor | None = None
    """Where other processes reach this one; None where nobody can."""

    def __init__(self, folder: Path, runtime: Path | None = None) -> None:
        self._runtime = runtime
        self._folder = folder
        self._lock_file = folder / "run.lock"
        self._gate_file = folder / "gate.lock"
        self._owner_file = folder / "owner.json"
        self._descriptor: int | None = None

    def acquire(self, run_id: str, token: str) -> None:
        """Becomes the owner. Raises AlreadyRunning while the recorded owner lives, HeldElsewhere while orphans of a
        dead owner live; both errors name the holder."""
        with self._gate(make_folder=True):
            owner = self.owner()
            if owner is not None and (owner.pid != os.getpid() or self._descriptor is not None):
                raise AlreadyRunning(owner.run_id)
            self._take_lock()
            try:
                # Now: a room that is opened before the folder exists doesn't hide it. Who asks is told where it failed.
                with suppress(OSError):
                    self.door = None if self._runtime is None else Door(self._runtime, self._folder)
                me, door = os.getpid(), "" if self.door is None else self.door.address
                own = OwnerRecord(run_id, me, started(me), birth(me) or "", token, door=door)
                write_record(self._owner_file, own)
                # From memory: anybody who may write to the file can change what it says.
                self.held, self.since = own.owner(), uptime()
            except OSError as error:
                self._unlock()
                raise LedgerUnavailable(
                    f"{self._owner_file} can't be written ({error}): make room, or set another state folder",
                    typed=" (--state-dir)",
                ) from error

    def release(self) -> None:
        """Releases the run; processes that it left behind keep the lock until they end."""
        if self._descriptor is None:
            return
        # Where the state folder is gone, nobody else reads of it either.
        with suppress(LedgerUnavailable), self._gate():
            record = read_record(self._owner_file)
            try:
                if record is not None:
                    write_record(self._owner_file, replace(record, released=True))
            except OSError:
                # Even on a full disk the run must not seem alive for as long as this process lives.
                self._owner_file.unlink(missing_ok=True)
        self._unlock()

    def owner(self) -> Owner | None:
        record = read_record(self._owner_file)
        return record.owner() if record is not None and record.alive() else None

    def last_owner(self) -> Owner | None:
        record = read_record(self._owner_file)
        return None if record is None else record.owner()

    async def until_gone(self, owner: Owner) -> None:
        record = read_record(self._owner_file)
        if record is None or record.owner() != owner:
            return  # another one has taken its place, which only its end allows, or its letting go
        await until_gone(owner.pid, lambda: birth(owner.pid) == record.birth)

    def inside(self, run_id: str) -> bool:
        last = self.last_owner()
        if last is None or last.run_id != run_id:
            return False
        if os.environ.get(TOKEN_VARIABLE) == last.token:
            return True
        import psutil

        # The supervisor started this process, even if that hides the token; a person's terminal was not.
        parents = {parent.pid for parent in psutil.Process().parents()}
        return last.pid in parents or bool(parents & find_marked(f"{TOKEN_VARIABLE}={last.token}"))

    def is_held_by(self, pid: int) -> bool:
        """Whether a process inherited the lock: a process of the run did, whatever else it gave up."""
        return self._descriptor is not None and _as_opened(self._lock_file) in open_paths(pid)

    def inherited_descriptors(self) -> tuple[int, ...]:
        # On Windows, children of subprocess can't inherit descriptors: there they are found by the token alone.
        return () if self._descriptor is None or os.name == "nt" else (self._descriptor,)

    async def end_leftovers(self, token: str) -> int:
        """Asks the processes that carry `token`, and their descendants, to end, then kills them; returns their number.

        Raises HeldElsewhere for those that still live after 2 s, and, without ending anything, if this process itself
        descends from that run.
        """
        mark = f"{TOKEN_VARIABLE}={token}"
        await asyncio.to_thread(_refuse_own_family, token, mark)
        begun = time.monotonic()
        ended: set[int] = set()
        while True:
            found, left = await end_all(lambda: asyncio.to_thread(find_marked, mark))
            ended |= found
            if left:
                raise HeldElsewhere(
                    f"{_processes_text(sorted(left))} of the run can't be ended: end them, then try again"
                )
            if time.monotonic() - begun > _SETTLE or not await asyncio.to_thread(self._others_hold):
                return len(ended)
            await asyncio.sleep(_POLL)

    def _others_hold(self) -> bool:
        """A process that was just forked doesn't carry the mark yet, and one that is ending no longer does; both may
        still hold the lock for a moment."""
        return any(pid != os.getpid() for pid in holders(self._lock_file))

    def _take_lock(self) -> None:
        descriptor = _lock_descriptor(self._lock_file)
        if try_lock(descriptor):
            self._descriptor = descriptor
            return
        os.close(descriptor)
        record = read_record(self._owner_file)
        found = holders(self._lock_file)
        if record is not None and os.getpid() in found:
            raise AlreadyRunning(record.run_id)  # another lock object of this process
        run = f"run {record.run_id}" if record is not None else "a run"
        raise HeldElsewhere(
            f"{run} has ended, but {_processes_text(found)} that it started still work in this workspace: "
            "resume it, which ends them, or end them yourself"
        )

    def _unlock(self) -> None:
        # Closed, never unlocked: unlocking would take the lock from the children that share it.
        self.held = None
        if self.door is not None:
            self.door.close()
            self.door = None
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def _gate(self, *, make_folder: bool = False) -> Generator[None]:
        """Lets one process at a time read and change the owner of the run: for a moment, never across an await."""
        descriptor = _lock_descriptor(self._gate_file, make_folder=make_folder)
        try:
            deadline = time.monotonic() + _GATE_SECONDS
            while not try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise HeldElsewhere(f"{_processes_text(holders(self._gate_file))} holds {self._gate_file}: end it")
                time.sleep(0.001)
            yield
        finally:
            os.close(descriptor)


def _lock_descriptor(file: Path, *, make_folder: bool = False) -> int:
    try:
        if make_folder:
            file.parent.mkdir(mode=0o700, exist_ok=True)
        return open_lock_file(file)
    except OSError as error:
        raise LedgerUnavailable(
            f"{file} can't be opened ({error}): make {file.parent} a folder that you may write to, "
            "or set another state folder",
            typed=" (--state-dir)",
        ) from error


def _refuse_own_family(token: str, mark: str) -> None:
    """A supervisor that descends from the dead run would end itself with it."""
    import psutil

    me = psutil.Process()
    family = {parent.pid for parent in me.parents()} & find_marked(mark)
    if family or os.environ.get(TOKEN_VARIABLE) == token:
        raise HeldElsewhere(
            f"this process was started by the run itself ({_processes_text(sorted(family) or [me.pid])}): "
            "resume it from a terminal of your own"
        )


def _processes_text(pids: list[int]) -> str:
    """`process 12 (sleep)`, `processes 12 (sleep), 13 (make)`."""
    import psutil

    names: list[str] = []
    for pid in pids:
        try:
            names.append(f"{pid} ({psutil.Process(pid).name()})")
        except psutil.Error:
            names.append(str(pid))
    return f"{'process' if len(names) == 1 else 'processes'} {', '.join(names) or 'unknown'}"


# Lock files of the operating system, and the processes that have them open.


def open_lock_file(file: Path) -> int:
    """A descriptor that a child inherits only if it is passed on. Raises OSError."""
    return os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)


def try_lock(descriptor: int) -> bool:
    """Takes the lock if it is free. It ends when the last copy of the descriptor is closed, for any reason. Raises
    LedgerUnavailable where there are no locks."""
    # Neither module exists everywhere.
    if os.name == "nt":
        return _try_lock_windows(descriptor)
    import fcntl

    try:
        # flock, not lockf: it belongs to the open file, which children share, and not to a single process.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # such as NFS without its lock daemon
        raise LedgerUnavailable(
            f"the file system of the state folder keeps no locks ({error.strerror}), so nothing could keep two runs "
            "apart: use a state folder on a local disk",
            typed=" (--state-dir)",
        ) from error
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
    import psutil

    path = _as_opened(file)
    return sorted(pid for pid in psutil.pids() if path in open_paths(pid))


def _as_opened(file: Path) -> str:
    """The file as `open_paths` names it."""
    return os.path.normcase(file.resolve())


# The record of the process that supervises a run, and whether that process still lives.


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """The process that supervises, or supervised. `birth` distinguishes it from other processes with the same pid."""

    run_id: str
    pid: int
    started: float
    birth: str
    token: str
    released: bool = False
    door: str = ""
    """Where other processes reach the owner."""

    def alive(self) -> bool:
        """True if that very process lives and has not released the run."""
        return not self.released and self.birth != "" and birth(self.pid) == self.birth

    def owner(self) -> Owner:
        return Owner(self.run_id, self.pid, self.started, self.token, self.door)


def read_record(file: Path) -> OwnerRecord | None:
    """The record, None if there is none, or none that is readable: then the owner is unknown."""
    try:
        data = cast("dict[str, Any]", json.loads(read_bytes(file)))
        return OwnerRecord(
            str(data["run_id"]),
            int(data["pid"]),
            float(data["started"]),
            str(data["birth"]),
            str(data["token"]),
            data.get("released") is True,
            str(data.get("door", "")),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_record(file: Path, record: OwnerRecord) -> None:
    """Replaces the whole record: a reader sees either the old one or the new one. Raises OSError."""
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        # It contains the token of the run, so only this user may read it.
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:  # noqa: PTH123  # a descriptor
            opened.write(json.dumps(asdict(record)))
        # Windows refuses while a process reads the old record, which takes a moment.
        for _ in range(20 if os.name == "nt" else 0):
            with suppress(PermissionError):
                fresh.replace(file)
                return
            time.sleep(0.002)
        fresh.replace(file)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def started(pid: int) -> float:
    """When that process started, in epoch seconds; 0 if there is no such process."""
    import psutil

    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def birth(pid: int) -> str | None:
    """What distinguishes a live process from all others with the same pid; None for a dead one or a zombie."""
    boot = _boot_id()
    if boot is not None:
        # The start in clock ticks after boot: unlike epoch time, it doesn't change when the clock is set.
        fields = stat_fields(pid)
        return None if not fields or fields[0] in (b"Z", b"X") else f"{boot}/{int(fields[19])}"
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else repr(process.create_time())
    except psutil.Error:
        return None


@cache
def _boot_id() -> str | None:
    try:
        return read_text(Path("/proc/sys/kernel/random/boot_id"), "ascii").strip()
    except OSError:
        return None
