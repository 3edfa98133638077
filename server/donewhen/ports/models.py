"""Language models, as the built-in agent and the judge use them. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from donewhen.core.calls import Message
from donewhen.core.errors import ModelFailed
from donewhen.core.trouble import FailedTry
from donewhen.core.work import ModelFacts, Usage


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model.

    `schema` is the JSON schema that the reply's text must follow, as far as the model can be held to it. The first
    `stable` messages are the same from call to call: providers that want their prompt caches marked get a mark there.
    `timeout` is how many seconds nothing may come (None: as it is set for the model), besides the reading of a long
    prompt by a small machine; `max_tokens` are of the reply (None: as the model has it). `on_failed_try` is awaited
    before the same is asked again.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    schema: Mapping[str, Any] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stream: bool = False
    stable: int = 0
    timeout: float | None = None
    on_failed_try: Callable[[FailedTry], Awaitable[None]] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model answered. `finish` is `stop`, `tool_calls`, `length` (cut off at `max_tokens`) or the provider's
    own word; `usage` is what this call cost, retries included as far as it is known."""

    message: Message
    usage: Usage
    finish: str = "stop"


class Model(Protocol):
    """One model of one provider."""

    @property
    def name(self) -> str:
        """As it was set, such as `anthropic/claude-sonnet-4-5`."""
        ...

    @property
    def facts(self) -> ModelFacts: ...

    def estimate(self, request: ModelRequest) -> tuple[Usage, Usage]:
        """What the prompt costs, and what the whole call costs at worst. `usd` is None if the price is unknown."""
        ...

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """The reply. `on_text` hears the text as it grows (whole so far), where it is streamed. Retries what a retry
        can fix; raises ModelFailed. Cancelling takes effect at once."""
        ...


class EditorSilent(Exception):
    """No editor answered: its window is closed, or it refused to say anything. Another one may answer later."""


AskEditor = Callable[[Mapping[str, Any], float], Awaitable[object]]
"""Asks the editor that shows this folder now for a model's reply (`donewhen/model/complete`) within seconds. Raises
EditorSilent, and ModelFailed if no editor that offers models will ever answer here. Cancelling takes effect at once."""


async def no_editor_to_ask(asked: Mapping[str, Any], timeout: float) -> object:
    raise ModelFailed(of_an_editor(str(asked["model"])), "refused")


def of_an_editor(model: str) -> str:
    """Why an editor's own model can't be asked where no editor is."""
    return f"{model} is a model of an editor: run the goal in that editor, or set another model"


Calling = Literal["tools", "actions"]
"""How a model takes actions: by tool calls, or by objects under a schema, for which it has to be asked."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How a judge did in the quick cases of GoalBench, of the version `cases`, on the day `on` (ISO). `accepted` of
    `false` requirements it found met, `rejected` of `true` ones it did not."""

    on: str
    cases: str
    accepted: int
    false: int
    rejected: int
    true: int

    @property
    def weak(self) -> bool:
        """A judge that accepts any of these false cases can't be relied on, nor can one that rejects most true ones."""
        return self.accepted > 0 or 2 * self.rejected > self.true

    def __str__(self) -> str:
        accepted = f"accepted {self.accepted} of {self.false} false cases"
        return f"{accepted}, rejected {self.rejected} of {self.true} true ones ({self.on})"


@dataclass(frozen=True, slots=True)
class ModelNote:
    """What was found out about one model; None: nothing yet. `window` is its context in tokens."""

    calling: Calling | None = None
    window: int | None = None
    measured: Measured | None = None


class ModelNotes(Protocol):
    """What was found out about models by asking them, kept for the person: by name, and by the address where one is
    served, None for its provider's own. What can't be kept is forgotten; nothing fails for it."""

    def of(self, model: str, api_base: str | None) -> ModelNote: ...

    def add(self, model: str, api_base: str | None, found: ModelNote) -> None:
        """What is not None takes the place of what was noted before."""
        ...
