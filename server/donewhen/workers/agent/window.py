"""The conversation between the agent and its model in one turn, kept within the model's window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from donewhen.core.calls import Message
from donewhen.core.events import AgentOptions
from donewhen.ports import ModelFacts, ModelReply, ModelRequest, ToolSpec, TurnContext
from donewhen.workers.agent.compaction import OVERHEAD, compacted, size_of
from donewhen.workers.prompt import is_task

WINDOW = 32_768
"""Tokens of a model's window if it is not known."""
SMALL = 8_192
"""Tokens of a window up to which the prompt is short: the work needs the room more than the model its advice."""
FULL = 0.8
"""The share of the window at which a conversation is made to fit again; the rest is for the reply."""
ROOMY = 0.4
"""The share that it takes afterwards."""
BYTES_PER_TOKEN = 3.5
"""A guess, on the safe side for code; the model's own counts correct it downwards."""
TELLING = 0.1
"""The share of the window from which a prompt tells how long its tokens are."""
REPLY = 0.2
LEAST_REPLY = 1_024


@dataclass(frozen=True, slots=True)
class Opening:
    """What a model is told before anything was said: the system prompt, and the tools."""

    system: Message
    specs: tuple[ToolSpec, ...]

    @property
    def size(self) -> int:
        tools = [OVERHEAD * 4 + len(repr(one.parameters)) + len(one.description) for one in self.specs]
        return size_of(self.system) + sum(tools)


def shortened(spec: ToolSpec) -> ToolSpec:
    """A tool as a small window has room for: the first sentence on it, and its arguments without one on each."""
    properties = cast("Mapping[str, Mapping[str, Any]]", spec.parameters.get("properties", {}))
    bare = {name: {key: one[key] for key in one if key != "description"} for name, one in properties.items()}
    first, dot, _ = spec.description.partition(". ")
    return ToolSpec(spec.name, first + dot.strip(), {**spec.parameters, "properties": bare})


class AgentConversation:
    """The conversation of a turn as the model gets it, with the opening that its window has room for. Its size is
    updated with each message, never measured from scratch."""

    def __init__(
        self, full: Opening, short: Opening, context: TurnContext, options: AgentOptions, facts: ModelFacts
    ) -> None:
        self._full = full
        self._short = short
        self._context = context
        self._options = options
        self._facts = facts
        self._window = options.window or facts.window or WINDOW
        self._bytes_per_token = BYTES_PER_TOKEN
        self._opening = self._fitting()
        self._fixed = self._opening.size
        self._task = 0
        self._measured = 0
        self._size = 0
        self._asked = 0

    def _fitting(self) -> Opening:
        return self._short if self._window <= SMALL else self._full

    @property
    def largest_result(self) -> int:
        """Characters that the result of one tool call may have: an eighth of the window."""
        return int(self._window * self._bytes_per_token / 8)

    async def begin(self, task: Message) -> None:
        """Tells the model what the turn is about; that message survives every compaction."""
        self._task = size_of(task)
        await self._context.keep(task)

    async def resume(self, restored: Message | None) -> None:
        """Resumes the turn where it stopped; `restored` takes the place of the model's last message, with the answers
        to those of its calls that it still makes."""
        said = self._context.conversation
        task = max((at for at, message in enumerate(said) if is_task(message)), default=-1)
        self._task = size_of(said[task]) if task >= 0 else 0
        if restored is None:
            return
        last = max((at for at, one in enumerate(said) if one.role == "assistant" and at > task), default=len(said))
        calls = {call.id for call in restored.calls}
        after = [one for one in said[last + 1 :] if one.role != "tool" or one.answers in calls]
        await self._context.compact((*said[:last], replace(restored, role="assistant", answers=""), *after), 0)

    async def request(self) -> ModelRequest:
        """The next question, compacted first where it nears the window."""
        self._measure()
        if self._fixed + self._size > self._room(FULL):
            await self._compact()
        self._asked = self._fixed + self._size
        # Empty replies stay on record, but providers refuse them.
        said = [one for one in self._context.conversation if one.role != "assistant" or one.calls or one.text.strip()]
        messages = (self._opening.system, *said)
        longest = self._facts.max_output
        if longest is not None:  # so that there is room for the prompt
            longest = min(longest, max(int(self._window * REPLY), LEAST_REPLY))
        return ModelRequest(
            messages,
            self._opening.specs,
            temperature=self._options.temperature,
            max_tokens=longest,
            stream=True,
            stable=len(messages),
        )

    async def shrink(self, window: int | None) -> None:
        """The model said that the prompt is too long: its window is smaller than was known, and is this where it was
        named."""
        smaller = int(self._asked / self._bytes_per_token * FULL)
        self._window = min(self._window, max(smaller, LEAST_REPLY), window or self._window)
        self._opening = self._fitting()
        self._fixed = self._opening.size
        await self._compact()

    def heard(self, reply: ModelReply) -> None:
        """Learns from a reply how many bytes a token of this conversation has; of a short prompt, what the provider
        adds to it would tell too much."""
        if reply.usage.input_tokens > 0 and self._asked > self._room(TELLING):
            measured = self._asked / reply.usage.input_tokens
            self._bytes_per_token = min(BYTES_PER_TOKEN, max(measured, 1.0))

    def _measure(self) -> None:
        conversation = self._context.conversation
        self._size += sum(size_of(message) for message in conversation[self._measured :])
        self._measured = len(conversation)

    async def _compact(self) -> None:
        before = self._context.conversation
        # A long goal or feedback may take most of the room: the work itself gets half of what is left then.
        least = (self._fixed + self._task + self._room(FULL)) // 2
        after = compacted(before, max(self._room(ROOMY), least) - self._fixed)
        if after.dropped or sum(map(size_of, after.messages)) < self._size:
            await self._context.compact(after.messages, after.dropped)
        self._measured = self._size = 0
        self._measure()

    def _room(self, share: float) -> int:
        return int(self._window * share * self._bytes_per_token)
