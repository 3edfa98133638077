"""One simulated machine: processes that die at any moment, files that people and orphans edit, and the ports that the
engine reaches them by. Whatever a dead process still tries has no effect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from donewhen.core.acts import Act, ActReply, AskedAct
from donewhen.core.errors import AlreadyRunning, GoalFileError, PersonNeeded, WorkspaceError
from donewhen.core.events import Entry, RunOptions
from donewhen.core.evidence import CheckResult, EditorReport, ObservedCommand, Outcome
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import AddressingFact, FileFact, IntegrityFacts
from donewhen.core.people import Seen
from donewhen.engine.api import StartOptions
from donewhen.engine.runs import Supervisor, changed_limits
from donewhen.engine.setup import EngineSetup, Start
from donewhen.ports import Checker, Laid, Owner, Room, TakeAct, TreeState, Turn, Worker, Workspace
from donewhen.workspace.attribution import ClientSaves
from donewhen.workspace.memory import MemoryWorkspace
from donewhen.workspace.settling import Notifier, Quiet
from tests.core.builders import failing, passing
from tests.engine.world import MemoryPeople
from tests.simulation.actors import SimulatedJudge, SimulatedWorker
from tests.simulation.disk import Disk
from tests.simulation.scenario import CHECKS, GOAL_FILE, GOOD, PROTECTED, REPORT, Scenario

ROOT = Path("/simulated")
EPOCH = 1_700_000_000.0
_here: ContextVar[Process | None] = ContextVar("process", default=None)
"""The process that the running task belongs to."""


def task_of_process(loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **more: Any) -> asyncio.Task[Any]:
    """A task factory: each task belongs to the process of the one that starts it."""
    task = asyncio.Task(coro, loop=loop, **more)
    process = _here.get()
    if process is not None:
        process.tasks.append(task)
    return task


class Machine:
    """Its files and its clock, which go on whatever processes do. `changed_parts` replaces parts of each process's
    engine: tests put in some that are broken on purpose."""

    def __init__(
        self,
        scenario: Scenario,
        random: Random,
        time: Callable[[], float],
        written: Callable[[str, Entry], None],
        changed_parts: Callable[[EngineSetup], EngineSetup] = lambda setup: setup,
    ) -> None:
        self.scenario = scenario
        self.random = random
        self.monotonic = time
        self.disk = Disk(random, written)
        self.disk.delay, self.disk.deadly = scenario.delay, dict(scenario.crashes)
        self.files = SimulatedFiles(self)
        self.owners: list[Owner] = []
        self.held: list[tuple[Process, Owner]] = []
        self.stirred = asyncio.Event()
        self.trace: list[str] = []
        self.tracing = False
        self.broken: list[str] = []
        """What must not have happened."""
        self.deaths = 0
        self.outages = 0
        """Failures of the power."""
        self.orphans = 0
        self.at_work = 0
        self.work_began = 0.0
        self.work_seconds = 0.0
        """Virtual seconds in which a worker or a check of the run was at work."""
        self.turns: list[tuple[Process, int]] = []
        """The turns that are being worked on right now, and by whom."""
        self.truths: dict[str, frozenset[str]] = {}
        """The checks that truly pass at each revision that was ever looked at."""
        self.walks: dict[Process, str] = {}
        """The revision that each process found when it last walked the whole workspace."""
        self.persons_goals = [scenario.goals[0]]
        """What the goal file said where a person wrote it."""
        self.calls_recorded: list[tuple[str, str]] = []
        """Runs, and calls to models whose result was acknowledged as on record."""
        self.acknowledged: list[str] = []
        """Words of acts that a person was told are done."""
        self.answers: list[tuple[str, str]] = []
        """Interrupts, with the words of the answers that a person was told are taken."""
        self.begins: Callable[[Turn], None] = lambda turn: None
        """Told of every turn that a worker is given."""
        self.asks: Callable[[str], bool] = lambda run_id: False
        """Whether a question of this run is open."""
        self.counter = count(1)
        self._changed_parts = changed_parts

    # ------------------------------------------------------------------------------------- the clock

    def now(self) -> float:
        return EPOCH + self.monotonic()

    async def pause(self, most: float | None = None) -> None:
        await asyncio.sleep(self.random.random() * (self.scenario.delay if most is None else most))

    def chance(self, rate: float) -> bool:
        return rate > 0 and self.random.random() < rate

    def tell(self, text: str) -> None:
        if self.tracing:
            self.trace.append(f"{self.monotonic():9.4f}  {text}")

    def stir(self) -> None:
        self.stirred.set()
        self.stirred = asyncio.Event()

    # ----------------------------------------------------------------------------------------- files

    def passes(self, command: str, read: Callable[[str], bytes | None] | None = None) -> bool:
        """Whether a check truly passes in the files as they are."""
        reads = read or self.files.read
        return all(GOOD in (reads(path) or b"") for path in CHECKS[command])

    def edit(self, path: str, data: bytes | None, who: str) -> None:
        self.tell(f"{who} writes {path}: {data!r}")
        self.files.edit(path, data)

    def content(self, good: bool) -> bytes:
        """Never the same twice: nothing comes back unless the engine puts it back."""
        return b"%s %d\n" % (GOOD if good else b"bad", next(self.counter))

    def load(self, path: str) -> Goal:
        """The file says which version of the goal it is."""
        text = (self.files.read(path) or b"").decode()
        words = text.split()
        if path != GOAL_FILE or not words or not words[0].isdecimal():
            raise GoalFileError(f"{path} is not a goal file: {text!r}")
        return self.scenario.goals[int(words[0])]

    # --------------------------------------------------------------------------------------- at work

    @contextmanager
    def working(self) -> Generator[None]:
        process = _here.get()
        # Nobody limits a check beside the run, or what a person's edit sets off while a question is open.
        if not self.held or self.held[0][0] is not process or self.asks(self.held[0][1].run_id):
            yield
            return
        self._count(1)
        try:
            yield
        finally:
            if process.alive:
                self._count(-1)

    def _count(self, more: int) -> None:
        if self.at_work == 0:
            self.work_began = self.monotonic()
        self.at_work += more
        if more < 0 and self.at_work == 0:
            self.work_seconds += self.monotonic() - self.work_began

    # ------------------------------------------------------------------------------------- processes

    def process(self, name: str) -> Process:
        return Process(self, name)

    def setup(self, process: Process) -> EngineSetup:
        scenario = self.scenario
        return self._changed_parts(
            EngineSetup(
                root=ROOT,
                state_folder=ROOT,
                clock=self,
                ledger=self.disk.connected(process),
                lock=SimulatedLock(self, process),
                workspace=lambda: self.files.opened_by(process),
                glance=lambda: self.files.opened_by(process),
                checker=SimulatedChecker(self, process),
                probes=SimulatedProbes(),
                load_goal=self.load,
                settle=self._settle,
                worker=lambda options: self._worker(process, options),
                judge=lambda options: SimulatedJudge(self, process) if options.judge is not None else None,
                rooms=SimulatedRooms(self, process) if scenario.rooms else None,
                observe=lambda run_id, entry: self.stir(),
                people=SimulatedPeople(self, process),
                random_hex=lambda length: self.random.randbytes(length).hex(),
            )
        )

    def _settle(self, goal: Goal, options: StartOptions) -> Start:
        scenario = self.scenario
        chosen = RunOptions(
            scenario.worker,
            scenario.judge,
            trials=scenario.rooms,
            summary=scenario.summary,
            metered=scenario.metered,
        )
        return Start(replace(goal, limits=changed_limits(goal.limits, options.limits)), chosen)

    def _worker(self, process: Process, options: RunOptions) -> Worker:
        return SimulatedWorker(self, process, waits_for_person=options.worker == "human")

    def lose_power(self, *processes: Process) -> None:
        """All processes die, and the disk forgets what was not synced."""
        for one in processes:
            one.die()
        self.outages += 1
        lost = self.disk.lose_power()
        self.tell(f"the power fails: {lost} entries are lost")


class Process:
    """A process with an engine. It dies at any await, and nothing of it happens afterwards."""

    def __init__(self, machine: Machine, name: str) -> None:
        self.machine = machine
        self.name = name
        self.pid = next(machine.counter)
        self.alive = True
        self.tasks: list[asyncio.Task[Any]] = []
        self.saves = ClientSaves()
        self.taking: dict[str, TakeAct] = {}
        """How it takes acts that another process asks for."""
        self.died = asyncio.Event()
        self.supervisor = Supervisor(machine.setup(self))

    def spawn(self, step: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Does something in this process."""
        context = copy_context()
        context.run(_here.set, self)
        return context.run(asyncio.ensure_future, step)

    def die(self) -> None:
        if not self.alive:
            return
        self.alive = False
        machine = self.machine
        owned = [one for one in machine.held if one[0] is self]
        if owned:
            machine.deaths += 1
            if machine.at_work:
                machine._count(-machine.at_work)
            machine.turns.clear()
        machine.held = [one for one in machine.held if one[0] is not self]
        machine.tell(f"{self.name} dies")
        if owned and machine.chance(machine.scenario.orphans):
            self._leave_behind()
        for task in self.tasks:
            task.cancel()
        self.died.set()
        machine.stir()

    def _leave_behind(self) -> None:
        """Something that the worker started goes on for a while, until it is ended."""
        machine = self.machine
        machine.orphans += 1

        def write() -> None:
            if machine.orphans:
                machine.orphans -= 1
                path = machine.random.choice(("a.py", "b.py"))
                machine.edit(path, machine.content(machine.chance(0.5)), "what the worker left behind")

        asyncio.get_running_loop().call_later(machine.random.random(), write)

    async def gone(self) -> None:
        """Returns once its tasks have ended."""
        left = [task for task in self.tasks if not task.done()]
        if left:
            await asyncio.wait(left, timeout=5.0)


