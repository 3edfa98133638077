"""Runs in memory, a terminal of strings, and the services around them."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from donewhen.app.doctor import DoctorLine, DoctorReport
from donewhen.app.services import Look, Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.cli.calling import ServeOptions
from donewhen.cli.main import main
from donewhen.cli.terminal import Terminal
from donewhen.core.acts import ActOutcome
from donewhen.core.answers import checked_answer
from donewhen.core.errors import DoneWhenError, UnknownRun, WrongAnswer
from donewhen.core.events import PausedBy, RunOptions
from donewhen.core.evidence import CheckResult, Evidence, Outcome, Problem, TestTotals
from donewhen.core.goal import Check, Goal, Limits, Requirement, requirement_id
from donewhen.core.hints import ReadWhen
from donewhen.core.proof_files import ProofBasis
from donewhen.core.state import Auditing, CheckRecord, IterationRecord, KnownFinding, RunState
from donewhen.core.verdict import RequirementView
from donewhen.core.work import Answer, Interrupt, Usage
from donewhen.engine.api import (
    HaltAnswer,
    IterationDetail,
    LimitChanges,
    RunSteps,
    RunView,
    StartOptions,
)
from donewhen.goalfile.preflight import GoalHint
from donewhen.goalfile.survey import FoundCheck, Survey
from donewhen.ports import Live, RunSummary
from donewhen.settings.loading import Settings
from tests.core.builders import changed

RUN = "run-1"
GOAL_TEXT = "# Ship the exporter\n\n- [ ] `python -m pytest -q` passes\n- [ ] `ruff check .` passes\n"
PYTEST = Check.of("python -m pytest -q")
RUFF = Check.of("ruff check .")
RED = Requirement(requirement_id("tests"), 1, "`python -m pytest -q` passes", (PYTEST,), sole_check=True, line=8)
CLEAN = Requirement(requirement_id("lint"), 2, "`ruff check .` passes", (RUFF,), sole_check=True, line=9)
GOAL = Goal("Ship the exporter", "Exports open.", (RED, CLEAN), Limits(), path="GOAL.md")


def evidence(
    check: Check, *, passed: bool, number: int = 1, revision: str = "rev1", problems: Sequence[Problem] = ()
) -> Evidence:
    tests = "pytest" in check.command
    result = CheckResult(
        check.id,
        check.command,
        Outcome.PASSED if passed else Outcome.FAILED,
        "12 passed" if passed else "2 of 12 tests failed",
        exit_code=0 if passed else 1,
        seconds=1.25,
        output="12 passed" if passed else "FAILED test_quotes.py",
        program="/usr/bin/python",
        is_test_run=tests,
        totals=TestTotals(12, 0) if passed else TestTotals(10, 2),
        problems=tuple(problems),
    )
    return Evidence(f"E{number}", revision, revision, 0, result if tests else replace(result, totals=None))


def recorded(*findings: KnownFinding) -> Mapping[str, KnownFinding]:
    """What a state has on record of findings: of several that are alike, too."""
    return {str(number): one for number, one in enumerate(findings)}


def state_of(
    *,
    red: bool = False,
    results: Mapping[str, Evidence] | None = None,
    findings: Sequence[KnownFinding] = (),
    **changes: Any,
) -> RunState:
    """A run of GOAL whose checks have run: all passed, or the tests failed, or what `results` says by check id."""
    said = results or {PYTEST.id: evidence(PYTEST, passed=not red), RUFF.id: evidence(RUFF, passed=True, number=2)}
    state = RunState(
        RUN,
        "pursue",
        GOAL,
        RunOptions("human"),
        sequence=9,
        revision="rev1",
        auditing=Auditing(due=False, count=1),
        checks={key: CheckRecord(latest=one) for key, one in said.items()},
        findings=recorded(*findings),
    )
    return changed(state, **changes)


def red_at(*places: Problem) -> RunView:
    """The tests failed, and said where."""
    passed = evidence(RUFF, passed=True, number=2)
    return view(results={PYTEST.id: evidence(PYTEST, passed=False, problems=places), RUFF.id: passed})


def view_of(state: RunState) -> RunView:
    return RunView(state, Live(), "file:///w/GOAL.md", owned=True)


def view(*, red: bool = False, **changes: Any) -> RunView:
    return view_of(state_of(red=red, **changes))


def with_views(shown: RunView, *views: RequirementView) -> RunView:
    """`shown` with requirements that stand otherwise than its state says."""
    changed = replace(shown)
    vars(changed)["views"] = views
    return changed


def complete() -> RunView:
    record = IterationRecord(1, 1_700_000_000.0, 2.0, 2, 2, revision="rev1", changed=("a.py",), summary="done")
    return view(
        ended=True, end_status="complete", reason="every requirement is proven", iteration=1, turns_ended=1,
        iterations=(record,), elapsed=3.5, sequence=12,
        auditing=Auditing(due=False, count=2),
    )  # fmt: skip


def question(number: int = 1) -> Interrupt:
    return Interrupt(f"I{number}", "question", "Which encoding?", about="worker")


def approval() -> Interrupt:
    return Interrupt("I1", "approval", "run a command", tool="run_command", input={"command": "git push"})


class FakeRuns:
    """Plays `views` to whoever follows; the last one stays until something changes it."""

    def __init__(self, root: Path, views: Sequence[RunView] = (), error: DoneWhenError | None = None) -> None:
        self.root = root
        self.state_folder = root / "state"
        self.calls: list[tuple[Any, ...]] = []
        self.edited: tuple[str, ...] = ()
        """What a person edited: `revert` keeps it unless forced."""
        self.wrong: tuple[str, ...] = ()
        """Kinds of answers that no interrupt takes."""
        self.unreadable: tuple[RunSummary, ...] = ()
        """Newer runs that can't be read."""
        self.basis = ProofBasis((), (), 0)
        self.committed: str | None = None
        self.closed = False
        self._views = list(views)
        self._error = error
        self._shown: RunView | None = views[-1] if views else None
        self._changes: asyncio.Queue[RunView] = asyncio.Queue()
        self.on_last: Callable[[], None] = lambda: None
        self.before_start: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0)

    def _called(self, *call: Any) -> RunView:
        self.calls.append(call)
        if self._error is not None:
            raise self._error
        if self._shown is None:
            raise UnknownRun("there is no such run")
        return self._shown

    def _change(self, **changes: Any) -> RunView:
        assert self._shown is not None
        self._shown = view_of(changed(self._shown.state, sequence=self._shown.state.sequence + 1, **changes))
        self._changes.put_nowait(self._shown)
        return self._shown

    async def start(self, goal_path: str, options: StartOptions = StartOptions()) -> RunView:  # noqa: B008
        self._called("start", goal_path, options)
        await self.before_start()
        return self._views[0]

    async def check(self, goal_path: str) -> RunView:
        return self._called("check", goal_path)

    async def rests_on(self, goal_path: str) -> ProofBasis:
        self.calls.append(("rests_on", goal_path))
        return self.basis

    async def pause(self, run_id: str, reason: str = "", by: PausedBy = "person") -> RunView:
        self._called("pause", run_id, reason)
        return self._change(paused=reason, paused_by=by, reason=reason)

    async def resume(
        self,
        run_id: str | None = None,
        limits: LimitChanges = LimitChanges(),  # noqa: B008
        options: StartOptions = StartOptions(),  # noqa: B008
        halt: HaltAnswer | None = None,
    ) -> RunView:
        self._called("resume", run_id, limits, options, *([] if halt is None else [halt]))
        return self._views[0]

    async def stop(self, run_id: str, reason: str = "") -> RunView:
        self._called("stop", run_id)
        return self._change(ended=True, end_status="cancelled", reason=reason)

    async def answer(self, run_id: str, interrupt_id: str, answer: Answer) -> RunView:
        shown = self._called("answer", run_id, interrupt_id, answer)
        if answer.response in self.wrong:
            raise WrongAnswer(f"{interrupt_id} takes no {answer.response}")
        asked = next((one for one in shown.state.interrupts if one.id == interrupt_id), None)
        if asked is not None:
            checked_answer(asked, answer.response, answer.text, answer.input, answer.reason, answer.remember)
        left = tuple(i for i in shown.state.interrupts if i.id != interrupt_id)
        if left or shown.state.lifecycle.paused is not None:
            return self._change(interrupts=left)
        return self._change(interrupts=(), ended=True, end_status="complete")

    async def waive(self, run_id: str, requirement: str, reason: str, *, undo: bool = False) -> RunView:
        return self._called("waive", run_id, requirement, reason, undo)

    async def accept(self, run_id: str, finding_id: str | None, reason: str, *, undo: bool = False) -> RunView:
        return self._called("accept", run_id, finding_id, reason, undo)

    async def dispute(self, run_id: str, requirement: str, reason: str) -> RunView:
        return self._called("dispute", run_id, requirement, reason)

    async def hint(self, run_id: str, text: str) -> ReadWhen:
        self.calls.append(("hint", run_id, text))
        return "nextTurn"

    async def steps(self, run_id: str, after: int = 0) -> RunSteps:
        return RunSteps(0, ())

    async def revert(
        self, run_id: str, iteration: int | None, paths: Sequence[str] | None = None, *, force: bool = False
    ) -> ActOutcome:
        self.calls.append(("revert", run_id, iteration, paths, force))
        wanted = ("src/a.py", "src/b.py") if paths is None else tuple(paths)
        kept = () if force else tuple(path for path in wanted if path in self.edited)
        return ActOutcome(tuple(path for path in wanted if path not in kept), kept)

    async def revert_finding(self, run_id: str, finding_id: str, *, force: bool = False) -> ActOutcome:
        self.calls.append(("revert_finding", run_id, finding_id, force))
        return ActOutcome((), ("src/a.py",)) if self.edited and not force else ActOutcome(("src/a.py",), ())

    async def view(self, run_id: str) -> RunView:
        if self._shown is None or run_id != RUN:
            raise UnknownRun(f"there is no run {run_id} here")
        return self._shown

    async def views(self, goal_path: str | None = None, *, compare: bool = True) -> Sequence[RunView]:
        return [self._shown] if self._shown else []

    async def standing(self) -> Mapping[str, RunView]:
        return {self._shown.state.run_id: self._shown} if self._shown else {}

    async def summaries(self) -> Sequence[RunSummary]:
        if self._shown is None:
            return list(self.unreadable)
        state = self._shown.state
        return [
            *self.unreadable,
            RunSummary(state.run_id, state.mode, state.goal.title, "GOAL.md", state.status, 0.0, 1.5),
        ]

    async def iteration(self, run_id: str, number: int) -> IterationDetail:
        raise NotImplementedError

    async def file_at(self, run_id: str, iteration: int, path: str) -> str | None:
        return None

    async def evidence(self, run_id: str, evidence_id: str) -> Evidence | None:
        found = (await self.view(run_id)).state.check_evidence
        return next((one for one in found if one.id == evidence_id), None)

    async def evidence_file(self, run_id: str, evidence_id: str) -> Path | None:
        return None

    async def report(self, run_id: str) -> RunView:
        return await self.view(run_id)

    async def diff(self, run_id: str) -> str:
        return ""

    async def commit(self, run_id: str) -> str | None:
        return self.committed

    async def forget(self, goal_path: str) -> None:
        self.calls.append(("forget", goal_path))

    async def follow(self, run_id: str) -> AsyncIterator[RunView]:
        for shown in self._views:
            yield shown
        self.on_last()
        last = self._views[-1]
        while last is not None and last.state.active:
            last = await self._changes.get()
            yield last

    def subscribe(self, on_change: Callable[[RunView], None]) -> Callable[[], None]:
        return lambda: None

    async def amend(self, goal_path: str) -> None:
        return

    def saved_by_client(self, path: str, text: str) -> None:
        return

    def editor_changed(self) -> None:
        return

    async def recover(self) -> Sequence[RunView]:
        return []

    async def close(self, reason: str) -> None:
        self.closed = True


