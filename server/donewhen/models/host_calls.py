"""The calls themselves: the only place that imports litellm."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from typing import Any

from donewhen.models.protocol import Answered, Call
from donewhen.models.replies import Growing, chat_message, streamed_reply, whole_reply


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

    async def ask(self, call: Call, on_text: Callable[[str], None], on_chunk: Callable[[], None]) -> Answered:
        """The reply to a call. Raises whatever litellm raises."""
        marks = set(call.marks)
        arguments: dict[str, Any] = {
            "model": call.model,
            "messages": [chat_message(one, marked=index in marks) for index, one in enumerate(call.messages)],
            "timeout": call.timeout,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            **call.parameters,
        }
        for name, value in (("api_key", call.key), ("api_base", call.api_base)):
            if value:
                arguments[name] = value
        if call.stream:
            arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        response = await self._litellm.acompletion(**arguments)
        if response is None:
            raise UnprocessableError("the provider refused the request's parameters (422)")
        if call.stream:
            return await streamed_reply(response, Growing(on_text, on_chunk))
        return whole_reply(response)


class UnprocessableError(Exception):
    """litellm shortened a request and then gave up on it without saying so."""

    status_code = 422
