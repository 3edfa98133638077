"""What a reply may demand of the request that gets it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from donewhen.testing.models.calls import ModelCall

SHOWN = 300


@dataclass(frozen=True, slots=True)
class Expectation:
    """Demands on a request; what is left out is not looked at.

    `contains` and `lacks` are plain texts, `matches` and `matches_not` regular expressions (searched, `.` crosses no
    line); all four look at the messages' whole text. `last` are texts in the newest message alone. `tools` are names
    that must be offered, or whether any may be. `response_format` is its type, or whether one may be there.
    """

    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    matches_not: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    tools: tuple[str, ...] | bool | None = None
    response_format: str | bool | None = None

    def __post_init__(self) -> None:
        """Raises re.error for what is not a regular expression: here, not in the middle of a conversation."""
        for pattern in (*self.matches, *self.matches_not):
            re.compile(pattern)

    def failures(self, call: ModelCall) -> list[str]:
        """What is not as demanded, a sentence each."""
        return [*self._in_texts(call), *self._in_tools(call), *self._in_format(call)]

    def _in_texts(self, call: ModelCall) -> Iterator[str]:
        text, newest = call.text, call.last.text
        yield from (f"the messages lack {one!r}{_end(text)}" for one in self.contains if one not in text)
        yield from (f"the messages contain {one!r}" for one in self.lacks if one in text)
        yield from (f"the messages don't match {one!r}{_end(text)}" for one in self.matches if not re.search(one, text))
        yield from (f"the messages match {one!r}" for one in self.matches_not if re.search(one, text))
        yield from (f"the last message lacks {one!r}{_end(newest)}" for one in self.last if one not in newest)

    def _in_tools(self, call: ModelCall) -> Iterator[str]:
        if isinstance(self.tools, bool):
            if self.tools != bool(call.tools):
                yield f"tools were expected: {self.tools}, offered are {list(call.tools)}"
        elif missing := [name for name in self.tools or () if name not in call.tools]:
            yield f"the tools {missing} are not offered, offered are {list(call.tools)}"

    def _in_format(self, call: ModelCall) -> Iterator[str]:
        found = "" if call.response_format is None else str(call.response_format.get("type", ""))
        if isinstance(self.response_format, bool):
            if self.response_format != (call.response_format is not None):
                yield f"a response_format was expected: {self.response_format}, found is {found or 'none'}"
        elif self.response_format is not None and self.response_format != found:
            yield f"the response_format is {found or 'missing'}, not {self.response_format}"


def _end(text: str) -> str:
    return f"; they end with {text[-SHOWN:]!r}"
