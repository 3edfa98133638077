"""The language server's view of goal files (`lsp.goal_text.GoalFileFeatures`), made of the package `goalfile`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from donewhen.composition_plugins import plugins_there
from donewhen.goalfile.amend import Edit, add_check, name_judge
from donewhen.goalfile.complete import completions
from donewhen.goalfile.detect import detect
from donewhen.goalfile.draft import draft, draft_path
from donewhen.goalfile.files import goal_name
from donewhen.goalfile.parse import parse
from donewhen.goalfile.preflight import GoalHint, hints_of
from donewhen.goalfile.source import ParsedGoalFile, Span
from donewhen.goalfile.walk import walk_files

if TYPE_CHECKING:
    from donewhen.lsp.goal_text import GoalFileFeatures, ParsedGoal


@dataclass(frozen=True, slots=True)
class OfferedText:
    """One completion: `text` replaces `span`."""

    label: str
    text: str
    detail: str
    kind: str
    span: Span


class GoalTexts:
    """Nothing here runs anything; what reads the workspace is called from a thread."""

    def parse(self, text: str, path: str | None) -> ParsedGoalFile:
        return parse(text, path=path, name="Goal" if path is None else goal_name(path), plugged=plugins_there)

    def complete(self, text: str, line: int, column: int, root: Path | None) -> Sequence[OfferedText]:
        detected = () if root is None else detect(root)
        files = () if root is None else walk_files(root)
        found = completions(text, line, column, detected=detected, files=files)
        return [OfferedText(one.label, one.insert, one.detail, one.kind, one.span) for one in found]

    def draft(
        self,
        objective: str,
        checks: Sequence[str],
        requirements: Sequence[str],
        *,
        judged: bool,
        proposed_by: str | None = None,
        notes: Sequence[str] = (),
        green: bool = False,
        worker: str | None = None,
    ) -> str:
        return draft(
            objective, checks, requirements,
            judged=judged, proposed_by=proposed_by, notes=notes, green=green, worker=worker,
        )  # fmt: skip

    def add_check(self, parsed: ParsedGoal, requirement: str | None, command: str) -> Edit:
        return add_check(cast("ParsedGoalFile", parsed), requirement, command)

    def name_judge(self, parsed: ParsedGoal, model: str) -> Edit:
        return name_judge(cast("ParsedGoalFile", parsed), model)

    def hints(self, text: str, path: str | None) -> Sequence[GoalHint]:
        return hints_of(self.parse(text, path))

    def draft_path(self, root: Path, objective: str) -> Path:
        return draft_path(root, objective)


def goal_texts() -> GoalFileFeatures:
    return GoalTexts()
