"""What the language server needs of goal files: their parts with positions, and what can be offered in them.

The composition root gives the implementation. Lines and columns are 0-based, columns count Unicode code points, and
ends are exclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from donewhen.core.goal import Goal, Requirement


class GoalHint(Protocol):
    """What could be better about a requirement of a goal, or about the goal where it names none."""

    @property
    def requirement_id(self) -> str | None: ...
    @property
    def number(self) -> int | None: ...
    @property
    def message(self) -> str: ...


class Span(Protocol):
    """A range of the text."""

    @property
    def start_line(self) -> int: ...
    @property
    def start_column(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def end_column(self) -> int: ...


class FileProblem(Protocol):
    """Something to tell about the file; `suggestion` could stand in the span instead."""

    @property
    def span(self) -> Span: ...
    @property
    def severity(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def suggestion(self) -> str | None: ...


class Value(Protocol):
    """A value as it stands in the text."""

    @property
    def text(self) -> str: ...
    @property
    def span(self) -> Span: ...


class RequirementSource(Protocol):
    """A requirement and its places; `checkbox` spans `[ ]`, None where the objective is the requirement."""

    @property
    def requirement(self) -> Requirement: ...
    @property
    def span(self) -> Span: ...
    @property
    def text_span(self) -> Span: ...
    @property
    def checkbox(self) -> Span | None: ...
    @property
    def files(self) -> Sequence[Value]: ...
    @property
    def problems(self) -> Sequence[Value]: ...


class ParsedGoal(Protocol):
    """A goal file as read, as far as it could be; `goal` is None where any problem is an error."""

    @property
    def goal(self) -> Goal | None: ...
    @property
    def problems(self) -> Sequence[FileProblem]: ...
    @property
    def requirements(self) -> Sequence[RequirementSource]: ...
    @property
    def title(self) -> str: ...
    @property
    def title_span(self) -> Span | None: ...

    def key_at(self, line: int) -> Value | None:
        """The key of the front matter that this line is about."""
        ...


class GoalEdit(Protocol):
    """`text` takes the place of the span."""

    @property
    def span(self) -> Span: ...
    @property
    def text(self) -> str: ...


class CompletionItem(Protocol):
    """Something that could be written at a place: `text` replaces `span`."""

    @property
    def label(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def span(self) -> Span: ...


class GoalFileFeatures(Protocol):
    """Pure functions over goal files, and what is read of a workspace to help with writing one. Nothing is run."""

    def parse(self, text: str, path: str | None) -> ParsedGoal: ...

    def complete(self, text: str, line: int, column: int, root: Path | None) -> Sequence[CompletionItem]: ...

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
        """The text of a new goal file; `judged`: a judge is configured; `proposed_by` is the model that proposed the
        requirements, `notes` are about the checks, `green`: all of them pass already. Raises InvalidGoal for a blank
        objective."""
        ...

    def add_check(self, parsed: ParsedGoal, requirement: str | None, command: str) -> GoalEdit:
        """A check below a requirement (its id, or `R2`), or one of its own; a blank command is left to be filled in.
        Raises InvalidGoal for a requirement that there isn't."""
        ...

    def name_judge(self, parsed: ParsedGoal, model: str) -> GoalEdit:
        """The judge in front matter. Raises InvalidGoal for what names no model."""
        ...

    def hints(self, text: str, path: str | None) -> Sequence[GoalHint]:
        """What could be better about a goal file that can be used, as far as no model is needed to tell."""
        ...

    def draft_path(self, root: Path, objective: str) -> Path:
        """Where a draft goes: never an existing file."""
        ...
