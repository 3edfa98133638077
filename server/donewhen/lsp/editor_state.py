"""What the client shows of the workspace's files: the diagnostics that it forwards, and which files it has open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.lsp.places import Place, file_path, is_goal_file

if TYPE_CHECKING:
    from donewhen.core.evidence import Problem
    from donewhen.lsp.documents import OpenDocuments
    from donewhen.lsp.unsaved import Unsaved
    from donewhen.ports import EditorView


@dataclass(frozen=True, slots=True)
class _Said:
    """The latest diagnostics of one file, for one version of its text, None if the client tells none."""

    version: int | None
    problems: tuple[Problem, ...]


class EditorState:
    """Of one client, for all its folders: what comes before a folder is opened counts, and all goes with the client."""

    def __init__(
        self, documents: Callable[[], OpenDocuments], unsaved: Unsaved, place: Callable[[Path], Place]
    ) -> None:
        self.forwarded = False
        """Whether the client forwards diagnostics: it says so when it starts, or has forwarded some."""
        self._documents = documents
        self._place = place
        self._unsaved = unsaved
        self._said: dict[Path, _Said] = {}
        self._openings: dict[Path, int] = {}

    def forward(self, path: Path, version: int | None, problems: Sequence[Problem]) -> bool:
        """Replaces a file's diagnostics, unless those for a newer text are known. True if anything differs."""
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
        """How often it was opened and closed: versions of one opening can't be compared with those of another."""
        return 0 if path is None else self._openings.get(path, 0)

    def view(self, root: Path) -> EditorView | None:
        """What is shown of a folder. Goal files count where another tool has something to say about them only."""
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
