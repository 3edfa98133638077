"""The editor's own diagnostics, as far as a client forwards them."""

from __future__ import annotations

from collections.abc import Callable

from donewhen.core.evidence import EditorReport
from donewhen.core.globs import any_matches
from donewhen.core.goal import Requirement
from donewhen.ports import EditorView


class EditorDiagnostics:
    """Makes reports of what the editor shows at that moment; `look` gives None if no client forwards anything."""

    def __init__(self, look: Callable[[], EditorView | None] = lambda: None) -> None:
        self._look = look

    def report(self, requirement: Requirement) -> EditorReport:
        """What is known about the files of `requirement.problems`, in the order of paths and lines. Unsaved text counts
        wherever it is: errors in one file may come from the text of another."""
        view = self._look()
        if view is None:
            return EditorReport(requirement.id, forwarded=False)
        globs = requirement.problems
        named = [path for path in sorted({*view.problems, *view.opened}) if any_matches(globs, path)]
        found = [
            problem
            for path in named
            for problem in sorted(view.problems.get(path, ()), key=lambda one: (one.line, one.column))
        ]
        return EditorReport(
            requirement.id,
            forwarded=True,
            problems=tuple(found),
            files=len(named),
            unsaved=tuple(sorted(view.unsaved)),
            outdated=tuple(path for path in named if path in view.outdated),
        )
