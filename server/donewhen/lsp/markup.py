"""Text for people in the two forms that a client can show: Markdown, or as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from lsprotocol.types import MarkupKind


class Markup(Protocol):
    """How parts of a text are set apart; what they hold can't break out of them."""

    @property
    def kind(self) -> MarkupKind: ...

    def strong(self, text: str) -> str: ...

    def aside(self, text: str) -> str: ...

    def code(self, text: str) -> str: ...

    def prose(self, text: str) -> str:
        """Words of a judge, a check or a person, with the code in them: no link, and no picture from elsewhere."""
        ...

    def block(self, text: str) -> str:
        """Lines of output."""
        ...


_LINK = re.compile(r"\](?=[(\[:])")
"""What makes `[words]` a link, and `![words]` a picture that is fetched as soon as it is shown."""


class _Markdown:
    kind = MarkupKind.Markdown

    def strong(self, text: str) -> str:
        return f"**{text}**"

    def aside(self, text: str) -> str:
        return f"_{text}_"

    def code(self, text: str) -> str:
        ticks = "`" * (max(_runs(text), default=0) + 1)
        pad = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{ticks}{pad}{text}{pad}{ticks}"

    def prose(self, text: str) -> str:
        return _LINK.sub("]\u2060", text)

    def block(self, text: str) -> str:
        fence = "`" * max(3, max(_runs(text), default=0) + 1)
        return f"{fence}text\n{text}\n{fence}"


class _Plain:
    kind = MarkupKind.PlainText

    def strong(self, text: str) -> str:
        return text

    def aside(self, text: str) -> str:
        return text

    def code(self, text: str) -> str:
        return text

    def prose(self, text: str) -> str:
        return text

    def block(self, text: str) -> str:
        return text


def _runs(text: str) -> Iterable[int]:
    """How many backticks stand side by side, for each place where some do."""
    length = 0
    for character in text + " ":
        if character == "`":
            length += 1
        elif length:
            yield length
            length = 0


MARKDOWN: Markup = _Markdown()
PLAIN: Markup = _Plain()
