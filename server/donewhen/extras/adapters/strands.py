"""Strands: `Agent` and `AgentResult`."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, cast

from donewhen.core.work import Usage
from donewhen.workers.callables.known import (
    Answer,
    KnownAgent,
    KnownModel,
    called,
    count,
    has,
    known_model,
    part,
    text_at,
)

_PROVIDERS = {
    "AnthropicModel": "anthropic",
    "BedrockModel": "bedrock",
    "GeminiModel": "gemini",
    "MistralModel": "mistral",
    "OllamaModel": "ollama_chat",
    "OpenAIModel": "openai",
    "OpenAIResponsesModel": "openai",
}
"""litellm's names of the providers, by the name of the model's class."""


class StrandsAgent(KnownAgent):
    kind = "Strands agent"
    ways = ("invoke_async",)
    takes_blocks = True

    @staticmethod
    def knows(value: Any) -> bool:
        return callable(value) and has(value, "invoke_async", "messages") and isinstance(part(value, "messages"), list)

    async def call(self, prompt: Any, *others: Any, **named: Any) -> Any:
        try:
            return await self.agent.invoke_async(prompt, *others, **named)
        finally:
            memory = part(self.agent, "memory_manager")
            if has(memory, "flush"):
                await memory.flush()  # as the agent itself does where it isn't awaited

    def stop(self) -> bool:
        if has(self.agent, "cancel"):
            self.agent.cancel()
            return True
        return False

    def spent(self) -> Usage | None:
        return _bedrock_usage(part(self.agent, "event_loop_metrics", "accumulated_usage"))

    @property
    def model(self) -> KnownModel | None:
        model: Any = part(self.agent, "model")
        name = text_at(model, "config", "model_id") or text_at(called(model, "get_config"), "model_id")
        if any(one.__name__ == "LiteLLMModel" for one in type(model).__mro__):
            provider, _, name = name.partition("/")
        else:
            provider = next((_PROVIDERS[one.__name__] for one in type(model).__mro__ if one.__name__ in _PROVIDERS), "")
        given = part(model, "client_args")
        client = part(model, "client") or part(model, "_custom_client")
        place = part(given, "base_url") or part(given, "api_base") or part(client, "base_url")
        return known_model(provider, name, place, part(given, "api_key") or part(client, "api_key"))

    @property
    def messages(self) -> Sequence[Any]:
        return cast("Sequence[Any]", self.agent.messages)

    def kept(self) -> Any:
        return copy.deepcopy(self.agent.messages)

    def restore(self, kept: Any) -> None:
        self.agent.messages[:] = copy.deepcopy(kept)

    @staticmethod
    def result(value: Any) -> Answer | None:
        """An AgentResult: its text, and its message by key."""
        message = part(value, "message") if has(value, "stop_reason", "message", "metrics") else None
        if not isinstance(message, Mapping):
            return None
        metrics = value.metrics
        spent = part(metrics, "latest_agent_invocation", "usage") or part(metrics, "accumulated_usage")
        return Answer(str(value).strip(), value, cast("Mapping[str, Any]", message), _bedrock_usage(spent))


def _bedrock_usage(given: Any) -> Usage | None:
    if not isinstance(given, Mapping):
        return None
    cached = count(given, "cacheReadInputTokens")
    return Usage(count(given, "inputTokens"), count(given, "outputTokens"), cached, None)
