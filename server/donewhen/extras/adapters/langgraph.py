"""LangGraph: compiled graphs of messages, their states, and LangChain's messages."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, cast

from donewhen.core.work import Usage
from donewhen.workers.callables.known import Answer, KnownAgent, count, has, message, part, several, text_at, texts

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "function": "tool"}


class CompiledGraph(KnownAgent):
    """A graph with a checkpointer keeps the conversation, in a thread of its own unless the caller names one; any other
    one is given what was said so far."""

    kind = "LangGraph graph"
    ways = ("invoke", "ainvoke")

    @staticmethod
    def knows(value: Any) -> bool:
        return has(value, "invoke", "ainvoke", "get_state", "nodes", "checkpointer") and not callable(value)

    def __init__(self, agent: Any) -> None:
        super().__init__(agent)
        self._thread = uuid.uuid4().hex

    async def blocks(self) -> bool:
        """Some checkpointers can't be awaited: they say so when they are."""
        keeper = self.agent.checkpointer
        if not has(keeper, "aget_tuple"):
            return False
        try:
            await keeper.aget_tuple({"configurable": {"thread_id": self._thread}})
        except NotImplementedError:
            return True
        except Exception:  # noqa: BLE001  # the call itself will meet it, too
            return False
        return False

    def call(self, prompt: Any, *others: Any, **named: Any) -> Any:
        return self._called(self.agent.ainvoke, prompt, *others, **named)

    def call_blocking(self, prompt: Any, *others: Any, **named: Any) -> Any:
        return self._called(self.agent.invoke, prompt, *others, **named)

    def _called(self, call: Callable[..., Any], prompt: Any, *others: Any, **named: Any) -> Any:
        asked = {"role": "user", "content": prompt}
        given: Mapping[str, Any] = {"messages": [asked] if self._keeps else [*self.messages, asked]}
        config: dict[str, Any] | None = others[0] if others else named.pop("config", None)
        if self._keeps and not part(config, "configurable", "thread_id"):
            known = cast("Mapping[str, Any]", part(config, "configurable") or {})
            config = {**(config or {}), "configurable": {**known, "thread_id": self._thread}}
        return call(given, config, *others[1:], **named)

    @property
    def _keeps(self) -> bool:
        return has(self.agent.checkpointer, "get_tuple")

    def answer(self, returned: Any) -> Answer:
        before, self.said = len(self.messages), _messages(returned)
        return self.result(returned, before) or Answer(str(returned), returned)

    def kept(self) -> Any:
        return self.said, self._thread

    def restore(self, kept: Any) -> None:
        """A thread can't be shortened: another one begins."""
        self.said = kept[0]
        self._thread = kept[1] if kept[0] else uuid.uuid4().hex

    @staticmethod
    def result(value: Any, before: int = 0) -> Answer | None:
        """A state with messages: the last one is the answer. `before`: how many of them were there already. A message
        alone, as a model returns it, is an answer, too."""
        if _is_message(value):
            counted = _message_usage(value) if part(value, "usage_metadata") else None
            return Answer(_message_text(value), value, {}, counted)
        said = _messages(value)
        if not said or not all(_is_message(one) for one in said):
            return None
        usage = reduce(add, (_message_usage(one) for one in said[before:]), Usage())
        known = usage.tokens or usage.usd is None
        state = _state(value)
        keyed: Mapping[str, Any] = cast("Mapping[str, Any]", state) if isinstance(state, Mapping) else {}
        return Answer(_message_text(said[-1]), value, keyed, usage if known else None)

    @staticmethod
    def spoken(value: Any) -> Iterator[dict[str, Any]] | None:
        """A message of LangChain's."""
        if not _is_message(value):
            return None
        calls = [
            (text_at(one, "id"), text_at(one, "name"), part(one, "args")) for one in several(part(value, "tool_calls"))
        ]
        role = _ROLES.get(value.type) or text_at(value, "type")
        return iter([message(role, _message_text(value), calls, text_at(value, "tool_call_id"))])


def _state(value: Any) -> Any:
    return value.value if has(value, "value", "interrupts") else value


def _messages(value: Any) -> Sequence[Any]:
    return tuple(several(part(_state(value), "messages")))


def _is_message(value: Any) -> bool:
    return has(value, "type", "content", "additional_kwargs")


def _message_text(value: Any) -> str:
    return texts(value.content)


def _message_usage(value: Any) -> Usage:
    used = part(value, "usage_metadata")
    if used is None:
        return Usage()
    cached = count(used, "input_token_details", "cache_read")
    return Usage(count(used, "input_tokens"), count(used, "output_tokens"), cached, None)
