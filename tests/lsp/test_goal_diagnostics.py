"""Which diagnostics a goal has, as data: severities, places, what is remembered, what goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from donewhen.core.evidence import Problem
from donewhen.core.integrity import ChangedProof
from donewhen.core.verdict import RequirementView
from donewhen.engine.api import RunView
from donewhen.lsp.goal_diagnostics import Collected, DiagnosticContext, GoalDiagnostic, Memory, code_paths, collect
from tests.tools import each_row

from .goals import GOAL, evidence, finding, parsed, run_view, stands

Row = tuple[str, int, str, str]


def rows(diagnostics: Sequence[GoalDiagnostic]) -> list[Row]:
    return [(diagnostic.path, diagnostic.start[0], diagnostic.severity, diagnostic.code) for diagnostic in diagnostics]


def look(view: RunView | None, memory: Memory | None = None, text: str = GOAL, **around: Any) -> Collected:
    return collect("GOAL.md", parsed(text), view, memory or {}, DiagnosticContext(**around))


def check(view: RunView | None, expected: list[Row], text: str = GOAL) -> None:
    ours = [row for row in rows(look(view, text=text).diagnostics) if row[3] not in ("ticked", "vague")]
    assert ours == expected


@pytest.mark.parametrize(
    ("status", "severity"), [("unmet", "error"), ("stale", "warning"), ("unverified", "information")]
)
def test_each_status_has_its_severity(status: str, severity: str) -> None:
    check(run_view({"R1": status}), [("GOAL.md", 2, severity, "R1")])


def test_met_and_waived_have_none() -> None:
    check(run_view({"R1": "waived"}), [])
    check(None, [])


def test_data_names_run_requirement_and_evidence() -> None:
    (diagnostic,) = [m for m in look(run_view({"R3": stands("R3", "unmet", ["E7"])})).diagnostics if m.code == "R3"]
    goal = parsed().goal
    assert goal is not None
    assert diagnostic.info == {"runId": "run1", "requirementId": goal.requirements[2].id, "evidenceIds": ["E7"]}
    assert diagnostic.message == "unmet: because of R3"


def test_related_information_points_at_the_evidence() -> None:
    view = run_view({"R1": stands("R1", "unmet", ["E1"])})
    (diagnostic,) = [m for m in look(view, evidence_uris={"E1": "file:///s/E1.md"}).diagnostics if m.code == "R1"]
    assert [(one.uri, one.message) for one in diagnostic.related] == [("file:///s/E1.md", "evidence E1")]


def test_a_proof_that_the_worker_changed_is_pointed_at_while_the_run_is_on() -> None:
    changed = ChangedProof({"tests/test_a.py": 7, "tests/test_b.py": 0})
    view = replace(run_view({}, findings=[finding(path="tests/test_b.py")]), changed_proof=changed)
    diagnostics = [diagnostic for diagnostic in look(view).diagnostics if diagnostic.path != "GOAL.md"]
    assert [row for row in rows(diagnostics) if row[3] == "proof_changed"] == [
        ("tests/test_a.py", 7, "information", "proof_changed")
    ]
    over = replace(run_view({}, ended="capped"), changed_proof=changed)
    assert not [diagnostic for diagnostic in look(over).diagnostics if diagnostic.code == "proof_changed"]


def test_tests_that_are_gone_are_pointed_at() -> None:
    changed = ChangedProof({"tests/test_a.py": 7}, lost={"tests/test_a.py": ("test_x",)})
    view = replace(run_view({}), changed_proof=changed)
    (told,) = [one for one in look(view).diagnostics if one.code == "proof_changed"]
    assert (told.path, told.start[0], told.severity) == ("tests/test_a.py", 7, "warning")
    assert told.message.startswith("tests/test_a.py lost 1 test (test_x): once everything else is proven")


def test_proof_that_came_or_is_gone_or_is_too_much_to_read_is_told_too() -> None:
    gone = tuple(f"tests/test_{number}.py" for number in range(7))
    changed = ChangedProof({"tests/test_new.py": 0}, frozenset({"tests/test_new.py"}), gone, ("tests/z.py",))
    view = replace(run_view({}), changed_proof=changed)
    told = {(m.path, m.message) for m in look(view).diagnostics if m.code == "proof_changed"}
    new = "this proof is new since the run began: once everything else is proven, it must fail without the work"
    tried = ": once everything else is proven, it is tried as it was at the start as well"
    listed = ", ".join(gone[:5])
    assert told == {
        ("tests/test_new.py", new),
        ("GOAL.md", f"proof that was there when the run began is gone: {listed} and 2 more{tried}"),
        ("GOAL.md", f"more files of the proof may have changed: tests/z.py{tried}"),
    }


def test_a_ticked_box_is_no_proof_until_it_is_proven() -> None:
    def ticked(view: RunView | None) -> list[Row]:
        return [row for row in rows(look(view).diagnostics) if row[3] == "ticked"]

    assert ticked(None) == [("GOAL.md", 3, "information", "ticked")]
    assert ticked(run_view({"R2": "unmet"})) == [("GOAL.md", 3, "information", "ticked")]
    assert ticked(run_view({})) == []
    assert ticked(run_view({}, ended="complete")) == []


def test_code_lines_and_their_severity() -> None:
    places = {"R1": [Problem("src/a.py", 11, "assert 1 == 2", 4), Problem("src/b.py", 3, "unused", 0, "warning")]}
    view = run_view({"R1": "unmet"}, places=places)
    expected = [("GOAL.md", 2, "error", "R1"), ("src/a.py", 11, "error", "R1"), ("src/b.py", 3, "warning", "R1")]
    check(view, expected)
    code = [m for m in look(view).diagnostics if m.path == "src/a.py"]
    assert code[0].message == "assert 1 == 2"
    assert code[0].related[0].uri == "GOAL.md"


def test_a_code_line_goes_when_its_file_changed_after_the_evidence() -> None:
    goal = parsed().goal
    assert goal is not None
    requirement = goal.requirements[2]
    found = evidence(1, requirement, seconds=5.0)
    view = run_view(
        {"R3": stands("R3", "unmet", ["E1"])},
        places={"R3": [Problem("a.py", 0, "x"), Problem("b.py", 0, "y")]},
        results={requirement.checks[0].id: found},
    )
    paths = {diagnostic.path for diagnostic in look(view, changed_at={"a.py": 105.5, "b.py": 104.0}).diagnostics}
    assert paths == {"GOAL.md", "b.py"}


def test_each_test_that_fails_in_a_trial_is_marked_with_the_finding_that_it_belongs_to() -> None:
    places = (Problem("tests/test_a.py", 8, "one fails"), Problem("tests/test_b.py", 2, "another fails"))
    known = finding(kind="original_fails")
    known = replace(known, finding=replace(known.finding, places=places))
    view = run_view({}, findings=[known])
    check(view, [(one.path, one.line, "error", "original_fails") for one in places])
    diagnostics = [diagnostic for diagnostic in look(view).diagnostics if diagnostic.code == "original_fails"]
    assert [diagnostic.message for diagnostic in diagnostics] == ["one fails", "another fails"]
    assert {diagnostic.info["findingId"] for diagnostic in diagnostics} == {"F1"}
    changed = ChangedProof({"tests/test_b.py": 0})
    assert not [m for m in look(replace(view, changed_proof=changed)).diagnostics if m.code == "proof_changed"]
    check(run_view({}, ended="capped", findings=[known]), [])


def test_integrity_findings_are_errors_on_their_line_until_accepted() -> None:
    check(run_view({}, findings=[finding()]), [("tests/test_a.py", 4, "error", "test_skipped")])
    check(run_view({}, findings=[finding(accepted=True)]), [])
    (diagnostic,) = [m for m in look(run_view({}, findings=[finding()])).diagnostics if m.code == "test_skipped"]
    assert diagnostic.info == {"runId": "run1", "findingId": "F1"}


@pytest.mark.parametrize("ended", ["complete", "cancelled"])
def test_after_complete_and_cancelled_all_go(ended: Any) -> None:
    places = {"R1": [Problem("a.py", 1, "x")]}
    check(run_view({"R1": "unmet"}, ended=ended, places=places, findings=[finding()]), [])


@each_row("ended", ["capped", "stalled", "timed_out", "blocked", "crashed"])
def test_after_other_ends_those_on_the_goal_file_stay(ended: Any) -> None:
    places = {"R1": [Problem("a.py", 1, "x")]}
    view = run_view({"R1": "unmet"}, ended=ended, places=places, findings=[finding(), finding(path="GOAL.md")])
    check(view, [("GOAL.md", 2, "error", "R1"), ("GOAL.md", 4, "error", "test_skipped")])


def test_an_audit_that_ended_keeps_its_code_lines() -> None:
    view = run_view({"R1": "unmet"}, mode="audit", places={"R1": [Problem("a.py", 1, "x")]})
    check(view, [("GOAL.md", 2, "error", "R1"), ("a.py", 1, "error", "R1")])


class TestRenewing:
    """No flicker: the last diagnostic stays, marked, while a proof is renewed."""

    def of(self, one: RequirementView, memory: Memory) -> tuple[list[str], Memory]:
        found = look(run_view({"R1": one}), memory)
        return [diagnostic.message for diagnostic in found.diagnostics if diagnostic.code == "R1"], found.memory

    def test_an_error_stays_and_says_so_and_goes_when_it_is_met(self) -> None:
        said, memory = self.of(stands("R1", "unmet", ["E1"]), {})
        assert said == ["unmet: because of R1"]
        for _ in range(2):
            said, memory = self.of(stands("R1", "stale", ["E1"], renewing=True), memory)
            assert said == ["unmet: because of R1 (being proven again)"]
        said, memory = self.of(stands("R1", "met", ["E2"]), memory)
        assert said == []
        said, _ = self.of(stands("R1", "stale", ["E2"], renewing=True), memory)
        assert said == []

    def test_code_lines_stay_until_the_next_result_or_their_file_changes(self) -> None:
        goal = parsed().goal
        assert goal is not None
        check_id = goal.requirements[2].checks[0].id
        results = {check_id: evidence(1, goal.requirements[2], seconds=5.0)}
        places = {"R3": [Problem("a.py", 0, "x"), Problem("b.py", 0, "y")]}
        before = look(run_view({"R3": stands("R3", "unmet", ["E1"])}, places=places, results=results))
        begun = run_view({"R3": stands("R3", "unverified", renewing=True)})
        for changed, expected in (({}, {"a.py", "b.py"}), ({"a.py": 105.5, "b.py": 104.0}, {"b.py"})):
            found = look(begun, before.memory, changed_at=changed)
            assert {diagnostic.path for diagnostic in found.diagnostics} == {"GOAL.md", *expected}
            before = found
        assert code_paths(before.memory) == {"a.py", "b.py"}
        settled = look(run_view({"R3": stands("R3", "unmet", ["E1"])}), before.memory)
        assert {diagnostic.path for diagnostic in settled.diagnostics} == {"GOAL.md"}

    @pytest.mark.parametrize("ended", ["capped", "timed_out"])
    def test_the_code_lines_of_an_ended_pursuit_go_and_do_not_come_back(self, ended: Any) -> None:
        places = {"R1": [Problem("a.py", 1, "x")]}
        memory = look(run_view({"R1": "unmet"}, places=places)).memory
        old = stands("R1", "unmet", ["E1"], renewing=True)
        over = look(run_view({"R1": old}, ended=ended, places=places), memory)
        again = look(run_view({"R1": stands("R1", "unverified", renewing=True)}), over.memory)
        for found in (over, again):
            assert {diagnostic.path for diagnostic in found.diagnostics} == {"GOAL.md"}

    @pytest.mark.parametrize(("status", "expected"), [("met", 0), ("unmet", 1)])
    def test_a_tick_is_said_to_be_no_proof_as_it_last_was(self, status: str, expected: int) -> None:
        memory = look(run_view({"R2": status})).memory
        again = look(run_view({"R2": stands("R2", "unverified", renewing=True)}), memory)
        assert [diagnostic.code for diagnostic in again.diagnostics].count("ticked") == expected

    def test_a_tick_that_was_never_proven_is_said_while_the_first_check_runs(self) -> None:
        first = look(run_view({"R2": stands("R2", "unverified", renewing=True)}))
        assert "ticked" in [diagnostic.code for diagnostic in first.diagnostics]
        complete = look(run_view({}, ended="complete"))
        again = look(run_view({"R2": stands("R2", "unverified", renewing=True)}), complete.memory)
        assert "ticked" not in [diagnostic.code for diagnostic in again.diagnostics]

    def test_what_was_never_proven_is_not_proven_again(self) -> None:
        said, memory = self.of(stands("R1", "unverified", renewing=True), {})
        assert said == ["unverified: because of R1"]
        said, _ = self.of(stands("R1", "unverified", renewing=True), memory)
        assert said == ["unverified: because of R1"]

    def test_a_stale_proof_that_nothing_renews_is_a_warning(self) -> None:
        check(run_view({"R1": stands("R1", "stale", ["E1"])}), [("GOAL.md", 2, "warning", "R1")])

    def test_an_unmet_one_first_seen_while_renewing_is_shown(self) -> None:
        said, _ = self.of(stands("R1", "unmet", ["E1"], renewing=True), {})
        assert said == ["unmet: because of R1 (being proven again)"]


def test_requirements_are_found_by_what_they_say_not_by_number() -> None:
    moved = GOAL.replace("- [ ] 🎯 `make test` passes\n", "") + "- [ ] 🎯 `make test` passes\n"
    found = look(run_view({"R1": "unmet"}), text=moved).diagnostics
    assert [row for row in rows(found) if row[3] != "ticked"] == [("GOAL.md", 5, "error", "R3")]


def test_problems_of_the_file_itself_stay_with_or_without_a_run() -> None:
    text = "---\nmax_iteration: 3\n---\n" + GOAL
    for view in (None, run_view({}), run_view({}, ended="complete")):
        diagnostics = [diagnostic for diagnostic in look(view, text=text).diagnostics if diagnostic.severity == "error"]
        assert [diagnostic.start[0] for diagnostic in diagnostics] == [1]
        assert diagnostics[0].info == {"suggestion": "max_iterations"}