class SimulatedPeople(MemoryPeople):
    """An act goes to the process that holds the run. It may die, and whoever asks may give up, between any two lines
    that they say."""

    def __init__(self, machine: Machine, process: Process) -> None:
        super().__init__(process.taking)
        self._machine = machine

    async def ask(self, owner: Owner, act: Act) -> ActReply | None:
        machine, waits, taken = self._machine, True, False
        await machine.pause()
        holder = next((one for one, held in machine.held if held == owner), None)
        take = holder.taking.get(owner.run_id) if holder is not None else None
        if holder is None or take is None:
            return None

        async def look() -> Seen:
            await machine.pause()
            return Seen(self.me())

        async def agreed() -> bool:
            nonlocal taken
            taken = True
            await machine.pause()
            return waits

        replying = holder.spawn(take(AskedAct(owner.run_id, "terminal", act), look, agreed))
        try:
            await asyncio.wait({replying})
        finally:
            waits = False
        await machine.pause()
        if not replying.cancelled():
            return replying.result()
        if taken:
            raise PersonNeeded("the process ended meanwhile")
        return None


class SimulatedLock:
    """`ports.RunLock`: it is free once its holder is dead."""

    def __init__(self, machine: Machine, process: Process) -> None:
        self._machine = machine
        self._process = process

    def acquire(self, run_id: str, token: str) -> None:
        held = self._machine.held
        if held:
            raise AlreadyRunning(held[0][1].run_id)
        owner = Owner(run_id, self._process.pid, 0.0, token)
        held.append((self._process, owner))
        self._machine.owners.append(owner)

    def release(self) -> None:
        if self._process.alive:
            self._machine.held[:] = [one for one in self._machine.held if one[0] is not self._process]
            self._machine.stir()

    def owner(self) -> Owner | None:
        return self._machine.held[0][1] if self._machine.held else None

    def last_owner(self) -> Owner | None:
        return self._machine.owners[-1] if self._machine.owners else None

    async def until_gone(self, owner: Owner) -> None:
        while self.owner() == owner:  # noqa: ASYNC110  # a list tells nobody
            await asyncio.sleep(0.05)

    def inherited_descriptors(self) -> tuple[int, ...]:
        return ()

    async def end_leftovers(self, token: str) -> int:
        await self._machine.pause()
        ended, self._machine.orphans = self._machine.orphans, 0
        return ended


