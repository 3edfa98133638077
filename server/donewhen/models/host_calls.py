"""The calls themselves: the only place that imports litellm."""

from __future__ import annotations

import asyncio
import gc
import importlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from donewhen.models.replies import Growing, message_in, streamed_reply, whole_reply


class Asking:
    """litellm, imported and configured to be quiet, offline and without retries of its own."""

    def __init__(self) -> None:
        gc.disable()  # saves 40 % of the import time
        try:
            self._litellm: Any = importlib.import_module("litellm")
        finally:
            gc.freeze()
            gc.enable()
        self._litellm.suppress_debug_info = True
        self._litellm.disable_hf_tokenizer_download = True
        self._litellm.telemetry = False
        self._litellm.drop_params = True
        self._litellm.num_retries = 0

    async def warm_up(self) -> None:
        """Performs, against this process itself, the slow start of a first call: litellm loads half of its code only
        then."""
        from donewhen.models.host_warmup import Mirror

        with suppress(Exception):
            async with Mirror() as mirror, asyncio.timeout(5):
                asked: list[Mapping[str, Any]] = [{"role": "user", "text": "?"}]
                for stream in (False, True):
                    await self.ask(mirror.question(stream), asked, lambda _: None, lambda: None)

    async def ask(
        self,
        asked: Mapping[str, Any],
        messages: list[Mapping[str, Any]],
        on_text: Callable[[str], None],
        on_chunk: Callable[[], None],
    ) -> dict[str, Any]:
        """The reply in the form of `protocol.Answered`. Raises whatever litellm raises."""
        response = await self._litellm.acompletion(**_call_arguments(asked, messages))
        if response is None:
            raise UnprocessableError("the provider refused the request's parameters (422)")
        reply = await streamed_reply(response, Growing(on_text, on_chunk)) if asked["stream"] else whole_reply(response)
        reply["cost"] = self._litellm_cost(asked["model"], reply.pop("usage"))
        return reply

    def _litellm_cost(self, model: str, usage: Any) -> float | None:
        if usage is None:
            return None
        with suppress(Exception):
            said = self._litellm.ModelResponse(model=model, usage=usage)
            return self._litellm.completion_cost(completion_response=said, model=model)
        return None


class UnprocessableError(Exception):
    """litellm shortened a request and then gave up on it without saying so."""

    status_code = 422


def _call_arguments(asked: Mapping[str, Any], messages: list[Mapping[str, Any]]) -> dict[str, Any]:
    marks = set(asked["marks"])
    arguments: dict[str, Any] = {
        "model": asked["model"],
        "messages": [message_in(one, marked=index in marks) for index, one in enumerate(messages)],
        "timeout": asked["timeout"],
        "max_retries": 0,
        "num_retries": 0,
        "drop_params": True,
        **asked["parameters"],
    }
    for name, value in (("api_key", asked["key"]), ("api_base", asked["api_base"])):
        if value:
            arguments[name] = value
    if asked["stream"]:
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
    return arguments
