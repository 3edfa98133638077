"""Runs checks; the only maker of check results (`ports.Checker`)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.core.commands.wrapped import Segment, folders
from donewhen.core.ecosystems import RUNNERS
from donewhen.core.ecosystems.output import bailed_out, multiline
from donewhen.core.evidence import (
    CheckResult,
    EditorReport,
    Outcome,
    Problem,
    TestCase,
    TestTotals,
    first_problems,
    reason_text,
)
from donewhen.core.failure_text import clipped
from donewhen.core.goal import Check, Requirement
from donewhen.core.words import counted
from donewhen.evidence.bytecode import Bytecode
from donewhen.evidence.causes import NOTHING_COLLECTED, hint_for, not_installed, telling_line
from donewhen.evidence.editor import EditorDiagnostics
from donewhen.evidence.environment import CheckEnvironment
from donewhen.evidence.known_runners import Runs, checked_nothing, names_go_tests, read_line, what_runs, with_verbose
from donewhen.evidence.outcome import Observed, decide_outcome
from donewhen.evidence.places import Places, find_problems, is_installed
from donewhen.evidence.reports.finding import Reports, prepare_reports
from donewhen.evidence.reports.junit import BrokenReport, Report, parse_junit, read_junit
from donewhen.evidence.reports.printed import last_totals, printed_failures, printed_tests, printed_totals
from donewhen.evidence.reports.sarif import read_sarif
from donewhen.evidence.text import Masker, strip_ansi
from donewhen.ports import Processes, ProcessResult
from donewhen.regular import read_text


@dataclass(frozen=True, slots=True)
class _Plan:
    """One run of one check, before it starts."""

    check: Check
    timeout: float
    parts: tuple[Segment, ...]
    runs: Runs
    variables: Mapping[str, str]
    program: str | None
    reports: Reports
    places: Places


class CommandChecker:
    """`ports.Checker` for commands.

    `environment` gives the variables of whoever started Done When; `scratch` is a folder of the server's own, outside
    of the workspace. `interpreter` is the Python that the editor selected. `known_test_runs` are the ids of checks
    that once reported a test: they stay test runs. `secrets` gives values to mask besides sensitive variables.
    `bytecode` is where Python's bytecode goes (default: in `scratch`): sharing it makes first checks faster. `written`
    is where what checks write below the root is to be read from, where that isn't the root itself.
    """

    def __init__(
        self,
        processes: Processes,
        root: Path,
        scratch: Path,
        environment: Callable[[], Mapping[str, str]],
        editor: EditorDiagnostics | None = None,
        *,
        interpreter: Path | None = None,
        known_test_runs: Iterable[str] = (),
        secrets: Callable[[], Iterable[str]] = tuple,
        bytecode: Path | None = None,
        written: Path | None = None,
    ) -> None:
        self._processes = processes
        self._root = root
        self._scratch = scratch
        self._environment = CheckEnvironment(root, scratch, environment, interpreter, bytecode)
        self._bytecode = Bytecode(self._environment.bytecode, root)
        self._editor = editor or EditorDiagnostics()
        self._secrets = secrets
        self._written = written
        self.known_test_runs = set(known_test_runs)
        self._reporting: set[str] = set()

    def variables(self) -> dict[str, str]:
        """The environment that checks run in: without keys, the project's interpreter first on PATH."""
        return self._environment.variables()

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        """One run of one check; see `ports.Checker`."""
        if test_run:
            self.known_test_runs.add(check.id)
        if check.kind != "command":
            return _not_run(check, "it is a Python callable, which only the program that made it can run")
        with self._bytecode.check():
            try:
                plan = await asyncio.to_thread(self._plan, check, timeout)
            except OSError as error:
                return _not_run(check, f"the server's scratch folder can't be written: {error.strerror or error}")
            try:
                process = await self._processes.run(
                    check.command, cwd=self._root, environment=plan.variables, token=token, timeout=timeout
                )
                return await asyncio.to_thread(self._result, plan, process)
            finally:
                plan.reports.discard()

    @property
    def interpreter(self) -> Path | None:
        """The Python that the person has selected in the editor."""
        return self._environment.interpreter

    def select_interpreter(self, interpreter: Path | None) -> None:
        """The Python that the person has selected in the editor: checks run with it from now on."""
        self._environment.interpreter = interpreter

    def program(self, check: Check) -> str | None:
        """The executable that the check's first word resolves to; None for the shell's own and for what is missing."""
        return self._first_program(read_line(check.command), self._environment.variables())

    def environment(self, check: Check) -> str:
        """Digest of what the check would run in."""
        variables = self._environment.variables()
        return self._environment.digest(self._first_program(read_line(check.command), variables), variables)

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        """What the editor's own diagnostics say about the files of `requirement.problems`."""
        masker = self._masker()
        report = self._editor.report(requirement)
        return replace(report, problems=tuple(_masked_problem(p, masker) for p in report.problems))

    def _plan(self, check: Check, timeout: float) -> _Plan:
        parts = read_line(check.command)
        variables = self._environment.variables()
        inside = folders(parts)
        program = self._first_program(parts, variables)
        if names_go_tests(parts) or any((self._root / folder / "go.mod").is_file() for folder in ("", *inside)):
            variables["GOFLAGS"] = with_verbose(variables.get("GOFLAGS", ""))
        self._bytecode.sweep()
        reports = prepare_reports(self._root, self._scratch, parts, inside, variables, self._written)
        places = Places(self._root, inside)
        return _Plan(check, timeout, parts, what_runs(parts, asked=reports.asked), variables, program, reports, places)

    def _first_program(self, parts: tuple[Segment, ...], variables: Mapping[str, str]) -> str | None:
        """The executable of the first simple command that is one: `cd` and the like are the shell's own."""
        for part in parts:
            found = self._environment.which(part.words[0], variables) if part.words else None
            if found is not None and part.words[0] not in ("cd", "export", "set", "true"):
                return found
        return None

    def _masker(self) -> Masker:
        return Masker.of(self._environment.inherited(), self._secrets())

    def _result(self, plan: _Plan, process: ProcessResult) -> CheckResult:
        self._bytecode.keep()
        output = strip_ansi(process.output)
        report, broken = _read_report(plan, output)
        totals = self._totals(report, output, plan)
        test_run = self._is_test_run(plan, output, report, totals)
        bad = process.exit_code != plan.check.expected_exit or (totals is not None and totals.failed > 0)
        problems = _problems(report, output, plan) if bad else ()
        seen = self._observed(plan, process, output, report, totals, broken, test_run)
        if seen.broke_off:  # it fell over the project's own words, whichever of its own lines a trace names
            problems = tuple(one for one in problems if not is_installed(one.path))
        outcome, reason = decide_outcome(replace(seen, located=bool(problems)))
        tests: tuple[TestCase, ...] = ()
        # Where a person expects a failure, failed tests are what was expected: the exit code decides.
        if plan.check.expected_exit == 0:
            tests = report.tests if report is not None else printed_tests(output, plan.runs.all_forms(output), totals)
        result = CheckResult(
            check_id=plan.check.id,
            command=plan.check.command,
            outcome=outcome,
            reason=_explained(outcome, reason, seen, problems, output, plan.check),
            exit_code=process.exit_code,
            started_at=process.started_at,
            seconds=process.seconds,
            output=output,
            output_bytes=process.output_bytes,
            output_digest=process.output_digest,
            program=plan.program,
            environment=self.environment(plan.check),
            is_test_run=test_run and plan.check.expected_exit == 0,
            totals=totals,
            tests=tests,
            problems=problems if outcome is not Outcome.PASSED else (),
        )
        return _masked(result, self._masker())

    def _totals(self, report: Report | None, output: str, plan: _Plan) -> TestTotals | None:
        if report is None:
            # Where a check has written reports, what it prints instead is not proof.
            return plan.runs.totals(output) if plan.check.id not in self._reporting or plan.runs.forms else None
        outcomes = [test.outcome for test in report.tests]
        failed = outcomes.count("failed") + outcomes.count("error")
        return TestTotals(outcomes.count("passed"), failed, outcomes.count("skipped"), source="junit")

    def _is_test_run(self, plan: _Plan, output: str, report: Report | None, totals: TestTotals | None) -> bool:
        """By its line, by what it printed, or since it once was one."""
        if totals is not None and totals.executed:
            self.known_test_runs.add(plan.check.id)
        if report is not None:
            self._reporting.add(plan.check.id)
        known = plan.runs.runner is not None or plan.check.id in self.known_test_runs
        return known or bool(plan.runs.form_of(output))

    def _observed(
        self,
        plan: _Plan,
        process: ProcessResult,
        output: str,
        report: Report | None,
        totals: TestTotals | None,
        broken: str | None,
        test_run: bool,
    ) -> Observed:
        runner = plan.runs.runner
        ended, said = _broken_off(plan.runs, output, report, totals)
        never_ran = 0
        if report is None and not plan.runs.hearsay and (bailed := bailed_out(output)) is not None:
            ended, (said, never_ran) = "the test run", bailed

        def which(name: str) -> str | None:
            return self._environment.which(name, plan.variables)

        return Observed(
            process=process,
            expected_exit=plan.check.expected_exit,
            test_run=test_run,
            totals=totals,
            tests=report.tests if report else printed_failures(output, plan.runs.all_forms(output)),
            broken_report=broken,
            not_installed=not_installed(output, process.exit_code, plan.parts, which, self._root),
            no_tests_exit=runner.no_tests_exit if runner else None,
            usage_exit=runner.usage_exit if runner else None,
            runner=runner.name if runner else ended or (_maker(report) if report else ""),
            printed_by=plan.runs.form_of(output) if report is None else (),
            timeout=plan.timeout,
            printed_failures=_overwritten_failures(report, output, plan),
            checked_nothing=checked_nothing(output, plan.parts, totals),
            miscounted=_miscounted(report, output),
            broke_off=said,
            never_ran=never_ran,
        )


