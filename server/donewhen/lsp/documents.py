"""The texts that the client has open: what a person sees, saved or not.

pygls keeps them; the way it applies changes is corrected here. pygls splits lines at form feeds and similar characters,
while LSP has only line feeds and carriage returns, and puts text past the end of a line before its last character.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from donewhen.lsp.positions import Encoding, choose_encoding, file_path, offset_of, split_lines, to_client
from donewhen.regular import read_bytes

if TYPE_CHECKING:
    from typing import Self


class OpenDocument(TextDocument):
    """One open document at one version."""

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        text, start, end = self.source, change.range.start, change.range.end
        encoding = choose_encoding([self.position_codec.encoding])
        first = offset_of(text, start.line, start.character, encoding)
        last = max(first, offset_of(text, end.line, end.character, encoding))
        self._source = text[:first] + change.text + text[last:]


class OpenDocuments(Workspace):
    """The open documents of one client, by uri, however the client escapes it."""

    @classmethod
    def of(cls, workspace: Workspace) -> Self:
        """Replaces the workspace that pygls made in `initialize`, when nothing is open yet."""
        folders = list(workspace.folders.values())
        return cls(workspace.root_uri, types.TextDocumentSyncKind.Incremental, folders, workspace.position_encoding)

    @property
    def encoding(self) -> Encoding:
        return choose_encoding([self.position_encoding])

    def open(self, uri: str) -> TextDocument | None:
        return self.text_documents.get(unquote(uri))

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        """Ignores a change of a document that was never opened."""
        if self.open(text_doc.uri) is not None:
            super().update_text_document(text_doc, change)

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        codec = self.position_codec
        return OpenDocument(doc_uri, source, version, language_id, sync_kind=self._sync_kind, position_codec=codec)


# The lines of files, as the client shows them: open documents first, else the disk.


MAX_BYTES = 4 * 1024 * 1024


class Texts:
    """Reads lines for the conversion of columns; an unreadable file has none."""

    def __init__(self, documents: Callable[[], OpenDocuments]) -> None:
        self._documents = documents
        self._uris: dict[Path, str] = {}
        self._cache: dict[Path, tuple[tuple[int, int], list[str]]] = {}

    @property
    def encoding(self) -> Encoding:
        return self._documents().encoding

    def uri(self, path: Path) -> str:
        """The uri by which the client knows the file: clients escape differently."""
        known = self._uris.get(path)
        return known if known is not None and self._documents().open(known) is not None else path.as_uri()

    def named(self, uri: str) -> None:
        """The client opened a document by this uri."""
        path = file_path(uri)
        if path is not None:
            self._uris[path] = uri

    def text(self, path: Path) -> str | None:
        """The file's text in the client, else on the disk; None if neither is available."""
        document = self._documents().open(self.uri(path))
        return document.source if document is not None else _read(path)

    def open_text(self, path: Path) -> str | None:
        """The file's text in the client; None if it isn't open."""
        document = self._documents().open(self.uri(path))
        return None if document is None else document.source

    def lines(self, path: Path) -> list[str]:
        document = self._documents().open(self.uri(path))
        if document is not None:
            return split_lines(document.source)
        return self._from_disk(path)

    def character(self, path: Path, line: int, column: int) -> int:
        """Converts our column of a line to the client's."""
        if column == 0 or self.encoding == "utf-32":
            return column
        lines = self.lines(path)
        return to_client(lines[line], column, self.encoding) if line < len(lines) else column

    def _from_disk(self, path: Path) -> list[str]:
        try:
            status = path.stat()
        except OSError:
            return []
        key = (status.st_mtime_ns, status.st_size)
        known = self._cache.get(path)
        if known is None or known[0] != key:
            if len(self._cache) > 64:
                self._cache.clear()
            known = (key, split_lines(_read(path) or ""))
            self._cache[path] = known
        return known[1]


def _read(path: Path) -> str | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        return read_bytes(path).decode("utf-8", "replace")
    except OSError:
        return None
