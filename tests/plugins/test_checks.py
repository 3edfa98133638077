"""Checks that plugins bring: strict about what they return, bounded in time, never a crash."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from donewhen.core.evidence import CheckResult, EditorReport, Outcome
from donewhen.core.goal import Check, Requirement
from donewhen.plugins import NewCheck
from donewhen.plugins.checks import PluginChecker
from donewhen.plugins.collecting import Offered


class Commands:
    """`ports.Checker` for everything else."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        self.ran.append(check.command)
        return CheckResult(check.id, check.command, Outcome.PASSED, "passed")

    def environment(self, check: Check) -> str:
        return "shell"

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return EditorReport((), ())


def checker_of(run: Any) -> PluginChecker:
    checks: Mapping[str, Offered[NewCheck]] = {"links": Offered("web", NewCheck("links", run))}
    return PluginChecker(checks, Commands(), Path("/somewhere"))


async def result_of(run: Any, command: str = "check:links", expected: int = 0, timeout: float = 5) -> CheckResult:
    return await checker_of(run).run(Check.of(command, expected), timeout=timeout, token="t")


@pytest.mark.conformance("C15")
@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (True, Outcome.PASSED, "passed"),
        (False, Outcome.FAILED, "the validator says no"),
        ({"passed": True}, Outcome.PASSED, "passed"),
        ({"passed": False, "feedback": "two links are dead"}, Outcome.FAILED, "two links are dead"),
        (SimpleNamespace(passed=False, feedback="no"), Outcome.FAILED, "no"),
        (1, Outcome.NOT_RUN, "the plugin web: the validator returned 1"),
        ("true", Outcome.NOT_RUN, "the plugin web: the validator returned 'true'"),
        (None, Outcome.NOT_RUN, "the plugin web: the validator returned None"),
        ({"passed": "yes"}, Outcome.NOT_RUN, "the plugin web: the validator returned"),
        ({"passed": True, "feedback": 3}, Outcome.NOT_RUN, "the plugin web: the validator returned"),
    ],
)
@pytest.mark.parametrize("plain", [True, False])
async def test_only_true_is_a_pass(answer: object, outcome: Outcome, reason: str, plain: bool) -> None:
    async def later(argument: str, root: Path) -> object:
        return answer

    result = await result_of((lambda argument, root: answer) if plain else later)
    assert result.outcome is outcome
    assert result.reason.startswith(reason)
    assert result.passed == (outcome is Outcome.PASSED)


async def test_it_gets_what_follows_its_name_and_the_workspace() -> None:
    seen: list[tuple[str, Path]] = []

    def run(argument: str, root: Path) -> bool:
        seen.append((argument, root))
        return True

    await result_of(run, "  check:links  docs/*.md --deep ")
    await result_of(run)
    assert seen == [("docs/*.md --deep", Path("/somewhere")), ("", Path("/somewhere"))]


@pytest.mark.parametrize(
    "error", [ValueError("no network"), SystemExit(1), StopIteration(), TimeoutError("the server")]
)
async def test_what_it_raises_is_a_failed_check_that_names_the_plugin(error: BaseException) -> None:
    def breaks(argument: str, root: Path) -> bool:
        raise error

    result = await result_of(breaks)
    assert result.outcome is Outcome.FAILED
    assert result.reason.startswith("the plugin web failed: ")


async def test_what_cannot_even_be_looked_at_is_no_pass() -> None:
    class Hostile:
        @property
        def passed(self) -> bool:
            raise OSError("gone")

    result = await result_of(lambda argument, root: Hostile())
    assert (result.outcome, "gone" in result.reason) == (Outcome.FAILED, True)


@pytest.mark.parametrize("plain", [True, False])
async def test_it_has_its_time_and_no_more(plain: bool) -> None:
    gate = threading.Event()

    async def waits(argument: str, root: Path) -> bool:
        await asyncio.Event().wait()
        return True

    def waits_in_a_thread(argument: str, root: Path) -> bool:
        gate.wait(60)
        return True

    result = await result_of(waits_in_a_thread if plain else waits, timeout=0.02)
    gate.set()
    assert (result.outcome, result.reason) == (Outcome.TIMED_OUT, "timed out after 0.02 s")


async def test_an_exit_code_that_is_expected_of_it_is_a_mistake() -> None:
    result = await result_of(lambda argument, root: True, expected=1)
    assert (result.outcome, "no exit code" in result.reason) == (Outcome.NOT_RUN, True)


@pytest.mark.parametrize(
    "command", ["pytest -q", "check:other", "echo check:links", "check: links", "check:", "xcheck:links"]
)
async def test_everything_else_is_a_command(command: str) -> None:
    checker = checker_of(lambda argument, root: False)
    check = Check.of(command)
    assert (await checker.run(check, timeout=5, token="t")).passed
    assert isinstance(checker.commands, Commands)
    assert checker.commands.ran == [check.command]
    assert checker.environment(check) == "shell"


async def test_what_it_ran_in_is_the_plugin() -> None:
    checker = checker_of(lambda argument, root: True)
    other = PluginChecker({"links": Offered("another", checker.checks["links"].record)}, Commands(), Path("/somewhere"))
    check = Check.of("check:links docs")
    assert checker.environment(check) not in ("shell", "", other.environment(check))
    result = await checker.run(check, timeout=5, token="t")
    assert (result.program, result.environment) == ("plugin web", checker.environment(check))
    assert (result.check_id, result.command) == (check.id, check.command)
    assert result.started_at > 0
