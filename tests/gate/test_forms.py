"""Each agent's hook says what its documentation says, and is answered in its form."""

from __future__ import annotations

from typing import Any

import pytest

from donewhen.cli.gate.forms import FORMS, NotAHook, block_unread, form_of, read_call
from donewhen.cli.parser import AGENTS
from tests.tools import each_row

STOPS: dict[str, dict[str, Any]] = {
    "claude": {
        "session_id": "abc", "transcript_path": "/h/t.jsonl", "cwd": "/w", "permission_mode": "default",
        "hook_event_name": "Stop", "stop_hook_active": True, "last_assistant_message": "Done.",
    },
    "codex": {
        "session_id": "abc", "turn_id": "t1", "transcript_path": None, "cwd": "/w", "hook_event_name": "Stop",
        "model": "gpt-5", "permission_mode": "default", "stop_hook_active": True, "last_assistant_message": None,
    },
    "cursor": {
        "conversation_id": "abc", "generation_id": "g", "model": "m", "hook_event_name": "stop", "cursor_version": "2",
        "workspace_roots": ["/w"], "user_email": None, "status": "completed", "loop_count": 1,
    },
    "gemini": {
        "session_id": "abc", "transcript_path": "/h/t.json", "cwd": "/w", "hook_event_name": "AfterAgent",
        "timestamp": "2026-11-20T10:00:00Z", "prompt": "do it", "prompt_response": "Done.", "stop_hook_active": True,
    },
    "copilot": {
        "sessionId": "abc", "timestamp": 1704614400000, "cwd": "/w", "transcriptPath": "/h/t", "stopReason": "end_turn",
        "stop_hook_active": True,
    },
    "vscode": {
        "timestamp": "2026-11-26T10:55:20.092Z", "hook_event_name": "Stop", "session_id": "abc",
        "transcript_path": "/h/t.jsonl", "stop_hook_active": True, "cwd": "/w",
    },
    "openhands": {
        "event_type": "Stop", "tool_name": None, "tool_input": None, "tool_response": None, "message": None,
        "session_id": "abc", "working_dir": "/w", "metadata": {"reason": "finished"},
    },
}  # fmt: skip
STARTS: dict[str, dict[str, Any]] = {
    "claude": {"session_id": "abc", "cwd": "/w", "hook_event_name": "SessionStart", "source": "startup"},
    "codex": {"session_id": "abc", "cwd": "/w", "hook_event_name": "SessionStart", "source": "startup", "model": "m"},
    "cursor": {"conversation_id": "abc", "workspace_roots": ["/w"], "hook_event_name": "sessionStart"},
    "gemini": {"session_id": "abc", "cwd": "/w", "hook_event_name": "SessionStart", "source": "startup"},
    "copilot": {"sessionId": "abc", "timestamp": 1, "cwd": "/w", "source": "new", "initialPrompt": "do it"},
    "vscode": {"timestamp": "2026-11-26T10:55:18.226Z", "hook_event_name": "SessionStart", "session_id": "abc",
               "source": "new", "model": "m", "cwd": "/w"},
    "openhands": {"event_type": "SessionStart", "session_id": "abc", "working_dir": "/w", "metadata": {}},
}  # fmt: skip
BLOCKS = {
    "claude": {"decision": "block", "reason": "R1"},
    "codex": {"decision": "block", "reason": "R1"},
    "cursor": {"followup_message": "R1"},
    "gemini": {"decision": "deny", "reason": "R1"},
    "copilot": {"decision": "block", "reason": "R1"},
    "vscode": {
        "decision": "block", "reason": "R1",
        "hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": "R1"},
    },
    "openhands": {"decision": "deny", "reason": "R1"},
}  # fmt: skip


def test_the_command_line_offers_the_agents_that_have_a_form() -> None:
    assert tuple(FORMS) == AGENTS == tuple(STOPS) == tuple(STARTS) == tuple(BLOCKS)


