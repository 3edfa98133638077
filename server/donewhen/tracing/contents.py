"""What was said, as attributes of spans: only where content capture is on, masked and bounded."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from donewhen.core.calls import Message

LONGEST = 64_000
"""Characters of one attribute. Its tail is kept, where the news are."""


class Contents:
    """Nothing without `capture`."""

    def __init__(self, capture: bool, mask: Callable[[str], str]) -> None:
        self.capture = capture
        self._mask = mask

    def text(self, text: str) -> str:
        """Masked and bounded: what secrets there were is gone before anything is cut."""
        masked = self._mask(text)
        return masked if len(masked) <= LONGEST else f"[... cut ...]{masked[-LONGEST:]}"

    def messages(self, messages: Sequence[Message], finish: str | None = None) -> str:
        """Messages as the conventions write them; the oldest are left out where they are too many."""
        left = LONGEST
        shown: list[dict[str, Any]] = []
        for message in reversed(messages):
            one = self._message(message)
            left -= len(json.dumps(one))
            if left < 0 and shown:
                break
            shown.append(one if finish is None else {**one, "finish_reason": finish})
        return json.dumps(shown[::-1], ensure_ascii=False)

    def _message(self, message: Message) -> dict[str, Any]:
        text = self.text(message.text)
        if message.role == "tool":
            return {"role": "tool", "parts": [{"type": "tool_call_response", "id": message.answers, "response": text}]}
        parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
        parts += [
            {"type": "tool_call", "id": call.id, "name": call.name, "arguments": self.text(call.arguments)}
            for call in message.calls
        ]
        return {"role": message.role, "parts": parts}
