"""What the live goal file offers, feature by feature, from a text and a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from donewhen.core.evidence import CheckResult, Evidence, Outcome, Problem
from donewhen.core.goal import Check
from donewhen.core.proof_files import ProofFiles, proof_basis
from donewhen.core.state import Guard
from donewhen.core.trouble import ModelTrouble
from donewhen.core.work import Interrupt
from donewhen.lsp.actions import REASON, finding_actions, goal_actions, run_actions, suggestion_actions
from donewhen.lsp.goal_view import GoalView
from donewhen.lsp.hover import goal_hover, requirement_text
from donewhen.lsp.interrupts import question_text
from donewhen.lsp.lenses import goal_hints, goal_lenses
from donewhen.lsp.navigation import goal_links, goal_symbols, matching
from donewhen.lsp.progress import message, percentage
from donewhen.lsp.proof_basis import PLAIN
from tests.tools import each_row

from .goals import GOAL, evidence, live, parsed, run_view, stands

KEY, AWAY = (ModelTrouble(kind, "worker", "openai/m", "it fails") for kind in ("key_refused", "unreachable"))


def titles(goal: GoalView) -> list[tuple[int, str]]:
    return [(lens.range.start.line, lens.command.title) for lens in goal_lenses(goal) if lens.command is not None]


# ------------------------------------------------------------------------------------------- lenses


@each_row(
    "state, expected",
    [
        ({}, ["Check now", "Pause", "Stop"]),
        ({"interrupts": (Interrupt("I1", "question", "?"),)}, ["Answer", "Check now", "Pause", "Stop"]),
        ({"paused": "x"}, ["Resume", "Check now", "Stop"]),
        ({"interrupted": "x"}, ["Resume", "Check now", "Stop"]),
        ({"ended": "capped"}, ["Start", "Check now"]),
        ({"ended": "complete"}, ["Start", "Check now", "Guard"]),
        ({"ended": "complete", "guard": Guard(0.0)}, ["Start", "Check now", "Lift guard"]),
        ({"mode": "audit"}, ["Start", "Check now"]),
    ],
)
def test_what_can_be_done_stands_above_the_title(state: Any, expected: list[str]) -> None:
    found = [title for line, title in titles(live(run_view({}, **state))) if line == 0]
    assert found == expected


@each_row(
    "state, expected",
    [
        ({"paused": "x"}, ["Resume", "Check now", "Stop"]),
        ({"paused": "x", "trouble": KEY}, ["Model unreachable · Set API key…", "Resume", "Check now", "Stop"]),
        ({"paused": "x", "trouble": AWAY}, ["Model unreachable · Try again", "Check now", "Stop"]),
        ({"ended": "capped"}, ["Capped · Raise the limit…", "Start", "Check now"]),
        ({"ended": "stalled"}, ["Start", "Check now"]),
    ],
)
def test_what_repairs_a_run_comes_first_for_a_client_with_views(state: Any, expected: list[str]) -> None:
    lenses = goal_lenses(live(run_view({}, **state)), repairs=True)
    commands = [lens.command for lens in lenses if lens.command is not None and lens.range.start.line == 0]
    assert [one.title for one in commands] == expected
    own = [one for one in commands if not one.command.startswith(("donewhen.run.", "donewhen.goal."))]
    assert all(one.arguments == [{"runId": "run1", "goalUri": live(None).uri}] for one in own)


def test_each_requirement_has_its_status_and_its_evidence() -> None:
    judged = stands("R3", "unmet", decided_by="judge", renewing=True)
    checked = stands("R1", "unmet", ["E1", "E2"], decided_by="check", flaky=True)
    view = run_view({"R1": checked, "R2": "waived", "R3": judged})
    found = titles(live(view))
    assert [title for line, title in found if line == 2] == ["Unmet · flaky · Evidence", "Evidence 2"]
    assert [title for line, title in found if line == 3] == ["Waived"]
    assert [title for line, title in found if line == 5] == ["Unmet · judge · being proven again"]


def test_a_broken_goal_can_not_be_started_and_an_untrusted_one_neither() -> None:
    assert titles(live(None, "---\nworker: [\n---\n# T\n")) == []
    assert titles(live(None, trusted=False)) == []
    assert [title for _, title in titles(live(run_view({}), trusted=False))][:2] == ["Pause", "Stop"]


def test_the_evidence_lens_asks_to_show_it() -> None:
    view = run_view({"R1": stands("R1", "unmet", ["E1"])})
    (lens,) = [lens for lens in goal_lenses(live(view)) if lens.command and "Evidence" in lens.command.title]
    assert lens.command is not None
    assert lens.command.command == "donewhen.run.evidence"
    assert lens.command.arguments == [{"runId": "run1", "evidenceId": "E1", "show": True}]


# ------------------------------------------------------------------------------- hints and symbols


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 29), ("utf-16", 27), ("utf-32", 26)])
def test_hints_stand_at_the_end_of_the_line_as_the_client_counts(encoding: Any, column: int) -> None:
    first = goal_hints(live(run_view({"R1": "unmet"}), encoding=encoding), 0, 2)[0]
    assert (first.position.line, first.position.character) == (2, column)
    assert first.label == "✗ unmet"


def test_hints_keep_to_the_range_and_need_a_run() -> None:
    assert [hint.position.line for hint in goal_hints(live(run_view({})), 3, 4)] == [3]
    assert goal_hints(live(None), 0, 99) == []


def test_symbols_are_the_goal_and_its_requirements() -> None:
    (goal,) = goal_symbols(live(run_view({"R1": "unmet"})))
    assert goal.name == "Ship 🎯 it"
    assert goal.children is not None
    assert goal.children[0].name == "R1 🎯 `make test` passes"
    assert [child.detail for child in goal.children] == ["unmet", "met", "met"]
    for symbol in (goal, *goal.children):
        start, end = symbol.selection_range.start, symbol.selection_range.end
        assert (symbol.range.start.line, symbol.range.start.character) <= (start.line, start.character)
        assert (end.line, end.character) <= (symbol.range.end.line, symbol.range.end.character)


# --------------------------------------------------------------------------------------------- hover


def test_hover_tells_verdict_reason_evidence_and_cost() -> None:
    requirement = parsed().requirements[2].requirement
    found = evidence(3, requirement, output="line 1\nE501 too long\n", seconds=1.25)
    one = stands("R3", "unmet", ["E3"], decided_by="check", renewing=True)
    view = run_view({"R3": one}, results={requirement.checks[0].id: found}, iteration=2, elapsed=41.0)
    hover = goal_hover(live(view), 5)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    for part in ("**Unmet** · decided by a check · being proven again · R3", "because of R3", "`ruff check .`"):
        assert part in hover.contents.value
    assert "exit code 1, 1.2 s" in hover.contents.value
    assert "```text\nline 1\nE501 too long\n```" in hover.contents.value
    assert "iteration 2, 41 s" in hover.contents.value
    assert "$" not in hover.contents.value  # nobody was paid


def test_hover_says_what_a_proof_is_worth() -> None:
    one = replace(stands("R3", "met", ["E3"], decided_by="check"), grade="worker")
    hover = goal_hover(live(run_view({"R3": one})), 5)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    said = "**Met** · decided by a check · proven by what the worker wrote, which fails without the work"
    assert said in hover.contents.value


def test_hover_says_what_the_proof_rests_on() -> None:
    paths = ["GOAL.md", "src/a.py", *(f"tests/test_{name}.py" for name in "abcde"), "pyproject.toml", "Makefile"]
    hover = goal_hover(live(None), 5, basis=proof_basis(ProofFiles(goal_path="GOAL.md"), paths, ()))
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    tests = "`tests/test_a.py`, `tests/test_b.py`, `tests/test_c.py` and 2 more"
    assert f"Rests on: {tests}; `Makefile`; part of `pyproject.toml`" in hover.contents.value


def test_hover_says_what_a_requirement_rests_on_by_its_own_checks() -> None:
    paths = ["GOAL.md", "src/a.py", "tests/test_a.py", "gold/a.csv", "ruff.toml", "Makefile"]
    files, one = ProofFiles(proof=("gold/**",), goal_path="GOAL.md"), parsed().requirements[2].requirement
    narrow = goal_hover(live(None), 5, basis=proof_basis(files, paths, (), (one,)))
    other = replace(one, checks=(Check.of("make lint-or-so"),))
    whole = goal_hover(live(None), 5, basis=proof_basis(files, paths, (), (other,)))
    assert narrow is not None
    assert whole is not None
    assert isinstance(narrow.contents, types.MarkupContent)
    assert isinstance(whole.contents, types.MarkupContent)
    assert "Rests on: `ruff.toml`. Of the whole goal: `gold/a.csv`" in narrow.contents.value
    assert "tests/test_a.py" not in narrow.contents.value
    assert "Of the whole goal: `gold/a.csv`; `tests/test_a.py`; `ruff.toml`; `Makefile`" in whole.contents.value


def test_hover_is_plain_where_the_client_shows_no_markdown() -> None:
    requirement = parsed().requirements[2].requirement
    found = evidence(3, requirement, output="*loud* `word`\n", seconds=1.25)
    one = stands("R3", "unmet", ["E3"], decided_by="check")
    view = run_view({"R3": one}, results={requirement.checks[0].id: found}, iteration=2, elapsed=41.0)
    hover = goal_hover(live(view), 5, PLAIN)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.kind == types.MarkupKind.PlainText
    said = [
        "Unmet · decided by a check · R3",
        "because of R3",
        "*loud* `word`",
        "E3 · ruff check .: exit code 1, 1.2 s",
    ]
    legend = "R3 is the number of this requirement; E3 is evidence: what Done When observed itself"
    assert hover.contents.value == "\n\n".join([*said, "iteration 2, 41 s", legend])


def test_hover_says_once_what_failed_and_the_assertion_first() -> None:
    requirement = parsed().requirements[2].requirement
    output = "..F.                  [100%]\n=== FAILURES ===\nE  assert -1 == 5\n1 failed, 3 passed"
    found = evidence(3, requirement, output=output, reason="1 of 4 tests failed")
    one = replace(stands("R3", "unmet", ["E3"], decided_by="check"), reason="`ruff check .`: 1 of 4 tests failed")
    key = requirement.checks[0].id

    def shown(found: Evidence) -> list[str]:
        return requirement_text(live(run_view({"R3": one}, results={key: found})), parsed().requirements[2]).split(
            "\n\n"
        )

    said = shown(found)
    assert said[1] == "```text\n=== FAILURES ===\nE  assert -1 == 5\n1 failed, 3 passed\n```"
    assert said[2].startswith("E3 · `ruff check .`: 1 of 4 tests failed, ")
    assert " ".join(said).count("1 of 4 tests failed") == 1
    assert isinstance(found.observation, CheckResult)
    named = replace(found.observation, problems=(Problem("test_calc.py", 4, "test_add: assert -1 == 5"),))
    assert shown(replace(found, observation=named))[1] == "```text\ntest_calc.py:5: test_add: assert -1 == 5\n```"


def test_words_of_others_make_no_link_and_fetch_no_picture() -> None:
    words = "see ![it](https://example.com/seen.png) and [this](command:quit), says `pytest`"
    one = replace(stands("R3", "unmet", [], decided_by="judge"), reason=words)
    hover = goal_hover(live(run_view({"R3": one})), 5)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert (
        r"see !\[it\](https\://example.com/seen.png) and \[this\](command:quit), says `pytest`" in hover.contents.value
    )


def test_evidence_is_linked_where_it_can_be_read_and_words_of_others_are_no_links() -> None:
    requirement = parsed().requirements[2].requirement
    found = evidence(3, requirement)
    one = replace(stands("R3", "unmet", ["E3", "E9"]), reason="see [here](command:quit), `ruff check .` failed")
    view = run_view({"R3": one}, results={requirement.checks[0].id: found}, waived={one.requirement_id: "<b>why</b>"})
    uris = {name: f"file:///s/evidence/run1/{name}.md" for name in ("E3", "E9")}
    shown = requirement_text(live(view), parsed().requirements[2], uris=uris)
    assert r"see \[here\](command:quit), `ruff check .` failed" in shown
    assert "[E3](file:///s/evidence/run1/E3.md) · `ruff check .`: exit code 1, " in shown
    assert "Evidence: [E9](file:///s/evidence/run1/E9.md)" in shown
    assert r"Waived by a person: \<b>why\</b>" in shown


def test_output_can_not_break_out_of_its_fence() -> None:
    requirement = parsed().requirements[2].requirement
    found = evidence(3, requirement, output="````\n# a heading\n```")
    view = run_view({"R3": stands("R3", "unmet", ["E3"])}, results={requirement.checks[0].id: found})
    assert "`````text\n````\n# a heading\n```\n`````" in requirement_text(live(view), parsed().requirements[2])


def test_passing_output_is_not_shown_and_unexamined_is_said() -> None:
    requirement = parsed().requirements[2].requirement
    found = evidence(3, requirement, outcome=Outcome.PASSED, exit_code=0, output="noise")
    view = run_view({"R3": stands("R3", "met", ["E3"])}, results={requirement.checks[0].id: found})
    assert "noise" not in requirement_text(live(view), parsed().requirements[2])
    assert "**Not checked yet** · decided by `ruff check .`" in requirement_text(live(None), parsed().requirements[2])
    assert goal_hover(live(None), 0) is None
    assert goal_hover(live(None), 99) is None


# ------------------------------------------------------------------------------------------- actions


def actions(goal: GoalView, line: int, **options: Any) -> dict[str, types.CodeAction]:
    return {one.title: one for one in goal_actions(goal, line, line, **options)}


def test_waive_dispute_and_evidence_for_an_unmet_requirement() -> None:
    unmet = {"R3": stands("R3", "unmet", ["E1"])}
    assert "Dispute R3" not in actions(live(run_view(unmet)), 5)
    found = actions(live(run_view(unmet, judge="a model")), 5)
    assert list(found) == ["Open the evidence E1", "Dispute R3", "Waive R3", "Tick the proven requirement"]
    command = found["Waive R3"].command
    assert command is not None
    assert command.command == "donewhen.run.override"
    assert command.arguments is not None
    assert command.arguments[0]["reason"] == REASON


def test_a_client_that_asks_for_reasons_gets_none_to_send() -> None:
    command = actions(live(run_view({"R3": "unmet"})), 5, asks=True)["Waive R3"].command
    assert command is not None
    assert command.arguments is not None
    assert "reason" not in command.arguments[0]


def test_a_waiver_can_be_taken_back() -> None:
    command = actions(live(run_view({"R3": "waived"})), 5)["Undo the waiver of R3"].command
    assert command is not None
    assert command.arguments is not None
    assert command.arguments[0]["undo"] is True


def test_ticking_changes_only_the_boxes_of_what_is_proven() -> None:
    action = actions(live(run_view({"R2": "unmet", "R3": "stale"}), encoding="utf-16"), 0)[
        "Tick the proven requirement"
    ]
    assert action.edit is not None
    assert action.edit.changes is not None
    (edits,) = action.edit.changes.values()
    assert [(e.range.start.line, e.range.start.character, e.range.end.character) for e in edits] == [(2, 2, 5)]
    assert [e.new_text for e in edits] == ["[x]"]


def test_nothing_to_do_without_a_run() -> None:
    assert actions(live(None), 2) == {}


@each_row(
    "view, trusted, expected",
    [
        (None, True, ["Start", "Check now"]),
        (None, False, []),
        (run_view({}), True, ["Check now", "Pause", "Stop"]),
        (run_view({}, paused="x"), True, ["Resume", "Check now", "Stop"]),
    ],
)
def test_the_run_is_steered_by_actions_too(view: Any, trusted: bool, expected: list[str]) -> None:
    found = run_actions(live(view, trusted=trusted))
    assert [action.title for action in found] == expected
    assert all(action.kind == "source.donewhen" and action.command is not None for action in found)


def diagnostic(**more: Any) -> types.Diagnostic:
    where = types.Range(types.Position(4, 0), types.Position(4, 9))
    return types.Diagnostic(where, "m", **({"source": "donewhen"} | more))


def test_integrity_findings_are_accepted_or_reverted() -> None:
    about = {"runId": "run1", "findingId": "F1"}
    found = {one.title: one.command for one in finding_actions([diagnostic(data=about)])}
    accept, revert = found["Accept F1"], found["Revert F1"]
    assert accept is not None
    assert accept.arguments == [{**about, "reason": REASON}]
    assert revert is not None
    assert revert.arguments == [about]
    others = [diagnostic(), diagnostic(data=3), diagnostic(data=about, source="ruff"), diagnostic(data={"runId": 1})]
    assert finding_actions(others) == []


def test_a_misspelt_key_is_replaced() -> None:
    (action,) = suggestion_actions("file:///w/GOAL.md", [diagnostic(data={"suggestion": "timeout"}), diagnostic()])
    assert action.edit is not None
    assert action.edit.changes is not None
    assert action.edit.changes["file:///w/GOAL.md"][0].new_text == "timeout"


# --------------------------------------------------------------------------------------------- links


def test_named_files_are_linked_and_nothing_outside_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("x")
    (tmp_path / "src").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "src" / name).write_text("")
    (link,) = goal_links(live(None, root=tmp_path))
    assert link.target == (tmp_path / "README.md").as_uri()
    assert sorted(path.name for path in matching(tmp_path, ["src/*.py"])) == ["a.py", "b.py"]
    assert matching(tmp_path, ["../*", "/etc/passwd", "", "src/[", "none"]) == []
    text_of_two = GOAL.replace("README.md`", "src/*.py`")
    assert goal_links(live(None, text_of_two, root=tmp_path)) == []


# --------------------------------------------------------------------- interrupts and progress


def test_a_carriage_return_hides_nothing_in_a_question() -> None:
    asked = Interrupt("I1", "approval", "Run\rit?", preview="rm -r x\rls")
    assert "\r" not in question_text(asked, ["The worker says: x\rIn /safe"])


def test_a_long_preview_is_cut() -> None:
    said = question_text(Interrupt("I1", "approval", "Run?", preview="x" * 10_000))
    assert said.startswith("Run?\nxxx")
    assert len(said) < 1000


def test_progress_says_iteration_phase_and_score() -> None:
    goal = parsed("---\nmax_iterations: 10\n---\n" + GOAL).goal
    assert goal is not None
    view = run_view({"R1": "unmet"}, "---\nmax_iterations: 10\n---\n" + GOAL, iteration=3, deciding=("r",))
    assert message(view) == "iteration 3/10 · judging · 2 of 3 met"
    assert percentage(view) == 66
    waived = run_view({"R1": "unmet", "R2": "waived"}, "---\nmax_iterations: 10\n---\n" + GOAL, iteration=3)
    assert message(waived).endswith("1 of 3 met, 1 waived")
