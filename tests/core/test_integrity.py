"""The comparison of what a proof rests on beside the files that trials divide."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.integrity import FileFact, IntegrityFacts, ProgramFact, baseline_warnings, compare, moved
from tests.tools import each_row, examples

PATHS = ("data.csv", "tests/test_a.py", "sitecustomize.py", ".venv/bin/pytest", "/usr/bin/pytest")
texts = st.sampled_from(["1", "2", "3"])


def _files(*paths: str) -> st.SearchStrategy[tuple[FileFact, ...]]:
    one = st.builds(FileFact, st.sampled_from(paths), texts)
    return st.lists(one, max_size=2, unique_by=lambda f: f.path).map(tuple)


programs = st.builds(
    ProgramFact,
    check_id=st.sampled_from(["c-1", "c-2"]),
    name=st.sampled_from(["pytest", "make"]),
    digest=texts,
    path=st.sampled_from(PATHS[3:]),
)
facts = st.builds(
    IntegrityFacts,
    goal_file=st.none() | st.builds(FileFact, st.just("GOAL.md"), texts),
    protected=_files("data.csv", "tests/test_a.py"),
    programs=st.lists(programs, max_size=3, unique_by=lambda p: (p.check_id, p.name)).map(tuple),
    environment=_files("sitecustomize.py"),
    protect=st.sampled_from([(), ("data.csv",)]),
)


@examples(60)
@given(facts)
def test_the_same_proof_has_no_finding(one: IntegrityFacts) -> None:
    assert compare(one, one) == ()


@examples(60)
@given(facts, facts, st.randoms(use_true_random=False))
def test_the_order_of_facts_is_of_no_account(before: IntegrityFacts, after: IntegrityFacts, random: object) -> None:
    def shuffled(one: IntegrityFacts) -> IntegrityFacts:
        def mixed(values: tuple[object, ...]) -> tuple[object, ...]:
            listed = list(values)
            random.shuffle(listed)  # type: ignore[attr-defined]
            return tuple(listed)

        return replace(one, **{name: mixed(getattr(one, name)) for name in ("protected", "programs", "environment")})

    assert compare(shuffled(before), shuffled(after)) == compare(before, after)


@examples(60)
@given(facts, facts)
def test_findings_are_told_apart_by_their_keys(before: IntegrityFacts, after: IntegrityFacts) -> None:
    found = compare(before, after)

    assert len({f.key for f in found}) == len(found)
    assert all(f.line >= 0 and f.fact and f.key.startswith(f"{f.kind}:") for f in found)
    assert all("accept it" in f.message and "ndo the change" in f.message for f in found)
    assert compare(before, after) == found


@examples(60)
@given(facts, facts, st.sets(st.sampled_from(PATHS)))
def test_what_a_person_changed_is_no_finding(before: IntegrityFacts, after: IntegrityFacts, paths: set[str]) -> None:
    left = compare(moved(before, after, paths), after)

    assert [f for f in left if f.path in paths] == []


@examples(60)
@given(facts, facts)
def test_moving_everything_leaves_nothing(before: IntegrityFacts, after: IntegrityFacts) -> None:
    before = replace(before, protect=after.protect, goal_file=FileFact("GOAL.md", "1"))
    after = replace(after, goal_file=FileFact("GOAL.md", "2"))

    assert compare(moved(before, after, {"GOAL.md", *PATHS}), after) == ()


def kinds(before: IntegrityFacts, after: IntegrityFacts) -> list[str]:
    return [f.kind for f in compare(before, after)]


def test_an_amended_goal_brings_what_is_looked_for_now() -> None:
    before = IntegrityFacts(goal_file=FileFact("GOAL.md", "1"))
    linter = ProgramFact("c-2", "ruff", "1", "/usr/bin/ruff")
    after = IntegrityFacts(
        goal_file=FileFact("GOAL.md", "2"),
        programs=(linter,),
        protected=(FileFact("data.csv", "1"),),
        protect=("data.csv",),
    )
    amended = moved(before, after, ["GOAL.md"])

    assert compare(amended, after) == ()
    assert kinds(amended, replace(after, programs=(replace(linter, digest="2"),))) == ["check_program"]
    assert kinds(amended, replace(after, protected=(FileFact("data.csv", "2"),))) == ["protected_file"]
    assert kinds(before, after) == ["goal_file"]


def test_the_line_of_a_changed_goal_is_the_first_that_came() -> None:
    before = FileFact("GOAL.md", "1", "# Goal\n\n- [ ] one\n- [ ] two\n")
    for text, line in (("# Goal\n\n- [ ] one\n- [ ] else\n", 3), ("# Goal\n\n- [ ] two\n", 2), ("", 0)):
        (found,) = compare(IntegrityFacts(before), IntegrityFacts(FileFact("GOAL.md", "2", text)))
        assert found.line == line


def test_a_program_that_is_installed_during_the_run_is_no_change_but_another_one_is() -> None:
    def programs(path: str, digest: str = "1") -> IntegrityFacts:
        return IntegrityFacts(programs=(ProgramFact("c-1", "jest", digest if path else "", path),))

    assert kinds(programs(""), programs("/usr/bin/jest")) == []
    assert kinds(programs(""), programs("node_modules/.bin/jest")) == []
    assert kinds(programs(""), programs("jest")) == ["check_program"]
    assert kinds(programs("/usr/bin/jest"), programs("/tmp/jest")) == ["check_program"]
    assert kinds(programs("/usr/bin/jest"), programs("")) == ["check_program"]


@each_row(
    "command, masked",
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
    def protected(digest: str) -> IntegrityFacts:
        return IntegrityFacts(protected=(FileFact("data.csv", digest),))

    (first,) = compare(protected("1"), protected("2"))
    (again,) = compare(protected("1"), protected("3"))

    assert first.key == again.key
    assert first.fact != again.fact
