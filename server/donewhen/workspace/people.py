"""Who acts on a run (ports.People). An act comes through the door of the process that pursues the run, and that one
examines the process that asks, which the kernel names.

No room shows the door. A worker outside of a room has the user's rights and can stand at it: so for its processes,
their origin counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from donewhen.core.acts import Act, ActReply, AskedAct, RefusedAct, line_of, read_line
from donewhen.core.errors import ActRefused, PersonNeeded
from donewhen.core.people import Person, Seen, Where
from donewhen.ports import Owner, TakeAct
from donewhen.workspace.door import Door
from donewhen.workspace.locks import TOKEN_VARIABLE, FileRunLock, birth
from donewhen.workspace.processes.leftovers import SeenProcess, all_processes, find_marked, stat_fields

PATIENCE = 10.0
"""Seconds for which one side of a door waits for a line of the other."""
DONE_WITHIN = 60.0
"""Seconds for which whoever asked waits once its act is taken: others may be at work, and a revert writes files."""
MOST_CALLERS = 32
"""At one door at once."""
_TAKEN, _WANTED = b"taken\n", b"wanted\n"
_ORPHAN = """
import os, time
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        time.sleep(0.001)
    os.write(1, b"%d" % os.getppid())
"""


class SystemPeople:
    """The processes of this machine. `where` is what the front end says about itself; None: a terminal if this process
    has one, else a program. `agents` are the processes, with their births, of agents elsewhere that work for a run:
    what they started is inside of it.

    Four lines go through the door: the act, `taken`, `wanted`, the reply. So nothing is done for somebody who has given
    up, and who heard nothing of `taken` knows that nothing was done."""

    def __init__(
        self,
        lock: FileRunLock,
        where: Where | None = None,
        agents: Callable[[str], Collection[tuple[int, str]]] = lambda run_id: (),
    ) -> None:
        self._agents = agents
        self._lock = lock
        self._where: Where | None = where
        self._callers: dict[asyncio.Task[None], bool] = {}
        """Those at the door, and whether their act was taken."""
        self._adopter: int | None = None
        self._finding_adopter = threading.Lock()

    def me(self) -> Person:
        pid = os.getpid()
        return Person(owner_of(pid), self._where or ("terminal" if has_terminal(pid) else "program"))

    def inside(self, run_id: str) -> bool:
        if self._lock.inside(run_id):
            return True
        agents = set(self._agents(run_id))
        return bool(agents) and any((one.pid, birth(one.pid) or "") in agents for one in ancestors())

    async def ask(self, owner: Owner, act: Act) -> ActReply | None:
        said = line_of(AskedAct, AskedAct(owner.run_id, self.me().where, act))
        if not owner.door:
            raise ActRefused(
                f"process {owner.pid}, which pursues run {owner.run_id}, can't be reached: it could not make its "
                "socket when it began, or it is another version of Done When; act where the run was started, or end "
                "that process"
            )
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await Door.connect(owner.door)
        except OSError:
            return None
        taken = False
        try:
            pid = Door.pid(writer, "Server")
            if not pid:
                raise ActRefused(
                    f"process {owner.pid}, which pursues run {owner.run_id}, belongs to another user or container: act "
                    "from there"
                )
            if pid != owner.pid:  # anybody of this user may have put something in its place
                return None
            writer.write(said)
            first = await _line(reader)
            taken = first == _TAKEN
            if not taken:
                return read_line(ActReply, first)
            writer.write(_WANTED)
            return read_line(ActReply, await _line(reader, DONE_WITHIN))
        except ActRefused:
            raise
        except (OSError, ValueError) as error:
            if not taken:
                return None
            how = "is still carrying out" if isinstance(error, TimeoutError) else "ended while it carried out"
            raise PersonNeeded(
                f"process {owner.pid} {how} `{act.word}` for run {owner.run_id}",
                typed=f": `donewhen status {owner.run_id}` shows whether it was done",
            ) from error
        finally:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def listen(self, run_id: str, take: TakeAct) -> None:
        with contextlib.suppress(OSError):  # too many open files: who asks hears that nobody answers
            if self._lock.door is not None:
                await self._lock.door.open(partial(self._called, run_id, take))

    async def replied(self) -> None:
        for task, taken in self._callers.items():
            if not taken:
                task.cancel()
        if self._callers:
            await asyncio.wait(self._callers, timeout=PATIENCE)

    def _called(self, run_id: str, take: TakeAct, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._callers) >= MOST_CALLERS:
            writer.close()
            return
        task = asyncio.ensure_future(self._answered(run_id, take, reader, writer))
        self._callers[task] = False
        task.add_done_callback(self._callers.pop)

    async def _answered(
        self, run_id: str, take: TakeAct, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Whatever comes, nothing is raised: somebody stands at the door, and the run goes on."""
        task = cast("asyncio.Task[None]", asyncio.current_task())

        async def agreed() -> bool:
            self._callers[task] = True
            writer.write(_TAKEN)
            with contextlib.suppress(OSError, ValueError):
                return await _line(reader) == _WANTED
            return False

        try:
            pid = Door.pid(writer, "Client")
            born = birth(pid) if pid else None
            try:
                asked: AskedAct = read_line(AskedAct, await _line(reader))
            except ValueError as error:
                reply = RefusedAct("usage", f"what was asked can't be read: {error}")
            else:

                async def look() -> Seen | None:
                    return await asyncio.to_thread(self._seen, pid, born, asked.where)

                try:
                    reply = await take(asked, look, agreed) if asked.run_id == run_id else None
                except Exception as error:  # noqa: BLE001 # whatever it is, whoever asked hears it, and the run goes on
                    reply = RefusedAct("other", f"`{asked.act.word}` failed: {type(error).__name__}: {error}")
            if reply is not None:
                writer.write(line_of(ActReply, reply))
                async with asyncio.timeout(PATIENCE):
                    await writer.drain()
        except OSError:
            pass  # it is gone, or says nothing
        finally:
            writer.close()

    def _seen(self, pid: int, born: str | None, where: Where) -> Seen | None:
        """None if the process is not there any more, or not until the end of the look."""
        held = self._lock.held
        if born is None or held is None:
            return None
        if where == "terminal" and has_terminal(pid) is False:
            where = "program"
        processes = {one.pid: one for one in all_processes()}
        line = family(pid, processes)
        mark = f"{TOKEN_VARIABLE}={held.token}"
        marked = find_marked(mark)
        sessions = {one.session for one in processes.values() if one.pid in marked and one.session}
        own = processes.get(os.getpid())
        sessions -= {own.session} if own is not None else set()
        if not line:
            return None
        inside = (
            any(one.pid in marked for one in line)
            or any(one.pid == os.getpid() for one in line[1:])
            or line[0].session in sessions
            or self._lock.is_held_by(pid)
        )
        seen = Seen(Person(owner_of(pid), where), inside, inside or self._rooted(line, processes))
        return seen if birth(pid) == born else None

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
        with self._finding_adopter:  # several may stand at the door at once
            if self._adopter is None:
                self._adopter = _adopter_of_orphans()
        return self._adopter


def _adopter_of_orphans() -> int:
    if os.name == "nt":
        return 1
    try:
        done = subprocess.run([sys.executable, "-I", "-S", "-c", _ORPHAN], capture_output=True, timeout=5.0, check=True)
        return int(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return 1


async def _line(reader: asyncio.StreamReader, within: float = PATIENCE) -> bytes:
    """Raises TimeoutError, and ValueError for one without an end."""
    async with asyncio.timeout(within):
        return await reader.readline()


# Where a process came from, who owns it, and whether it has a terminal.


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
        fields = stat_fields(pid)
        return bool(fields) and int(fields[4]) != 0
    if sys.platform == "win32":
        return os.isatty(0) if pid == os.getpid() else None
    import psutil

    try:
        return bool(psutil.Process(pid).terminal())
    except psutil.Error:
        return False


def owner_of(pid: int) -> str:
    """The name of the account that a process runs under."""
    import psutil

    try:
        return psutil.Process(pid).username()
    except psutil.Error:
        return "unknown"
