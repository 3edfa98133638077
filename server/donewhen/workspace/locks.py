"""Who may supervise a run in a workspace folder.

Two things say so, and each covers what the other can't. The owner record names the process that supervises; it is
alive if a process of that pid and birth is. The lock file is held by the supervisor and, through an inherited
descriptor, by every process that the run started: as long as orphans of a dead supervisor live, nobody starts over.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from donewhen.core.errors import AlreadyRunning, HeldElsewhere, LedgerUnavailable
from donewhen.ports import Owner
from donewhen.workspace.locks_files import holders, open_lock_file, open_paths, try_lock
from donewhen.workspace.locks_owner import OwnerRecord, birth, read_record, started, write_record
from donewhen.workspace.processes_leftovers import find_marked, uptime
from donewhen.workspace.runtime import runtime_key

TOKEN_VARIABLE = "DONEWHEN_RUN_TOKEN"  # noqa: S105  # the name of the variable, not a secret

_GATE_SECONDS = 2.0
_POLL = 0.02
_SETTLE = 0.3
_TERM_SHARE = 0.4
"""Of the time to end leftovers, what they get to end by themselves before they are killed."""


class FileRunLock:
    """The run lock of the workspace whose state is in `folder` (ports.RunLock). The folder is made when
    the lock is first taken.

    Children of a run hold the lock too if they are given `inherited_descriptors()` (`pass_fds` of subprocess).
    `runtime` is the folder of the key that requests to the owner are signed with. `held` is what this process holds,
    `since` from when on, as processes are born.
    """

    held: Owner | None = None
    since: float = 0.0

    def __init__(self, folder: Path, runtime: Path | None = None) -> None:
        self._runtime = runtime
        self._lock_file = folder / "run.lock"
        self._gate_file = folder / "gate.lock"
        self._owner_file = folder / "owner.json"
        self._descriptor: int | None = None

    def acquire(self, run_id: str, token: str) -> None:
        """Becomes the owner. Raises AlreadyRunning while the owner on record lives, HeldElsewhere while orphans of a
        dead one do; both name the holder."""
        if self._runtime is not None:
            # Now: a room that is opened before there is a folder doesn't hide it. Who needs the key says what is wrong.
            with suppress(OSError):
                runtime_key(self._runtime)
        with self._gate():
            self._refuse_live_owner()
            self._take_lock()
            try:
                me = os.getpid()
                own = OwnerRecord(run_id, me, started(me), birth(me) or "", token, runtime=str(self._runtime or ""))
                write_record(self._owner_file, own)
                # From memory: what stands in the file may be changed by whoever may write there.
                self.held, self.since = own.owner(), uptime()
            except OSError as error:
                self._let_go()
                raise LedgerUnavailable(
                    f"{self._owner_file} can't be written ({error}): make room, or set another --state-dir"
                ) from error

    def release(self) -> None:
        """Gives the run up; processes that it left behind keep the lock until they end."""
        if self._descriptor is None:
            return
        with self._gate():
            record = read_record(self._owner_file)
            try:
                if record is not None:
                    write_record(self._owner_file, record.as_released())
            except OSError:
                # On a full disk too the run must not seem alive for as long as this process lives.
                self._owner_file.unlink(missing_ok=True)
            self._let_go()

    def owner(self) -> Owner | None:
        record = read_record(self._owner_file)
        return record.owner() if record is not None and record.alive() else None

    def last_owner(self) -> Owner | None:
        record = read_record(self._owner_file)
        return None if record is None else record.owner()

    def inside(self, run_id: str) -> bool:
        last = self.last_owner()
        if last is None or last.run_id != run_id:
            return False
        return os.environ.get(TOKEN_VARIABLE) == last.token or _descends_from(last)

    def runtime(self) -> Path | None:
        """Where the owner on record looks for the key."""
        record = read_record(self._owner_file)
        return Path(record.runtime) if record is not None and record.runtime else None

    def is_held_by(self, pid: int) -> bool:
        """Whether a process inherited the lock: what a run started did, whatever else it gave up."""
        return self._descriptor is not None and str(self._lock_file.resolve()) in open_paths(str(pid))

    def inherited_descriptors(self) -> tuple[int, ...]:
        # Windows has no descriptors that children of subprocess could inherit: there the token alone finds them.
        return () if self._descriptor is None or os.name == "nt" else (self._descriptor,)

    async def end_leftovers(self, token: str, within: float = 2.0) -> int:
        """Asks the processes that carry `token`, and what they started, to end, then kills them; returns their number.

        Raises HeldElsewhere for those that still live after `within` seconds, and, without ending anything, where
        this process itself came from that run.
        """
        mark = f"{TOKEN_VARIABLE}={token}"
        await asyncio.to_thread(_refuse_own_family, token, mark)
        begun = time.monotonic()
        asked: set[int] = set()
        found: set[int] = set()
        while True:
            left = await asyncio.to_thread(_find_twice, mark)
            waited = time.monotonic() - begun
            if not left and (waited > _SETTLE or not await asyncio.to_thread(self._others_hold)):
                return len(found)
            found |= left
            if left and waited > within:
                raise HeldElsewhere(f"{_listed(sorted(left))} of the run can't be ended: end them, then try again")
            patient = waited < within * _TERM_SHARE
            await asyncio.to_thread(_signal, left - asked if patient else left, mark, kill=not patient)
            asked |= left
            await asyncio.sleep(_POLL)

    def _others_hold(self) -> bool:
        """A process that was just forked doesn't carry the mark yet, one that is ending doesn't any more; both may
        still hold the lock, for a moment."""
        return any(pid != os.getpid() for pid in holders(self._lock_file))

    def _refuse_live_owner(self) -> None:
        owner = self.owner()
        if owner is not None and (owner.pid != os.getpid() or self._descriptor is not None):
            raise AlreadyRunning(owner.run_id)

    def _take_lock(self) -> None:
        descriptor = _opened(self._lock_file)
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
            f"{run} has ended, but {_listed(found)} that it started still work in this workspace: "
            "resume it, which ends them, or end them yourself"
        )

    def _let_go(self) -> None:
        # Closed, never unlocked: unlocking would take the lock from the children that share it.
        self.held = None
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def _gate(self) -> Generator[None]:
        """Lets one process at a time read and change who owns the run: for a moment, never across an await."""
        descriptor = _opened(self._gate_file)
        try:
            deadline = time.monotonic() + _GATE_SECONDS
            while not try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise HeldElsewhere(f"{_listed(holders(self._gate_file))} holds {self._gate_file}: end it")
                time.sleep(0.001)
            yield
        finally:
            os.close(descriptor)


def _opened(file: Path) -> int:
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        return open_lock_file(file)
    except OSError as error:
        raise LedgerUnavailable(
            f"{file} can't be opened ({error}): make {file.parent} a folder that you may write to, "
            "or set another --state-dir"
        ) from error


def _descends_from(owner: Owner) -> bool:
    """Whether this process was started by the supervisor, however it hides the token: a person's terminal isn't."""
    import psutil

    parents = {parent.pid for parent in psutil.Process().parents()}
    return owner.pid in parents or bool(parents & find_marked(f"{TOKEN_VARIABLE}={owner.token}"))


def _refuse_own_family(token: str, mark: str) -> None:
    """A supervisor inside what the dead run started would end itself with it."""
    import psutil

    me = psutil.Process()
    family = {parent.pid for parent in me.parents()} & find_marked(mark)
    if family or os.environ.get(TOKEN_VARIABLE) == token:
        raise HeldElsewhere(
            f"this process was started by the run itself ({_listed(sorted(family) or [me.pid])}): "
            "resume it from a terminal of your own"
        )


def _find_twice(mark: str) -> set[int]:
    """Looks again before it says that nobody is left: one that forks and ends can slip through one look."""
    return find_marked(mark) or find_marked(mark)


def _signal(pids: set[int], mark: str, *, kill: bool) -> None:
    import psutil

    processes: list[psutil.Process] = []
    for pid in pids:
        try:
            processes.append(psutil.Process(pid))
        except psutil.Error:
            continue  # it ended meanwhile
    # A pid may have passed to somebody else since the search: psutil signals only the process that it opened, and the
    # second search says that this one is ours.
    ours = find_marked(mark)
    for process in processes:
        try:
            if process.pid in ours:
                process.kill() if kill else process.terminate()
        except psutil.Error:
            continue  # it ended meanwhile, or may not be signalled: the caller looks again


def _listed(pids: list[int]) -> str:
    """`process 12 (sleep)`, `processes 12 (sleep), 13 (make)`."""
    import psutil

    names: list[str] = []
    for pid in pids:
        try:
            names.append(f"{pid} ({psutil.Process(pid).name()})")
        except psutil.Error:
            names.append(str(pid))
    return f"{'process' if len(names) == 1 else 'processes'} {', '.join(names) or 'unknown'}"
