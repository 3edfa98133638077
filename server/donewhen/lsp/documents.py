"""The texts that the client has open: what a person sees, saved or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from donewhen.lsp.positions import DEFAULT_ENCODING, Encoding, offset_of

if TYPE_CHECKING:
    from lsprotocol import types


@dataclass(frozen=True, slots=True)
class Document:
    """One open document at one version."""

    uri: str
    version: int
    text: str
    language: str = ""


class Documents:
    """The open documents of one client, by uri as the client writes it."""

    def __init__(self) -> None:
        self.encoding: Encoding = DEFAULT_ENCODING
        self._open: dict[str, Document] = {}

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri)

    def all(self) -> tuple[Document, ...]:
        return tuple(self._open.values())

    def opened(self, item: types.TextDocumentItem) -> Document:
        document = Document(item.uri, item.version, item.text, str(item.language_id))
        self._open[item.uri] = document
        return document

    def changed(self, params: types.DidChangeTextDocumentParams) -> Document | None:
        """The document after these changes; None where it was never opened."""
        before = self._open.get(params.text_document.uri)
        if before is None:
            return None
        text = before.text
        for change in params.content_changes:
            text = self._apply(text, change)
        after = Document(before.uri, params.text_document.version, text, before.language)
        self._open[before.uri] = after
        return after

    def closed(self, uri: str) -> None:
        self._open.pop(uri, None)

    def _apply(self, text: str, change: types.TextDocumentContentChangeEvent) -> str:
        where: types.Range | None = getattr(change, "range", None)
        if where is None:
            return change.text
        start, end = where.start, where.end
        first = offset_of(text, start.line, start.character, self.encoding)
        last = max(first, offset_of(text, end.line, end.character, self.encoding))
        return text[:first] + change.text + text[last:]
