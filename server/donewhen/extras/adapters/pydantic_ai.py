"""PydanticAI: `Agent`, `AgentRunResult` and its messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from donewhen.core.work import Usage
from donewhen.workers.callables.known import (
    Answer,
    KnownAgent,
    KnownModel,
    as_json,
    called,
    count,
    has,
    known_model,
    message,
    part,
    several,
    text_at,
    texts,
)

_PROVIDERS = {
    "google": "gemini",
    "google-gla": "gemini",
    "google-vertex": "vertex_ai",
    "openai-chat": "openai",
    "openai-responses": "openai",
}
"""litellm's names of the providers that it calls otherwise."""
_SAME = ("anthropic", "azure", "bedrock", "cohere", "deepseek", "groq", "mistral", "ollama", "openai", "openrouter")


class PydanticAgent(KnownAgent):
    """It remembers nothing from one run to the next: each is given what was said in the ones before."""

    kind = "PydanticAI agent"
    ways = ("run", "run_sync")

    @staticmethod
    def knows(value: Any) -> bool:
        return has(value, "run", "run_sync", "iter", "model") and not callable(value)

    async def call(self, prompt: Any, *others: Any, **named: Any) -> Any:
        history = {} if self.said is None else {"message_history": self.said}
        returned = await self.agent.run(prompt, *others, **{**named, **history})
        self.said = list(returned.all_messages())
        return returned

    @property
    def model(self) -> KnownModel | None:
        model: Any = self.agent.model
        provider, _, name = model.partition(":") if isinstance(model, str) else (text_at(model, "system"), "", "")
        name = name or text_at(model, "model_name")
        named = _PROVIDERS.get(provider, provider if provider in _SAME else "")
        return known_model(named, name, part(model, "base_url"), part(model, "client", "api_key"))

    @staticmethod
    def result(value: Any) -> Answer | None:
        """An AgentRunResult."""
        if not has(value, "output", "all_messages"):
            return None
        found: Any = part(value, "usage")
        used = found() if callable(found) and not has(found, "input_tokens") else found
        cost = part(used, "cost")
        counts = count(used, "input_tokens"), count(used, "output_tokens"), count(used, "cache_read_tokens")
        usage = None if used is None else Usage(*counts, None if cost is None else float(cost))
        # A model of theirs is answered as the JSON that it stands for.
        output: Any = value.output
        as_model = called(output, "model_dump_json") if has(output, "model_dump_json") else None
        return Answer(as_model if isinstance(as_model, str) else as_json(output), value, {}, usage)

    @staticmethod
    def spoken(value: Any) -> Iterator[dict[str, Any]] | None:
        """A ModelRequest or a ModelResponse: one message for each thing in it that was said."""
        if not has(value, "parts", "kind"):
            return None
        return _response(value) if value.kind == "response" else _request(value)


def _response(value: Any) -> Iterator[dict[str, Any]]:
    parts = several(value.parts)
    words = "\n".join(texts(one.content) for one in parts if part(one, "part_kind") == "text")
    calls = [
        (text_at(one, "tool_call_id"), text_at(one, "tool_name"), one.args)
        for one in parts
        if part(one, "part_kind") in ("tool-call", "builtin-tool-call")
    ]
    yield message("assistant", words, calls)


def _request(value: Any) -> Iterator[dict[str, Any]]:
    for one in several(value.parts):
        match part(one, "part_kind"):
            case "system-prompt":
                yield message("system", texts(one.content))
            case "user-prompt":
                yield message("user", texts(one.content))
            case "tool-return" | "builtin-tool-return":
                yield message("tool", as_json(one.content), (), text_at(one, "tool_call_id"))
            case "retry-prompt":
                answers = text_at(one, "tool_call_id") if part(one, "tool_name") else ""
                yield message("tool" if answers else "user", as_json(one.content), (), answers)
            case _:
                continue
