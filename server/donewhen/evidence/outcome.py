"""What a finished process proves: pure, and the only place that decides a check's outcome."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from donewhen.core.evidence import Outcome, TestCase, TestTotals, is_unloaded_file, short_name
from donewhen.core.words import counted, listed
from donewhen.ports import ProcessResult

_NAMED_FAILURES = 5


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that counts about one run of a check.

    `test_run`: it must have executed a test to prove anything. `broken_report` says what is wrong with a report that
    was written; `not_installed` what is missing and how to get it. `no_tests_exit`: the runner's exit code for
    "there was no test". `printed_failures` counts the failed tests that runs printed whose report a later run of the
    same command line has overwritten. `checked_nothing` is the line in which a linter says that it had no file.
    `printed_by` are the forms of the runners whose output it is where no runner was named or reported. `miscounted`
    says that the report contains a different number of tests from the one that its runner counted. `located`: it names
    places, which say what failed. `broke_off` is what ended the `runner` itself, `usage_exit` its exit code where it
    did not come to any test; `never_ran` counts the tests that it had promised, which count as failed.
    """

    process: ProcessResult
    expected_exit: int
    test_run: bool
    totals: TestTotals | None = None
    tests: tuple[TestCase, ...] = ()
    broken_report: str | None = None
    not_installed: str | None = None
    no_tests_exit: int | None = None
    timeout: float = 0.0
    printed_failures: int = 0
    checked_nothing: str | None = None
    miscounted: str = ""
    printed_by: tuple[str, ...] = ()
    located: bool = False
    broke_off: str = ""
    never_ran: int = 0
    runner: str = ""
    usage_exit: int | None = None


Decision = tuple[Outcome, str]


def decide_outcome(seen: Observed) -> Decision:
    """The outcome and its reason, for people."""
    if decision := _did_not_end(seen):
        return decision
    if seen.checked_nothing is not None and _exit_as_expected(seen):
        return Outcome.NO_REPORT, f"it checked no file: `{seen.checked_nothing}`"
    return _by_totals(seen, seen.totals) if seen.totals is not None else _by_exit(seen)


def _did_not_end(seen: Observed) -> Decision | None:
    process = seen.process
    if process.spawn_error is not None:
        return Outcome.NOT_RUN, f"it could not be started: {process.spawn_error}"
    if process.timed_out:
        return Outcome.TIMED_OUT, f"timed out after {seen.timeout:g} s"
    if process.limit:
        return Outcome.KILLED, f"it was ended: {process.limit}"
    if process.signal is not None:
        return Outcome.KILLED, f"ended by {signal_name(process.signal)}"
    if seen.not_installed is not None:
        return Outcome.NOT_INSTALLED, seen.not_installed
    if process.exit_code is None:
        return Outcome.NOT_RUN, "it was stopped before it ended"
    return None


def _by_totals(seen: Observed, totals: TestTotals) -> Decision:
    if totals.executed == 0 and (_exit_as_expected(seen) or seen.process.exit_code == seen.no_tests_exit):
        skipped = f" ({totals.skipped} skipped)" if totals.skipped else ""
        return Outcome.NO_TESTS, f"no test was executed{skipped}"
    if seen.broke_off and (not _exit_as_expected(seen) or (totals.failed and seen.expected_exit == 0)):
        return Outcome.FAILED, _broke_off(seen, totals if totals.source == "junit" or seen.never_ran else None)
    if not _exit_as_expected(seen):
        passes = f", although {_passes(totals)}" if totals.executed else ""
        return Outcome.FAILED, _failures(seen, totals) if totals.failed else f"{_exit(seen)}{passes}"
    if totals.failed and seen.expected_exit == 0:
        return Outcome.FAILED, f"{_failures(seen, totals)}, although the exit code is 0"
    if seen.printed_failures and seen.expected_exit == 0:
        failed = counted(seen.printed_failures, "failed test")
        return Outcome.FAILED, f"its output shows {failed}, although the exit code is 0"
    if seen.miscounted:
        return Outcome.NO_REPORT, f"its test report can't be trusted: {seen.miscounted}"
    return Outcome.PASSED, _passes(totals)


def _by_exit(seen: Observed) -> Decision:
    broken = f"its test report can't be read: {seen.broken_report}" if seen.broken_report else ""
    if seen.process.exit_code == seen.no_tests_exit and not broken:
        return Outcome.NO_TESTS, "no test was executed"
    if not _exit_as_expected(seen):
        told = _broke_off(seen, None) if seen.broke_off else _exit(seen)
        return Outcome.FAILED, "; ".join(filter(None, (told, broken)))
    if broken:
        return Outcome.NO_REPORT, broken
    if seen.printed_by:
        whose = " and ".join(seen.printed_by)
        unknown = "has no totals that count, so it is not known whether any test ran"
        return Outcome.NO_REPORT, f"its output is that of a test runner ({whose}) and {unknown}"
    if seen.test_run:
        return Outcome.NO_REPORT, "it gave no test report and no totals, so it is not known whether any test ran"
    return Outcome.PASSED, _exit(seen)


def _exit_as_expected(seen: Observed) -> bool:
    return seen.process.exit_code == seen.expected_exit


def _exit(seen: Observed) -> str:
    code = seen.process.exit_code or 0
    text = f"exit code {code}"
    if code == seen.usage_exit:
        text = f"{seen.runner} broke off before any test ({text})"
    if code - 128 in list(signal.Signals) and code != seen.expected_exit:
        text += f" (as after {signal.Signals(code - 128).name})"  # what a shell makes of it
    return text if seen.expected_exit in (0, code) else f"{text}, {seen.expected_exit} expected"


def _broke_off(seen: Observed, totals: TestTotals | None) -> str:
    if totals is None:
        return f"{seen.runner} broke off before any test: {seen.broke_off}"
    not_run = sum(map(is_unloaded_file, seen.tests)) + seen.never_ran
    ran = totals.executed - not_run
    when = f"after {counted(ran, 'test')}" if ran else "before any test"
    failed = f" ({totals.failed - not_run} failed)" if totals.failed > not_run else ""
    return f"{seen.runner} broke off {when}{failed}: {seen.broke_off}"


def _passes(totals: TestTotals) -> str:
    if totals.failed:
        return f"{totals.failed:,} of {counted(totals.executed, 'test')} failed, as expected"
    skipped = f", {totals.skipped} skipped" if totals.skipped else ""
    return f"{counted(totals.passed, 'test')} passed{skipped}"


def _failures(seen: Observed, totals: TestTotals) -> str:
    """How many; and which, if nothing else is said about them."""
    failed = [test for test in seen.tests if test.failed]
    files = sum(map(is_unloaded_file, failed))
    parts = [f"{totals.failed - files:,} of {counted(totals.executed - files, 'test')} failed"]
    parts = parts if totals.failed > files else []
    parts += [f"{counted(files, 'test file')} could not be collected"] if files else []
    text = " and ".join(parts)
    names = [short_name(test.name) for test in failed]
    if not names or seen.located or any(test.message for test in failed):
        return text
    return f"{text}: {listed(names, _NAMED_FAILURES)}"


def signal_name(number: int) -> str:
    """`signal 9 (SIGKILL)`."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