class Typed:
    """Lines that were typed before; then the end of input."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)

    async def next(self) -> str | None:
        return self._lines.pop(0) if self._lines else None


REPORT: DoctorReport = {
    "workspace": [DoctorLine("folder", "ok", "/w")],
    "plugins": [],
    "what checks run in": [DoctorLine("`ruff check .`", "missing", "no program", "install it")],
}


SURVEY = Survey((FoundCheck("python -m pytest -q", "tests/ has tests", "test", drafted=True),))


@dataclass
class Desk:
    """A workspace folder with a command line in front of it."""

    root: Path
    runs: FakeRuns
    environ: dict[str, str] = field(default_factory=dict[str, str])
    interactive: bool = False
    typed: Sequence[str] = ()
    settings: Settings | None = None
    served: ServeOptions | None = None
    adviser: FakeAdviser | None = None
    recorded: bool = True
    survey: Survey = SURVEY
    tried: bool | None = None
    stdout: io.StringIO | None = None
    out: str = ""
    err: str = ""

    def __call__(self, *argv: str) -> int:
        stdout, stderr = self.stdout or io.StringIO(), io.StringIO()
        terminal = Terminal(stdout, stderr, Typed(self.typed), self.environ, self.interactive)
        arguments = ["--workspace", str(self.root), *argv]
        user_file = self.root / "user.toml"
        code = main(
            arguments, self._services(), self._serve, terminal=terminal, user_file=user_file, log_folder=self.root
        )
        self.out, self.err = stdout.getvalue(), stderr.getvalue()
        return code

    def _services(self) -> Services:
        return Services(
            open_runs=self._open_runs,
            open_adviser=self._open_adviser,
            survey=self._survey,
            examined=lambda root, settings, environ: REPORT,
            has_record=lambda root, state_dir: self.recorded,
        )

    async def _open_runs(
        self, root: Path, state_dir: Path | None, settings: Settings | Callable[[], Settings], context: WorkspaceContext
    ) -> FakeRuns:
        self.settings = settings() if callable(settings) else settings
        return self.runs

    def _serve(self, options: ServeOptions) -> int:
        self.served = options
        return 0

    async def _survey(self, look: Look) -> Survey:
        self.tried = look.tries
        return self.survey

    @asynccontextmanager
    async def _open_adviser(
        self, root: Path, settings: Settings, context: WorkspaceContext
    ) -> AsyncGenerator[FakeAdviser | None]:
        self.settings = settings
        yield self.adviser


@dataclass
class FakeAdviser:
    """A model that knows its answers, or fails."""

    requirements: Sequence[str] = ()
    found: Sequence[GoalHint] = ()
    error: DoneWhenError | None = None
    model: str = "openai/adviser"
    spent: Usage | None = None
    asked: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    async def propose(self, objective: str, checks: Sequence[str]) -> Sequence[str]:
        self.asked.append((objective, tuple(checks)))
        if self.error is not None:
            raise self.error
        return self.requirements

    async def hints(self, text: str) -> Sequence[GoalHint]:
        self.asked.append((text,))
        if self.error is not None:
            raise self.error
        return self.found


def desk(root: Path, *views: RunView, error: DoneWhenError | None = None, **other: Any) -> Desk:
    (root / "GOAL.md").write_text(GOAL_TEXT)
    return Desk(root, FakeRuns(root, views, error), **other)


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


# ----------------------------------------------------------------------------------------- init and check
