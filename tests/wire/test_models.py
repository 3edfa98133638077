"""Who worked and judged, and what that cost, in the snapshot and in every receipt."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml

from donewhen.cli.progress import closing
from donewhen.core import events as e
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.state import Spend
from donewhen.core.work import Interrupt, TurnResult, Usage
from donewhen.engine.api import RunView
from donewhen.wire.reports import ReportFormat, render
from donewhen.wire.snapshot import snapshot
from tests.cli.fakes import complete, view_of
from tests.core.builders import Story, changed, failing

ROOT = Path("/w")
OPTIONS = RunOptions(
    "agent", judge="2*openai/j (majority)", agent=AgentOptions("anthropic/m"), judging=JudgeOptions(("openai/j",) * 2)
)
WORKER = Usage(40_000, 5_200, 30_000, 0.1)
JUDGE = Usage(9_000, 500, 0, 0.02)


def run(worker: Usage = WORKER, judge: Usage = JUDGE, **changes: object) -> RunView:
    state = replace(complete().state, options=OPTIONS, spend=Spend(worker, judge))
    return view_of(changed(state, **changes))


def rendered(form: ReportFormat, shown: RunView) -> str:
    return render(form, shown, ROOT, [])


def test_the_snapshot_names_model_and_judge_and_counts_apart() -> None:
    found = snapshot(run(), ROOT).model_dump(by_alias=True)
    assert (found["worker"], found["model"], found["judge"]) == ("agent", "anthropic/m", "2*openai/j (majority)")
    assert found["cost"] == {
        "usd": 0.12,
        "worker": {"inputTokens": 40_000, "outputTokens": 5_200, "cachedTokens": 30_000, "usd": 0.1},
        "judge": {"inputTokens": 9_000, "outputTokens": 500, "cachedTokens": 0, "usd": 0.02},
    }


@pytest.mark.conformance("A16")
def test_a_cost_that_nobody_knows_is_null_and_its_tokens_are_counted() -> None:
    found = snapshot(run(judge=replace(JUDGE, usd=None)), ROOT).model_dump(by_alias=True)["cost"]
    assert found["usd"] is None
    assert found["worker"]["usd"] == 0.1
    assert (found["judge"]["usd"], found["judge"]["inputTokens"]) == (None, 9_000)


def test_the_receipt_for_people_has_a_row_for_each() -> None:
    shown = rendered("markdown", run())
    assert "judge `2*openai/j (majority)` · worker agent `anthropic/m`" in shown
    assert "· $0.12</sub>" in shown
    assert "| worker | `anthropic/m` | 40,000 | 30,000 | 5,200 | $0.10 |" in shown
    assert "| judge | `2*openai/j (majority)` | 9,000 | 0 | 500 | $0.02 |" in shown


@pytest.mark.conformance("A16")
def test_the_receipt_says_unknown_where_a_price_is() -> None:
    shown = rendered("markdown", run(worker=replace(WORKER, usd=None)))
    assert "cost unknown (54,700 tokens)" in shown
    assert "| 5,200 | unknown |" in shown
    assert "| 500 | $0.02 |" in shown


def test_a_run_without_models_has_no_table_of_costs() -> None:
    assert "### Cost" not in rendered("markdown", complete())
    assert "no model used" in rendered("markdown", complete())
    only_judged = rendered("markdown", run(worker=Usage()))
    assert "| worker |" not in only_judged
    assert "| judge |" in only_judged


def test_the_receipt_for_ci_has_them_as_properties() -> None:
    (suite,) = JUnitXml.fromstring(rendered("junit", run()).encode())
    found = {one.name: one.value for one in suite.properties()}
    assert found == {
        "donewhen.worker": "agent",
        "donewhen.room": "commands not sandboxed",
        "donewhen.model": "anthropic/m",
        "donewhen.judge": "2*openai/j (majority)",
        "donewhen.tokens": "54700",
        "donewhen.usd": "0.120000",
    }
    assert suite.tests == 2
    unknown = rendered("junit", run(judge=replace(JUDGE, usd=None)))
    assert "donewhen.usd" not in unknown
    assert 'name="donewhen.tokens" value="54700"' in unknown


def test_the_receipt_for_programs_is_the_snapshot() -> None:
    found = json.loads(io.StringIO(rendered("json", run())).read())
    assert (found["judge"], found["cost"]["usd"]) == ("2*openai/j (majority)", 0.12)


def test_an_approval_has_all_that_a_person_needs() -> None:
    asked = Interrupt("I1", "approval", "Run `x`?", "tool:run_command", "run_command", {"command": "x"}, "x", 0.0)
    state = replace(
        run().state, lifecycle=replace(run().state.lifecycle, ended=False, end_status=None), interrupts=(asked,)
    )
    (shown,) = snapshot(view_of(state), ROOT).model_dump(by_alias=True)["interrupts"]
    assert shown == {
        "id": "I1",
        "kind": "approval",
        "title": "Run `x`?",
        "tool": "run_command",
        "input": {"command": "x"},
        "preview": "x",
        "askedAt": "1970-01-01T00:00:00.000Z",
        "about": "tool:run_command",
        "remembers": False,
        "folder": "/w",
        "said": "",
        "before": "",
    }


@pytest.mark.conformance("A16")
def test_a_worker_that_nobody_accounts_for_costs_an_unknown_amount_from_its_first_turn_on() -> None:
    story = Story()
    started = replace(story.state, options=replace(story.state.options, metered=False))
    story.state = started
    assert snapshot(view_of(story.audit(failing("pytest -q")).state), ROOT).cost.usd == 0.0

    story.then(e.TurnStarted(1, None))
    assert snapshot(view_of(story.state), ROOT).cost.usd is None
    story.then(e.Abandoned("turn", "paused"), e.TurnStarted(1, None), e.TurnFinished(1, TurnResult()))
    found = snapshot(view_of(story.state), ROOT)
    assert (found.cost.usd, found.cost.worker.usd, found.cost.judge.usd) == (None, None, 0.0)
    assert [one.usd for one in found.iterations] == [None]

    shown = rendered("markdown", view_of(story.state))
    assert "cost unknown" in shown
    assert "| worker |  | unknown | unknown | unknown | unknown |" in shown.replace("``", "")
    assert "$0.00" not in shown
    assert "cost unknown" in closing(view_of(story.then(e.RunEnded("capped", "the limit")).state))[1]
    assert "donewhen.usd" not in rendered("junit", view_of(story.state))
