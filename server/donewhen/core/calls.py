"""What is said to models and by them, and what that costs. None of it is evidence (invariant 3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from donewhen.core.work import Usage, WorkerStep

CallRole = Literal["worker", "judge"]
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
