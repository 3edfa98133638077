"""The agents that can ask the gate, a row each: the JSON that their hooks send, the answer that they take, and the file
that makes them ask. Each row follows the agent's own documentation of its hooks, as it stood in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

Event = Literal["start", "stop"]

PATIENCE = 3600
"""Seconds that an agent waits for its hook: an audit takes as long as the checks do."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of a hook. `open`: the agent wants to stop by itself, so that it may be sent back. `again`: it says that
    it goes on because it was sent back before."""

    event: Event
    session: str
    folders: tuple[str, ...] = ()
    open: bool = True
    again: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One agent. `names` are those of its events. `marks` are fields that none of the others sends with these.

    `project` and `user` are its settings files, relative to the workspace and to the home folder. `entry` is what one
    hook is there, with `{command}`; `wrapped`: in a list of hooks of its own. `base` is what a new file holds besides.
    `then` is what a person has to do besides, if anything.
    """

    name: str
    title: str
    block: Mapping[str, Any]
    project: str
    user: str
    entry: Mapping[str, Any]
    names: Mapping[Event, str]
    marks: tuple[str, ...] = ()
    done: str = ""
    wrapped: bool = True
    base: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stops: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    """Fields that say by which of their values the agent stops by itself; any other one is a person's doing."""
    refuses: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    """Fields and values with which there is nothing to send back for."""
    then: str = ""

    @property
    def events(self) -> Mapping[str, Event]:
        """By the agent's own names."""
        return {name: event for event, name in self.names.items()}

    def answer(self, text: str | None, note: str) -> dict[str, Any]:
        """What the hook prints: go on with this `text`, or None: stop, with a `note` for the person where the agent
        shows one."""
        if text is not None:
            return _with_text(self.block, text)
        return {self.done: note} if self.done and note else {}


def _with_text(block: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {
        key: _with_text(cast("Mapping[str, Any]", value), text)
        if isinstance(value, Mapping)
        else text
        if value == TEXT
        else value
        for key, value in block.items()
    }


TEXT = "{text}"
COMMAND = "{command}"
_SECONDS = {"type": "command", "command": COMMAND, "timeout": PATIENCE}

FORMS: Mapping[str, Form] = {
    one.name: one
    for one in (
        # Claude Code, hooks reference: `Stop` and `SessionStart` with `session_id`, `cwd`, `stop_hook_active`; a
        # decision `block` with its reason sends the agent back, `systemMessage` is shown to the person.
        Form(
            "claude",
            "Claude Code",
            {"decision": "block", "reason": TEXT},
            ".claude/settings.json",
            ".claude/settings.json",
            {**_SECONDS, "statusMessage": "Done When is checking whether the goal is proven"},
            {"start": "SessionStart", "stop": "Stop"},
            done="systemMessage",
            refuses={"permission_mode": ("plan",)},  # it was asked for a plan, and may not change anything
        ),
        # Codex, hooks and the published schemas of their input and output: as Claude Code's, with `turn_id`; the output
        # may hold no other field than those of the schema.
        Form(
            "codex",
            "Codex",
            {"decision": "block", "reason": TEXT},
            ".codex/hooks.json",
            ".codex/hooks.json",
            {**_SECONDS, "statusMessage": "Done When is checking whether the goal is proven"},
            {"start": "SessionStart", "stop": "Stop"},
            marks=("turn_id",),
            done="systemMessage",
            refuses={"permission_mode": ("plan",)},
            then="in Codex, review and trust the hooks with /hooks; older versions need `codex_hooks = true` below "
            "`[features]` in config.toml",
        ),
        # Cursor, hooks: `stop` with `conversation_id`, `status` and `loop_count`; `followup_message` is sent as the
        # person's next message, as often as Cursor's own limit says.
        Form(
            "cursor",
            "Cursor",
            {"followup_message": TEXT},
            ".cursor/hooks.json",
            ".cursor/hooks.json",
            {"command": COMMAND, "timeout": PATIENCE},
            {"start": "sessionStart", "stop": "stop"},
            marks=("conversation_id", "cursor_version"),
            wrapped=False,
            base={"version": 1},
            stops={"status": ("completed",)},
        ),
        # Gemini CLI, hooks reference: `AfterAgent` fires after the model's final answer; `deny` sends its reason as a
        # new prompt. Timeouts are milliseconds there.
        Form(
            "gemini",
            "Gemini CLI",
            {"decision": "deny", "reason": TEXT},
            ".gemini/settings.json",
            ".gemini/settings.json",
            {"type": "command", "command": COMMAND, "name": "donewhen", "timeout": PATIENCE * 1000},
            {"start": "SessionStart", "stop": "AfterAgent"},
            marks=("prompt_response",),
            done="systemMessage",
        ),
        # GitHub Copilot, hooks reference: `agentStop` with `sessionId` and `stopReason`; names of events in camel case
        # give fields in camel case, and no field names the event. `block` makes the reason the next prompt.
        Form(
            "copilot",
            "GitHub Copilot CLI",
            {"decision": "block", "reason": TEXT},
            ".github/hooks/donewhen.json",
            ".copilot/hooks/donewhen.json",
            {"type": "command", "command": COMMAND, "timeoutSec": PATIENCE},
            {"start": "sessionStart", "stop": "agentStop"},
            marks=("sessionId",),
            wrapped=False,
            base={"version": 1},
            stops={"stopReason": ("end_turn",)},
        ),
        # VS Code's own agent, hooks reference (code.visualstudio.com/docs/agents/reference/hooks-reference), and what
        # 1.139 does: it reads the hooks of Copilot's files, and Claude Code's where `chat.useClaudeHooks` is set, and
        # calls them in this form. It takes a block from `hookSpecificOutput` alone. Copilot's CLI sends the same for
        # events in Pascal case, and takes `decision`, so the answer has both. A hook without a timeout gets 30 s.
        Form(
            "vscode",
            "VS Code's own agent",
            {
                "decision": "block",
                "reason": TEXT,
                "hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": TEXT},
            },
            ".github/hooks/donewhen.json",
            ".copilot/hooks/donewhen.json",
            {**_SECONDS, "timeoutSec": PATIENCE},
            {"start": "SessionStart", "stop": "Stop"},
            marks=("timestamp", "hookEventName"),
            done="systemMessage",
            wrapped=False,
            base={"version": 1},
        ),
        # OpenHands, hooks (docs.openhands.dev/openhands/usage/customization/hooks), and its SDK 1.58: `event_type`,
        # `session_id` and `working_dir`; only `deny` sends it back. It reads one file, and waits 60 s by default.
        Form(
            "openhands",
            "OpenHands",
            {"decision": "deny", "reason": TEXT},
            ".openhands/hooks.json",
            ".openhands/hooks.json",
            _SECONDS,
            {"start": "SessionStart", "stop": "Stop"},
            marks=("event_type",),
        ),
    )
}
"""By name, in the order in which they are offered."""

