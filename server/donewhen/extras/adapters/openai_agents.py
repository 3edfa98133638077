"""OpenAI Agents: `Agent`, `RunResult` and the items of its conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, cast

from donewhen.core.work import Usage
from donewhen.workers.callables.known import (
    Answer,
    KnownAgent,
    KnownModel,
    as_json,
    called,
    count,
    has,
    key_of,
    known_model,
    message,
    part,
    text_at,
    texts,
)


class OpenAIAgent(KnownAgent):
    """Their `Runner` calls it. It remembers nothing from one run to the next: each is given what was said in the ones
    before, unless the caller gives a session that does."""

    kind = "OpenAI agent"
    ways = ()

    @staticmethod
    def knows(value: Any) -> bool:
        return has(value, "instructions", "handoffs", "tools", "model") and _runner(value) is not None

    async def call(self, prompt: Any, *others: Any, **named: Any) -> Any:
        own = any(name in named for name in ("session", "conversation_id", "previous_response_id"))
        asked = prompt if own or self.said is None else [*self.said, {"role": "user", "content": prompt}]
        returned = await _runner(self.agent).run(self.agent, asked, *others, **named)
        self.said = list(returned.to_input_list())
        return returned

    @property
    def model(self) -> KnownModel | None:
        model = self.agent.model
        if isinstance(model, str) and "/" in model:
            provider, _, name = model.partition("/")
            return KnownModel(name) if provider == "litellm" else known_model(provider, name)
        if isinstance(model, str):
            return known_model("openai", model)
        name, client = text_at(model, "model"), part(model, "_client")
        if client is None and "/" in name:
            return KnownModel(name, text_at(model, "base_url") or None, key_of(part(model, "api_key")))
        return known_model("openai", name, part(client, "base_url"), part(client, "api_key"))

    @staticmethod
    def result(value: Any) -> Answer | None:
        """A RunResult."""
        if not has(value, "final_output", "to_input_list"):
            return None
        used = part(value, "context_wrapper", "usage")
        cached = count(used, "input_tokens_details", "cached_tokens")
        usage = None if used is None else Usage(count(used, "input_tokens"), count(used, "output_tokens"), cached, None)
        output = value.final_output
        as_model = called(output, "model_dump_json") if has(output, "model_dump_json") else None
        said = "" if output is None else as_model if isinstance(as_model, str) else as_json(output)
        return Answer(said, value, {}, usage)

    @staticmethod
    def spoken(value: Any) -> Iterator[dict[str, Any]] | None:
        """An item of a conversation, or one that their run made of it."""
        if has(value, "to_input_item"):
            value = value.to_input_item()
        if not isinstance(value, Mapping):
            return None
        item = cast("Mapping[str, Any]", value)
        kind = item.get("type")
        if kind == "function_call":
            call = text_at(item, "call_id"), text_at(item, "name"), item.get("arguments", "")
            return iter([message("assistant", "", [call])])
        if isinstance(kind, str) and kind.endswith("_call_output"):
            output = item.get("output")
            return iter([message("tool", texts(output) or as_json(output), (), text_at(item, "call_id"))])
        if kind == "message" and "role" in item:
            return iter([message(text_at(item, "role"), texts(item.get("content")))])
        if isinstance(kind, str) and "role" not in item:
            return iter(())  # reasoning, and tools that the provider runs by itself
        return None


def _runner(agent: Any) -> Any:
    """The `Runner` of the package that the agent is of, which is imported already."""
    for one in type(agent).__mro__:
        found = getattr(sys.modules.get(one.__module__.partition(".")[0]), "Runner", None)
        if has(found, "run"):
            return found
    return None
