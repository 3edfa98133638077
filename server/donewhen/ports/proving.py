"""Checks, integrity, workers and judges. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from donewhen.core.evidence import CheckResult, EditorReport, Evidence
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import IntegrityFacts
from donewhen.core.verdict import RequirementView, Verdict
from donewhen.core.work import Answer, Interrupt, TurnResult, Usage
from donewhen.ports.folder import TreeState, Workspace


class Checker(Protocol):
    """Runs checks; the only maker of check results. Cancelling ends every process that it started."""

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        """One run of one check. Never raises for what a check does: that is an outcome. `token` marks every child
        process (environment variable DONEWHEN_RUN_TOKEN). `test_run`: it once reported a test, and stays a test run."""
        ...

    def environment(self, check: Check) -> str:
        """Digest of what it would run in: program, variables, platform; part of the cache key."""
        ...

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        """What the editor's own diagnostics say about the files of `requirement.problems`."""
        ...


class Probes(Protocol):
    """Reads the facts that integrity is judged by."""

    async def facts(self, goal: Goal, workspace: Workspace, results: Sequence[CheckResult]) -> IntegrityFacts: ...


class GoalFiles(Protocol):
    """Goal files as the engine needs them."""

    def load(self, path: str) -> Goal:
        """Reads and parses; raises GoalFileError with what to do."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """What a worker is given for one iteration (C3). `feedback` is None in the first."""

    run_id: str
    iteration: int
    goal: Goal
    views: tuple[RequirementView, ...]
    feedback: str | None
    token: str
    answers: tuple[str, ...] = ()
    preserve_context: bool = True
    """True: a worker with a conversation goes on with it. False: it starts from its original one and the latest
    feedback; files stay as they are (C5)."""


class TurnContext(Protocol):
    """What a worker may use during its turn."""

    @property
    def workspace(self) -> Workspace: ...

    def activity(self, line: str) -> None:
        """What it does now, one line, for the snapshot."""
        ...

    async def settled(self) -> TreeState:
        """Waits until the workspace's content changed and then stayed quiet; the change is on record then."""
        ...

    async def ask(self, interrupt: Interrupt) -> Answer:
        """Opens an interrupt (its id is assigned) and waits for a person's answer."""
        ...

    def inherited_descriptors(self) -> tuple[int, ...]: ...


class Worker(Protocol):
    """Whoever does the work of an iteration. Cancelling must end every process that it started."""

    @property
    def name(self) -> str: ...

    @property
    def waits_for_person(self) -> bool:
        """True for `human`: its turns cost no time, and nothing is restored unasked."""
        ...

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """One turn. Raises WorkerFailed for a turn that ended with an error (C8)."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """What a judge is asked: evidence, never a worker's words."""

    run_id: str
    goal: Goal
    requirements: tuple[Requirement, ...]
    revision: str
    evidence: tuple[Evidence, ...]
    disputes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's reply: no verdict where it could not be used."""

    verdict: Verdict | None
    usage: Usage = field(default_factory=Usage)
    reason: str = ""


class Judge(Protocol):
    """Audits evidence against requirements. Raises JudgeOutage where it can't be asked (A6)."""

    @property
    def identity(self) -> str: ...

    async def judge(self, task: JudgeTask, workspace: Workspace) -> Judgement: ...


OnChange = Callable[[str], None]
"""Called with a run id after each change of that run."""