def _broken_off(runs: Runs, output: str, report: Report | None, totals: TestTotals | None) -> tuple[str, str]:
    """The runner that ended before all tests ran, and what it says of that; neither where nothing is known of that.
    Of what is printed without a report only an end before any test is known."""
    if report is not None and report.broke_off:
        return _maker(report), report.broke_off
    if (report is None and totals is not None and totals.passed) or runs.hearsay:
        return "", ""
    # Beside a report, what its own end says: tests may print the like.
    its_own = output if report is None else output[-_OWN_END:]
    for tool in (runs.runner,) if runs.runner is not None else RUNNERS if runs.open else ():
        for pattern in tool.breaks_off if report is None or tool.name == _maker(report) else ():
            if found := multiline(pattern).search(its_own):
                return tool.name, clipped(found["said"])
    return "", ""


_OWN_END = 1_000
"""Characters."""


def _maker(report: Report) -> str:
    return report.runner.partition(" ")[0]


def _not_run(check: Check, reason: str) -> CheckResult:
    return CheckResult(check.id, check.command, Outcome.NOT_RUN, reason)


def _read_report(plan: _Plan, output: str) -> tuple[Report | None, str | None]:
    """The report of this run; or what is wrong with it."""
    path = plan.reports.written()
    try:
        if path is not None:
            return read_junit(path, plan.places), None
        # What lies between the first start and the last end of a printed report's outermost element.
        end = output.rfind("</testsuite")
        printed = output[output.find("<testsuite") : output.find(">", end) + 1] if end > 0 else ""
        if printed and plan.runs.forms and not plan.runs.once:
            return parse_junit(printed.encode(), plan.places), None
    except BrokenReport as error:
        return None, str(error)
    return None, None