EVENTS = ("hook_event_name", "hookEventName", "event_type")
"""The fields in which agents name the event."""
SESSIONS = ("conversation_id", "sessionId", "session_id")
"""The fields by which they tell one session from another."""


class NotAHook(ValueError):
    """What came is not what a hook of that agent sends."""


def form_of(sent: Mapping[str, Any], named: str | None) -> Form:
    """Whose call it is: by its event and what only that agent sends with it, since some agents read the settings of
    others too; else the one that is named; else Claude Code, whose form the others follow."""
    event = event_of(sent)
    fitting = [form for form in FORMS.values() if event is None or event in form.events]
    for form in fitting:
        if any(mark in sent for mark in form.marks):
            return form
    if named is not None and (FORMS[named] in fitting or not fitting):
        return FORMS[named]
    return fitting[0] if fitting else FORMS[named or "claude"]


def event_of(sent: Mapping[str, Any]) -> str | None:
    """The agent's name of the event; None where the call doesn't name it."""
    return next((str(sent[name]) for name in EVENTS if sent.get(name) is not None), None)


def session_of(sent: Mapping[str, Any]) -> str | None:
    """The agent's id of its session."""
    return next((one for name in SESSIONS if isinstance(one := sent.get(name), str) and one), None)


def folders_of(sent: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders in which the agent works."""
    roots = sent.get("workspace_roots")
    several = cast("list[Any]", roots) if isinstance(roots, list) else []
    named = [sent.get("cwd"), sent.get("working_dir"), *several]
    return tuple(one for one in named if isinstance(one, str) and one)


def read_call(form: Form, sent: Mapping[str, Any]) -> HookCall:
    """What the hook says. Raises NotAHook."""
    name = event_of(sent)
    event: Event | None = "start" if "source" in sent else None
    if name is not None:
        event = form.events.get(name)
    elif any(key in sent for key in form.stops):  # only what stops says why
        event = "stop"
    if event is None:
        known = " and ".join(form.names.values())
        named = f"names the event {name}" if name else "names no event"
        raise NotAHook(f"the hook's JSON {named}; the gate knows {known} of {form.title}")
    session = session_of(sent)
    if session is None:
        raise NotAHook(f"it has no session id ({', '.join(SESSIONS)}), which {form.title} needs to tell sessions apart")
    by_itself = all(sent.get(key, values[0]) in values for key, values in form.stops.items())
    asked_for = not any(sent.get(key) in values for key, values in form.refuses.items())
    return HookCall(event, session, folders_of(sent), by_itself and asked_for, sent.get("stop_hook_active") is True)


_READ_BY_VSCODE = ("vscode", "copilot", "claude")
"""The agents whose files of hooks VS Code's own agent reads, and calls as its own."""


def block_unread(named: str | None, text: str) -> dict[str, Any]:
    """The answer to a call that no form knows: what holds the agent that is named, or most of them."""
    own = FORMS[named or "vscode"].answer(text, "")
    return {**FORMS["vscode"].answer(text, ""), **own} if named is None or named in _READ_BY_VSCODE else own
