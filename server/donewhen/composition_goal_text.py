"""The language server's view of goal files (`lsp.goal_text.GoalFileFeatures`), made of the package `goalfile`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.evidence.known_runners import read_line
from donewhen.evidence.surroundings import Surroundings
from donewhen.goalfile.complete import completions
from donewhen.goalfile.detect import DetectedCheck, detect, suggested
from donewhen.goalfile.draft import draft, draft_path
from donewhen.goalfile.files import goal_name
from donewhen.goalfile.parse import parse
from donewhen.goalfile.preflight import GoalHint, hints_of
from donewhen.goalfile.source import ParsedGoalFile, Span
from donewhen.goalfile.walk import walk_files

if TYPE_CHECKING:
    from donewhen.lsp.goal_text import GoalFileFeatures


@dataclass(frozen=True, slots=True)
class OfferedText:
    """One completion: `text` replaces `span`."""

    label: str
    text: str
    detail: str
    kind: str
    span: Span


SelectedPython = Callable[[Mapping[str, Any], Path], Path | None]


class GoalTexts:
    """Nothing here runs anything; what reads the workspace is called from a thread. `python` finds the interpreter of a
    folder in an editor's settings."""

    def __init__(self, python: SelectedPython) -> None:
        self._python = python

    def parse(self, text: str, path: str | None) -> ParsedGoalFile:
        return parse(text, path=path, name="Goal" if path is None else goal_name(path))

    def complete(self, text: str, line: int, column: int, root: Path | None) -> Sequence[OfferedText]:
        detected = () if root is None else detect(root)
        files = () if root is None else walk_files(root)
        found = completions(text, line, column, detected=detected, files=files)
        return [OfferedText(one.label, one.insert, one.detail, one.kind, one.span) for one in found]

    def detect(self, root: Path) -> Sequence[DetectedCheck]:
        return detect(root)

    def suggest(self, root: Path) -> Sequence[str]:
        return [check.command for check in suggested(detect(root))]

    def missing(self, root: Path, commands: Sequence[str], editor: Mapping[str, Any]) -> Mapping[str, str]:
        # Nothing is written there: its place is a variable, which nothing reads here.
        surroundings = Surroundings(root, root, lambda: os.environ, self._python(editor, root))
        path = surroundings.variables().get("PATH", os.defpath)
        found = {command: next(iter(read_line(command)), None) for command in commands}
        programs = {command: first.words[0] for command, first in found.items() if first is not None and first.words}
        return {
            command: program
            for command, program in programs.items()
            if "/" not in program and shutil.which(program, path=path) is None
        }

    def draft(
        self, objective: str, checks: Sequence[str], requirements: Sequence[str], proposed_by: str | None = None
    ) -> str:
        return draft(objective, checks, requirements, proposed_by=proposed_by)

    def hints(self, text: str, path: str | None) -> Sequence[GoalHint]:
        return hints_of(self.parse(text, path))

    def draft_path(self, root: Path, objective: str) -> Path:
        return draft_path(root, objective)


def goal_texts(python: SelectedPython = lambda editor, root: None) -> GoalFileFeatures:
    return GoalTexts(python)
