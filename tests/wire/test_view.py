"""How a run is shown: what an editor draws as it is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.trouble import REPAIRS, TroubleKind
from donewhen.core.verdict import RequirementView
from donewhen.core.words import duration, money
from donewhen.core.work import Claim, Usage, WorkerStep
from donewhen.engine.api import CallSummary, CheckSummary, IterationDetail
from donewhen.wire.snapshot import Snapshot
from donewhen.wire.view import (
    WireAsked,
    WireNode,
    WireView,
    chat_answer,
    chat_text,
    children_of,
    iteration_sections,
    requirement_rows,
    view_of,
)
from tests.tools import each_row

NOWHERE = {"start": {"line": 6, "character": 0}, "end": {"line": 6, "character": 0}}
NOTHING_USED = {"inputTokens": 0, "outputTokens": 0, "cachedTokens": 0, "usd": 0}
DIFF = "--- a/x.yml\n+++ b/x.yml\n@@ -1,2 +1,2 @@\n name: ci\n-on: push\n+on: [push]\n++++ twice"


def counts(met: int = 2, total: int = 5, **more: int) -> dict[str, int]:
    return {"met": met, "unmet": 0, "unverified": 0, "stale": 0, "waived": 0, "total": total, **more}


def requirement(number: int = 1, **given: Any) -> dict[str, Any]:
    return {
        "id": f"r-{number}", "number": number, "text": f"requirement {number}", "status": "unmet", "flaky": False,
        "reason": "2 tests failed", "evidenceIds": [], "decidedBy": "check", "locations": [], **given,
    }  # fmt: skip


def interrupt(**given: Any) -> dict[str, Any]:
    return {
        "id": "I1", "kind": "approval", "title": "Run a command?", "tool": "run_command",
        "input": {"command": "git push"}, "preview": "git push", "askedAt": "2026-01-01T00:00:00.000Z",
        "about": "tool:run_command", **given,
    }  # fmt: skip


def command(text: str, **given: Any) -> dict[str, Any]:
    return interrupt(title=f"Run `{' '.join(text.split())}`?", preview=text, input={"command": text}, **given)


def iteration(number: int, **given: Any) -> dict[str, Any]:
    return {
        "number": number, "startedAt": "", "seconds": 12, "score": 0.4, "met": 2, "total": 5, "usd": 0.04,
        "revision": f"rev{number}", "changedFiles": [], "summary": "", **given,
    }  # fmt: skip


def finding(**given: Any) -> dict[str, Any]:
    known = {"id": "F1", "kind": "test_skipped", "uri": "file:///w/t.py", "range": NOWHERE, "message": "skipped"}
    return {**known, "accepted": False, "reason": "", **given}


def run(**given: Any) -> Snapshot:
    document: dict[str, Any] = {
        "schemaVersion": 1, "sequence": 1, "runId": "r1", "goalUri": "file:///w/GOAL.md", "title": "Ship it",
        "objective": "Ship it", "worker": "agent", "status": "running", "phase": "working", "activity": None,
        "reason": "", "iteration": 3, "maxIterations": 10, "elapsedSeconds": 41.2, "revision": "a", "score": 0.4,
        "complete": False, "missing": "", "counts": counts(), "requirements": [], "integrity": [], "interrupts": [],
        "halt": None, "warnings": [], "cost": {"usd": 0, "worker": NOTHING_USED, "judge": NOTHING_USED},
        "limits": {"maxIterations": 10, "timeoutSeconds": 3600, "budgetUsd": None, "tokenBudget": None},
        "iterationsTotal": 0, "iterations": [], "lastRevertible": None, **given,
    }  # fmt: skip
    return Snapshot.model_validate(document)


def view(**given: Any) -> WireView:
    return view_of(run(**given))


def asked(one: dict[str, Any]) -> WireAsked:
    return view(status="waiting", interrupts=[one]).asked[0]


def cost(usd: float | None) -> dict[str, Any]:
    return {"usd": usd, "worker": NOTHING_USED, "judge": NOTHING_USED}


# ------------------------------------------------------------------------------------- the status bar

WAIVED = counts(4, waived=1)
ACCEPTED = requirement(1, status="met", grade="person")
DONE = {"status": "complete", "complete": True, "phase": None}


@each_row(
    "given, icon, text",
    [
        ({}, "loading~spin", "Goal: iteration 3/10 · 2 of 5 met"),
        ({"cost": cost(0.123)}, "loading~spin", "Goal: iteration 3/10 · 2 of 5 met · $0.12"),
        ({"cost": cost(None)}, "loading~spin", "Goal: iteration 3/10 · 2 of 5 met"),
        ({"worker": "human", "maxIterations": None}, "eye", "Goal · 2 of 5 met"),
        ({"worker": "human", "phase": "checking"}, "loading~spin", "Goal · 2 of 5 met"),
        ({"counts": WAIVED}, "loading~spin", "Goal: iteration 3/10 · 4 of 5 met"),
        ({**DONE, "counts": WAIVED}, "pass", "Goal: iteration 3/10 · 4 of 5 met, 1 waived"),
        ({**DONE, "requirements": [ACCEPTED]}, "pass", "Goal: iteration 3/10 · 2 of 5 met"),
        (
            {**DONE, "elapsedSeconds": 9.4},
            "pass-filled",
            "Goal: iteration 3/10 · 2 of 5 met · proven in 9 s",
        ),
        (
            {"status": "complete", "phase": None, "counts": counts(1, 2, stale=1)},
            "history",
            "Goal: iteration 3/10 · 1 of 2 met · 1 stale",
        ),
        (
            {"status": "complete", "phase": None, "counts": counts(1, 2, regressed=1)},
            "error",
            "Goal: iteration 3/10 · 1 of 2 met · 1 regressed",
        ),
        ({"status": None, "complete": True, "worker": None, "iteration": 0}, "pass", "Goal · 2 of 5 met"),
        ({"status": None, "worker": None, "iteration": 0}, "target", "Goal · 2 of 5 met"),
        ({"status": "capped", "phase": None}, "warning", "Goal: iteration 3/10 · 2 of 5 met"),
        (
            {"status": "waiting", "interrupts": [interrupt()]},
            "bell-dot",
            "Goal: iteration 3/10 · waiting for you · 2 of 5 met",
        ),
        (
            {"status": "interrupted", "phase": None, "takeOver": True},
            "debug-disconnect",
            "Goal: iteration 3/10 · take over? · 2 of 5 met",
        ),
        ({"status": "dreaming", "phase": None}, "target", "Goal: iteration 3/10 · 2 of 5 met"),
    ],
)
def test_the_status_bar_says_how_it_is_in_a_line(given: dict[str, Any], icon: str, text: str) -> None:
    status = view(**given).status
    assert (status.icon, status.text) == (icon, text)


def test_the_tooltip_says_the_phase_what_is_open_what_was_waived_cost_and_time() -> None:
    shown = view(
        activity="edits a.py",
        cost=cost(0.12),
        counts=counts(1, 3, unmet=1, waived=1),
        requirements=[
            requirement(1, status="met"),
            requirement(2, text="`pytest -q` passes"),
            requirement(3, status="waived", text="it is fast"),
        ],
        integrity=[finding()],
    )
    assert [line.strip() for line in shown.status.tooltip.replace("\\", "").split("\n") if line.strip()] == [
        "**Ship it**",
        "running · edits a.py",
        "iteration 3/10 · 1 of 3 met, 1 waived",
        "$(error) pytest -q passes (R2)",
        "$(shield) F1: skipped",
        "$(circle-slash) it is fast (R3) · waived",
        "$0.12 · 41 s",
    ]


def test_the_tooltip_of_a_goal_does_not_grow_with_what_remains() -> None:
    shown = view(missing="R1 (unmet): 2 tests failed; " * 1_000)
    assert "Remaining: R1" in shown.node.tooltip.replace("\\", "")
    assert len(shown.node.tooltip) < 2_000


def test_a_requirement_says_that_a_weak_judge_decided_it() -> None:
    judged = requirement(1, decidedBy="judge", status="met")
    for code, decided in (("weak_judge", "decided by a weak judge"), ("unlimited", "decided by the judge")):
        shown = view(requirements=[judged], warnings=[{"code": code, "message": "it accepted 5 of 6 false cases"}])
        assert decided in shown.model_dump_json()


def test_a_long_tooltip_is_cut_and_says_so() -> None:
    lines = view(requirements=[requirement(n + 1) for n in range(12)]).status.tooltip.split("  \n")
    assert len(lines) == 9
    assert "and 4 more" in lines[-1]


def test_text_of_a_goal_means_nothing_in_a_tooltip() -> None:
    assert r"\[x\]\(command\:evil\) \$\(zap\)" in view(title="[x](command:evil) $(zap)").status.tooltip


@pytest.mark.parametrize(
    ("given", "spoken"),
    [
        ({}, "Goal Ship it: running, iteration 3/10, 2 of 5 met"),
        ({"status": None, "iteration": 0}, "Goal Ship it: checked, 2 of 5 met"),
        (
            {"status": "waiting", "interrupts": [interrupt()]},
            "Goal Ship it: waiting for you, iteration 3/10, 2 of 5 met, it asks: Run a command?",
        ),
    ],
)
def test_a_screen_reader_hears_the_same(given: dict[str, Any], spoken: str) -> None:
    assert view(**given).status.spoken == spoken


@each_row("seconds, said", [(41.4, "41 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (3_725, "1 h 02 min")])
def test_time_is_said_as_people_say_it(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@each_row(
    "usd, said",
    [(None, "cost unknown"), (0, "$0.00"), (0.1234, "$0.12"), (0.0042, "$0.0042"), (3e-5, "less than $0.0001")],
)
def test_money_is_said_as_far_as_it_is_known(usd: float | None, said: str) -> None:
    assert money(usd) == said


# ------------------------------------------------------------------------------- what can be done, and how it ended


def trouble(kind: TroubleKind, **more: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "kind": kind, "role": "worker", "model": "openai/m", "said": "openai/m answers 429", "status": None,
        "brief": "the model answers 429", "headline": "model unreachable", "repairs": REPAIRS[kind],
        "nextTry": None, "tries": None, "nextTryAt": None,
    }  # fmt: skip
    return known | more


LACKING = trouble("support_missing")


@each_row(
    "given, first",
    [
        ({"status": "waiting", "interrupts": [interrupt()]}, ["answer", "checkNow", "pause", "stop"]),
        ({"status": "interrupted", "interrupts": [interrupt()]}, ["answer", "resume", "checkNow", "stop"]),
        ({"status": "interrupted", "takeOver": True}, ["takeOver", "checkNow", "stop", "openGoal"]),
        ({"status": "running"}, ["checkNow", "pause", "stop"]),
        ({"status": "paused"}, ["resume", "checkNow", "stop"]),
        ({"status": "capped"}, ["resume", "checkNow", "start"]),
        ({"status": "complete"}, ["reviewChanges", "commit", "copyReceipt"]),
        ({"status": "paused", "modelTrouble": LACKING}, ["installModels", "chooseModels", "resume"]),
        ({"status": None}, ["start", "checkNow"]),
    ],
)
def test_the_likeliest_action_comes_first(given: dict[str, Any], first: list[str]) -> None:
    assert view(**given).actions[: len(first)] == first


@each_row(
    "given, buttons",
    [
        ({"status": "running"}, []),
        ({"status": "complete"}, []),
        ({"status": "interrupted", "takeOver": True}, []),
        ({"status": "paused"}, ["Resume"]),
        ({"status": "stalled"}, ["Resume"]),
        ({"status": "capped"}, ["Raise the Limit…"]),
        ({"status": "paused", "modelTrouble": LACKING}, ["Install Model Support", "Choose Another Model…", "Resume"]),
        (
            {"status": "paused", "modelTrouble": trouble("key_refused")},
            ["Set API Key…", "Choose Another Model…", "Resume"],
        ),
        (
            {"status": "paused", "modelTrouble": trouble("unreachable")},
            ["Try Again", "Set Address…", "Choose Another Model…"],
        ),
        (
            {"status": "paused", "modelTrouble": trouble("wrong_address")},
            ["Set Address…", "Choose Another Model…", "Resume"],
        ),
        ({"status": "running", "modelTrouble": trouble("overloaded")}, []),
        ({"status": "paused", "goalKept": 2}, ["Put It Back", "Resume"]),
    ],
)
def test_what_repairs_it_is_offered_before_it_goes_on(given: dict[str, Any], buttons: list[str]) -> None:
    shown = view(**given)
    assert [one.label for one in shown.repairs] == buttons
    assert [one for one in shown.actions if one in {each.action for each in shown.repairs}] == [
        one.action for one in shown.repairs
    ]


def test_a_goal_on_guard_can_be_taken_off_it_and_a_complete_one_put_on_it() -> None:
    guarded = view(status="complete", guard={"since": "", "by": "person"})
    assert ("liftGuard" in guarded.actions, "guard" in guarded.actions, guarded.guardable) == (True, False, False)
    assert ("guard" in view(status="complete").actions, view(status="complete").guardable) == (True, True)


@each_row(
    "given, said",
    [
        ({"status": "complete", "counts": counts(5)}, "Proven: 5 of 5 in 41 s. “Ship it” is complete."),
        (
            {"status": "complete", "counts": WAIVED},
            "Complete: 4 of 5 met, 1 waived in 41 s. “Ship it” is complete, but not all of it is proven.",
        ),
        (
            {"status": "complete", "counts": counts(1, 1), "requirements": [ACCEPTED]},
            "Complete: 1 of 1 met in 41 s. “Ship it” is complete, but not all of it is proven.",
        ),
        (
            {"status": "capped", "missing": "R2: [x](command:y)"},
            "“Ship it” ended with 2 of 5 met (capped): R2: [x]\u2060(command:y)",
        ),
        (
            {"status": "paused", "reason": "the judge could not be asked: 502", "pausedBy": "run"},
            "“Ship it” is paused: the judge could not be asked: 502",
        ),
        ({"status": "paused", "reason": "paused by a person", "pausedBy": "person"}, None),
        ({"status": "paused", "reason": "", "pausedBy": "run"}, None),
        ({"status": "cancelled"}, None),
        ({"status": "interrupted"}, None),
        ({"status": "waiting"}, None),
        ({"status": None}, None),
    ],
)
def test_an_end_is_news_unless_a_person_made_it(given: dict[str, Any], said: str | None) -> None:
    assert view(**given).outcome == said


@each_row(
    "given, raised",
    [
        ({"status": "capped"}, ("maxIterations", 15, 1)),
        ({"status": "timed_out"}, ("timeoutSeconds", 90, 60)),
        (
            {
                "status": "over_budget",
                "limits": {"maxIterations": 1, "timeoutSeconds": 1, "budgetUsd": 2, "tokenBudget": 9},
            },
            ("budgetUsd", 4, 1),
        ),
        ({"status": "over_budget"}, ("tokenBudget", 200_000, 1)),
    ],
)
def test_the_limit_that_ended_a_run_is_proposed_higher(given: dict[str, Any], raised: tuple[str, float, float]) -> None:
    found = view(**given).raises
    assert found is not None
    assert (found.limit, found.proposed, found.unit) == raised


# ------------------------------------------------------------------------------------- the tree


def drawn(nodes: Sequence[WireNode], indent: str = "") -> list[str]:
    """As a person reads it."""
    lines: list[str] = []
    for one in nodes:
        lines.append(f"{indent}[{one.icon}] {one.label}{f' | {one.description}' if one.description else ''}")
        lines += drawn(one.children, f"{indent}  ")
    return lines


def test_the_tree_has_the_question_with_its_answers_the_findings_the_requirements_and_the_iterations() -> None:
    place = {"uri": "file:///w/a%20b.py", "range": NOWHERE, "message": "assert 1 == 2\nmore"}
    shown = view(
        title="Export",
        status="waiting",
        counts=counts(1, 2, unmet=1),
        interrupts=[interrupt()],
        integrity=[finding()],
        requirements=[
            requirement(1, status="met", reason="passed", evidenceIds=["E3"]),
            requirement(2, locations=[place]),
        ],
        iterationsTotal=1,
        iterations=[iteration(1, changedFiles=["src/a.py"], summary="quoted it")],
        lastRevertible=1,
    )
    assert shown.iterations is not None
    assert drawn([shown.asked[0].node, shown.node, shown.iterations]) == [
        "[shield] Run a command? | git push",
        "  [check] Approve",
        "  [circle-small] Deny",
        "  [comment] More…",
        "[bell-dot] 1/2 Export | waiting for you · iteration 3/10",
        "  [shield] F1 skipped | test skipped",
        "  [pass-filled] requirement 1 | met",
        "    [comment] passed | decided by a check",
        "    [output] Evidence E3",
        "  [error] requirement 2 | unmet · 2 tests failed",
        "    [comment] 2 tests failed | decided by a check",
        "    [location] a b.py:7 | assert 1 == 2",
        "[history] Iterations | 1",
        "  [git-commit] Iteration 1 | 2 of 5 met · $0.04 · 12 s",
        "    [comment] quoted it",
        "    [diff] a.py | src",
    ]


def below(nodes: Sequence[WireNode]) -> list[WireNode]:
    return [each for one in nodes for each in (one, *below(one.children))]


def test_each_node_has_an_id_of_its_own_and_words_for_a_screen_reader() -> None:
    shown = view(
        requirements=[requirement(1, evidenceIds=["E1", "E2"]), requirement(2, evidenceIds=["E1"])],
        iterationsTotal=2,
        iterations=[iteration(1, changedFiles=["a", "b/a"]), iteration(2, changedFiles=["a"])],
    )
    assert shown.iterations is not None
    nodes = below([shown.node, shown.iterations])
    assert len({one.id for one in nodes}) == len(nodes)
    assert [one for one in nodes if not one.spoken.strip()] == []


@each_row(
    "given, context",
    [
        ({"about": "start", "tool": None}, "interrupt.start"),
        ({}, "interrupt.approval"),
        ({"about": "plugin:x", "tool": None}, "interrupt.choice"),
        ({"kind": "question", "about": "requirement:x", "tool": None}, "interrupt.question"),
        ({"kind": "question", "about": "worker", "tool": None}, "interrupt.question"),
    ],
)
def test_the_node_of_a_question_says_which_answers_it_takes(given: dict[str, Any], context: str) -> None:
    assert asked(interrupt(**given)).node.context == context


@each_row(
    "given, description, context",
    [
        ({"text": "`pytest -q` passes", "reason": "`pytest -q`: exit code 1"}, "unmet · pytest -q: exit code 1", ""),
        ({"flaky": True, "renewing": True}, "unmet, being proven again, flaky · 2 tests failed", ""),
        ({"status": "met", "decidedBy": "judge"}, "met", ".disputable"),
        ({"status": "unmet"}, "unmet · 2 tests failed", ".disputable"),
    ],
)
def test_a_requirement_says_where_it_stands_and_what_is_doubtful(
    given: dict[str, Any], description: str, context: str
) -> None:
    one = view(requirements=[requirement(1, **given)], judge="m" if context else None).node.children[0]
    assert one.description == description
    assert one.context.endswith(context or f"requirement.{given.get('status', 'unmet')}")


def test_what_it_does_now_or_why_it_stands_still_is_a_line_of_its_own() -> None:
    running = view(activity="edits a.py").node.children[0]
    ended = view(status="capped", phase=None, reason="10 iterations").node.children[0]
    assert (running.label, running.description) == ("edits a.py", "working")
    assert (ended.label, ended.description) == ("10 iterations", "")


def test_a_tooltip_tells_who_says_so_why_and_what_was_observed() -> None:
    one = view(requirements=[requirement(1, evidenceIds=["E1", "E2"])]).node.children[0]
    assert one.tooltip == (
        "**unmet · R1** · decided by a check\n\nrequirement 1\n\n2 tests failed\n\nEvidence\\: E1, E2"
    )
    evil = view(requirements=[requirement(1, text="[x](command:evil) `a`", reason="**b**")]).node.children[0]
    assert r"\[x\]\(command\:evil\) a" in evil.tooltip
    assert r"\*\*b\*\*" in evil.tooltip
    own = view(requirements=[requirement(1, status="met", grade="own")]).node.children[0]
    assert own.tooltip.startswith("**met · R1** · decided by a check · proven by your own proof")


def test_a_run_lacks_what_calls_models_where_installing_that_repairs_it() -> None:
    lacking = view(status="paused", modelTrouble=LACKING)
    assert (lacking.lacks, lacking.repairs[0].action) == ("models", "installModels")
    assert view(status="running", modelTrouble=LACKING).lacks is None


def test_a_model_that_can_not_be_asked_is_said_in_the_bar_and_in_every_line() -> None:
    waiting = "the model answers 429, trying again in 8 s (3 of 5)"
    retried = view(status="running", activity=waiting, modelTrouble=trouble("overloaded", nextTry=3, tries=5))
    assert waiting in retried.status.text
    assert waiting in retried.timeline.activity
    assert retried.node.children[0].label == waiting
    stands = view(status="paused", pausedBy="run", reason="model unreachable: ...", modelTrouble=trouble("unreachable"))
    assert "model unreachable" in stands.status.text
    assert (stands.state, stands.goes_on) == ("model unreachable", True)
    assert stands.outcome is not None


def test_what_a_model_that_says_nothing_was_asked_for_is_said_with_the_seconds() -> None:
    reading = run(activity="thinking (reading 1,234 tokens), 5 s")
    assert "· thinking (reading 1,234 tokens), 5 s ·" in view_of(reading, silent=True).status.text
    assert "thinking" not in view_of(reading).status.text


def test_a_sparse_view_leaves_out_what_is_seen_once_a_row_is_opened() -> None:
    place = {"uri": "file:///w/a.py", "range": NOWHERE, "message": "wrong"}
    given: dict[str, Any] = {"iterationsTotal": 130, "iterations": [iteration(n) for n in range(111, 131)]}
    shown = run(requirements=[requirement(1, locations=[place], evidenceIds=["E1"])], **given)
    whole, sparse = view_of(shown), view_of(shown, rows=requirement_rows(shown, {}))
    row, iterations = sparse.requirements[0].node, sparse.iterations
    assert whole.iterations is not None
    assert iterations is not None
    assert row is not None
    eager = whole.node.children[0]
    assert sparse.node.children == row.children == iterations.children == []
    assert row.later == 3
    assert eager == row.model_copy(update={"later": 0, "version": "", "children": children_of(shown, row.id)})
    listed = children_of(shown, iterations.id)
    assert listed == whole.iterations.children
    assert [one.label for one in listed[19:]] == ["Iteration 111", "Iterations 101 to 110", "Iterations 1 to 100"]
    every = run(iterationsTotal=130, iterations=[iteration(n) for n in range(1, 131)])
    assert [one.label for one in children_of(every, listed[20].id)] == [f"Iteration {n}" for n in range(110, 100, -1)]


def test_a_row_that_comes_without_its_children_says_when_they_are_others() -> None:
    def versions(lines: int, summary: str) -> list[str]:
        where = {"start": {"line": lines, "character": 0}, "end": {"line": lines, "character": 0}}
        place = {"uri": "file:///w/a.py", "range": where, "message": "wrong"}
        given: dict[str, Any] = {"iterationsTotal": 1, "iterations": [iteration(1, summary=summary)]}
        known = run(requirements=[requirement(1, locations=[place])], **given)
        shown = view_of(known, rows=requirement_rows(known, {}))
        return [one.version for one in (shown.requirements[0].node, shown.iterations) if one is not None]

    then, again, moved, said = versions(1, "a"), versions(1, "a"), versions(2, "a"), versions(1, "b")
    assert then == again
    assert [now != before for now, before in zip(moved, then, strict=True)] == [True, False]
    assert [now != before for now, before in zip(said, then, strict=True)] == [False, True]


def test_a_row_that_is_as_it_was_is_not_made_again() -> None:
    first = run(requirements=[requirement(1), requirement(2)])
    rows = requirement_rows(first, {})
    then = requirement_rows(run(requirements=[requirement(1), requirement(2, status="met")], sequence=2), rows)
    assert [then[name][1] is rows[name][1] for name in rows] == [True, False]
    judged = requirement_rows(run(requirements=[requirement(1), requirement(2)], judge="m"), rows)
    assert [row.disputable for _, row in judged.values()] == [True, True]


def test_earlier_iterations_are_asked_for_by_the_hundred() -> None:
    latest = view(iterationsTotal=250, iterations=[iteration(n) for n in range(231, 251)], lastRevertible=249)
    assert latest.iterations is not None
    chunks = [(one.label, one.later) for one in latest.iterations.children[20:]]
    assert chunks == [("Iterations 201 to 230", 30), ("Iterations 101 to 200", 100), ("Iterations 1 to 100", 100)]
    assert [one.context for one in latest.iterations.children[:2]] == ["iteration", "iteration.revertible"]
    grown = view(iterationsTotal=251, iterations=[iteration(n) for n in range(232, 252)]).iterations
    assert grown is not None
    same = [one.id == old.id for one, old in zip(grown.children[20:], latest.iterations.children[20:], strict=True)]
    known = [
        one.version == old.version
        for one, old in zip(grown.children[20:], latest.iterations.children[20:], strict=True)
    ]
    assert (same, known) == ([True] * 3, [False, True, True])  # whoever opened the first asks again
    whole = view(iterationsTotal=250, iterations=[iteration(n) for n in range(1, 251)])
    assert whole.iterations is not None
    last = whole.iterations.children[-1]
    assert (last.later, len(last.children), last.children[0].label) == (0, 100, "Iteration 100")


# ------------------------------------------------------------------------------------- questions


@each_row(
    "given, labels",
    [
        ({"about": "start"}, ["Start", "Don't Start"]),
        ({}, ["Approve", "Deny"]),
        ({"remembers": True}, ["Approve", "Approve for This Run", "Always in This Workspace", "Deny"]),
        ({"about": "claim:blocked", "kind": "question"}, ["End the Run", "Go On"]),
        ({"about": "findings", "kind": "question"}, ["Accept All", "End the Run", "Have the Worker Undo It"]),
        ({"about": "restore", "kind": "question"}, ["Keep Them", "Discard Them"]),
        ({"about": "worker", "kind": "question"}, ["Yes", "No"]),
        (
            {"about": "requirement:R2", "kind": "question"},
            ["Add Check", "Choose Judge", "Leave It Unproven", "Waive"],
        ),
    ],
)
def test_what_a_question_is_about_decides_its_answers(given: dict[str, Any], labels: list[str]) -> None:
    one = asked(interrupt(**given))
    assert [one.choices[at].label for at in one.listed] == labels


@each_row(
    "given, edits, words, best",
    [
        ({}, "command", False, False),
        ({"input": {"path": "a.py"}}, None, False, False),
        ({"about": "start"}, None, False, False),
        ({"about": "claim:question", "kind": "question"}, None, True, True),
        ({"about": "claim:impossible", "kind": "question"}, None, True, False),
        ({"about": "findings", "kind": "question"}, None, True, False),
        ({"about": "restore", "kind": "question"}, None, False, False),
        ({"about": "requirement:R1", "kind": "question"}, None, False, False),
    ],
)
def test_a_question_says_whether_it_is_edited_or_answered_in_words(
    given: dict[str, Any], edits: str | None, words: bool, best: bool
) -> None:
    one = asked(interrupt(**given))
    assert (one.edits, one.words, one.open) == (edits, words, best)


@each_row(
    "one, said",
    [
        (command("git push"), "Run this command? git push"),
        (command("git push", folder="C:\\w\\shop"), "Run this command in shop? git push"),
        (command("echo a\n  rm b"), "Run this command? echo a ⏎ rm b"),
        (interrupt(title="Deploy now?", preview="to prod"), "Deploy now? to prod"),
        (interrupt(title="Deploy to prod?", preview="to prod"), "Deploy to prod?"),
        (interrupt(title="Change x.yml?", preview=DIFF), "Change x.yml? (2 lines added, 1 removed)"),
        (
            interrupt(about="start", title="Start this run?", preview="Worker: a\nJudge: none\nEnds: 10\nCosts: $5\nx"),
            "Start this run? Worker: a · Judge: none · Ends: 10 · Costs: $5",
        ),
    ],
)
def test_a_notification_says_what_is_asked_on_one_line(one: dict[str, Any], said: str) -> None:
    assert asked(one).notice == said


def test_a_long_command_is_seen_to_its_end_and_how_much_is_not() -> None:
    said = asked(command(f"echo {'x' * 900} | sh")).title
    assert said.startswith("Run this command? echo xxx")
    assert said.endswith("xxx | sh")
    assert "(790 more characters)" in said


def test_a_notification_has_the_workers_reason_as_text_alone() -> None:
    one = asked(command("git push", said="The [fix](command:x)\nis ready."))
    assert one.notice == "Run this command? git push · The worker says: The [fix]\u2060(command:x) ⏎ is ready."
    assert len(asked(command("git push", said="x" * 999)).notice) < 300


def test_the_document_of_a_question_holds_all_of_it() -> None:
    bare = asked(command("echo a\nrm b"))
    assert (bare.extension, bare.document) == ("sh", "# Run this command?\n# Ship it\n\necho a\nrm b\n")
    change = asked(interrupt(preview=DIFF, input={"path": "x.yml"}))
    assert (change.extension, change.document, change.path) == ("diff", DIFF, "x.yml")
    told = asked(command("git push", folder="/w/shop", said="The fix\nis ready.", before="ran `pytest`: exit 0"))
    assert told.document.split("\n")[3:] == [
        "git push", "", "# In /w/shop", "", "# The worker says: The fix", "# is ready.", "",
        "# Just before, it ran `pytest`: exit 0", "",
    ]  # fmt: skip
    words = asked(interrupt(title="Which?", preview="", input={}, said="Two fit."))
    assert (words.extension, words.document) == ("txt", "Which?\nShip it\n\nThe worker says: Two fit.\n")


def test_words_stand_on_lines_that_can_be_read_and_a_long_word_is_left_whole() -> None:
    lines = asked(interrupt(preview=f"Judge: none\n{'word ' * 30}".strip(), input={})).document.split("\n")
    assert max(map(len, lines)) <= 100
    assert " ".join(lines).split().count("word") == 30
    assert "x" * 300 in asked(interrupt(preview=f"a {'x' * 300} b", input={})).document


# ------------------------------------------------------------------------------------- notices


def notices(**given: Any) -> list[tuple[str, str, list[str]]]:
    """When each is said, of which kind it is, and what its buttons say."""
    return [(one.when, one.kind, [each.label for each in one.buttons]) for one in view(**given).notices]


HALT = {"plugin": "office", "reason": "it is [closed](command:x)", "data": {}, "resumable": True}
GONE = "The window or terminal that was running “Ship it” is gone"


def test_a_question_is_told_with_its_first_answers_a_way_to_the_others_and_what_shows_all_of_it() -> None:
    [one] = view(status="waiting", interrupts=[interrupt()]).notices
    assert (one.when, one.kind, one.message) == ("asked", "question", "Run a command? git push")
    about = {"runId": "r1", "goalUri": "file:///w/GOAL.md", "interruptId": "I1"}
    assert [(each.label, each.command, each.about) for each in one.buttons] == [
        ("Approve", "interrupt.choose", {**about, "choice": 0}),
        ("Deny", "interrupt.choose", {**about, "choice": 1}),
        ("More…", "answer", about),
        ("Show", "openInterrupt", about),
    ]
    start = interrupt(tool=None, input={}, about="start")
    assert notices(status="waiting", interrupts=[start]) == [("starting", "question", ["Start", "Don't Start", "Show"])]


def test_a_question_that_is_open_is_answered_in_words() -> None:
    question = interrupt(kind="question", tool=None, input={}, preview="", about="worker")
    [one] = view(status="waiting", interrupts=[question]).notices
    assert [(each.label, each.command) for each in one.buttons] == [
        ("Answer…", "interrupt.words"),
        ("Show", "openInterrupt"),
    ]


@each_row(
    "given, message, kind, buttons",
    [
        (
            {"status": "interrupted"},
            "The run of “Ship it” was interrupted.",
            "information",
            ["resume"],
        ),
        (
            {"status": "interrupted", "interrupts": [interrupt()]},
            "The run of “Ship it” was interrupted while it asked: Run a command? git push",
            "question",
            ["resume", "openInterrupt"],
        ),
        (
            {"status": "interrupted", "takeOver": True},
            f"{GONE}. Take the run over here?",
            "question",
            ["takeOver"],
        ),
        (
            {"status": "interrupted", "takeOver": True, "interrupts": [interrupt()]},
            f"{GONE}, and the run asked: Run a command? git push",
            "question",
            ["takeOver", "openInterrupt"],
        ),
        (
            {"status": "waiting", "halt": HALT},
            "“Ship it” is waiting: office: it is [closed]\u2060(command:x)",
            "information",
            ["resume"],
        ),
    ],
)
def test_a_run_that_stands_can_go_on_with_what_it_asked_just_then(
    given: dict[str, Any], message: str, kind: str, buttons: list[str]
) -> None:
    [one] = view(**given).notices
    assert (one.when, one.kind, one.message) == ("stands", kind, message)
    assert [each.command for each in one.buttons] == buttons


def test_a_notice_holds_for_what_it_says_alone() -> None:
    given = [
        {"status": "interrupted"},
        {"status": "interrupted", "takeOver": True},
        {"status": "waiting", "halt": HALT},
    ]
    keys = [one.key for each in given for one in view(**each).notices]
    assert len(set(keys)) == len(given)
    assert view(status="interrupted", iteration=4).notices[0].key not in keys


@each_row(
    "given, kind, buttons",
    [
        (DONE, "information", ["Review Changes", "Commit…", "Copy Receipt"]),
        ({"status": "capped"}, "warning", ["Raise the Limit…", "Show Report", "Show Timeline"]),
        # As far as there is room for their labels.
        (
            {"status": "paused", "modelTrouble": trouble("wrong_address"), "reason": "model unreachable: no such host"},
            "warning",
            ["Set Address…", "Choose Another Model…", "Resume"],
        ),
    ],
)
def test_an_end_is_told_with_what_repairs_it_or_is_done_next(
    given: dict[str, Any], kind: str, buttons: list[str]
) -> None:
    assert notices(**given) == [("ended", kind, buttons)]


def test_what_a_person_did_or_goes_on_is_no_news() -> None:
    for status in ("running", "cancelled", None):
        assert notices(status=status) == []


# ------------------------------------------------------------------------------------- the timeline


# ------------------------------------------------------------------------------------- the timeline


def test_the_timeline_says_each_iteration_and_the_one_under_way() -> None:
    shown = view(
        iteration=2,
        activity="edits a.py",
        iterationsTotal=1,
        iterations=[iteration(1, changedFiles=["a"])],
        cost={"usd": 0.04, "worker": {**NOTHING_USED, "inputTokens": 12_345}, "judge": NOTHING_USED},
        baseline={"score": 0.25, "met": 1, "total": 4},
    ).timeline
    assert shown.facts == "running · iteration 2 of 10 · 2 of 5 met · $0.04 · 12,345 tokens · 41 s"
    assert [(one.label, one.facts, one.point) for one in shown.rows] == [
        ("Iteration 1", "2 of 5 met · $0.04 · 12 s · 1 file changed", "40 % · 2 of 5 met")
    ]
    assert shown.under_way is not None
    assert (shown.under_way.label, shown.under_way.score, shown.under_way.summary) == (
        "Iteration 2",
        None,
        "edits a.py",
    )
    assert shown.before is not None
    assert shown.before.point == "25 % · 1 of 4 met"
    assert shown.chart == "Score and cost over 1 iteration: the score went from 25 % to 40 %, the cost is $0.04."
    assert shown.news == "running. Iteration 1 has ended: 2 of 5 met · $0.04 · 12 s · 1 file changed"
    assert view(status="capped", iteration=1, iterations=[iteration(1)]).timeline.under_way is None


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        (0, "Score over 1 iteration: the score went from 40 % to 40 %."),
        (None, "Score over 1 iteration: the score went from 40 % to 40 %. The cost is not known."),
    ],
)
def test_a_chart_in_words_names_a_cost_only_where_there_is_one(usd: int | None, said: str) -> None:
    cost = {"usd": usd, "worker": NOTHING_USED, "judge": NOTHING_USED}
    assert view(iterations=[iteration(1)], iterationsTotal=1, cost=cost).timeline.chart == said
    assert view(iterations=[], cost=cost).timeline.chart == "No iteration has ended yet."


def test_the_status_line_says_that_somebody_is_waited_for_elsewhere() -> None:
    assert view(iteration=2).status.elsewhere.startswith("Goal: iteration 2/10 · waiting for you · 2 of 5 met")


def test_that_nothing_has_a_price_is_not_said_in_each_row() -> None:
    assert view(iterations=[iteration(1, usd=None)]).timeline.rows[0].facts == "2 of 5 met · 12 s · 0 files changed"
    some = view(iterations=[iteration(1), iteration(2, usd=None)]).timeline.rows[1]
    assert some.facts == "2 of 5 met · cost unknown · 12 s · 0 files changed"


def test_an_iteration_in_full_says_what_was_done_checked_found_changed_and_paid(tmp_path: Path) -> None:
    usage = Usage(900, 100, 0, 0.01)
    detail = IterationDetail(
        number=2,
        started_at=0.0,
        seconds=12.0,
        claim=Claim("blocked", "no key"),
        error=None,
        steps=(WorkerStep("read_file", "read calc.py", True), WorkerStep("run_command", "`git push`: not run", False)),
        checks=(CheckSummary("c", "pytest -q", True, "", "E4"),),
        verdict=(RequirementView("r", 1, "met", "ok", ("E4",), "check"),),
        changed=("src/a b.py",),
        calls=(
            CallSummary("C1", "worker", "m", usage, None),
            CallSummary("C2", "worker", "m", usage, None),
            CallSummary("C3", "judge", "m", None, "cut off"),
        ),
    )
    said = {
        section.title: [
            " | ".join([*filter(None, [line.lead]), line.text, line.note, line.tone]) for line in section.lines
        ]
        for section in iteration_sections(detail, tmp_path)
    }
    assert said == {
        "What the worker did": [
            "read_file | read calc.py |  | plain",
            "run_command | `git push`: not run |  | bad",
        ],
        "What the worker says": ["no key | blocked | plain"],
        "Checks": ["pytest -q | passed | good"],
        "Verdict": ["R1 met | ok | good"],
        "Changed files": ["src/a b.py |  | plain"],
        "Calls to models": [
            "worker: m | 2 calls · 2000 tokens · $0.02 | plain",
            "judge: m | 1 call · 0 tokens · $0.00 · 1 failed | bad",
        ],
    }


# ------------------------------------------------------------------------------------- a chat


def test_a_model_is_told_what_is_missing_and_the_words_of_others_stand_in_quotes() -> None:
    place = {"uri": "file:///w/a%20b.py", "range": NOWHERE, "message": ""}
    said = chat_text(
        run(
            requirements=[requirement(1, status="met"), requirement(2, evidenceIds=["E1"], locations=[place])],
            integrity=[finding()],
            interrupts=[interrupt(title='Say "yes"')],
        )
    )
    assert said.split("\n") == [
        'Goal "Ship it": running, iteration 3 of at most 10. 2 of 5 requirements proven.',
        "Still missing:",
        '- R2 "requirement 2" is unmet: "2 tests failed" at a b.py:7 (evidence E1)',
        '- Integrity finding F1: "skipped" in t.py',
        'The run waits for the person to answer: "Say \\"yes\\""',
    ]


def test_a_chat_is_told_what_is_on_a_persons_word_apart() -> None:
    said = chat_text(run(counts=counts(2, 2), requirements=[ACCEPTED, requirement(2, status="met", grade="own")]))
    assert "1 of 2 requirements proven, 1 on a person's word." in said


def test_a_person_is_told_where_a_goal_stands_and_why_it_is_not_proven() -> None:
    shown = run(
        title="[x](command:evil)",
        requirements=[requirement(1, status="met"), requirement(2), requirement(3, reason="", status="unverified")],
        interrupts=[interrupt()],
    )
    status = chat_answer(shown, why=False)
    assert r"\[x\]\(command\:evil\)" in status
    assert [line[:6] for line in status.split("\n")[2:]] == ["- ✓ R1", "- ✗ R2", "- ? R3"]
    why = chat_answer(shown, why=True)
    assert "R1" not in why
    assert "2 tests failed" in why
    assert "Nothing is known about it yet." in why
    assert "Waiting for your answer: Run a command?" in why
    assert chat_answer(shown, why=True, requirement=1).count("R1") == 1
    assert "Nothing is missing." in chat_answer(run(requirements=[requirement(1, status="met")]), why=True)
