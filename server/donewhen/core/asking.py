"""What a person should know before they answer: what the worker said when it asked, and what it had just done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from donewhen.core.calls import Message, ToolCall
from donewhen.core.feedback import keep_ends
from donewhen.core.state import RunState
from donewhen.core.work import Interrupt

MAX_SAID = 2_000
MAX_BEFORE = 300
LINE_END = "\n"

_DID: Mapping[str, tuple[str, str]] = {
    "run_command": ("ran", "command"),
    "edit_file": ("edited", "path"),
    "write_file": ("wrote", "path"),
    "read_file": ("read", "path"),
    "list_files": ("listed the files", "path"),
    "search": ("searched for", "pattern"),
}
"""What a tool did, in words, and the argument that says to what."""


@dataclass(frozen=True, slots=True)
class Around:
    """The context of a question. `said`: the words that the worker gave with it, its reason where it gave one;
    `before`: its last step before, in one line. Empty if nobody said, or did, anything."""

    said: str = ""
    before: str = ""


def around(state: RunState, asked: Interrupt) -> Around:
    """The context of an open question of its worker, from the run's record."""
    if not asked.about.startswith(("tool:", "claim:", "worker")):
        return Around()
    said = next((one for one in reversed(state.conversation) if one.role == "assistant"), None)
    text = said.text.strip() if said is not None else ""
    return Around("" if text == asked.title else keep_ends(text, MAX_SAID), _before(state.conversation))


def context_lines(state: RunState, asked: Interrupt, folder: str = "") -> list[str]:
    """The same for people, a line each: where a command would run, what the worker says, what it did before."""
    known = around(state, asked)
    return [
        *([f"In {folder}"] if folder and runs_command(asked) else []),
        *([f"The worker says: {known.said}"] if known.said else []),
        *([f"Just before, it {known.before}"] if known.before else []),
    ]


def runs_command(asked: Interrupt) -> bool:
    """Whether what is asked for is to run a command."""
    return asked.kind == "approval" and isinstance(asked.input.get("command"), str)


def _before(conversation: tuple[Message, ...]) -> str:
    calls = {call.id: call for message in conversation for call in message.calls}
    for message in reversed(conversation):
        call = calls.get(message.answers) if message.role == "tool" else None
        if call is not None and call.name != "report":
            return " ".join(_told(call, message.text).split())[:MAX_BEFORE]
    return ""


def _told(call: ToolCall, result: str) -> str:
    did, about = _DID.get(call.name, (f"used {call.name}", ""))
    what = str(_arguments(call).get(about) or "")
    if call.name != "run_command":
        return f"{did} {what}".strip()
    return f"{did} `{what}`: {result.strip().partition(LINE_END)[0]}"


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        given: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", given) if isinstance(given, dict) else {}
