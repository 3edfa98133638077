"""OpenHands: `Conversation` and its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from donewhen.core.work import Usage
from donewhen.workers.callables.known import (
    Answer,
    KnownAgent,
    KnownModel,
    called,
    count,
    has,
    key_of,
    message,
    part,
    several,
    text_at,
    texts,
)

FINISH = "finish"
"""The tool by which an agent of theirs says that it is done, and its outcome."""


class OpenHandsConversation(KnownAgent):
    kind = "OpenHands conversation"
    ways = ()

    @staticmethod
    def knows(value: Any) -> bool:
        return has(value, "send_message", "run", "state") and has(part(value, "state"), "events")

    def __init__(self, agent: Any) -> None:
        super().__init__(agent)
        self._from = len(self.messages)

    async def blocks(self) -> bool:
        """Their base class has an `arun` that only calls `run`."""
        own = next((one for one in type(self.agent).__mro__ if "arun" in vars(one)), None)
        return not has(self.agent, "arun") or (own is not None and own.__name__ == "BaseConversation")

    async def call(self, prompt: Any, *others: Any, **named: Any) -> Any:
        self._send_prompt(prompt)
        await self.agent.arun()

    def call_blocking(self, prompt: Any, *others: Any, **named: Any) -> Any:
        self._send_prompt(prompt)
        self.agent.run()

    def _send_prompt(self, prompt: Any) -> None:
        self._from = len(self.messages)
        self.agent.send_message(prompt)

    def stop(self) -> bool:
        for name in ("interrupt", "pause"):
            if has(self.agent, name):
                getattr(self.agent, name)()
                return True
        return False

    def answer(self, returned: Any) -> Answer:
        events = list(self.messages)[self._from :]
        failed = [one for one in events if has(one, "code", "detail")]
        status = part(self.agent, "state", "execution_status")
        if failed and text_at(status, "value") in ("error", "stuck"):
            raise RuntimeError(f"{failed[-1].code}: {failed[-1].detail}")
        return Answer(final(events))

    def spent(self) -> Usage | None:
        combined = called(part(self.agent, "conversation_stats"), "get_combined_metrics")
        if combined is None:
            return None
        used, cost = part(combined, "accumulated_token_usage"), part(combined, "accumulated_cost")
        asked, said = count(used, "prompt_tokens"), count(used, "completion_tokens")
        # They add nothing for a model whose price they don't know.
        usd = float(cost) if isinstance(cost, int | float) and (cost > 0 or not asked + said) else None
        return Usage(asked, said, count(used, "cache_read_tokens"), usd)

    @property
    def model(self) -> KnownModel | None:
        llm = part(self.agent, "agent", "llm") or part(self.agent, "state", "agent", "llm")
        name = text_at(llm, "model")
        return KnownModel(name, text_at(llm, "base_url") or None, key_of(part(llm, "api_key"))) if name else None

    @property
    def messages(self) -> Sequence[Any]:
        return cast("Sequence[Any]", self.agent.state.events)

    @staticmethod
    def spoken(value: Any) -> Iterator[dict[str, Any]] | None:
        """An event as messages; of what no model is told, none."""
        if not has(value, "source", "timestamp"):
            return None
        return _llm_messages(value)


def final(events: Sequence[Any]) -> str:
    """The agent's last words: a message, or what it said as it finished."""
    for event in reversed(list(events)):
        if part(event, "source") != "agent":
            continue
        if has(event, "llm_message"):
            return texts(part(event, "llm_message", "content"))
        if part(event, "tool_name") == FINISH:
            return text_at(event, "action", "message")
    return ""


def _llm_messages(event: Any) -> Iterator[dict[str, Any]]:
    told = called(event, "to_llm_message")
    if told is None:
        return
    words, calls = texts(part(told, "content")), several(part(told, "tool_calls"))
    if part(event, "tool_name") == FINISH and calls:
        yield message("assistant", "\n".join(one for one in (words, text_at(event, "action", "message")) if one))
        return
    named = [(text_at(one, "id"), text_at(one, "name"), part(one, "arguments")) for one in calls]
    yield message(text_at(told, "role"), words, named, text_at(told, "tool_call_id"))
