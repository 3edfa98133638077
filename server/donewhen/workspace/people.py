"""Who asks something of a run (ports.People). A request is signed with a key that belongs to this user alone, and the
owner of the run examines the requesting process itself.

The key is in the runtime folder, which no room shows. A worker outside of a room has the user's rights and could read
it: so for its processes, their origin counts. A file that the process has open shows that a request comes from the
process that it names.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from donewhen.core.acts import Person, Seen, Sender, Where, sender, signature, signed
from donewhen.core.errors import ActRefused
from donewhen.ports import Request
from donewhen.regular import read_bytes
from donewhen.workspace.locks import TOKEN_VARIABLE, FileRunLock, birth, open_paths
from donewhen.workspace.processes.leftovers import SeenProcess, all_processes, find_marked
from donewhen.workspace.runtime import asking_folder, runtime_key

_UNSIGNED = "nobody signed it: a row that is written into the record by hand is not a request"
_ORPHAN = """
import os, time
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        time.sleep(0.001)
    os.write(1, b"%d" % os.getppid())
"""


class SystemPeople:
    """The processes of this machine. `runtime` is the folder of the key, `where` is what the front end says about
    itself; None: a terminal if this process has one, else a program. `agents` are the processes, with their births, of
    agents elsewhere that work for a run: what they started is inside of it."""

    def __init__(
        self,
        lock: FileRunLock,
        runtime: Path,
        where: Where | None = None,
        agents: Callable[[str], Collection[tuple[int, str]]] = lambda run_id: (),
    ) -> None:
        self._agents = agents
        self._lock = lock
        self._runtime = runtime
        self._where: Where | None = where
        self._used: set[str] = set()
        self._adopter: int | None = None

    def me(self) -> Person:
        pid = os.getpid()
        if self._where is not None:
            return Person(owner_of(pid), self._where)
        if has_terminal(pid):
            return Person(owner_of(pid), "terminal")
        return Person(owner_of(pid), "program")

    def inside(self, run_id: str) -> bool:
        if self._lock.inside(run_id):
            return True
        agents = set(self._agents(run_id))
        return bool(agents) and any((one.pid, birth(one.pid) or "") in agents for one in ancestors())

    @asynccontextmanager
    async def asking(
        self, run_id: str, operation: str, arguments: Mapping[str, Any]
    ) -> AsyncGenerator[Mapping[str, object]]:
        owner = self._lock.owner()
        pid = os.getpid()
        by = Sender(self.me(), pid, birth(pid) or "", secrets.token_hex(16), time.time())
        # The owner may have been started with another runtime folder than this process, for example by cron.
        runtime = self._lock.runtime() or self._runtime
        file = asking_folder(runtime) / by.nonce
        try:
            key = runtime_key(runtime)
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise ActRefused(
                f"`{operation}` can't be signed: the key in {runtime} can't be used ({error}); do it as the user who "
                "started the run, from the editor or a terminal"
            ) from error
        try:
            yield signed(by, signature(key, owner.token if owner is not None else "", run_id, operation, arguments, by))
        finally:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                file.unlink()

    async def look(self, request: Request) -> Seen:
        held, said = self._lock.held, sender(request.signed)
        if said is None or held is None or held.run_id != request.run_id:
            raise ActRefused(_UNSIGNED)
        by, given = said
        try:
            key = runtime_key(self._runtime)
            expected = signature(key, held.token, request.run_id, request.operation, request.arguments, by)
        except (OSError, ValueError) as error:
            raise ActRefused(f"its signature can't be checked ({error})") from error
        if not secrets.compare_digest(expected.encode(), given.encode("utf-8", "replace")):
            raise ActRefused("its signature is not of this user, or not for this run as it is pursued now")
        if by.nonce in self._used:
            raise ActRefused("it was taken before, and no request is taken twice")
        self._used.add(by.nonce)
        return await asyncio.to_thread(self._verified_origin, by, held.token)

    def _verified_origin(self, by: Sender, token: str) -> Seen:
        """Raises ActRefused if the process is not the one that it claims to be."""
        file = str((asking_folder(self._runtime) / by.nonce).resolve())
        if birth(by.pid) != by.birth or not (os.name == "nt" or file in open_paths(str(by.pid))):
            raise ActRefused("the process that it names is gone, or is not the one that asked")
        where: Where = by.person.where
        if where == "terminal" and has_terminal(by.pid) is False:
            where = "program"
        processes = {one.pid: one for one in all_processes()}
        line = family(by.pid, processes)
        mark = f"{TOKEN_VARIABLE}={token}"
        marked = find_marked(mark)
        sessions = {one.session for one in processes.values() if one.pid in marked and one.session}
        own = processes.get(os.getpid())
        sessions -= {own.session} if own is not None else set()
        first = line[0] if line else None
        inside = (
            any(one.pid in marked for one in line)
            or any(one.pid == os.getpid() for one in line[1:])
            or (first is not None and first.session in sessions)
            or any(self._lock.is_held_by(one.pid) for one in line[:1])
        )
        rooted = bool(line) and (inside or self._rooted(line, processes))
        return Seen(Person(owner_of(by.pid), where), inside, rooted)

    def _rooted(self, line: Sequence[Any], processes: Mapping[int, Any]) -> bool:
        """Whether the process is not a leftover of a run: those belong to the adopter of orphans and a younger
        session."""
        since = self._lock.since
        first, last = line[0], line[-1]
        leader = processes.get(first.session) if first.session else None
        if first.born < since or (leader is not None and leader.born < since):
            return True
        if os.name != "nt" and last.parent == 0 and last.pid > 1:
            return True  # it was put into this container from outside
        oldest = next((one for one in line if one.born < since), None)
        return oldest is not None and oldest.pid not in (1, self._takes_orphans())

    def _takes_orphans(self) -> int:
        """The process that adopts this process's orphans, found out by creating one."""
        if self._adopter is None:
            self._adopter = 1
            if os.name != "nt":
                with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
                    done = subprocess.run(
                        [sys.executable, "-I", "-S", "-c", _ORPHAN], capture_output=True, timeout=5.0, check=True
                    )
                    self._adopter = int(done.stdout)
        return self._adopter


# Where a process came from, who owns it, and whether it has a terminal.


__all__ = ["all_processes", "ancestors", "family", "has_terminal", "owner_of", "program_of"]

_PROC = Path("/proc")


def ancestors() -> list[SeenProcess]:
    """This process, its parent, and so on."""
    return family(os.getpid(), {one.pid: one for one in all_processes()})


def program_of(pid: int) -> str:
    """The name of a process's program, in lower case without `.exe`; empty if it can't be told."""
    import psutil  # as below: most commands ask about no process

    try:
        return psutil.Process(pid).name().lower().removesuffix(".exe")
    except psutil.Error:
        return ""


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
        # The name in parentheses may itself contain spaces and parentheses.
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