class _LateHints(Notifier):
    """Hints come late, twice, and in another order than what they tell of."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine

    def notify(self) -> None:
        random, delay = self._machine.random, self._machine.scenario.delay
        for _ in range(random.choice((1, 1, 2))):
            asyncio.get_running_loop().call_later(random.random() * delay, super().notify)


class SimulatedFiles(MemoryWorkspace):
    """The files of the workspace, as one process opened them."""

    def __init__(self, machine: Machine) -> None:
        files = {GOAL_FILE: b"0 goal\n", "a.py": b"bad 0\n", "b.py": b"bad 0\n", PROTECTED: b"kept\n"}
        super().__init__(files, root=ROOT, quiet=Quiet(few=0.01, many=0.05, gather=0.001), now=machine.now)
        self._machine = machine
        self._process: Process | None = None
        self._notifier = _LateHints(machine)

    def opened_by(self, process: Process) -> SimulatedFiles:
        other = self.again()
        assert isinstance(other, SimulatedFiles)
        other._process, other._saves = process, process.saves
        return other

    async def current(self) -> TreeState:
        await self._machine.pause()
        return await super().current()

    async def confirm(self) -> TreeState:
        tree = await super().confirm()
        if self._process is not None:
            self._machine.walks[self._process] = tree.revision
        return tree

    async def checkpoint(self) -> str:
        await self._machine.pause()
        return await super().checkpoint()

    async def restore(
        self, checkpoint: str, paths: Sequence[str] | None = None, keep: Sequence[str] = ()
    ) -> Sequence[str]:
        """One file after the other: it may be cut off between two."""
        machine, done = self._machine, list[str]()
        wanted = [path for path in await self.changed_between(checkpoint, None) if paths is None or path in paths]
        wanted = [path for path in wanted if path not in keep]
        for path in wanted:
            held = self._files.get(path)
            if held is not None and not any(kept.get(path) == held for kept in self._checkpoints.values()):
                machine.broken.append(f"{path} is put back, and what stands there is nowhere kept: {held[1]!r}")
        for path in wanted:
            if self._lives():
                done += await super().restore(checkpoint, [path], keep)
            await machine.pause()
        return tuple(done)

    def _lives(self) -> bool:
        return self._process is None or self._process.alive

    def _update_manifest(self) -> None:
        super()._update_manifest()
        revision = self._found.revision
        if revision not in self._machine.truths:
            self._machine.truths[revision] = frozenset(one for one in CHECKS if self._machine.passes(one))


class SimulatedChecker:
    """`ports.Checker`. It looks at the files at some moment between its beginning and its end. Where it lies, it never
    says that something passes which doesn't."""

    def __init__(self, machine: Machine, process: Process) -> None:
        self._machine = machine
        self._process = process

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        machine, command = self._machine, check.command
        of_run = bool(machine.held) and machine.held[0][1].token == token  # and not of a check beside the run
        if of_run and machine.turns:
            machine.broken.append(f"`{command}` runs while a worker is at work")
        if not machine.disk.begun("AuditStarted"):
            machine.broken.append(f"`{command}` runs, and nothing on the disk itself says so")
        with machine.working() if of_run else nullcontext():
            if machine.chance(machine.scenario.lying):
                return await self._lies(command, timeout)
            await machine.pause(0.05)
            passed = machine.passes(command)
            if machine.scenario.writes_report and self._process.alive:
                machine.edit(REPORT, machine.content(False), "a check")
            await machine.pause(0.05)
        return passing(command) if passed else failing(command)

    async def _lies(self, command: str, timeout: float) -> CheckResult:
        machine = self._machine
        if machine.chance(0.3):
            await asyncio.sleep(timeout)
            return replace(failing(command), outcome=Outcome.TIMED_OUT, reason="it took too long", exit_code=None)
        await machine.pause(0.05)
        outcome = machine.random.choice((Outcome.FAILED, Outcome.KILLED, Outcome.NOT_RUN, Outcome.NO_TESTS))
        return replace(failing(command), outcome=outcome, reason=f"it lies: {outcome}")

    def environment(self, check: Check) -> str:
        return ""

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return EditorReport(requirement.id, forwarded=False)


