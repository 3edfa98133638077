"""The tests that decide a requirement, as a list of tests shows them."""

from __future__ import annotations

from pathlib import Path

from donewhen.core.evidence import AffectedRun, CheckResult, Evidence, Outcome, TestCase
from donewhen.wire.plain import MOST_TESTS, plain_tests


def evidence(observation: CheckResult | AffectedRun) -> Evidence:
    return Evidence(id="E1", revision="a", revision_after="a", turn=0, observation=observation)


def check(*tests: TestCase, output: str = "") -> CheckResult:
    return CheckResult(
        check_id="c1", command="pytest -q", outcome=Outcome.FAILED, reason="", seconds=0.25, output=output, tests=tests
    )


def test_those_that_failed_come_first_with_their_files_and_no_list_is_endless(tmp_path: Path) -> None:
    tests = [TestCase("passes", "passed"), TestCase("breaks", "error", "t/test_a.py", message="no module")]
    many = [TestCase(f"t{at}", "passed") for at in range(MOST_TESTS)]
    shown = plain_tests([evidence(check(*many, *tests))], lambda path: (tmp_path / path).as_uri())["tests"]
    uri = (tmp_path / "t" / "test_a.py").as_uri()
    first = {"id": "c1 breaks", "name": "breaks", "uri": uri, "standing": "errored", "message": "no module"}
    assert (shown[0], len(shown)) == (first, MOST_TESTS)


def test_what_was_printed_is_for_a_terminal_also_by_tests_that_ran_first(tmp_path: Path) -> None:
    first = AffectedRun(check_id="c1", command="pytest -q", result=check(output="1 failed\n"))
    told = plain_tests(
        [evidence(check(output="2 passed\nin 1 s\n\n")), evidence(first)], lambda path: (tmp_path / path).as_uri()
    )
    assert told["output"] == "$ pytest -q\r\n2 passed\r\nin 1 s\r\n\r\n$ pytest -q\r\n1 failed\r\n"
    assert told["milliseconds"] == 500
