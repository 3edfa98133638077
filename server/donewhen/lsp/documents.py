"""The texts that the client has open: what a person sees, saved or not.

pygls keeps them; the way it applies changes is corrected here. pygls splits lines at form feeds and similar characters,
while LSP has only line feeds and carriage returns, and puts text past the end of a line before its last character; and
it cuts the whole text into lines for each edit.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from donewhen.lsp.positions import (
    Encoding,
    FilePlace,
    choose_encoding,
    file_path,
    from_client,
    is_goal_file,
    split_keeping_ends,
    split_lines,
    to_client,
)
from donewhen.regular import read_bytes

if TYPE_CHECKING:
    from typing import Self

    from donewhen.core.evidence import Problem
    from donewhen.ports import EditorView


class OpenDocument(TextDocument):
    """One open document at one version: its lines, so that an edit costs by its own size, and its text when that is
    asked for."""

    _cut: list[str] | None = None
    """The lines with their ends, once there was an edit: `_source` is made of them again when it is None."""
    _bare: list[str] | None = None

    @property
    def bare_lines(self) -> list[str]:
        """The lines without their ends, as `split_lines` gives them. Not to be changed."""
        if self._bare is None:
            self._bare = split_lines(self.source)
        return self._bare

    @property
    def source(self) -> str:
        if self._source is None and self._cut is not None:
            self._source = "".join(self._cut)
        return super().source

    def _apply_full_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        super()._apply_full_change(change)
        self._cut = self._bare = None

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        lines = self._cut if self._cut is not None else split_keeping_ends(self.source)
        encoding = choose_encoding([self.position_codec.encoding])
        first = _line_and_column(lines, change.range.start, encoding)
        last = max(first, _line_and_column(lines, change.range.end, encoding))
        before = "".join(lines[first[0] : first[0] + 1])[: first[1]]
        after = "".join(lines[last[0] : last[0] + 1])[last[1] :]
        # A line break may be made, or undone, of what stands in the neighbouring lines: they are cut again, too.
        above = max(0, first[0] - 1)
        edited = "".join((*lines[above : first[0]], before, change.text, after, *lines[last[0] + 1 : last[0] + 2]))
        lines[above : last[0] + 2] = split_keeping_ends(edited)
        self._cut, self._source, self._bare = lines, None, None


def _line_and_column(lines: Sequence[str], position: types.Position, encoding: Encoding) -> tuple[int, int]:
    """The line and our column of a client's position; positions past the end of a line or of the text become that."""
    if position.line >= len(lines):
        return len(lines), 0
    line = lines[position.line]
    return position.line, from_client(line.rstrip("\r\n"), position.character, encoding)


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

    def open(self, uri: str) -> OpenDocument | None:
        return cast("OpenDocument | None", self.text_documents.get(unquote(uri)))

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

    def named(self, uri: str) -> Path | None:
        """The file of a document that the client has by this uri."""
        path = file_path(uri)
        if path is not None:
            self._uris[path] = uri
        return path

    def text(self, path: Path) -> str | None:
        """The file's text in the client, else on the disk; None if neither is available."""
        shown = self.open_text(path)
        return shown if shown is not None else _text_on_disk(path)

    def open_text(self, path: Path) -> str | None:
        """The file's text in the client; None if it isn't open."""
        document = self._documents().open(self.uri(path))
        return None if document is None else document.source

    def lines(self, path: Path) -> list[str]:
        document = self._documents().open(self.uri(path))
        if document is not None:
            return document.bare_lines
        try:
            status = path.stat()
        except OSError:
            return []
        key = (status.st_mtime_ns, status.st_size)
        known = self._cache.get(path)
        if known is None or known[0] != key:
            if len(self._cache) > 64:
                self._cache.clear()
            known = self._cache[path] = (key, split_lines(_text_on_disk(path) or ""))
        return known[1]

    def character(self, path: Path, line: int, column: int) -> int:
        """Converts our column of a line to the client's."""
        if column == 0 or self.encoding == "utf-32":
            return column
        lines = self.lines(path)
        return to_client(lines[line], column, self.encoding) if line < len(lines) else column


def _text_on_disk(path: Path, errors: str = "replace") -> str | None:
    """None if it is too large, or can't be read; with the errors `strict`, also if it isn't UTF-8."""
    try:
        return read_bytes(path).decode("utf-8", errors) if path.stat().st_size <= MAX_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None


