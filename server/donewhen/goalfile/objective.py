"""The objective of a goal file: its title and the prose before the first requirement."""

from __future__ import annotations

from dataclasses import dataclass

from donewhen.core.goal import Requirement, requirement_id
from donewhen.goalfile.layout import Layout
from donewhen.goalfile.markdown import Blocks
from donewhen.goalfile.source import RequirementSource, Span
from donewhen.goalfile.statements import one_line


@dataclass(frozen=True, slots=True)
class Objective:
    """The title (empty without a heading), the prose, and where they stand."""

    title: str
    title_span: Span | None
    prose: str
    prose_span: Span | None

    @property
    def text(self) -> str:
        """What the goal is about: the prose, or the title where there is none."""
        return self.prose or self.title


def read_objective(layout: Layout, blocks: Blocks, start: int, end: int) -> Objective:
    """The first heading of the file, and the prose of the lines [start, end)."""
    heading = blocks.headings[0] if blocks.headings else None
    title = one_line(heading.passage.text) if heading else ""
    span = heading.passage.span(0, len(heading.passage.text)) if heading and title else None
    lines = _prose_lines(layout, blocks, start, end)
    if not lines:
        return Objective(title, span, "", None)
    prose = "\n".join(layout.lines[line].rstrip() for line in lines)
    return Objective(title, span, prose, layout.line_span(lines[0], lines[-1]))


def whole_objective(objective: Objective) -> tuple[RequirementSource, ...]:
    """The objective as the one requirement of a goal without a task list; none if there is no objective."""
    span = objective.title_span or objective.prose_span
    if span is None:
        return ()
    stop = "" if objective.title.endswith((".", ":", "!", "?")) else ":"
    both = f"{objective.title}{stop} {objective.prose}" if objective.title and objective.prose else objective.text
    text = one_line(both)
    requirement = Requirement(requirement_id(text), 1, text, line=span.start_line)
    return (RequirementSource(requirement, span, objective.prose_span or span),)


def _prose_lines(layout: Layout, blocks: Blocks, start: int, end: int) -> list[int]:
    """The lines of prose: without the title, comments, rules, and headings that head nothing but the requirements."""
    dropped = {line for first, after in blocks.silent for line in range(first, after)}
    headings = [set(range(heading.first_line, heading.end_line)) for heading in blocks.headings]
    dropped.update(*headings[:1])
    heading_lines = set[int]().union(*headings)
    kept = [line for line in range(start, end) if line not in dropped]
    while kept and (kept[-1] in heading_lines or not layout.lines[kept[-1]].strip()):
        kept.pop()
    first = next((number for number, line in enumerate(kept) if layout.lines[line].strip()), 0)
    return kept[first:]
