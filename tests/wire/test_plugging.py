"""Halts, plugins that failed and the accepted start, in snapshots and receipts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from donewhen.core.events import RunOptions
from donewhen.core.plugging import Halted, PluginOff
from donewhen.core.state import RunState
from donewhen.core.work import Interrupt
from donewhen.engine.api import RunView
from donewhen.wire.reports import ReportFormat, render
from donewhen.wire.snapshot import halt_text, shown_halt, snapshot
from tests.cli.fakes import state_of, view_of
from tests.tools import each_row

ROOT = Path("/w")
HALT = Halted("budget", "the month is <b>spent</b>", {"left": 0, "names": ["a", "b"]})
SUMMARY = "Worker: agent (openai/m)\n\nAt most $5.00"


def shown(view: RunView) -> dict[str, Any]:
    return snapshot(view, ROOT).model_dump(by_alias=True, mode="json")


def rendered(form: ReportFormat, state: RunState) -> str:
    return render(form, view_of(state), ROOT, [])


def waiting(**changes: Any) -> RunState:
    return state_of(halt=HALT, reason=HALT.reason, **changes)


def blocked(halt: Halted) -> RunState:
    reason = f"{halt.plugin}: {halt.reason}"
    return state_of(halt=halt, ended=True, end_status="blocked", reason=reason)


@pytest.mark.conformance("C23")
def test_a_halt_that_waits_is_in_the_snapshot() -> None:
    found = shown(view_of(waiting()))
    assert (found["status"], found["phase"], found["activity"]) == ("waiting", None, None)
    assert found["halt"] == {
        "plugin": "budget",
        "reason": "the month is <b>spent</b>",
        "data": {"left": 0, "names": ["a", "b"]},
        "resumable": True,
    }


def test_a_halt_that_ended_the_run_stays() -> None:
    found = shown(view_of(blocked(replace(HALT, resumable=False))))
    assert (found["status"], found["halt"]["resumable"]) == ("blocked", False)
    told = rendered("short", blocked(replace(HALT, reason="it is spent", resumable=False)))
    assert "stopped: plugin budget: it is spent" in told


def test_a_run_that_ended_otherwise_shows_no_halt() -> None:
    final = replace(HALT, resumable=False)
    assert shown_halt(state_of(halt=final, ended=True, end_status="cancelled")) is None
    assert shown(view_of(state_of()))["halt"] is None


def test_a_halt_says_who_and_why() -> None:
    assert halt_text(replace(HALT, reason="x")) == "waits: plugin budget: x"
    assert halt_text(replace(HALT, reason="x", resumable=False)) == "stopped: plugin budget: x"
    assert halt_text(replace(HALT, plugin="worker", reason="x")) == "waits: the worker: x"


@pytest.mark.parametrize("remembers", [True, False])
def test_an_interrupt_says_what_it_is_about_and_whether_it_can_be_kept(remembers: bool) -> None:
    asked = Interrupt("I1", "approval", "Run `x`?", "plugin:gate", remembers=remembers)
    (found,) = shown(view_of(state_of(interrupts=(asked,))))["interrupts"]
    assert (found["about"], found["remembers"]) == ("plugin:gate", remembers)


@each_row("by", ["person", "auto", "nobody", None])
def test_the_snapshot_tells_who_accepted_the_start(by: str | None) -> None:
    state = state_of(options=RunOptions("agent", summary=SUMMARY), started=by)
    assert shown(view_of(state))["start"] == {"summary": SUMMARY, "acceptedBy": by}
    assert shown(view_of(state_of(started=by)))["start"] is None


# ------------------------------------------------------------------------------------------------ receipts


def test_the_receipt_shows_a_halt_with_what_it_holds() -> None:
    text = rendered("markdown", waiting())
    assert "**waiting** · " in text
    assert "waits: plugin budget: the month is \\<b>spent\\</b>\n" in text
    assert '### What the plugin `budget` says\n\n`{"left": 0, "names": ["a", "b"]}`\n' in text
    assert json.loads(rendered("json", waiting()))["halt"]["data"]["left"] == 0
    (suite,) = JUnitXml.fromstring(rendered("junit", waiting()).encode())
    found = {one.name: one.value for one in suite.properties()}
    assert found["donewhen.halt"] == "waits: plugin budget: the month is <b>spent</b>"


def test_the_receipt_names_plugins_that_failed() -> None:
    off = PluginOff("cache", "wrap_tool", "KeyError: <x>")
    text = rendered("markdown", state_of(off={off.plugin: f"{off.hook}: {off.reason}"}))
    assert "### Plugins that failed and were switched off\n\n- `cache` in wrap_tool: KeyError: \\<x>\n" in text
    (suite,) = JUnitXml.fromstring(rendered("junit", state_of(off={"cache": "x"})).encode())
    assert {one.name: one.value for one in suite.properties()}["donewhen.pluginsOff"] == "cache"


@each_row(
    "by, said",
    [
        ("person", "A person accepted:"),
        ("auto", "Accepted by how it was started, without asking:"),
        ("nobody", "No one was asked, and nothing that needs approval runs:"),
        (None, "Not accepted yet:"),
    ],
)
def test_the_receipt_says_who_accepted_what(by: str | None, said: str) -> None:
    text = rendered("markdown", state_of(options=RunOptions("agent", summary=SUMMARY), started=by))
    assert f"### At the start\n\n{said}\n\n- Worker: agent (openai/m)\n- At most $5.00\n" in text
    assert "At the start" not in rendered("markdown", state_of(started=by))


def test_a_receipt_without_any_of_it_has_no_word_of_it() -> None:
    text = rendered("markdown", state_of())
    assert not any(word in text for word in ("plugin", "At the start", "waits"))
