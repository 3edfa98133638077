"""CubeLoop, which was CubePi: `Agent` and its messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any, cast

from donewhen.core.work import Usage
from donewhen.workers.callables.known import (
    Answer,
    KnownAgent,
    KnownModel,
    count,
    has,
    known_model,
    message,
    part,
    several,
    text_at,
    texts,
)


class CubeLoopAgent(KnownAgent):
    kind = "CubeLoop agent"
    ways = ("prompt",)
    awaited = True

    @staticmethod
    def knows(value: Any) -> bool:
        return has(value, "prompt", "abort", "state") and has(part(value, "state"), "messages", "extra")

    def __init__(self, agent: Any) -> None:
        super().__init__(agent)
        self._from = len(self.messages)

    async def call(self, prompt: Any, *others: Any, **named: Any) -> Any:
        self._from = len(self.messages)
        return await self.agent.prompt(prompt, *others, **named)

    def stop(self) -> bool:
        self.agent.abort()
        return True

    def answer(self, returned: Any) -> Answer:
        """`prompt` returns the id of the run: the answer is in the messages."""
        said = [one for one in self.messages[self._from :] if part(one, "role") == "assistant"]
        if said and text_at(said[-1], "error_message"):
            raise RuntimeError(said[-1].error_message)
        return Answer(texts(said[-1].content) if said else "")

    def spent(self) -> Usage | None:
        prices = part(self.agent, "state", "model", "cost")
        return reduce(add, (_priced_usage(part(one, "usage"), prices) for one in self.messages), Usage())

    @property
    def model(self) -> KnownModel | None:
        spec = part(self.agent, "state", "model")
        client = part(self.agent, "_model", "provider", "_client")
        library = type(client).__module__.partition(".")[0]
        provider = text_at(spec, "provider_id") or (library if library in ("openai", "anthropic") else "")
        return known_model(provider, text_at(spec, "id"), part(client, "base_url"), part(client, "api_key"))

    @property
    def messages(self) -> Sequence[Any]:
        return cast("Sequence[Any]", self.agent.state.messages)

    def kept(self) -> Any:
        return list(self.messages)

    def restore(self, kept: Any) -> None:
        self.agent.state.messages = list(kept)

    @staticmethod
    def spoken(value: Any) -> Iterator[dict[str, Any]] | None:
        """A UserMessage, AssistantMessage or ToolResultMessage."""
        if not has(value, "role", "content", "run_id"):
            return None
        blocks = several(value.content)
        words = texts([one for one in blocks if part(one, "type") == "text"])
        calls = [
            (text_at(one, "id"), text_at(one, "name"), one.arguments)
            for one in blocks
            if part(one, "type") == "tool_call"
        ]
        role = "tool" if value.role == "tool_result" else value.role
        return iter([message(role, words, calls, text_at(value, "tool_call_id"))])


def _priced_usage(used: Any, prices: Any) -> Usage:
    """Prices are US dollars for a million tokens."""
    if used is None:
        return Usage()
    counts = {
        "input": count(used, "input_tokens"),
        "output": count(used, "output_tokens"),
        "cache_read": count(used, "cache_read_tokens"),
        "cache_write": count(used, "cache_write_tokens"),
    }
    usd = None if prices is None else sum(tokens * getattr(prices, name) for name, tokens in counts.items()) / 1e6
    asked = counts["input"] + counts["cache_read"] + counts["cache_write"]
    return Usage(asked, counts["output"], counts["cache_read"], usd)
