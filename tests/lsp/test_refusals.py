"""Requests that can't be done as they are asked: which code they are refused with, and that the message names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .editor import Editor

BAD_ARGUMENTS: list[tuple[str, Any, str]] = [
    ("donewhen.goal.check", {}, "goalUri"),
    ("donewhen.goal.check", {"goalUri": 7}, "goalUri"),
    ("donewhen.goal.check", {"goalUri": "file:///w/GOAL.md", "goaluri": 1}, "goaluri"),
    ("donewhen.goal.check", {"goal_uri": "file:///w/GOAL.md"}, "goalUri"),
    ("donewhen.goal.check", {"goalUri": "https://example.org/GOAL.md"}, "goalUri"),
    ("donewhen.goal.check", ["file:///w/GOAL.md"], ""),
    ("donewhen.goal.set", {"objective": ""}, "objective"),
    ("donewhen.goal.set", {"objective": "x", "start": "yes"}, "start"),
    ("donewhen.run.pause", {"runId": None}, "runId"),
    ("donewhen.run.resume", {"runId": "x", "maxIterations": "3"}, "maxIterations"),
    ("donewhen.run.answer", {"runId": "x", "interruptId": "I1", "response": "maybe"}, "response"),
    ("donewhen.run.override", {"runId": "x", "requirementId": "R1", "reason": ""}, "reason"),
    ("donewhen.run.revert", {"runId": "x", "iteration": -1}, "iteration"),
    ("donewhen.run.report", {"runId": "x", "format": "pdf"}, "format"),
    ("donewhen.run.unknown", {}, "donewhen.run.unknown"),
    ("donewhen.run.start", {"goalUri": "file:///w/GOAL.md", "worker": ""}, "worker"),
    ("donewhen.run.start", {"goalUri": "file:///w/GOAL.md", "worker": ["agent"]}, "worker"),
    ("donewhen.run.answer", {"runId": "x", "interruptId": "I1", "response": "approve", "remember": "ever"}, "remember"),
    ("donewhen.run.answer", {"runId": "x", "interruptId": "I1", "response": "text"}, "text"),
    ("donewhen.run.answer", {"runId": "x", "interruptId": "I1", "response": "text", "text": 0}, "text"),
    ("donewhen.run.resume", {"runId": "x", "plugin": 7}, "plugin"),
    ("donewhen.run.pause", {"runId": "x", "data": {}}, "data"),
    ("donewhen.run.resume", {"runId": "x", "maxIterations": 0}, "maxIterations: "),
    ("donewhen.run.resume", {"runId": "x", "timeoutSeconds": -1.5}, "timeoutSeconds: "),
    ("donewhen.run.resume", {"runId": "x", "budgetUsd": 0}, "budgetUsd: "),
    ("donewhen.run.resume", {"runId": "x", "tokenBudget": "none"}, "tokenBudget: "),
    ("donewhen.goal.check", {"goalUri": "file:///w/bad.py"}, "bad.py"),
    ("donewhen.run.start", {"goalUri": "file:///w/bad.goal"}, "bad.goal"),
    ("donewhen.goal.clear", {"goalUri": "file:///w/md"}, "goalUri"),
]


@pytest.mark.parametrize(("command", "argument", "named"), BAD_ARGUMENTS)
def test_bad_arguments_are_refused_and_named(editor: Editor, command: str, argument: Any, named: str) -> None:
    error = editor.execute_error(command, argument)
    assert error["code"] == -32602
    assert named in error["message"]


@pytest.mark.parametrize(
    "params", [None, {}, {"command": 3}, {"command": "donewhen.run.status", "arguments": [{}, {}]}]
)
def test_a_command_takes_one_object(editor: Editor, params: Any) -> None:
    assert editor.error("workspace/executeCommand", params)["code"] == -32602


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("donewhen.run.pause", {}),
        ("donewhen.run.stop", {}),
        ("donewhen.run.resume", {}),
        ("donewhen.run.status", {}),
        ("donewhen.run.report", {"format": "json"}),
        ("donewhen.run.iteration", {"number": 1}),
        ("donewhen.run.evidence", {"evidenceId": "E1"}),
        ("donewhen.run.tests", {"requirementId": "R1"}),
        ("donewhen.run.document", {"kind": "report"}),
        ("donewhen.run.override", {"requirementId": "R1", "reason": "x"}),
    ],
)
def test_an_unknown_run_is_said_to_be_unknown(editor: Editor, command: str, more: Any) -> None:
    error = editor.execute_error(command, {"runId": "nope", **more})
    assert error["code"] == -32602
    assert "nope" in error["message"]


@pytest.mark.parametrize(
    ("command", "more", "named"),
    [
        ("override", {"requirementId": "R9", "reason": "x"}, "R9"),
        ("dispute", {"requirementId": "R9", "reason": "x"}, "R9"),
        ("acceptIntegrity", {"findingId": "F9", "reason": "x"}, "F9"),
        ("acceptIntegrity", {"reason": "x"}, "all"),
        ("acceptIntegrity", {"findingId": "F1", "all": True, "reason": "x"}, "all"),
        ("revert", {"findingId": "F9"}, "F9"),
        ("revert", {"iteration": 99}, "99"),
        ("evidence", {"evidenceId": "E9"}, "E9"),
        ("iteration", {"number": 99}, "99"),
        ("file", {"iteration": 99, "uri": None}, "99"),
        ("answer", {"interruptId": "I9", "response": "deny"}, "I9"),
    ],
)
def test_a_name_that_the_run_does_not_have_is_an_invalid_parameter(
    editor: Editor, goal: Path, command: str, more: dict[str, Any], named: str
) -> None:
    run_id = editor.execute("donewhen.goal.check", {"goalUri": goal.as_uri()})["runId"]
    given = {key: goal.as_uri() if value is None else value for key, value in more.items()}
    error = editor.execute_error(f"donewhen.run.{command}", {"runId": run_id, **given})
    assert error["code"] == -32602, error
    assert named in error["message"]


def test_an_error_in_the_goal_file_is_no_invalid_parameter(editor: Editor, goal: Path) -> None:
    goal.write_text("---\nmax_iteration: 3\n---\n# G\n\n- [ ] `true` passes\n")
    error = editor.execute_error("donewhen.run.start", {"goalUri": goal.as_uri()})
    assert error["code"] == -32803, error


def test_a_worker_that_nobody_registered_is_named(editor: Editor, goal: Path) -> None:
    error = editor.execute_error("donewhen.run.start", {"goalUri": goal.as_uri(), "worker": "humann"})
    assert "humann" in error["message"]
    assert "human" in error["message"].replace("humann", "")


def test_what_nobody_asked_for_is_refused_on_resume(editor: Editor, goal: Path) -> None:
    run_id = editor.execute("donewhen.run.start", {"goalUri": goal.as_uri(), "worker": "human"})["runId"]
    editor.execute("donewhen.run.pause", {"runId": run_id})
    error = editor.execute_error("donewhen.run.resume", {"runId": run_id, "data": {"ok": True}})
    assert error["code"] == -32803
    assert "not halted" in error["message"]
    editor.execute("donewhen.run.stop", {"runId": run_id})


def test_any_markdown_file_that_is_named_can_be_a_goal(editor: Editor, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# G\n\n- [ ] `true` passes\n")
    assert editor.execute("donewhen.goal.check", {"goalUri": notes.as_uri()})["counts"]["met"] == 1


def test_half_a_character_and_a_name_that_no_file_can_have_are_no_defects(editor: Editor, goal: Path) -> None:
    run_id = editor.execute("donewhen.goal.check", {"goalUri": editor.open(goal)})["runId"]
    half = editor.execute_error("donewhen.run.evidence", {"runId": run_id, "evidenceId": "E\ud800"})
    assert (half["code"], "half a character" in half["message"]) == (-32602, True), half
    named = (goal.parent / ("x" * 5000) / "GOAL.md").as_uri()
    opened = {"uri": named, "languageId": "markdown", "version": 1, "text": goal.read_text()}
    editor.notify("textDocument/didOpen", {"textDocument": opened})
    place = {"textDocument": {"uri": named}, "position": {"line": 0, "character": 0}}
    for method in ("textDocument/completion", "textDocument/hover", "textDocument/definition"):
        answer = editor.request(method, place)
        assert answer.get("error", {"code": -32803})["code"] == -32803, answer
    editor.notify("textDocument/didClose", {"textDocument": {"uri": named}})