def _miscounted(report: Report | None, output: str) -> str:
    """What is wrong with the number of tests in the report, by itself or beside what its runner printed last."""
    if report is None:
        return ""
    printed = last_totals(output, report.runner)
    subtests = report.extra > 0 and printed is not None and report.runner.startswith("pytest")
    if printed is None or (report.miscounted and not subtests):
        return report.miscounted
    if report.runner.startswith("pytest"):
        told, wrong = printed.executed + printed.skipped, report.least
        unheld = min(printed.skipped, report.extra) if subtests else 0  # skipped subtests have no element either
        fine = report.least <= told and told - unheld <= report.most
    else:  # what others skip is not always in their reports
        told, wrong = printed.executed, sum(test.outcome != "skipped" for test in report.tests)
        fine = told == wrong
    return "" if fine else f"its runner printed {counted(told, 'test')}, but it contains {wrong}"


def _overwritten_failures(report: Report | None, output: str, plan: _Plan) -> int:
    """Where one command line runs pytest several times, the last run's report replaces the others'."""
    if report is None or plan.runs.runners == 1:
        return 0
    printed = printed_totals(output, ("pytest",))
    return printed.failed if printed is not None else 0


def _explained(
    outcome: Outcome, reason: str, seen: Observed, problems: tuple[Problem, ...], output: str, check: Check
) -> str:
    """The reason with what the check says first, and what helps where that is known."""
    if outcome is Outcome.NO_TESTS and (seen.totals is None or not seen.totals.skipped):
        return reason_text(reason, (), 0, NOTHING_COLLECTED)
    if outcome is not Outcome.FAILED:
        return reason
    failed = seen.totals.failed if seen.totals is not None else 0
    first, more = first_problems(seen.tests, problems)
    if (
        not first
        and not failed
        and not seen.broke_off
        and (line := telling_line(output, errors_only=seen.totals is not None))
    ):
        first = (line,)
    messages = "\n".join(test.message for test in seen.tests if test.failed)
    return reason_text(reason, first, more, hint_for(f"{output}\n{messages}", check.command))


def _problems(report: Report | None, output: str, plan: _Plan) -> tuple[Problem, ...]:
    """From the report, else from the SARIF log that the command wrote or printed, else from whatever it printed."""
    if report is not None and report.problems:
        return report.problems
    log = output if output.lstrip().startswith("{") else ""
    if (path := plan.reports.written_sarif()) is not None:
        with contextlib.suppress(OSError):
            log = read_text(path.name, "utf-8", "replace", within=path.parent)
    found = read_sarif(log, plan.places) if log else None
    return found or find_problems(output, plan.places)


def _masked(result: CheckResult, masker: Masker) -> CheckResult:
    return replace(
        result,
        output=masker.mask(result.output),
        reason=masker.mask(result.reason),
        tests=tuple(
            replace(test, name=masker.mask(test.name), message=masker.mask(test.message)) for test in result.tests
        ),
        problems=tuple(_masked_problem(problem, masker) for problem in result.problems),
    )


def _masked_problem(problem: Problem, masker: Masker) -> Problem:
    return replace(problem, message=masker.mask(problem.message))
