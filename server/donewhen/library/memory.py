"""The parts of a run without a workspace: nothing is read, written or locked outside of the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from donewhen.core.errors import AlreadyRunning, GoalFileError
from donewhen.core.evidence import CheckResult, EditorReport, ObservedCommand, Outcome
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import AddressingFact, IntegrityFacts
from donewhen.ports import Owner, Workspace

NO_WORKSPACE = "commands run in a workspace, and this run has none: give workspace=FOLDER"


class SoleRunLock:
    """`ports.RunLock` of one session: it has one run at a time, and no other process can reach it."""

    def __init__(self) -> None:
        self._owner: Owner | None = None

    def acquire(self, run_id: str, token: str) -> None:
        if self._owner is not None:
            raise AlreadyRunning(self._owner.run_id)
        self._owner = Owner(run_id, 0, 0.0, token)

    def release(self) -> None:
        self._owner = None

    def owner(self) -> Owner | None:
        return self._owner

    def last_owner(self) -> Owner | None:
        return None

    def inherited_descriptors(self) -> tuple[int, ...]:
        return ()

    async def end_leftovers(self, token: str, within: float = 2.0) -> int:
        return 0


class NoCommands:
    """`ports.Checker` where no command can run."""

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        return CheckResult(check.id, check.command, Outcome.NOT_RUN, NO_WORKSPACE)

    def environment(self, check: Check) -> str:
        return ""

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return EditorReport(requirement.id, forwarded=False)


class NoProbes:
    """`ports.Probes` where there are no files to read facts from."""

    async def facts(self, goal: Goal, workspace: Workspace) -> IntegrityFacts:
        return IntegrityFacts()

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


class NoGoalFiles:
    """`ports.GoalFiles` where there is no folder to look in."""

    def load(self, path: str) -> Goal:
        raise GoalFileError(f"the goal file {path} is in no workspace: give workspace=FOLDER")
