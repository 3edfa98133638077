"""Edits of a goal file that code actions offer: pure text, nothing is written here."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from donewhen.goalfile.layout import LINE_BREAK
from donewhen.goalfile.source import FileProblem, ParsedGoalFile, Span
from donewhen.goalfile.statements import LABELS, Label

_BACKTICKS = re.compile(r"`+")


@dataclass(frozen=True, slots=True)
class Edit:
    """What the span shall hold instead; columns count code points, as everywhere in goal files."""

    span: Span
    text: str


def tick_edits(parsed: ParsedGoalFile, requirement_ids: Collection[str]) -> tuple[Edit, ...]:
    """Ticks the boxes of these requirements that are not ticked yet."""
    return tuple(
        Edit(source.checkbox, "[x]")
        for source in parsed.requirements
        if source.checkbox and not source.requirement.ticked and source.id in requirement_ids
    )


def add_line_edit(parsed: ParsedGoalFile, requirement_id: str, label: Label, value: str) -> Edit | None:
    """Adds a nested `check:`, `file:` or `problems:` line below a requirement; None where there is no item for it."""
    source = parsed.source_of(requirement_id)
    if source is None or source.checkbox is None or label not in LABELS:
        return None
    line = LINE_BREAK.split(parsed.text)[source.checkbox.start_line]
    # Nested items are indented to where the content of their item begins.
    indent = " " * len(line[: source.checkbox.start_column].removeprefix("\ufeff").expandtabs(4))
    end = Span(source.span.end_line, source.span.end_column, source.span.end_line, source.span.end_column)
    return Edit(end, f"{line_end(parsed.text)}{indent}- {label}: {code_span(value)}")


def add_check_edit(parsed: ParsedGoalFile, requirement_id: str, command: str) -> Edit | None:
    """Binds a check to a requirement."""
    return add_line_edit(parsed, requirement_id, "check", command)


def suggested_edit(problem: FileProblem) -> Edit | None:
    """The fix that a problem carries, such as the key that was probably meant."""
    return None if problem.suggestion is None else Edit(problem.span, problem.suggestion)


def code_span(text: str) -> str:
    """The text as a Markdown code span, whatever backticks it holds."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def line_end(text: str) -> str:
    """The line end that the text uses."""
    found = LINE_BREAK.search(text)
    return found[0] if found else "\n"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text after all edits, which must not overlap."""
    starts = [0, *(found.end() for found in LINE_BREAK.finditer(text))]
    for edit in sorted(edits, key=lambda each: each.span, reverse=True):
        start = starts[edit.span.start_line] + edit.span.start_column
        end = starts[edit.span.end_line] + edit.span.end_column
        text = text[:start] + edit.text + text[end:]
    return text
