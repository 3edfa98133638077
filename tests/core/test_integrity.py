"""The comparison of integrity facts by itself: what needs no file. The table of files is in tests/evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import (
    CheckRunFact,
    DefinitionFact,
    FileFact,
    IntegrityFacts,
    SkipFact,
    TestFact,
    TestFileFact,
    baseline_warnings,
    compare,
    moved,
)

PATHS = ("tests/test_a.py", "tests/test_b.py", "conftest.py", "Makefile", "sitecustomize.py", "pytest.py", "data.csv")
texts = st.sampled_from(["1", "2", "3"])
test_facts = st.builds(
    TestFact,
    name=st.sampled_from(["test_a", "test_b", "TestC.test_d", "helper"]),
    line=st.integers(0, 9),
    body=texts,
    asserts=st.integers(0, 2),
    skipped=st.booleans(),
    collected=st.booleans(),
    empty=st.booleans(),
    expected=st.lists(texts, max_size=2).map(tuple),
    lines=st.just((0, 1)),
    tokens=texts,
    cases=st.lists(texts, max_size=2).map(tuple),
)
skips = st.builds(SkipFact, st.sampled_from(["", "test_a", "TestC"]), st.integers(0, 9), texts, st.booleans())
test_files = st.builds(
    TestFileFact,
    path=st.sampled_from(PATHS[:2]),
    digest=texts,
    tests=st.lists(test_facts, max_size=4, unique_by=lambda t: t.name).map(tuple),
    skips=st.lists(skips, max_size=2).map(tuple),
    collected=st.booleans(),
    parsed=st.booleans(),
)


def _files(*paths: str, runner: str = "") -> st.SearchStrategy[tuple[FileFact, ...]]:
    one = st.builds(FileFact, st.sampled_from(paths), texts, text=texts, runner=st.just(runner))
    return st.lists(one, max_size=2, unique_by=lambda f: f.path).map(tuple)


definitions = st.builds(
    DefinitionFact,
    check_id=st.sampled_from(["c-1", "c-2"]),
    kind=st.sampled_from(["definition", "program"]),
    name=st.sampled_from(["make test", "pytest"]),
    digest=texts,
    path=st.sampled_from(["Makefile", ".venv/bin/pytest", "/usr/bin/pytest"]),
    text=st.sampled_from(["pytest", "pytest || true"]),
)
executed = st.tuples(
    st.sampled_from(["c-1", "c-2"]),
    st.sampled_from(["tests/test_a.py::test_a", "tests/test_b.py::test_b[1]", "tests/test_b.py::test_b[2]"]),
    st.sampled_from(["passed", "failed", "skipped"]),
)
facts = st.builds(
    IntegrityFacts,
    tests=st.lists(test_files, max_size=2, unique_by=lambda f: f.path).map(tuple),
    configs=_files("conftest.py", "pytest.ini", runner="pytest"),
    protected=_files("data.csv", "tests/test_a.py"),
    definitions=st.lists(definitions, max_size=3, unique_by=lambda d: (d.check_id, d.kind, d.name)).map(tuple),
    environment=_files("sitecustomize.py"),
    goal_file=st.none() | st.builds(FileFact, st.just("GOAL.md"), texts),
    executed=st.lists(executed, max_size=4, unique=True).map(tuple),
    shadows=_files("pytest.py"),
    runs=st.lists(
        st.builds(CheckRunFact, st.sampled_from(["c-1", "c-2"]), st.booleans(), st.integers(0, 3)),
        max_size=2,
        unique_by=lambda r: r.check_id,
    ).map(tuple),
    runners=st.sampled_from([(), ("pytest",)]),
    protect=st.sampled_from([(), ("data.csv",)]),
)


@settings(max_examples=60)
@given(facts)
def test_the_same_proof_has_no_finding(one: IntegrityFacts) -> None:
    assert compare(one, one) == ()


@settings(max_examples=60)
@given(facts, facts, st.randoms(use_true_random=False))
def test_the_order_of_facts_is_of_no_account(before: IntegrityFacts, after: IntegrityFacts, random: object) -> None:
    def shuffled(one: IntegrityFacts) -> IntegrityFacts:
        def mixed(values: tuple[object, ...]) -> tuple[object, ...]:
            listed = list(values)
            random.shuffle(listed)  # type: ignore[attr-defined]
            return tuple(listed)

        names = ("tests", "configs", "protected", "definitions", "environment", "executed", "shadows", "runs")
        return replace(one, **{name: mixed(getattr(one, name)) for name in names})

    assert compare(shuffled(before), shuffled(after)) == compare(before, after)


@settings(max_examples=60)
@given(facts, facts)
def test_findings_are_told_apart_by_their_keys(before: IntegrityFacts, after: IntegrityFacts) -> None:
    found = compare(before, after)

    assert len({f.key for f in found}) == len(found)
    assert all(f.line >= 0 and f.fact and f.message for f in found)
    assert compare(before, after) == found


@settings(max_examples=60)
@given(facts, facts, st.sets(st.sampled_from(PATHS)))
def test_what_a_person_changed_is_no_finding(before: IntegrityFacts, after: IntegrityFacts, paths: set[str]) -> None:
    left = compare(moved(before, after, paths), after)

    # A test that a worker moved into a file that a person changed may still have a finding there.
    assert [f for f in left if f.path in paths and not f.kind.startswith(("test_", "fewer_", "no_"))] == []


@settings(max_examples=60)
@given(facts, facts)
def test_moving_everything_leaves_nothing(before: IntegrityFacts, after: IntegrityFacts) -> None:
    everything = {"GOAL.md", *PATHS, "pytest.ini", ".venv/bin/pytest", "/usr/bin/pytest"}
    before = replace(before, runners=after.runners, protect=after.protect, goal_file=FileFact("GOAL.md", "1"))
    after = replace(after, goal_file=FileFact("GOAL.md", "2"), runs=after.runs or before.runs)

    left = compare(moved(before, after, everything), after)

    assert [f for f in left if f.kind not in ("fewer_tests", "no_tests")] == []


# ---------------------------------------------------------------------------------------------- runs

A, B = "tests/test_a.py::test_a", "tests/test_b.py::test_b"


def ran(*names: str, outcome: str = "passed", passed: bool = True) -> IntegrityFacts:
    return IntegrityFacts(
        executed=tuple(("c-1", n, outcome) for n in names),
        runs=(CheckRunFact("c-1", passed, len(names)),),
        goal_file=FileFact("GOAL.md", "1"),
    )


def kinds(before: IntegrityFacts, after: IntegrityFacts) -> list[str]:
    return [f.kind for f in compare(before, after)]


@pytest.mark.conformance("A10")
def test_tests_that_no_longer_run_are_found() -> None:
    assert kinds(ran(A, B), ran(A)) == ["fewer_tests"]
    assert kinds(ran(A, B), ran(A, "tests/test_c.py::test_c")) == ["fewer_tests"]
    assert kinds(ran(f"{B}[1]", f"{B}[2]"), ran(f"{B}[1]")) == ["fewer_tests"]
    assert "test_b" in compare(ran(A, B), ran(A))[0].message


def test_more_tests_other_outcomes_and_other_cases_are_no_finding() -> None:
    assert kinds(ran(A), ran(A, B)) == []
    assert kinds(ran(A, B, outcome="failed", passed=False), ran(A, B)) == []
    assert kinds(ran(f"{B}[1]"), ran(f"{B}[2]")) == []


def test_a_test_that_is_skipped_when_it_runs_did_not_run() -> None:
    after = IntegrityFacts(executed=(("c-1", A, "passed"), ("c-1", B, "skipped")), runs=(CheckRunFact("c-1", True, 1),))

    assert kinds(ran(A, B), replace(after, goal_file=FileFact("GOAL.md", "1"))) == ["fewer_tests"]


def test_a_check_that_fails_proves_nothing_whatever_it_runs() -> None:
    assert kinds(ran(A, B), ran(A, passed=False)) == []


@pytest.mark.conformance("A10")
def test_a_check_that_runs_no_test_any_more_is_found() -> None:
    assert kinds(ran(A, B), ran(passed=False)) == ["no_tests"]
    assert kinds(ran(passed=False), ran(passed=False)) == []


def test_where_only_failed_tests_have_names_their_number_counts() -> None:
    some = replace(ran(A, outcome="failed", passed=False), runs=(CheckRunFact("c-1", False, 2, "tests.sh"),))
    after = replace(ran(), runs=(CheckRunFact("c-1", True, 1, "tests.sh"),))

    assert kinds(some, replace(after, runs=(CheckRunFact("c-1", True, 2),))) == []
    (found,) = compare(some, after)
    assert (found.kind, found.message.startswith("`tests.sh` ran 2 tests")) == ("fewer_tests", True)


def test_where_tests_have_no_names_their_number_counts() -> None:
    before = IntegrityFacts(runs=(CheckRunFact("c-1", True, 5),))

    assert kinds(before, IntegrityFacts(runs=(CheckRunFact("c-1", True, 4),))) == ["fewer_tests"]
    assert kinds(before, IntegrityFacts(runs=(CheckRunFact("c-1", True, 6),))) == []


def test_a_test_with_a_finding_of_its_own_needs_no_other() -> None:
    one = TestFileFact("tests/test_b.py", "1", (TestFact("test_b", 3, "x", 1, False),))
    other = TestFileFact("tests/test_b.py", "2", (TestFact("test_c", 3, "y", 1, False),))

    assert kinds(replace(ran(A, B), tests=(one,)), replace(ran(A), tests=(other,))) == ["test_deleted"]
    unnamed = IntegrityFacts(tests=(one,), runs=(CheckRunFact("c-1", True, 2),))
    assert kinds(unnamed, replace(unnamed, tests=(other,), runs=(CheckRunFact("c-1", True, 1),))) == ["test_deleted"]


def test_what_a_person_deleted_is_not_missed() -> None:
    one = TestFileFact("tests/test_b.py", "1", (TestFact("test_b", 3, "x", 1, False),))
    before, after = replace(ran(A, B), tests=(one,)), ran(A)

    assert compare(moved(before, after, ["tests/test_b.py"]), after) == ()
    assert kinds(moved(ran(A, B), replace(after, executed=()), ["src/code.py"]), ran(A)) == ["fewer_tests"]


# ------------------------------------------------------------------------------------ the goal's amendment


def test_an_amended_goal_brings_what_is_looked_for_now() -> None:
    before = IntegrityFacts(goal_file=FileFact("GOAL.md", "1"), runners=("pytest",))
    after = IntegrityFacts(
        goal_file=FileFact("GOAL.md", "2"),
        runners=("pytest", "ruff"),
        configs=(FileFact("ruff.toml", "1", runner="ruff"),),
        definitions=(DefinitionFact("c-2", "definition", "make lint", "1", "Makefile"),),
        protected=(FileFact("data.csv", "1"),),
        protect=("data.csv",),
    )
    amended = moved(before, after, ["GOAL.md"])

    assert compare(amended, after) == ()
    assert kinds(amended, replace(after, configs=(FileFact("ruff.toml", "2", runner="ruff"),))) == ["check_config"]
    assert kinds(amended, replace(after, protected=(FileFact("data.csv", "2"),))) == ["protected_file"]
    assert kinds(before, after) == ["goal_file"]


@pytest.mark.parametrize(
    ("command", "masked"),
    [
        ("pytest -q", False),
        ("pytest -q -k fast", False),
        ("echo true; pytest", False),
        ("pytest || true", True),
        ("pytest --collect-only", True),
        ("make test; exit 0", True),
        ("pylint src --exit-zero", True),
    ],
)
def test_a_goal_whose_command_always_passes_is_warned_about(command: str, masked: bool) -> None:
    goal = Goal("goal", "goal", (Requirement("r-1", 1, "works", (Check.of(command),)),))

    warnings = baseline_warnings(goal)

    assert [w.code for w in warnings] == (["masked_check"] if masked else [])
    assert all(command in w.message for w in warnings)


def test_an_acceptance_holds_for_what_is_there_now_only() -> None:
    def config(digest: str) -> IntegrityFacts:
        return IntegrityFacts(configs=(FileFact("conftest.py", digest),))

    (first,) = compare(config("1"), config("2"))
    (again,) = compare(config("1"), config("3"))

    assert first.key == again.key
    assert first.fact != again.fact
