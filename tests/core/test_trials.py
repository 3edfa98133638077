"""What trials a check needs, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.evidence import CheckResult, Outcome, TestCase, TestOutcome, TestTotals, Trial, TrialKind
from donewhen.core.proof_files import says_up_to_date
from donewhen.core.trials.outcome import (
    AtStart,
    TrialInput,
    conclude,
    controls,
    plan,
    reported,
    said_at_start,
    unplanted,
)
from tests.tools import each_row

PASSED = CheckResult("c", "pytest", Outcome.PASSED, "2 tests passed", 0, is_test_run=True, totals=TestTotals(2, 0))
FAILED = CheckResult(
    "c", "pytest", Outcome.FAILED, "1 of 2 tests failed", 1, is_test_run=True, totals=TestTotals(1, 1),
    tests=(TestCase("test_quotes", "failed"), TestCase("test_rows", "passed")),
)  # fmt: skip
ABSENT = CheckResult(
    "c", "pytest", Outcome.FAILED, "exit code 4", 4, output="ERROR: file or directory not found: tests/test_new.py"
)
NO_TESTS = replace(PASSED, outcome=Outcome.NO_TESTS, totals=TestTotals(0, 0))
PLANTED = replace(FAILED, tests=(TestCase("tests/test_a.py::test_dw_x7", "failed"),))


def trial(kind: TrialKind, result: CheckResult | None, **more: object) -> Trial:
    return Trial(kind, "c", "pytest", result, plant="dw_x7" if kind.startswith("planted") else "", **more)  # type: ignore[arg-type]


def trials(**results: CheckResult | None) -> dict[TrialKind, Trial]:
    return {kind: trial(kind, result) for kind, result in results.items()}  # type: ignore[misc, arg-type]


def stand(
    at_start: AtStart = "failed", *changed: str, additions: bool = False, free: tuple[str, ...] = ()
) -> TrialInput:
    return TrialInput("c", at_start, changed, free, additions)


TESTS = "tests/test_quotes.py"


@each_row(
    "given, kinds",
    [
        (stand("failed"), ()),
        (stand("passed"), ()),
        (stand("failed", TESTS), ("original", "reverted")),
        (stand("passed", TESTS), ("original",)),
        (stand("unknown", TESTS), ("original",)),
        (stand("silent", TESTS, additions=True), ("reverted", "control")),
        (stand("silent", TESTS), ("original", "reverted")),
        (stand("failed", free=(TESTS,)), ("reverted", "control")),
        (stand("passed", free=(TESTS,)), ()),
        (replace(stand("failed"), plantable=True), ("planted",)),
        (replace(stand("passed", TESTS), plantable=True), ("original", "planted")),
        (replace(stand("failed"), idle=True), ("forced",)),
    ],
)
def test_the_trials_that_a_check_needs(given: TrialInput, kinds: tuple[TrialKind, ...]) -> None:
    assert plan(given) == kinds


def test_an_unchanged_proof_is_proven_by_the_audit() -> None:
    assert conclude(stand("failed"), {}).grade == "own"


def test_a_weakened_test_is_refused_by_name() -> None:
    found = conclude(stand("failed", TESTS), trials(original=FAILED, reverted=PASSED, control=PASSED))
    assert (found.end, found.refusal) == ("refused", "original_fails")
    assert "`test_quotes` as it was at the start fails on this code" in found.reason


AWAITED = TestCase("test_rows", "failed", message="[XPASS(strict)] rows come later")
UNEXPECTED = replace(FAILED, tests=(TestCase("test_quotes", "passed"), AWAITED))
EXPECTING: Mapping[str, TestOutcome] = {"test_quotes": "passed", "test_rows": "skipped"}


@each_row(
    "first, original, held",
    [
        (EXPECTING, UNEXPECTED, True),
        (EXPECTING, replace(UNEXPECTED, command="python -m pytest -q"), True),
        # Its product may write the same words.
        (EXPECTING, replace(UNEXPECTED, tests=(replace(AWAITED, name="test_quotes"), AWAITED)), False),
        ({**EXPECTING, "test_rows": "failed"}, UNEXPECTED, False),
        (EXPECTING, replace(UNEXPECTED, tests=(TestCase("test_quotes", "failed"), AWAITED)), False),
        (
            EXPECTING,
            replace(UNEXPECTED, tests=(TestCase("test_quotes", "passed"), replace(AWAITED, message="1"))),
            False,
        ),
        # It ended at its first failure.
        (EXPECTING, replace(UNEXPECTED, tests=(AWAITED,)), False),
        # What else failed, or did not run.
        (EXPECTING, replace(UNEXPECTED, command="pytest && ruff check"), False),
        (EXPECTING, replace(UNEXPECTED, command="make test"), False),
        (EXPECTING, replace(UNEXPECTED, totals=TestTotals(1, 2)), False),
        (EXPECTING, replace(UNEXPECTED, output="FAIL Required test coverage of 90% not reached."), False),
        ({}, UNEXPECTED, False),
    ],
)
def test_a_test_that_was_expected_to_fail_and_passes_now_refuses_nothing(
    first: Mapping[str, TestOutcome], original: CheckResult, held: bool
) -> None:
    given = replace(stand("passed", TESTS), first=first)
    seen = trials(original=original, control=PASSED)
    found = conclude(given, seen)
    assert (found.end, found.refusal) == (("held", None) if held else ("refused", "original_fails"))
    assert controls(given, trials(original=original)) == (() if held else ("control", "original"))


def test_new_tests_beside_the_old_are_welcome() -> None:
    found = conclude(stand("failed", "tests/test_more.py", additions=True), trials(original=PASSED, reverted=FAILED))
    assert (found.end, found.grade) == ("held", "own")


def test_a_proof_of_the_workers_own_must_fail_without_the_work() -> None:
    new = stand("silent", "tests/test_new.py", additions=True)
    held = conclude(new, trials(reverted=FAILED, control=PASSED))
    assert (held.end, held.grade) == ("held", "worker")
    refused = conclude(new, trials(reverted=PASSED, control=PASSED, reverted_rebuilt=PASSED))
    assert (refused.end, refused.refusal) == ("refused", "passes_without_work")


def test_a_pass_that_what_builds_left_may_explain_refuses_nothing() -> None:
    new = stand("silent", "tests/test_new.py", additions=True)
    assert controls(new, trials(reverted=PASSED, control=PASSED)) == ("reverted_rebuilt",)
    assert conclude(new, trials(reverted=PASSED, control=PASSED, reverted_rebuilt=FAILED)).end == "inconclusive"


def test_the_original_says_nothing_where_the_check_names_what_came_new() -> None:
    new = stand("unknown", "tests/test_new.py", additions=True)
    assert controls(new, trials(original=ABSENT)) == ("control", "original", "reverted")
    assert conclude(new, trials(original=ABSENT, control=PASSED, reverted=FAILED)).grade == "worker"
    assert (
        conclude(new, trials(original=ABSENT, control=PASSED, reverted=PASSED, reverted_rebuilt=PASSED)).refusal
        == "passes_without_work"
    )
    assert conclude(new, trials(original=ABSENT, control=PASSED)).end == "inconclusive"
    assert conclude(replace(new, additions=False), trials(original=ABSENT, control=PASSED)).refusal == "original_fails"


@pytest.mark.parametrize("original", [FAILED, None])
def test_a_room_at_fault_refuses_nothing_and_proves_nothing(original: CheckResult | None) -> None:
    for control in ({"control": FAILED}, {"control": None}, {}):
        found = conclude(stand("passed", TESTS), trials(original=original, **control))
        assert (found.end, found.grade, found.refusal) == ("inconclusive", "untried", None)
        assert found.reason


def test_a_failure_without_the_work_counts_only_in_a_room_that_works() -> None:
    new = stand("silent", "tests/test_new.py", additions=True)
    assert conclude(new, trials(reverted=FAILED, control=FAILED)).end == "inconclusive"


def test_a_pass_in_a_copy_may_have_used_what_is_installed_from_the_workspace() -> None:
    runs = {"reverted": trial("reverted", PASSED, same_place=False), "control": trial("control", PASSED)}
    assert conclude(stand("silent", "tests/test_new.py", additions=True), runs).end == "inconclusive"  # type: ignore[arg-type]


def test_a_proof_that_the_code_rewrites_is_refused_unless_the_check_does_so_itself() -> None:
    wrote = trial("original", PASSED, rewritten=(TESTS,))
    found = conclude(stand("passed", TESTS), {"original": wrote, "control": trial("control", PASSED)})
    assert found.refusal == "proof_rewritten"
    same = {"original": wrote, "control": trial("control", PASSED, rewritten=(TESTS,))}
    assert conclude(stand("passed", TESTS), same).end == "inconclusive"  # type: ignore[arg-type]


def test_a_planted_failure_that_is_not_reported_is_refused_where_it_was_at_the_start() -> None:
    plantable = replace(stand("failed"), plantable=True)
    assert conclude(plantable, trials(planted=PLANTED)).end == "held"
    refused = conclude(plantable, trials(planted=PASSED, planted_before=PLANTED))
    assert refused.refusal == "failure_unreported"
    deaf = trials(planted=PASSED, planted_before=PASSED)
    unsuited = conclude(plantable, deaf)
    assert (unsuited.end, unsuited.grade) == ("held", "own")
    assert "does not run a test that is put beside its own" in unplanted(deaf)
    assert unplanted(trials(planted=None)) == "it was not tried"
    assert "could not be tried" in unplanted(trials(planted=PASSED, planted_before=None))
    assert unplanted(trials(planted=PASSED, planted_before=PLANTED)) == ""
    assert unplanted(trials(planted=PLANTED)) == ""


def test_a_test_is_reported_by_its_own_name() -> None:
    other = replace(FAILED, output="test_dw_x7 PASSED", tests=(TestCase("test_dw_x7", "passed"), *FAILED.tests))
    assert not reported(trial("planted", other))
    assert reported(trial("planted", replace(FAILED, tests=(), output="--- FAIL: Testdw_x7")))


def test_what_failed_is_tried_again_with_a_control_before_anything_is_refused() -> None:
    assert controls(stand("failed", TESTS), trials(original=FAILED, reverted=FAILED)) == ("control", "original")
    assert controls(stand("failed", TESTS), trials(original=PASSED, reverted=FAILED)) == ()
    assert controls(stand("failed"), trials(planted=PASSED)) == ("planted_before",)


UP_TO_DATE = CheckResult("c", "make check", Outcome.PASSED, "exit code 0", 0, output="make: 'check' is up to date.\n")


def test_what_is_up_to_date_must_pass_when_it_is_made_anew() -> None:
    idle = replace(stand("failed"), idle=True)
    assert conclude(idle, trials(forced=PASSED)).end == "held"
    assert conclude(idle, trials(forced=FAILED)).refusal == "nothing_run"
    assert conclude(idle, trials(forced=UP_TO_DATE)).refusal == "nothing_run"
    assert conclude(replace(idle, at_start="passed"), trials(forced=UP_TO_DATE)).end == "held"
    assert conclude(idle, trials(forced=None)).end == "inconclusive"


@each_row(
    "output, idle",
    [
        ("make: 'check' is up to date.", True),
        ("make[1]: Entering directory '/w'\nmake[1]: Nothing to be done for 'all'.\n", True),
        ("everything is up to date", False),
        ("", False),
    ],
)
def test_make_says_that_it_ran_nothing(output: str, idle: bool) -> None:
    assert says_up_to_date(output) is idle


@each_row(
    "result, said",
    [(PASSED, "passed"), (FAILED, "failed"), (ABSENT, "silent"), (NO_TESTS, "silent"),
     (replace(FAILED, output="bash: ./a.sh: No such file or directory"), "failed")],
)  # fmt: skip
def test_what_a_check_said_at_the_start(result: CheckResult, said: AtStart) -> None:
    assert said_at_start(result) == said


RESULTS = st.sampled_from([None, PASSED, FAILED, ABSENT, NO_TESTS, PLANTED])
KINDS: tuple[TrialKind, ...] = (
    "original", "reverted", "planted", "control", "planted_before", "reverted_rebuilt", "forced"
)  # fmt: skip
STANDS = st.builds(
    TrialInput,
    st.just("c"),
    st.sampled_from(["passed", "failed", "silent", "unknown"]),
    st.sampled_from([(), (TESTS,)]),
    st.sampled_from([(), ("tests/free.py",)]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(STANDS, st.dictionaries(st.sampled_from(KINDS), RESULTS, max_size=6), st.booleans())
def test_no_refusal_without_its_control_and_no_grade_without_a_trial(
    given: TrialInput, results: Mapping[TrialKind, CheckResult | None], same_place: bool
) -> None:
    runs = {kind: trial(kind, result, same_place=same_place) for kind, result in results.items()}
    found = conclude(given, runs)  # type: ignore[arg-type]
    assert (found.end == "refused") == (found.refusal is not None)
    match found.refusal:
        case "original_fails" | "proof_rewritten":
            assert runs["control"].passed
        case "passes_without_work":
            assert runs["reverted"].passed
            assert runs["reverted_rebuilt"].passed
            assert same_place
        case "nothing_run":
            assert given.idle or given.unseen
            assert runs["forced"].result in (FAILED, ABSENT, NO_TESTS, PLANTED)
        case "failure_unreported":
            assert reported(runs["planted_before"])
        case None:
            pass
    if found.grade == "worker":
        assert runs["reverted"].result is not None
        assert not runs["reverted"].passed
    if found.grade == "own" and given.changed and given.original_says_something:
        assert runs["original"].passed
    assert found.end == "held" or found.reason


def told(**outcomes: str) -> CheckResult:
    cases = tuple(
        TestCase(name, outcome, message="dw_x7" if outcome == "failed" else "")  # type: ignore[arg-type]
        for name, outcome in outcomes.items()
    )
    return replace(FAILED, tests=(*PLANTED.tests, *cases))


def test_a_runner_that_was_taught_which_tests_to_pass_is_found() -> None:
    given = replace(stand("failed"), plantable=True, passing=frozenset(("test_a",)))
    planted = Trial("planted", "c", "pytest", told(test_a="passed"), plant="dw_x7", taken=("test_a",))
    assert controls(given, {"planted": planted}) == ("planted_before",)
    before = replace(planted, tried="planted_before", result=told(test_a="failed"))
    assert conclude(given, {"planted": planted, "planted_before": before}).refusal == "failure_unreported"
    unheard = replace(before, result=told(test_a="passed"))
    assert conclude(given, {"planted": planted, "planted_before": unheard}).end == "held"


def test_what_passes_here_alone_is_told_unless_rooms_are_at_fault() -> None:
    result = replace(FAILED, tests=(*PLANTED.tests, TestCase("test_a", "error"), TestCase("test_b", "passed")))
    given = replace(stand("failed"), plantable=True, passing=frozenset(("test_a", "test_b")))
    planted = Trial("planted", "c", "pytest", result, plant="dw_x7")
    assert controls(given, {"planted": planted}) == ("control", "planted_before")
    done: dict[TrialKind, Trial] = {"planted": planted, **trials(control=FAILED, planted_before=PLANTED)}
    assert conclude(given, done).refusal == "special_case"
    assert conclude(replace(given, first={"test_a": "passed"}), done).end == "held"
    assert conclude(given, {**done, **trials(control=PASSED)}).end == "held"


def test_what_passes_only_while_it_can_tell_that_it_is_tested_is_refused() -> None:
    given = replace(stand("failed"), asks=True)
    assert plan(given) == ("disguised",)
    assert plan(replace(given, at_start="passed")) == ()
    assert controls(given, trials(disguised=FAILED)) == ("control", "disguised")
    assert conclude(given, trials(disguised=FAILED, control=PASSED)).refusal == "special_case"
    assert conclude(given, trials(disguised=FAILED, control=FAILED)).end == "held"
    assert conclude(given, trials(disguised=PASSED)).end == "held"


def test_a_test_that_was_taken_does_not_stand_for_the_planted_one() -> None:
    taken = replace(FAILED, tests=(TestCase("test_rows", "failed", message="dw_x7"),), output="test_rows - dw_x7")
    assert not reported(trial("planted", taken, taken=("test_rows",)))
    assert reported(trial("planted", replace(taken, tests=()), taken=("test_rows",)))


def test_a_runner_that_names_no_pass_says_by_its_silence_that_a_test_passed() -> None:
    tests = TrialInput("c", "failed", plantable=True)
    now = trial("planted", replace(FAILED, tests=(), output="failures: dw_x7"), taken=("comma",))
    before = trial("planted_before", replace(FAILED, tests=(), output="failures: dw_x7, comma"), taken=("comma",))
    assert conclude(tests, {"planted": now, "planted_before": before}).refusal == "failure_unreported"
    heard = replace(now, result=before.result)
    assert conclude(tests, {"planted": heard, "planted_before": before}).end == "held"


def test_a_program_that_no_revision_covers_must_pass_when_it_is_made_anew() -> None:
    unseen = replace(stand(), unseen=True)
    assert plan(unseen) == ("forced",)
    assert conclude(unseen, trials(forced=FAILED)).refusal == "nothing_run"
    assert conclude(unseen, trials(forced=PASSED)).end == "held"
    assert conclude(unseen, trials(forced=None)).end == "held"
    assert plan(replace(unseen, at_start="passed")) == ()
