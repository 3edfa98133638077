"""From the task items of a goal file to its requirements, with the place of each of their parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from donewhen.core.goal import Check, Requirement, requirement_id
from donewhen.goalfile.layout import Layout, Passage
from donewhen.goalfile.markdown import Item
from donewhen.goalfile.source import FileProblem, RequirementSource, Span
from donewhen.goalfile.statements import (
    TASK,
    Bound,
    Command,
    almost_task,
    editor_statement,
    is_labelled,
    one_line,
    read_line,
    sole_command,
    warn_of_rows,
)

MOST_REQUIREMENTS = 500


def task_items(items: Sequence[Item]) -> list[Item]:
    """The items that are requirements: those whose first paragraph begins with a box."""
    return [item for item in items if (first := _opening(item)) and TASK.match(first.text)]


def read_requirements(
    layout: Layout, tasks: Sequence[Item]
) -> tuple[tuple[RequirementSource, ...], tuple[FileProblem, ...]]:
    """The requirements, numbered in order, and what is wrong with them."""
    sources: list[RequirementSource] = []
    problems: list[FileProblem] = []
    seen: Counter[str] = Counter()
    for item in tasks[:MOST_REQUIREMENTS]:
        bound = Bound()
        source = _requirement(layout, item, len(sources) + 1, seen, bound)
        problems.extend(bound.faults)
        if source is not None:
            sources.append(source)
    if len(tasks) > MOST_REQUIREMENTS:
        span = layout.line_span(tasks[MOST_REQUIREMENTS].first_line)
        message = f"a goal may have at most {MOST_REQUIREMENTS} requirements; this has {len(tasks)}: split it"
        problems.append(FileProblem(span, "error", "too-many", message))
    return tuple(sources), tuple(problems)


def near_tasks(items: Sequence[Item]) -> tuple[FileProblem, ...]:
    """Warnings for items that look like requirements, and by Markdown's rules are none."""
    bound = Bound()
    for item in items:
        first = _opening(item)
        if first is None or TASK.match(first.text):
            continue
        almost_task(first, bound)
        if any(part.opens_item and is_labelled(part.passage) for part in item.parts[1:]):
            message = (
                "this item binds a check or a file, but has no box, so it is not a requirement: write `- [ ] ` first"
            )
            bound.fault(first.span(0, len(first.text)), "warning", "not-a-task", message)
    return tuple(bound.faults)


def _opening(item: Item) -> Passage | None:
    first = item.parts[0] if item.parts else None
    return first.passage if first is not None and first.opens_item and first.depth == 0 else None


def _requirement(layout: Layout, item: Item, number: int, seen: Counter[str], bound: Bound) -> RequirementSource | None:
    passage = item.parts[0].passage
    box = TASK.match(passage.text)
    assert box is not None  # only task items come here
    checkbox = passage.span(0, 3)
    text = one_line(passage.text[box.end() :])
    if not text:
        bound.fault(checkbox, "error", "empty-requirement", "this requirement says nothing: write what must be true")
        return None
    _read_parts(item, bound)
    warn_of_rows(passage, box.end(), bound)
    sole = sole_command(passage, box.end(), bound)
    shown = None if sole else editor_statement(passage, box.end(), bound)
    bound.problems = bound.problems or shown or []
    commands = [*([sole] if sole else []), *bound.checks]
    plain = requirement_id(text)
    seen[plain] += 1
    requirement = Requirement(
        id=requirement_id(text, seen[plain]), number=number, text=text,
        checks=_once(commands), sole_check=sole is not None or shown is not None,
        files=tuple(dict.fromkeys(value.text for value in bound.files)),
        problems=tuple(dict.fromkeys(value.text for value in bound.problems)),
        details=tuple(filter(None, bound.details)), ticked=not box[1].isspace(), line=checkbox.start_line,
        external=bound.external,
    )  # fmt: skip
    text_span = passage.span(box.end(), len(passage.text))
    return _located(requirement, layout, item, text_span, checkbox, commands, bound)


def _located(
    requirement: Requirement, layout: Layout, item: Item, text_span: Span, checkbox: Span,
    commands: Sequence[Command], bound: Bound,
) -> RequirementSource:  # fmt: skip
    last = layout.last_filled(item.first_line, item.end_line)
    return RequirementSource(
        requirement=requirement, span=layout.line_span(item.first_line, last), text_span=text_span, checkbox=checkbox,
        commands=tuple(command.value for command in commands),
        checks=tuple(command.value for command in bound.checks),
        files=tuple(bound.files), problems=tuple(bound.problems),
    )  # fmt: skip


def _once(commands: Sequence[Command]) -> tuple[Check, ...]:
    return tuple({command.check.id: command.check for command in commands}.values())


def _read_parts(item: Item, bound: Bound) -> None:
    for part in item.parts[1:]:
        if part.opens_item:
            read_line(part.passage, bound)
        else:
            bound.details.append(part.passage.text if part.code else one_line(part.passage.text))
