"""An account of calls to models where there is no run: counted in memory, bounded by nothing."""

from __future__ import annotations

from donewhen.core.calls import Message
from donewhen.core.work import Usage


class Account:
    """`ports.Calls` for a caller that waits for one answer. Concurrent calls are counted alike."""

    def __init__(self) -> None:
        self._ended = Usage()
        self._open: dict[str, Usage] = {}
        self._begun = 0

    @property
    def total(self) -> Usage:
        """What all calls took so far; one that was cut off counts as its prompt, since nobody tells what it cost."""
        return sum(self._open.values(), self._ended)

    @property
    def asked(self) -> int:
        """How often a model was asked."""
        return self._begun

    async def begin(self, model: str, prompt: Usage, worst: Usage) -> str:
        self._begun += 1
        call_id = f"call-{self._begun}"
        self._open[call_id] = prompt
        return call_id

    async def end(self, call_id: str, usage: Usage, message: Message | None = None, error: str | None = None) -> None:
        if self._open.pop(call_id, None) is not None:
            self._ended += usage