@each_row("name", AGENTS)
def test_a_stop_is_told_from_its_own_fields(name: str) -> None:
    form = form_of(STOPS[name], None)
    assert form.name == name
    asked = read_call(form, STOPS[name])
    assert (asked.event, asked.session, asked.folders, asked.open) == ("stop", "abc", ("/w",), True)
    assert asked.again is (name not in ("cursor", "openhands"))


@each_row("name", AGENTS)
def test_a_start_is_told_with_the_name_that_the_installed_hook_gives(name: str) -> None:
    form = form_of(STARTS[name], name)
    assert (form.name, read_call(form, STARTS[name]).event) == (name, "start")


@each_row("name", AGENTS)
def test_the_answer_has_the_agents_own_form(name: str) -> None:
    assert FORMS[name].answer("R1", "a note") == BLOCKS[name]
    quiet = FORMS[name].answer(None, "a note")
    assert quiet in ({}, {"systemMessage": "a note"})
    assert FORMS[name].answer(None, "") == {}


@each_row(
    "name, changed",
    [
        ("cursor", {"status": "aborted"}),
        ("cursor", {"status": "error"}),
        ("copilot", {"stopReason": "abort"}),
        ("claude", {"permission_mode": "plan"}),
        ("codex", {"permission_mode": "plan"}),
    ],
)
def test_what_a_person_ended_or_asked_a_plan_of_is_not_sent_back(name: str, changed: dict[str, Any]) -> None:
    assert not read_call(FORMS[name], {**STOPS[name], **changed}).open


def test_an_agent_that_reads_the_settings_of_another_is_answered_in_its_own_form() -> None:
    assert form_of(STOPS["cursor"], "claude").name == "cursor"
    assert form_of(STOPS["copilot"], "claude").name == "copilot"


@each_row("named", [None, *AGENTS])
@each_row(
    "spelt",
    [
        {"hook_event_name": "Stop", "session_id": "abc", "timestamp": "2026-11-26T10:55:20.092Z"},
        {"hookEventName": "Stop", "sessionId": "abc", "timestamp": "2026-02-09T10:30:00.000Z"},
        {"hookEventName": "Stop", "sessionId": "abc"},
        # Copilot's own command line, where a hook has VS Code's name.
        {
            "hook_event_name": "Stop",
            "session_id": "abc",
            "timestamp": "2026-02-09T10:30:00Z",
            "stop_reason": "end_turn",
        },
    ],
)
def test_vs_codes_own_agent_is_held_whosever_settings_it_read(spelt: dict[str, Any], named: str | None) -> None:
    sent = {**spelt, "cwd": "/w", "stop_hook_active": False}
    form = form_of(sent, named)
    asked = read_call(form, sent)
    assert (asked.event, asked.session, asked.folders, asked.open, asked.again) == ("stop", "abc", ("/w",), True, False)
    assert form.answer("R1", "") == BLOCKS["vscode"]


@pytest.mark.parametrize("named", [None, *FORMS])
def test_what_no_form_knows_is_blocked_in_the_words_of_the_agent_that_asks(named: str | None) -> None:
    read_by_vscode = named in (None, "vscode", "copilot", "claude")
    own = FORMS[named or "vscode"].answer("why", "")
    assert block_unread(named, "why") == {**(FORMS["vscode"].answer("why", "") if read_by_vscode else {}), **own}


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({}, "the hook's JSON names no event; the gate knows "),
        ({"hook_event_name": "Stop"}, "it has no session id"),
        ({"hook_event_name": "SubagentStop", "session_id": "s"}, "the hook's JSON names the event SubagentStop; the "),
    ],
)
def test_what_is_no_stop_of_an_agent_is_an_error(sent: dict[str, Any], told: str) -> None:
    with pytest.raises(NotAHook, match=f"^{told}"):
        read_call(form_of(sent, None), sent)
