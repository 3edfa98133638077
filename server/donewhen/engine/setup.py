"""What the composition root gives the engine for one workspace folder."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.core.acts import Act, ActReply
from donewhen.core.events import AcceptedBy, Entry, RunOptions
from donewhen.core.evidence import CheckResult
from donewhen.core.goal import Goal, Limits
from donewhen.core.people import Person
from donewhen.core.retention import Retention
from donewhen.core.work import RunWarning
from donewhen.engine.api import StartOptions
from donewhen.ports import (
    Checker,
    Clock,
    Judge,
    KeptTrees,
    Ledger,
    Owner,
    People,
    Plugins,
    Probes,
    Rooms,
    RunLock,
    TakeAct,
    Worker,
    Workspace,
)

# The clocks of the machine.


class SystemClock:
    """Implements `ports.Clock`."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


# Who acts when no other process can reach a run: the program itself (ports.People).


class LocalCaller:
    """Of a record that is in memory alone."""

    def me(self) -> Person:
        return Person("this program", "program")

    def inside(self, run_id: str) -> bool:
        return False

    async def ask(self, owner: Owner, act: Act) -> ActReply | None:
        return None  # nobody else has that record

    async def listen(self, run_id: str, take: TakeAct) -> None:
        """Nobody asks."""

    async def replied(self) -> None:
        """Nobody waits."""


# When the editor last reported something new about the files: its diagnostics need time to follow an edit.


QUIET = 2.0
"""Seconds without news after which the editor's tools are taken to have looked at what there is."""
PATIENCE = 10.0


class EditorActivity:
    """News are diagnostics that differ, text that is edited, opened, saved or closed, and files that changed."""

    def __init__(self, quiet: float = QUIET, patience: float = PATIENCE) -> None:
        self.count = 0
        self._quiet = quiet
        self._patience = patience
        self._last: float | None = None
        self._more = asyncio.Event()

    def note(self) -> None:
        self.count += 1
        self._last = asyncio.get_running_loop().time()
        self._more.set()
        self._more = asyncio.Event()

    async def quiet(self) -> bool:
        """True once there were no news for a while; False if they go on and on."""
        now = asyncio.get_running_loop().time
        given_up = now() + self._patience
        while self._last is not None and (left := self._last + self._quiet - now()) > 0:
            if now() >= given_up:
                return False
            await asyncio.sleep(min(left, self._patience))
        return True

    async def after(self, count: int) -> None:
        """Returns once there are more news than these."""
        while self.count == count:
            await self._more.wait()


# What a run starts with, and the parts that it works with.


@dataclass(frozen=True, slots=True)
class Start:
    """A run as it will start: the goal with its limits settled, the frozen options, and what to warn of."""

    goal: Goal
    options: RunOptions
    warnings: tuple[RunWarning, ...] = ()
    accepted: AcceptedBy | None = None
    """Who has accepted the start summary already; None: a person is asked before the first turn, if there is one."""
    file_limits: Limits | None = None
    """As the goal file has them; None without one."""


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """The parts of the engine in one workspace folder. Each run has a `workspace` of its own.

    `settle` applies the settings and their precedence; it raises InvalidGoal or UsageError. `trusted` is asked before
    anything is executed.
    """

    root: Path
    state_folder: Path
    clock: Clock
    ledger: Ledger
    lock: RunLock
    workspace: Callable[[], Workspace]
    checker: Checker
    probes: Probes
    load_goal: Callable[[str], Goal]
    """Reads and parses the goal file at that path; raises GoalFileError with what to do."""
    settle: Callable[[Goal, StartOptions], Start]
    worker: Callable[[RunOptions], Worker]
    judge: Callable[[RunOptions], Judge | None]
    ready: Callable[[Goal, RunOptions], None] = lambda goal, options: None
    """Raises UsageError where a run that is resumed lacks what it needs to work; `settle` asks the same at a start."""
    glance: Callable[[], Workspace] | None = None
    """A workspace to look at once, without watching it; None if there are no files to look at."""
    guard_lock: RunLock | None = None
    """Held while something on guard is proven again: one process at a time does. None: there is but one."""
    trusted: Callable[[], bool] = lambda: True
    retry_prompt: Callable[[str | None], str] | None = None
    """Replaces the feedback that a worker is given before each retry."""
    mask: Callable[[str], str] = lambda text: text
    """Replaces secrets in what a worker says, before it is kept or shown."""
    unsaved: Callable[[str], str | None] = lambda path: None
    """The text that an editor holds for a file (posix path) where that differs from what is on disk."""
    plugins: Callable[[RunOptions], Plugins | None] = lambda options: None
    """The plugins of one run, made for it alone."""
    observe: Callable[[str, Entry], None] = lambda run_id, entry: None
    """Called with every entry of every run of this process, for tracing."""
    prepare: Callable[[], Awaitable[None]] | None = None
    """Awaited before a run is settled: finds out what can be had here only by trying."""
    warm: Callable[[], None] = lambda: None
    """Loads in the background what the first call to a configured model would wait for."""
    closing: Callable[[], Awaitable[None]] | None = None
    """Awaited when the engine closes: ends what the workers and judges of all runs share."""
    trees: KeptTrees | None = None
    """The trees that runs kept; None: there is nothing on a disk to fold."""
    retention: Callable[[], Retention] | None = None
    """The policy by which old runs are removed after a run; None: nothing is removed by itself."""
    collect_lock: RunLock | None = None
    """Held while old runs are removed: one process at a time does."""
    in_use: Callable[[], Collection[str]] = lambda: ()
    """Runs that something besides the ledger names: they are not removed."""
    tell: Callable[[str], None] = lambda line: None
    """Told, in one line, what was removed by itself."""
    people: People = field(default_factory=LocalCaller)
    """Who acts through this process, and through those whose acts it takes."""
    of_program: bool = False
    """True if a program gives worker, judge and validators: elsewhere its runs can't go on."""
    unwritable: str | None = None
    """Why nothing can be put on record, and what to do about it: then runs can be read, and nothing else."""
    rooms: Rooms | None = None
    """Where checks are tried before a run completes; None: nowhere."""
    hidden_checks: Callable[[], Mapping[str, str]] = dict
    """The commands of the checks that the person holds out from workers, by name."""
    affected_command: Callable[[CheckResult, Sequence[str]], str] = lambda last, changed: ""
    """The command for the tests of a check that changes of these paths may affect; empty: none."""
    editor_activity: EditorActivity = field(default_factory=EditorActivity)
    """When the editor last had another word on the files of this folder."""
    random_hex: Callable[[int], str] = secrets.token_hex
    """So many random bytes as hexadecimal digits: ids of runs, their tokens, names of planted tests."""
