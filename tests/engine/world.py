"""A whole engine in memory: real decisions, real loop, real store and workspace doubles that ship with the project."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from donewhen.core.acts import Act, ActReply, AskedAct
from donewhen.core.errors import AlreadyRunning, GoalFileError, WorkerFailed, WorkspaceError
from donewhen.core.events import RunOptions
from donewhen.core.evidence import CheckResult, EditorReport, ObservedCommand, Problem
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import AddressingFact, FileFact, IntegrityFacts
from donewhen.core.people import Seen
from donewhen.core.work import TurnResult, Usage
from donewhen.engine.api import LimitChanges, RunView, StartOptions
from donewhen.engine.runs import Supervisor, changed_limits
from donewhen.engine.setup import EngineSetup, LocalCaller, Start, SystemClock
from donewhen.ports import Judge, Laid, Owner, TakeAct, Turn, TurnContext, Worker, Workspace
from donewhen.store.memory import MemoryLedger
from donewhen.workspace.memory import MemoryWorkspace
from tests.core.builders import failing, passing

Behaviour = Callable[["World"], CheckResult | bool]


def contains(path: str, text: str) -> Behaviour:
    """A check that passes where the file holds the text."""
    return lambda world: text.encode() in (world.workspace.read(path) or b"")


@dataclass
class MemoryChecker:
    """Checks as functions of the world. `gate` holds them up; `ran` lists what ran, in order."""

    world: World
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    gate: asyncio.Event | None = None
    ran: list[str] = field(default_factory=list)
    running: int = 0
    most: int = 0
    cancelled: int = 0
    problems: tuple[Problem, ...] | None = None
    unsaved: tuple[str, ...] = ()
    asked: int = 0

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        self.ran.append(check.command)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.gate is not None:
                await self.gate.wait()
            await asyncio.sleep(0)
            found = self.behaviours[check.command](self.world)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        if isinstance(found, CheckResult):
            return replace(found, check_id=check.id)
        return passing(check.command) if found else failing(check.command)

    async def at_work(self) -> None:
        """Returns once a check runs, which `gate` holds up: no event tells of that."""
        while not self.running:  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0.002)

    def environment(self, check: Check) -> str:
        return ""

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        self.asked += 1
        if self.problems is None:
            return EditorReport(requirement.id, forwarded=False)
        return EditorReport(requirement.id, forwarded=True, problems=self.problems, unsaved=self.unsaved)


@dataclass
class _Layered:
    """The present files with some of another version."""

    workspace: MemoryWorkspace
    laid: dict[str, bytes | None]
    written: dict[str, bytes] = field(default_factory=dict)

    def read(self, path: str) -> bytes | None:
        if path in self.written:
            return self.written[path]
        return self.laid[path] if path in self.laid else self.workspace.read(path)

    def write(self, path: str, data: bytes) -> None:
        self.written[path] = data


@dataclass
class _InRoom:
    """What a check's behaviour sees of the world in a room."""

    workspace: _Layered
    room: bool = True


@dataclass
class MemoryRoom:
    """A room in memory: checks of the world, over other files."""

    root: Path
    files: _Layered
    checker: MemoryChecker
    kind: str = "overlay"
    same_place: bool = True

    async def rewritten(self) -> list[str]:
        return sorted(self.files.written)


@dataclass
class MemoryRooms:
    """Rooms in memory. `opened` lists what was laid in each, in order; `broken` says why none can be made."""

    world: World
    opened: list[dict[str, bytes | None]] = field(default_factory=list)
    broken: str = ""
    hindered: str = ""
    kind: str = "overlay"
    same_place: bool = True
    now: int = 0
    most: int = 0

    async def hindrance(self, workspace: Workspace) -> str:
        return self.hindered

    @asynccontextmanager
    async def open(
        self, workspace: Workspace, laid: Sequence[Laid], *, built: bool = True, naming: str = ""
    ) -> AsyncGenerator[MemoryRoom]:
        if self.broken:
            raise WorkspaceError(self.broken)
        contents = {
            one.path: one.content if one.checkpoint is None else await workspace.file_at(one.checkpoint, one.path)
            for one in laid
        }
        self.opened.append(contents)
        files = _Layered(self.world.workspace, contents)
        checker = MemoryChecker(_InRoom(files), self.world.checker.behaviours)  # type: ignore[arg-type]
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            yield MemoryRoom(workspace.root, files, checker, same_place=self.same_place)
        finally:
            self.now -= 1


