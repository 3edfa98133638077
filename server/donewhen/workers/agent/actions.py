"""Models that don't call tools: text that looks like a call, and the same question as an action under a schema.

What counts is what comes back, not what a provider refuses: a server may take the tools of a request and never tell its
model of them. A reply in words counts as a report only if the model has called tools in this run, or was asked for an
action and still has nothing but words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from donewhen.core.calls import Message
from donewhen.core.work import TURN_STATES, Usage
from donewhen.models.hosted import as_calls, in_words
from donewhen.ports import Model, ModelFacts, ModelNote, ModelNotes, ModelReply, ModelRequest

_MARKUP = re.compile(
    r"<\|?/?(?:tool_calls?|function_calls?|invoke|python_tag|tool_use)\b|<function=|\[TOOL_CALLS\]|\[TOOL_REQUEST\]"
    r"|\bfunctions\.\w+\s*[:({]",
    re.IGNORECASE,
)
"""What the chat templates of known models put around a call, which a server without the right parser passes on as
text."""
_FENCE = re.compile(r"```[\w-]*\s*\n(.*?)(?:```|\Z)", re.DOTALL)
_NAMES = ("tool", "name", "function", "action", "tool_name", "tool_calls")
_STATES = "|".join(TURN_STATES)
_REPORTED = re.compile(rf"\W*report\W{{1,4}}(?:state\W{{1,6}})?(?:{_STATES})\b", re.IGNORECASE)


def looks_like_call(text: str, tools: Collection[str]) -> bool:
    """Whether a reply's text is a call that was written down instead of made: JSON, the markup of a chat template, or
    one of the `tools` with its arguments. Such a text reports nothing."""
    said = text.strip()
    if _MARKUP.search(said) or _REPORTED.match(said):
        return True
    named = "|".join(map(re.escape, tools))
    if re.match(rf"\W*(?:{named})\s*(?:\(|\{{|:\s*[\{{\"'`]|,\s*\S+\s*$)", said):
        return True
    return any(_is_call(found, tools, alone=alone) for found, alone in _values(said))


def _values(said: str) -> Iterator[tuple[Any, bool]]:
    """The JSON values in a text: each with whether it is all of it."""
    fenced = _FENCE.findall(said)
    texts = [(said, True), *((one, len(_FENCE.sub("", said).strip()) == 0) for one in fenced)]
    if said[:1] in "{[" or said[-1:] in "}]":
        # A call with words before or after it.
        texts += [(said[said.find("{") : said.rfind("}") + 1], False)]
    for text, alone in texts:
        with suppress(ValueError, RecursionError):
            value = json.loads(text, strict=False)
            if isinstance(value, dict | list):
                yield value, alone


def _is_call(value: Any, tools: Collection[str], *, alone: bool) -> bool:
    """An object that is a whole reply is a call whatever it holds: nobody reports in JSON."""
    if isinstance(value, list):
        return any(_is_call(one, tools, alone=alone) for one in cast("list[Any]", value))
    if not isinstance(value, dict):
        return False
    found = cast("Mapping[str, Any]", value)
    names = [found.get(key) for key in _NAMES]
    inner: list[Any] = [one for one in names if isinstance(one, dict | list)]
    return (
        alone
        or any(one in tools for one in names if isinstance(one, str))
        or any(_is_call(one, tools, alone=False) for one in inner)
    )


@dataclass(slots=True)
class ByActions:
    """A model that is asked for an action under a schema instead of a tool call: `ports.Model`."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def facts(self) -> ModelFacts:
        return self.model.facts

    def estimate(self, request: ModelRequest) -> tuple[Usage, Usage]:
        return self.model.estimate(in_words(request))

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        reply = await self.model.complete(in_words(request), on_text)
        message = as_calls(reply.message, request.tools)
        return ModelReply(message, reply.usage, reply.finish)


class Habit:
    """How a model takes actions: by tool calls, until it turns out not to. What came back is remembered in `notes`,
    where the next run begins."""

    def __init__(self, model: Model, notes: ModelNotes, api_base: str | None) -> None:
        self._model = model
        self._notes = notes
        self._place = (model.name, api_base)
        self._known = notes.of(*self._place).calling
        self.by_actions = self._known == "actions"
        """Whether the model is asked for actions, from now on until the run ends."""
        self.acted = False
        """Whether it has called a tool, or given an action, in this run."""

    @property
    def model(self) -> Model:
        """The model as it is to be asked now."""
        return ByActions(self._model) if self.by_actions else self._model

    @property
    def window(self) -> int | None:
        """The model's window in tokens, where its server or a refusal told it."""
        return self._notes.of(*self._place).window

    def note_window(self, told: int | None) -> None:
        """Remembers the window for later turns and runs."""
        if told is not None and told != self.window:
            self._notes.add(*self._place, ModelNote(window=told))

    def resumed(self, conversation: Sequence[Message]) -> None:
        """A turn begins: what the model did in this run before, in another process say, counts."""
        self.acted = self.acted or any(message.calls for message in conversation)

    def heard(self) -> None:
        """A tool was called: the way in which the model is asked works."""
        self.acted = True
        how = "actions" if self.by_actions else "tools"
        # A model that is known to call tools keeps that name: one reply in words is not a habit.
        if self._known is None:
            self._known = how
            self._notes.add(*self._place, ModelNote(how))
