"""What the editor itself complains about, as far as a client forwards it."""

from __future__ import annotations

from collections.abc import Sequence

from donewhen.core.evidence import EditorReport, Problem
from donewhen.core.globs import any_matches
from donewhen.core.goal import Requirement


class EditorDiagnostics:
    """The latest diagnostics per file. `forwarded` is false until a client forwards some, or says that it will."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[int | None, tuple[Problem, ...]]] = {}
        self.forwarded = False

    def forward(self, path: str, version: int | None, problems: Sequence[Problem]) -> None:
        """Replaces a file's diagnostics (posix path relative to the workspace), unless newer ones are known."""
        self.forwarded = True
        known = self._files.get(path)
        if known is not None and known[0] is not None and version is not None and version < known[0]:
            return
        self._files[path] = (version, tuple(problems))

    def close(self, path: str) -> None:
        """The file was closed in the editor: its versions start anew, its diagnostics stay as they were."""
        if path in self._files:
            self._files[path] = (None, self._files[path][1])

    def clear(self) -> None:
        """The client has gone: nothing is known any more."""
        self._files.clear()
        self.forwarded = False

    def report(self, requirement: Requirement) -> EditorReport:
        """What is known about the files of `requirement.problems`, in the order of paths and lines."""
        found = [
            problem
            for path in sorted(self._files)
            if any_matches(requirement.problems, path)
            for problem in sorted(self._files[path][1], key=lambda p: (p.line, p.column))
        ]
        return EditorReport(requirement.id, self.forwarded, tuple(found))