@dataclass
class MemoryProbes:
    """Integrity facts of the goal file and the files named `protected*` only: enough for the engine."""

    async def facts(self, goal: Goal, workspace: Workspace) -> IntegrityFacts:
        paths = [path for path in workspace.files() if path.startswith("protected")]
        facts = tuple(FileFact(path, workspace.digest(path) or "") for path in paths)
        goal_file = FileFact(goal.path or "", workspace.digest(goal.path or "") or "")
        return IntegrityFacts(protected=facts, goal_file=goal_file)

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


@dataclass
class MemoryLock:
    """One supervisor at a time among those that share it."""

    held: list[Owner]
    mine: Owner | None = None
    last: list[Owner] = field(default_factory=list)

    def acquire(self, run_id: str, token: str) -> None:
        if self.held:
            raise AlreadyRunning(self.held[0].run_id)
        self.mine = Owner(run_id, 1, 0.0, token)
        self.held.append(self.mine)
        self.last.append(self.mine)

    def release(self) -> None:
        if self.mine in self.held:
            self.held.remove(self.mine)  # type: ignore[arg-type]
        self.mine = None

    def owner(self) -> Owner | None:
        return self.held[0] if self.held else None

    def last_owner(self) -> Owner | None:
        return self.last[-1] if self.last else None

    def inherited_descriptors(self) -> tuple[int, ...]:
        return ()

    async def until_gone(self, owner: Owner) -> None:
        while owner in self.held:  # noqa: ASYNC110  # a list tells nobody
            await asyncio.sleep(0.01)

    async def end_leftovers(self, token: str) -> int:
        return 0


class MemoryPeople(LocalCaller):
    """A person who acts through several supervisors. `taking` is how each of them takes acts that another asks for."""

    def __init__(self, taking: dict[str, TakeAct]) -> None:
        super().__init__()
        self.taking = taking

    async def ask(self, owner: Owner, act: Act) -> ActReply | None:
        take = self.taking.get(owner.run_id)

        async def look() -> Seen:
            return Seen(self.me())

        async def agreed() -> bool:
            return True

        return None if take is None else await take(AskedAct(owner.run_id, "program", act), look, agreed)

    async def listen(self, run_id: str, take: TakeAct) -> None:
        self.taking[run_id] = take


GOAL = "GOAL.md"

Play = Callable[[Turn, TurnContext, "World"], "TurnResult | None"]


@dataclass
class Player:
    """A worker that plays a function per turn; the last one goes on. `turns` are those that it was given."""

    world: World
    plays: list[Play]
    turns: list[Turn] = field(default_factory=list)
    gate: asyncio.Event | None = None
    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0
    name: str = "command"
    waits_for_person: bool = False

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        self.turns.append(turn)
        self.started.set()
        try:
            if self.gate is not None:
                await self.gate.wait()
            if self.waits_for_person:
                await context.settled()
                return TurnResult(usage=Usage())
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        play = self.plays[min(turn.iteration, len(self.plays)) - 1]
        return play(turn, context, self.world) or TurnResult(usage=Usage())


