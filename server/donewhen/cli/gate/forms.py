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
class Asked:
    """One call of a hook. `open`: the agent wants to stop by itself, so that it may be sent back. `again`: it says that
    it goes on because it was sent back before."""

    event: Event
    session: str
    folders: tuple[str, ...] = ()
    open: bool = True
    again: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One agent. `events` are the names of its events. `marks` are fields that none of the others sends.

    `project` and `user` are its settings files, relative to the workspace and to the home folder. `entry` is what one
    hook is there, with `{command}`; `wrapped`: in a list of hooks of its own. `base` is what a new file holds besides.
    `then` is what a person has to do besides, if anything.
    """

    name: str
    title: str
    events: Mapping[str, Event]
    block: Mapping[str, Any]
    project: str
    user: str
    entry: Mapping[str, Any]
    names: Mapping[Event, str]
    marks: tuple[str, ...] = ()
    session: str = "session_id"
    done: str = ""
    wrapped: bool = True
    base: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stops: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    """Fields that say by which of their values the agent stops by itself; any other one is a person's doing."""
    refuses: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    """Fields and values with which there is nothing to send back for."""
    then: str = ""

    def answer(self, text: str | None, note: str) -> dict[str, Any]:
        """What the hook prints: go on with this `text`, or None: stop, with a `note` for the person where the agent
        shows one."""
        if text is not None:
            return {key: text if value == TEXT else value for key, value in self.block.items()}
        return {self.done: note} if self.done and note else {}


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
            {"Stop": "stop", "SessionStart": "start"},
            {"decision": "block", "reason": TEXT},
            ".claude/settings.json",
            ".claude/settings.json",
            {**_SECONDS, "statusMessage": "Done When looks whether the goal is proven"},
            {"start": "SessionStart", "stop": "Stop"},
            done="systemMessage",
            refuses={"permission_mode": ("plan",)},  # it was asked for a plan, and may not change anything
        ),
        # Codex, hooks and the published schemas of their input and output: as Claude Code's, with `turn_id`; the output
        # may hold no other field than those of the schema.
        Form(
            "codex",
            "Codex",
            {"Stop": "stop", "SessionStart": "start"},
            {"decision": "block", "reason": TEXT},
            ".codex/hooks.json",
            ".codex/hooks.json",
            {**_SECONDS, "statusMessage": "Done When looks whether the goal is proven"},
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
            {"stop": "stop", "sessionStart": "start"},
            {"followup_message": TEXT},
            ".cursor/hooks.json",
            ".cursor/hooks.json",
            {"command": COMMAND, "timeout": PATIENCE},
            {"start": "sessionStart", "stop": "stop"},
            marks=("conversation_id", "cursor_version"),
            session="conversation_id",
            wrapped=False,
            base={"version": 1},
            stops={"status": ("completed",)},
        ),
        # Gemini CLI, hooks reference: `AfterAgent` fires after the model's final answer; `deny` sends its reason as a
        # new prompt. Timeouts are milliseconds there.
        Form(
            "gemini",
            "Gemini CLI",
            {"AfterAgent": "stop", "SessionStart": "start"},
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
            {"agentStop": "stop", "sessionStart": "start"},
            {"decision": "block", "reason": TEXT},
            ".github/hooks/donewhen.json",
            ".copilot/hooks/donewhen.json",
            {"type": "command", "command": COMMAND, "timeoutSec": PATIENCE},
            {"start": "sessionStart", "stop": "agentStop"},
            marks=("sessionId",),
            session="sessionId",
            wrapped=False,
            base={"version": 1},
            stops={"stopReason": ("end_turn",)},
        ),
    )
}
"""By name, in the order in which they are offered."""


class NotAHook(ValueError):
    """What came is not what a hook of that agent sends."""


def form_of(sent: Mapping[str, Any], named: str | None) -> Form:
    """Whose call it is: by what only that agent sends, since some agents read the settings of others too; else the one
    that is named; else Claude Code, whose form the others follow."""
    for form in FORMS.values():
        if any(mark in sent for mark in form.marks):
            return form
    by_event = [form for form in FORMS.values() if sent.get("hook_event_name") in form.events]
    if named is not None and (FORMS[named] in by_event or not by_event):
        return FORMS[named]
    return by_event[0] if by_event else FORMS[named or "claude"]


def read_call(form: Form, sent: Mapping[str, Any]) -> Asked:
    """What the hook says. Raises NotAHook."""
    name = sent.get("hook_event_name")
    event = form.events.get(str(name)) if name is not None else _unnamed(form, sent)
    if event is None:
        known = " and ".join(form.names.values())
        raise NotAHook(f"{form.title} calls the gate for the event {name!r}: only {known} are for it")
    session = sent.get(form.session) or sent.get("session_id")
    if not isinstance(session, str) or not session:
        raise NotAHook(f"it has no `{form.session}`, by which {form.title} tells one session from another")
    roots = sent.get("workspace_roots")
    named: list[Any] = [sent.get("cwd"), *(cast("list[Any]", roots) if isinstance(roots, list) else ())]
    folders = tuple(one for one in named if isinstance(one, str) and one)
    by_itself = all(sent.get(key, values[0]) in values for key, values in form.stops.items())
    asked_for = not any(sent.get(key) in values for key, values in form.refuses.items())
    return Asked(event, session, folders, by_itself and asked_for, sent.get("stop_hook_active") is True)


def _unnamed(form: Form, sent: Mapping[str, Any]) -> Event | None:
    """The event of a call that doesn't name it: only what stops says why."""
    if any(key in sent for key in form.stops):
        return "stop"
    return "start" if "source" in sent else None
