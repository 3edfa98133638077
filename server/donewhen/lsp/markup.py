"""Text for people in the two forms that a client can show: Markdown, or as it is."""

from __future__ import annotations

from typing import Protocol

from lsprotocol.types import MarkupKind

from donewhen.core import markdown


class Markup(Protocol):
    """How parts of a text are set apart; what they hold can't break out of them."""

    @property
    def kind(self) -> MarkupKind: ...

    def strong(self, text: str) -> str: ...

    def aside(self, text: str) -> str: ...

    def prose(self, text: str) -> str:
        """Words of a judge, a check or a person."""
        ...

    def link(self, text: str, uri: str) -> str: ...

    def code(self, text: str) -> str: ...

    def block(self, text: str) -> str:
        """Lines of output."""
        ...


class _Markdown:
    kind = MarkupKind.Markdown

    def strong(self, text: str) -> str:
        return f"**{markdown.prose(text)}**"

    def aside(self, text: str) -> str:
        return f"_{markdown.prose(text)}_"

    def prose(self, text: str) -> str:
        return markdown.prose(text)

    def link(self, text: str, uri: str) -> str:
        return f"[{markdown.prose(text)}]({uri})"

    def code(self, text: str) -> str:
        return markdown.code(text)

    def block(self, text: str) -> str:
        return markdown.block(text)


class _Plain:
    kind = MarkupKind.PlainText

    def strong(self, text: str) -> str:
        return text

    def aside(self, text: str) -> str:
        return text

    def prose(self, text: str) -> str:
        return text

    def link(self, text: str, uri: str) -> str:
        return text

    def code(self, text: str) -> str:
        return text

    def block(self, text: str) -> str:
        return text


MARKDOWN: Markup = _Markdown()
PLAIN: Markup = _Plain()