class SimulatedProbes:
    """`ports.Probes`: the goal file and the protected one."""

    async def facts(self, goal: Goal, workspace: Workspace) -> IntegrityFacts:
        known = workspace.digest(PROTECTED) or ""
        goal_file = FileFact(GOAL_FILE, workspace.digest(GOAL_FILE) or "")
        return IntegrityFacts(protected=(FileFact(PROTECTED, known),), goal_file=goal_file)

    async def started(self, goal: Goal, workspace: Workspace) -> Mapping[str, tuple[str, ...]]:
        return {check.id: (check.command,) for check in goal.checks}

    async def addressing(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None = None,
        commands: Sequence[ObservedCommand] = (),
    ) -> tuple[AddressingFact, ...]:
        return ()


class _InRoom:
    """A check in a room: it sees the files that were laid there over those of the workspace."""

    def __init__(self, machine: Machine, laid: dict[str, bytes | None]) -> None:
        self._machine = machine
        self._laid = laid

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        machine, files = self._machine, self._machine.files
        with machine.working():
            await machine.pause(0.02)
            passed = machine.passes(
                check.command, lambda path: self._laid[path] if path in self._laid else files.read(path)
            )
        return passing(check.command) if passed else failing(check.command)

    def environment(self, check: Check) -> str:
        return ""

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return EditorReport(requirement.id, forwarded=False)


class _SimulatedRoom:
    root = ROOT
    kind = "overlay"
    same_place = True

    def __init__(self, checker: Checker) -> None:
        self.checker = checker

    async def rewritten(self) -> list[str]:
        return []


class SimulatedRooms:
    """`ports.Rooms`: sometimes none can be opened."""

    kind = "overlay"

    def __init__(self, machine: Machine, process: Process) -> None:
        self._machine = machine
        self._process = process

    async def hindrance(self, workspace: Workspace) -> str:
        await self._machine.pause()
        return ""

    @asynccontextmanager
    async def open(
        self, workspace: Workspace, laid: Sequence[Laid], *, built: bool = True, naming: str = ""
    ) -> AsyncGenerator[Room]:
        machine = self._machine
        await machine.pause()
        if machine.chance(machine.scenario.outage):
            raise WorkspaceError("no room can be opened: the disk is full")
        contents = {
            one.path: one.content if one.checkpoint is None else await workspace.file_at(one.checkpoint, one.path)
            for one in laid
        }
        yield _SimulatedRoom(_InRoom(machine, contents))  # type: ignore[misc]
