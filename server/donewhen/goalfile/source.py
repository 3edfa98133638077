"""The result of parsing a goal file: the goal, its problems, and the positions of everything in the text.

Lines and columns are 0-based; columns count Unicode code points. A span's end is exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from donewhen.core.goal import Goal, Requirement

ProblemSeverity = Literal["error", "warning", "information", "hint"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of the text, end exclusive."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int

    def down(self, lines: int) -> Span:
        """The same so many lines further down."""
        return Span(self.start_line + lines, self.start_column, self.end_line + lines, self.end_column)


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A message about the goal file. `suggestion` is a text that could replace the span."""

    span: Span
    severity: ProblemSeverity
    code: str
    message: str
    suggestion: str | None = None

    def down(self, lines: int) -> FileProblem:
        return FileProblem(self.span.down(lines), self.severity, self.code, self.message, self.suggestion)


@dataclass(frozen=True, slots=True)
class Value:
    """A value as written in the text, and its position."""

    text: str
    span: Span

    def down(self, lines: int) -> Value:
        return Value(self.text, self.span.down(lines))


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as YAML reads it; `kind` is its YAML type: str, int, float, bool, null, timestamp."""

    text: str
    kind: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class FrontMatterEntry:
    """One key of the front matter. `value` spans the text after the colon, `items` the members of a list. `said` is
    what that is: a single value, a list of them (None for members of other types), or None for a mapping."""

    key: Value
    value: Value
    items: tuple[Value, ...] = ()
    said: Scalar | tuple[Scalar | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter's entries in order; `span` includes both fences."""

    span: Span
    entries: tuple[FrontMatterEntry, ...] = ()

    def entry(self, key: str) -> FrontMatterEntry | None:
        """The first entry with that key."""
        return next((entry for entry in self.entries if entry.key.text == key), None)


@dataclass(frozen=True, slots=True)
class RequirementSource:
    """A requirement and its positions. `checkbox` spans `[ ]`; it is None if the objective is the requirement.

    `commands` are the bare commands (without backticks) of all its checks, `checks` those of nested `check:` items;
    `text_span` covers the statement after the box.
    """

    requirement: Requirement
    span: Span
    text_span: Span
    checkbox: Span | None = None
    commands: tuple[Value, ...] = ()
    checks: tuple[Value, ...] = ()
    files: tuple[Value, ...] = ()
    problems: tuple[Value, ...] = ()

    def down(self, lines: int, requirement: Requirement) -> RequirementSource:
        """The same so many lines further down, as the source of this requirement."""
        return RequirementSource(
            requirement, self.span.down(lines), self.text_span.down(lines),
            None if self.checkbox is None else self.checkbox.down(lines),
            *(tuple(one.down(lines) for one in values)
              for values in (self.commands, self.checks, self.files, self.problems)),
        )  # fmt: skip

    @property
    def id(self) -> str:
        return self.requirement.id

    @property
    def number(self) -> int:
        return self.requirement.number


@dataclass(frozen=True, slots=True)
class ParsedGoalFile:
    """A parsed goal file. `goal` is None if any problem is an error; the rest is given as far as possible.

    `text` is the given text (bytes decoded), `outline` the requirements that could be read in spite of errors.
    """

    text: str
    goal: Goal | None
    problems: tuple[FileProblem, ...] = ()
    requirements: tuple[RequirementSource, ...] = ()
    front_matter: FrontMatter | None = None
    title: str = ""
    title_span: Span | None = None
    objective: str = ""
    path: str | None = None

    @property
    def outline(self) -> tuple[Requirement, ...]:
        return tuple(source.requirement for source in self.requirements)

    @property
    def errors(self) -> tuple[FileProblem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")

    def requirement_at(self, line: int) -> RequirementSource | None:
        """The requirement whose item covers that line."""
        return next((s for s in self.requirements if s.span.start_line <= line <= s.span.end_line), None)

    def key_at(self, line: int) -> Value | None:
        """The front matter key that this line belongs to."""
        entries = self.front_matter.entries if self.front_matter is not None else ()
        return next((e.key for e in entries if e.key.span.start_line <= line <= e.value.span.end_line), None)
