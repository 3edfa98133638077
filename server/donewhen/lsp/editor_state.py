"""What the client shows of the workspace's files: the diagnostics that it forwards, and its open files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.lsp.positions import Place, file_path, is_goal_file
from donewhen.regular import read_bytes

if TYPE_CHECKING:
    from donewhen.core.evidence import Problem
    from donewhen.lsp.documents import OpenDocuments, Texts
    from donewhen.ports import EditorView


# Text that the client has and the disk doesn't: nothing may silently overwrite it.


MAX_BYTES = 4 * 1024 * 1024
REMEMBERED = 16


class Unsaved:
    """Distinguishes a person's unsaved text from that of an editor that hasn't reloaded a changed file yet: text that
    was once on the disk is not work in progress."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._seen: dict[Path, deque[int]] = {}

    def opened(self, path: Path, text: str) -> None:
        """An editor may open a file with text that it kept from an earlier session."""
        self._seen[path] = deque(maxlen=REMEMBERED)
        disk = _read(path)
        if disk is None and path.is_file():
            disk = text  # not UTF-8, or too large: taken to be what the editor shows
        if disk is not None:
            self._remember(path, disk)

    def saved(self, path: Path, text: str) -> None:
        self._remember(path, text)

    def closed(self, path: Path) -> None:
        self._seen.pop(path, None)

    def text(self, path: Path) -> str | None:
        """The client's text of a file, if it contains a person's unsaved changes."""
        shown = self._texts.open_text(path)
        if shown is None:
            return None
        disk = _read(path)
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


def _read(path: Path) -> str | None:
    try:
        return read_bytes(path).decode("utf-8") if path.stat().st_size <= MAX_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None


@dataclass(frozen=True, slots=True)
class _Said:
    """The latest diagnostics of one file, for one version of its text; None if the client doesn't give a version."""

    version: int | None
    problems: tuple[Problem, ...]


class EditorState:
    """One client's state, for all its folders: it also covers folders that are opened later, and ends with the
    client."""

    def __init__(
        self, documents: Callable[[], OpenDocuments], unsaved: Unsaved, place: Callable[[Path], Place]
    ) -> None:
        self.forwarded = False
        """Whether the client forwards diagnostics: it announced that at the start, or has forwarded some."""
        self._documents = documents
        self._place = place
        self._unsaved = unsaved
        self._said: dict[Path, _Said] = {}
        self._openings: dict[Path, int] = {}

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
        self._openings[path] = self._openings.get(path, 0) + 1
        known = self._said.get(path)
        if known is not None:
            self._said[path] = replace(known, version=None)

    def openings(self, path: Path | None) -> int:
        """How often it was opened and closed: versions from different openings can't be compared."""
        return 0 if path is None else self._openings.get(path, 0)

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
        opened, unsaved, outdated = self._open(root)
        return EditorView(problems, opened, unsaved, outdated)

    def _open(self, root: Path) -> tuple[set[str], set[str], set[str]]:
        opened, unsaved, outdated = set[str](), set[str](), set[str]()
        for document in self._documents().text_documents.values():
            path = file_path(document.uri)
            place = self._place(path) if path is not None and not is_goal_file(path) else None
            if path is None or place is None or place.root != root:
                continue
            opened.add(place.path)
            if self._unsaved.text(path) is not None:
                unsaved.add(place.path)
            said = self._said.get(path)
            if said is not None and said.version is not None and said.version < (document.version or 0):
                outdated.add(place.path)
        return opened, unsaved, outdated
