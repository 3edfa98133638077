"""The texts that the client has open: what a person sees, saved or not.

pygls keeps them; how changes are applied is mended. pygls cuts lines at form feeds and the like, where LSP knows
line feeds and carriage returns only, and puts what is past the end of a line before its last character.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from donewhen.lsp.positions import Encoding, choose_encoding, offset_of

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
    """The open documents of one client, by uri however the client escapes it."""

    @classmethod
    def of(cls, workspace: Workspace) -> Self:
        """In place of the workspace that pygls made in `initialize`, when nothing is open yet."""
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
        """A change of what was never opened says nothing."""
        if self.open(text_doc.uri) is not None:
            super().update_text_document(text_doc, change)

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        codec = self.position_codec
        return OpenDocument(doc_uri, source, version, language_id, sync_kind=self._sync_kind, position_codec=codec)