# What the client shows of the workspace's files: the diagnostics that it forwards, and its open files.


@dataclass(frozen=True, slots=True)
class _Said:
    """The latest diagnostics of one file, for one version of its text; None if the client doesn't give a version."""

    version: int | None
    problems: tuple[Problem, ...]


class EditorState:
    """One client's state, for all its folders: it also covers folders that are opened later, and ends with the
    client."""

    def __init__(
        self, documents: Callable[[], OpenDocuments], unsaved: Unsaved, place: Callable[[Path], FilePlace]
    ) -> None:
        self.forwarded = False
        """Whether the client forwards diagnostics: it announced that at the start, or has forwarded some."""
        self._documents = documents
        self._place = place
        self._unsaved = unsaved
        self._said: dict[Path, _Said] = {}

    def forward(self, path: Path, version: int | None, problems: Sequence[Problem]) -> bool:
        """Replaces a file's diagnostics, unless there are some for a newer text. True if anything differs."""
        first = not self.forwarded
        self.forwarded = True
        known = self._said.get(path)
        if known is not None and known.version is not None and version is not None and version < known.version:
            return first
        said = _Said(version, tuple(problems))
        self._said[path] = said
        return first or said != known

    def reopened(self, path: Path) -> None:
        """The file was opened or closed: its versions start again, its diagnostics stay as they were."""
        known = self._said.get(path)
        if known is not None:
            self._said[path] = replace(known, version=None)

    def view(self, root: Path) -> EditorView | None:
        """What is shown of a folder. Goal files are included only if another tool reports something about them."""
        from donewhen.ports import EditorView

        if not self.forwarded:
            return None
        problems: dict[str, Sequence[Problem]] = {}
        for path, said in self._said.items():
            place = self._place(path)
            if place.root == root and (said.problems or not is_goal_file(path)):
                problems[place.path] = [replace(problem, path=place.path) for problem in said.problems]
        opened, unsaved, outdated = set[str](), set[str](), set[str]()
        for document in self._documents().text_documents.values():
            path = file_path(document.uri)
            place = self._place(path) if path is not None and not is_goal_file(path) else None
            if path is None or place is None or place.root != root:
                continue
            opened.add(place.path)
            if self._unsaved.unsaved_text(path) is not None:
                unsaved.add(place.path)
            said = self._said.get(path)
            if said is not None and said.version is not None and said.version < (document.version or 0):
                outdated.add(place.path)
        return EditorView(problems, opened, unsaved, outdated)


# Text that the client has and the disk doesn't: nothing may silently overwrite it.


REMEMBERED = 16


class Unsaved:
    """Distinguishes a person's unsaved text from that of an editor that hasn't reloaded a changed file yet: text that
    was once on the disk is not work in progress."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._seen: dict[Path, deque[int]] = {}

    def note_opened(self, path: Path, text: str) -> None:
        """An editor may open a file with text that it kept from an earlier session."""
        self._seen[path] = deque(maxlen=REMEMBERED)
        disk = _text_on_disk(path, "strict")
        if disk is None and os.path.isfile(path):  # noqa: PTH113 # never raises, for any name
            disk = text  # not UTF-8, or too large: taken to be what the editor shows
        if disk is not None:
            self._remember(path, disk)

    def saved(self, path: Path, text: str) -> None:
        self._remember(path, text)

    def closed(self, path: Path) -> None:
        self._seen.pop(path, None)

    def unsaved_text(self, path: Path) -> str | None:
        """The client's text of a file, if it contains a person's unsaved changes."""
        shown = self._texts.open_text(path)
        if shown is None:
            return None
        disk = _text_on_disk(path, "strict")
        if disk is not None:
            self._remember(path, disk)
        return None if _digest(shown) in self._seen.get(path, ()) else shown

    def _remember(self, path: Path, text: str) -> None:
        seen = self._seen.setdefault(path, deque(maxlen=REMEMBERED))
        digest = _digest(text)
        if digest not in seen:
            seen.append(digest)


def _digest(text: str) -> int:
    """Ignores line ends and byte-order marks, which may differ between an editor and the disk."""
    return hash(text.removeprefix("\ufeff").replace("\r\n", "\n"))
