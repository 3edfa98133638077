"""`check` as a gate in CI: what it writes, what it prints for the runner, and with which exit code it ends."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml

from donewhen.engine.api import RunView
from donewhen.wire.reports import FORMATS
from tests.cli.fakes import GOAL, RED, desk, state_of, view, view_of


def audit(*, red: bool) -> RunView:
    return view(red=red, mode="audit", ended=True, reason="checked")


def test_every_format_is_written_to_the_file_that_was_named(tmp_path: Path) -> None:
    call = desk(tmp_path, audit(red=True))
    wanted = [f"--report={form}={tmp_path / 'out' / form}" for form in FORMATS]
    assert call("check", *wanted) == 1
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == sorted(FORMATS)
    assert json.loads((tmp_path / "out" / "sarif").read_text())["version"] == "2.1.0"
    assert next(iter(JUnitXml.fromfile(str(tmp_path / "out" / "junit")))).failures == 1
    assert "::" not in call.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--report", "pdf=x"), "there is no format 'pdf': choose from markdown, short, html"),
        (("--report", "sarif"), "name a file, as in --report sarif=FILE"),
        (("--explain", "--report", "sarif=x"), "--report has nothing to write"),
    ],
)
def test_a_report_that_can_not_be_written_is_refused_before_anything_runs(
    tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    call = desk(tmp_path, audit(red=False))
    assert call("check", *given) == 2
    assert said in call.err
    assert call.runs.calls == []


def test_a_file_that_can_not_be_written_fails_the_gate(tmp_path: Path) -> None:
    call = desk(tmp_path, audit(red=False))
    assert call("check", "--report", f"sarif={tmp_path}") == 2
    assert "can't be written" in call.err


def test_in_a_job_of_github_it_annotates_and_summarises(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    call = desk(tmp_path, audit(red=True), environ=environ)
    assert call("check") == 1
    lines = [line for line in call.out.splitlines() if line.startswith("::")]
    stop, start, error = lines
    assert re.fullmatch(r"::stop-commands::[0-9a-f]{32}", stop)
    assert start == f"::{stop.rpartition('::')[2]}::"
    assert error.startswith("::error file=GOAL.md,line=9,title=R1 is unmet%3A `python -m pytest -q` passes::")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n## Ship the exporter\n")
    assert "❌ unmet" in text


def test_annotations_can_be_asked_for_and_declined(tmp_path: Path) -> None:
    call = desk(tmp_path, audit(red=True), environ={"GITHUB_ACTIONS": "true"})
    assert call("check", "--annotations", "off") == 1
    assert "::" not in call.out
    call = desk(tmp_path, audit(red=False))
    assert call("check", "--annotations", "github") == 0
    assert "::notice title=Done When::Ship the exporter: check: proven, 2 of 2 proven" in call.out


def test_with_json_standard_output_stays_one_document(tmp_path: Path) -> None:
    call = desk(tmp_path, audit(red=True), environ={"GITHUB_ACTIONS": "true"})
    assert call("check", "--json") == 1
    assert json.loads(call.out)["counts"]["unmet"] == 1
    assert "::error file=GOAL.md" in call.err


def test_what_a_goal_says_can_not_switch_the_runners_commands_on(tmp_path: Path) -> None:
    said = "x\n::stop-commands::mine\n##[add-mask]a"
    goal = replace(GOAL, title=said, requirements=(replace(RED, text=said),))
    shown = view_of(state_of(red=True, goal=goal, mode="audit", ended=True, reason=said))
    call = desk(tmp_path, shown, environ={"GITHUB_ACTIONS": "true"})
    assert call("check") == 1
    before, stop, rest = call.out.partition("::stop-commands::")
    token = rest[:32]
    inside, resumed, after = rest.partition(f"\n::{token}::\n")
    assert (before, bool(stop), bool(resumed)) == ("", True, True)
    assert said.split("\n")[2] in inside
    assert all(line.startswith("::error ") for line in after.splitlines())


def test_a_pipe_that_is_closed_leaves_the_receipts_written(tmp_path: Path) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    call = desk(tmp_path, audit(red=True), stdout=Closed())
    assert call("check", "--report", f"short={tmp_path / 'short.md'}") == 1
    assert "**: check: not proven" in (tmp_path / "short.md").read_text(encoding="utf-8")