def writes(path: str, text: str) -> Play:
    def play(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit(path, text.encode())

    return play


def idle(turn: Turn, context: TurnContext, world: World) -> None:
    """Changes nothing."""


def fails(message: str) -> Play:
    def play(turn: Turn, context: TurnContext, world: World) -> TurnResult:
        raise WorkerFailed(message)

    return play


def returns(result: TurnResult) -> Play:
    return lambda turn, context, world: result


class World:
    """One workspace folder with its ledger; `supervisor()` is one process that works on it."""

    def __init__(self, folder: Path, files: dict[str, bytes] | None = None, ignored: str = "") -> None:
        self.folder = folder
        self.workspace = MemoryWorkspace(files or {"GOAL.md": b"goal", "a.py": b"bad"}, root=folder, ignored=ignored)
        self.opening: Callable[[], Workspace] | None = None
        """What opens the workspace for a run, where it isn't to be an opening of its own."""
        self.ledger = MemoryLedger()
        self.checker = MemoryChecker(self)
        self.rooms: MemoryRooms | None = None
        """Where checks are tried before a run completes; None: they aren't."""
        self.hidden: dict[str, str] = {}
        """The person's held-out checks: commands by name."""
        self.worker: Player = Player(self, [idle])
        self.judge: Judge | None = None
        self.goals: dict[str, Goal] = {}
        self.held: list[Owner] = []
        self.owners: list[Owner] = []
        self.taking: dict[str, TakeAct] = {}
        """How each supervisor takes acts that another asks for."""
        self.trusted = True
        self.open: list[Supervisor] = []

    def load(self, path: str) -> Goal:
        if path not in self.goals:
            raise GoalFileError(f"there is no goal file {path}: `donewhen init` drafts one")
        return self.goals[path]

    def supervisor(self, **parts: object) -> Supervisor:
        setup = EngineSetup(
            root=self.folder,
            state_folder=self.folder,
            clock=SystemClock(),
            ledger=self.ledger.connected(),
            lock=MemoryLock(self.held, last=self.owners),
            workspace=lambda: (self.opening or self.workspace.again)(),
            glance=lambda: self.workspace.again(),
            checker=self.checker,
            probes=MemoryProbes(),
            load_goal=self.load,
            settle=self.settle,
            worker=self._worker,
            judge=lambda options: self.judge,
            trusted=lambda: self.trusted,
            rooms=self.rooms,
            hidden_checks=lambda: self.hidden,
            people=MemoryPeople(self.taking),
        )
        supervisor = Supervisor(replace(setup, **parts))  # type: ignore[arg-type]
        self.open.append(supervisor)
        return supervisor

    def settle(self, goal: Goal, options: StartOptions) -> Start:
        limits = changed_limits(goal.limits, options.limits)
        judge = self.judge.identity if self.judge is not None else None
        askable, trials = options.askable is not False, self.rooms is not None
        chosen = RunOptions(
            self.worker.name, judge, askable=askable, trials=trials, hidden_checks=tuple(self.hidden),
            worker_command=options.worker_command,
        )  # fmt: skip
        return Start(replace(goal, limits=limits), chosen)

    def _worker(self, options: RunOptions) -> Worker:
        return self.worker

    async def close(self) -> None:
        for supervisor in self.open:
            await supervisor.close("the test ended")


async def ended(supervisor: Supervisor, run_id: str) -> RunView:
    """The last view of a run that ends, pauses or is interrupted."""
    view = await supervisor.view(run_id)
    async for seen in supervisor.follow(run_id):
        view = seen
    return view


async def until(supervisor: Supervisor, run_id: str, reached: Callable[[RunView], bool]) -> RunView:
    """The first view of a run of which `reached` is true."""
    async for view in supervisor.follow(run_id):
        if reached(view):
            return view
    raise AssertionError("the run ended before")


async def pursue(world: World, *plays: object, limits: LimitChanges | None = None) -> RunView:
    world.worker.plays = list(plays) or [idle]  # type: ignore[arg-type]
    supervisor = world.supervisor()
    view = await supervisor.start(GOAL, StartOptions(limits=limits or LimitChanges()))
    return await ended(supervisor, view.state.run_id)
