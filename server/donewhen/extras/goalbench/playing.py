"""Plays one case on the real engine: a temporary folder, a real workspace, real checks, a scripted worker."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from donewhen.core.answers import yes_or_no
from donewhen.core.errors import DoneWhenError
from donewhen.core.work import Usage
from donewhen.engine.api import LimitChanges, Runs, RunView, StartOptions
from donewhen.extras.goalbench.cases import Case, Content
from donewhen.ports import Judge, Processes

CASE_SECONDS = 120.0
"""How long a case may take before it counts as failed."""
RUN = 0.75
"""The share of it that the run itself may take."""
GOAL = "GOAL.md"
OWN = "its own"
"""The name of the judge that a case brings with it."""

JudgeOf = Callable[[Case, Path], Judge | None]
"""The judge of one run of a case in a workspace folder."""


@dataclass(frozen=True, slots=True)
class BenchEnvironment:
    """What cases are played with: the composition root makes it.

    `open_runs(root, state, judge)` opens the real engine for one workspace folder; `environment` are the variables
    that the commands of a case's setup run with.
    """

    open_runs: Callable[[Path, Path, Judge | None], Awaitable[Runs]]
    processes: Processes
    environment: Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended. `requirements` are statuses and `judged` whether a judge decided, by label; `findings` the
    kinds of integrity findings that were open; `failure` says why it could not be played, or judged, to its end."""

    case: Case
    judge: str
    status: str
    reason: str = ""
    requirements: Mapping[str, str] = field(default_factory=dict[str, str])
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    alone: frozenset[str] = frozenset()
    """The labels of requirements that no check decides by itself."""
    findings: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    failure: str = ""


async def run_cases(
    cases: Sequence[Case],
    bench: BenchEnvironment,
    judge_of: JudgeOf,
    *,
    name: str,
    at_once: int = 2,
    seconds: float = CASE_SECONDS,
    on_result: Callable[[CaseResult], None] = lambda result: None,
) -> tuple[CaseResult, ...]:
    """Plays cases, `at_once` at a time, each for at most that many `seconds`; the results are in the order of `cases`,
    `on_result` hears each as it ends."""
    places = asyncio.Semaphore(at_once)

    async def one(case: Case) -> CaseResult:
        async with places:
            result = await run_case(case, bench, judge_of, name=name, seconds=seconds)
            on_result(result)
            return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(case)) for case in cases]
    return tuple(task.result() for task in tasks)


async def run_case(
    case: Case, bench: BenchEnvironment, judge_of: JudgeOf, *, name: str, seconds: float = CASE_SECONDS
) -> CaseResult:
    """One run of a case, in a folder of its own that is removed afterwards. What goes wrong is in `failure`."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds), temporary_folder() as folder:
            view = await _play_case(case, bench, judge_of, folder, seconds)
            return _result(case, name, view, time.monotonic() - began)
    except (DoneWhenError, TimeoutError, OSError) as error:
        failure = str(error) or f"it took longer than {seconds:.0f} s"
        return CaseResult(case, name, "failed", seconds=time.monotonic() - began, failure=failure)


@asynccontextmanager
async def temporary_folder() -> AsyncGenerator[Path]:
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="donewhen-bench-")).resolve()  # noqa: ASYNC240  # once
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _play_case(case: Case, bench: BenchEnvironment, judge_of: JudgeOf, folder: Path, seconds: float) -> RunView:
    root = folder / "workspace"
    await asyncio.to_thread(_lay_out, case, root)
    for command in case.setup:
        result = await bench.processes.run(
            command, cwd=root, environment=bench.environment(), token=secrets.token_hex(8), timeout=60
        )
        if result.exit_code != 0:
            raise DoneWhenError(f"the setup `{command}` failed: {result.spawn_error or result.output.strip()[-300:]}")
    script = folder / "worker.yaml"
    script.write_text(yaml.safe_dump({"turns": list(case.worker)}, allow_unicode=True), encoding="utf-8")
    runs = await bench.open_runs(root, folder / "state", judge_of(case, root))
    try:
        return await _to_its_end(case, runs, script, seconds * RUN)
    finally:
        await runs.close("the case ended")


def _lay_out(case: Case, root: Path) -> None:
    root.mkdir()
    for name, file in {**case.files, GOAL: Content(text=case.goal)}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.link:
            path.symlink_to(file.link)
            continue
        path.write_text(file.text, encoding="utf-8", newline="\n")
        if file.executable:
            path.chmod(0o755)


async def _to_its_end(case: Case, runs: Runs, script: Path, timeout: float) -> RunView:
    options = case.options
    limits = LimitChanges(case.max_iterations, options.timeout or timeout, token_budget=options.token_budget)
    askable = options.answer is not None
    start = StartOptions(worker="scripted", script=str(script), approve=options.approve, limits=limits, askable=askable)
    last = await runs.start(GOAL, start)
    answered: set[str] = set()
    async for view in runs.follow(last.state.run_id):
        last = view
        if view.state.status != "waiting":
            continue
        if options.answer is None:
            break
        for interrupt in view.state.interrupts:
            if interrupt.id not in answered:
                answered.add(interrupt.id)
                given = yes_or_no(interrupt, yes=options.answer == "approve")
                await runs.answer(view.state.run_id, interrupt.id, given)
    return last


def _result(case: Case, name: str, view: RunView, seconds: float) -> CaseResult:
    state = view.state
    labels = {r.id: r.label for r in state.goal.requirements}
    return CaseResult(
        case,
        name,
        str(state.status),
        state.lifecycle.reason or (state.lifecycle.paused or ""),
        requirements={labels[one.requirement_id]: one.status for one in view.views},
        reasons={labels[one.requirement_id]: one.reason for one in view.views},
        alone=frozenset(r.label for r in state.goal.requirements if not r.sole_check),
        findings=tuple(sorted({known.finding.kind for known in state.open_findings})),
        usage=state.spend.judge,
        seconds=seconds,
        failure=f"the judge could not be asked: {state.judge.outage_reason}" if state.judge.outage_reason else "",
    )
