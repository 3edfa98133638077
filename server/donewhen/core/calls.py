"""What is said to models and by them, and what that costs. None of it is evidence (invariant 3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from donewhen.core.decoding import json_object
from donewhen.core.errors import UsageError
from donewhen.core.trouble import CallRole as CallRole
from donewhen.core.trouble import FailedTry
from donewhen.core.work import Usage, WorkerStep

MessageRole = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model asks for. `arguments` is JSON text as the model wrote it, not checked yet; a mapping is
    taken, too, and kept as its JSON."""

    id: str
    name: str
    arguments: str

    def __post_init__(self) -> None:
        given: Any = self.arguments
        if isinstance(given, Mapping):
            object.__setattr__(
                self, "arguments", json.dumps(dict(cast("Mapping[str, Any]", given)), ensure_ascii=False)
            )

    @property
    def given(self) -> Mapping[str, Any]:
        """The arguments as they are; empty where they are not a JSON object."""
        return json_object(self.arguments) or {}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation with a model. `answers` is the id of the ToolCall that a `tool` message answers."""

    role: MessageRole
    text: str
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class CallStarted:
    """Intent: a model is about to be asked. `prompt` is the estimate of what is sent, `worst` of all that the call can
    cost. A call that was cut off counts as its prompt: nobody reports what it cost."""

    call_id: str
    role: CallRole
    model: str
    prompt: Usage = field(default_factory=Usage)
    worst: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A model answered, or could not (`error`). A worker's `message` becomes part of its conversation."""

    call_id: str
    usage: Usage = field(default_factory=Usage)
    message: Message | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CallRetried:
    """The model could not be asked, and will be asked again: the same call goes on."""

    call_id: str
    failed: FailedTry


@dataclass(frozen=True, slots=True)
class MessageKept:
    """What the worker's model was told: the task of a turn, a nudge."""

    message: Message


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """Intent: a tool of the built-in agent is about to run. `summary` is one line for people."""

    call_id: str
    tool: str
    summary: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """What the tool did, for people, and what the model is told of it."""

    call_id: str
    step: WorkerStep
    message: Message


@dataclass(frozen=True, slots=True)
class ConversationCompacted:
    """The conversation came near the model's window: `messages` stand in for all of it, `dropped` are gone."""

    messages: tuple[Message, ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class BudgetReached:
    """The next call could pass a budget, and was not made. Holds until a limit is raised."""

    reason: str


# Messages as model providers and frameworks write them, read into one shape.


_ROLES: Mapping[str, MessageRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
_CALLS = ("tool_use", "function_call", "tool_call", "function")
_RESULTS = ("tool_result", "function_call_output")


def messages_of(given: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Messages as model providers and frameworks write them: `role`, and `content` as text or a list of parts, with
    tool calls and their results in the shapes of OpenAI, Anthropic and Strands. System messages are left out.
    Raises UsageError with the place of one that is none."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
        raise UsageError(f"messages must be a sequence, messages=[...]; it is {type(cast('object', given)).__name__}")
    read = [_checked_message(number, one) for number, one in enumerate(given, 1)]
    return tuple(one for one in read if one.role != "system")


def _checked_message(number: int, given: Mapping[str, Any]) -> Message:
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
        raise UsageError(f'message {number} must be a mapping, {{"role": ..., "content": ...}}; it is {given!r:.80}')
    role = given.get("role")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        raise UsageError(f"message {number} needs a role, one of {', '.join(_ROLES)}; it is {role!r}")
    content = given.get("content")
    if content is not None and not isinstance(content, str | list):
        raise UsageError(f"message {number} needs its content as text or a list of parts")
    parts = [content] if isinstance(content, str) else cast("list[object]", content or [])
    wished = given.get("tool_calls")
    apart = cast("list[object]", wished) if isinstance(wished, list) else []
    found = [*(_call(one) for one in parts), *(_call(one, apart=True) for one in apart)]
    calls = tuple(call for call in found if call is not None)
    said = [text for one in parts if (text := _part_text(one))]
    told = [f"[calls {one.name} with {one.arguments}]" for one in calls]
    return Message(known, "\n".join([*said, *told]), calls)


def _part_text(part: object) -> str:
    """The text of a part of a message; what a tool returned is marked, and of what else there is only its kind told."""
    if isinstance(part, str):
        return part
    named = _fields(part)
    if not named or _call(part) is not None:
        return ""
    result = named.get("toolResult") if "toolResult" in named else named if named.get("type") in _RESULTS else None
    if result is not None:
        fields = _fields(result)
        return f"[a tool returned: {_returned(fields.get('content', fields.get('output')))}]"
    text = named.get("text")
    return text if isinstance(text, str) else f"({named.get('type', 'something')}, not shown)"


def _returned(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(filter(None, (_returned(one) for one in cast("list[object]", content))))
    if isinstance(content, Mapping):
        named = _fields(cast("object", content))
        text = named.get("text")
        return text if isinstance(text, str) else _json_or_str(named.get("json", named))
    return content if isinstance(content, str) else _json_or_str(content)


def _call(part: object, *, apart: bool = False) -> ToolCall | None:
    """A tool call: OpenAI's `function`, Anthropic's `tool_use`, Strands' `toolUse`. `apart`: it stands in a list of
    calls, and needs no more than a name."""
    named = _fields(part)
    fields = next(
        (_fields(named[key]) for key in ("function", "toolUse") if isinstance(named.get(key), Mapping)), named
    )
    name = fields.get("name")
    told = next((fields[key] for key in ("arguments", "input", "args") if key in fields), None)
    if not isinstance(name, str) or (not apart and fields is named and named.get("type") not in _CALLS):
        return None
    identity = next((one for one in (named.get("id"), fields.get("toolUseId")) if isinstance(one, str)), "")
    return ToolCall(identity, name, told if isinstance(told, str) else _json_or_str({} if told is None else told))


def _json_or_str(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def _fields(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
