"""Reads a goal file: turns Markdown with YAML front matter into a goal with source positions, and its problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from donewhen.core.changing import replace
from donewhen.core.goal import Goal, Limits, Requirement, requirement_id
from donewhen.goalfile.front_matter import read_front_matter, read_settings
from donewhen.goalfile.markdown import Blocks, Item, Layout, Passage, Section, read_sections
from donewhen.goalfile.preflight import preflight
from donewhen.goalfile.source import FileProblem, ParsedGoalFile, RequirementSource, Span
from donewhen.goalfile.statements import (
    TASK,
    Bound,
    almost_task,
    editor_statement,
    is_labelled,
    one_line,
    read_line,
    sole_command,
    warn_of_rows,
)
from donewhen.settings.kinds import UNLIMITED
from donewhen.settings.table import KEYS, Choices

EMPTY = "the goal is empty: write a title, some text, or a task list of requirements"
_TITLE_LENGTH = 80


def parse(
    text: str | bytes, *, path: str | None = None, name: str = "Goal", plugged: Callable[[], bool] = lambda: False
) -> ParsedGoalFile:
    """Parses a goal file; every error in it becomes a problem, never an exception.

    `path` is the file relative to the workspace, `name` the title of a goal without heading or prose. Bytes must be
    UTF-8, with or without a byte-order mark. `goal` is None if any problem is an error. `plugged` says whether there
    are plugins, which may provide the worker that the file names; it is called only for a name that isn't built in.
    """
    try:
        readable, faults = _decoded(text)
    except _Unreadable as refused:
        return ParsedGoalFile("", None, (refused.problem,), path=path)
    layout = Layout.of(readable)
    begins, front, front_problems = read_front_matter(layout)
    said, setting_problems = read_settings(front.entries if front is not None else (), plugged)
    body = _read_body(layout, begins)
    problems = [*faults, *front_problems, *setting_problems, *body.problems]
    broken = any(problem.severity == "error" for problem in problems)
    return ParsedGoalFile(
        text=text if isinstance(text, str) else readable,
        goal=None if broken else _goal_of(body, said, path, name),
        problems=tuple(
            sorted(
                [*problems, *preflight(body.requirements)],
                key=lambda problem: (problem.span.start_line, problem.span.start_column),
            )
        ),
        requirements=body.requirements,
        front_matter=front,
        title=body.objective.title,
        title_span=body.objective.title_span,
        objective=body.objective.text,
        path=path,
    )


@dataclass(frozen=True, slots=True)
class _Body:
    objective: Objective
    requirements: tuple[RequirementSource, ...]
    problems: tuple[FileProblem, ...]


def _read_body(layout: Layout, first_line: int) -> _Body:
    sections = read_sections(layout, first_line)
    tasks = [(at, task) for at, blocks in sections for task in _read_tasks(blocks)]
    first_task = tasks[0][0] + tasks[0][1].first_line if tasks else len(layout.lines)
    objective = read_objective(layout, sections, first_line, first_task)
    requirements, problems = read_requirements(layout, tasks)
    if not tasks:
        requirements = whole_objective(objective)
    if not requirements and not problems:
        problems = (FileProblem(layout.line_span(0), "error", "empty", EMPTY),)
    near = [problem.down(at) for at, blocks in sections for problem in _near_tasks(blocks)]
    return _Body(objective, requirements, (*problems, *near))


def _goal_of(body: _Body, said: Choices, path: str | None, name: str) -> Goal:
    first_line = body.objective.prose.split("\n", 1)[0].strip()
    if len(first_line) > _TITLE_LENGTH:
        first_line = first_line[: _TITLE_LENGTH - 1].rstrip() + "…"
    return Goal(
        title=body.objective.title or first_line or name.strip() or "Goal",
        objective=body.objective.text,
        requirements=tuple(source.requirement for source in body.requirements),
        path=path,
        **_front(said),
    )


def _front(said: Choices) -> dict[str, Any]:
    """What front matter says about a goal: its limits, and the fields that have the same name as a key."""
    values: dict[str, Any] = {name: value for name in KEYS if (value := getattr(said, name)) is not None}
    limits: dict[str, Any] = {one.name: values.pop(one.name) for one in fields(Limits) if one.name in values}
    explicit = frozenset(limits)
    limits.update({name: None for name, value in limits.items() if value == UNLIMITED})
    return {"limits": Limits(**limits), "explicit_limits": explicit, **values}


# Turns a file's content into text that can be parsed: encoding, size and binary content.


SIZE_LIMIT = 1_000_000
"""The maximum size of a goal file in bytes, or of a text in characters."""
LINE_LIMIT = 10_000
"""The maximum number of lines in a goal file, so that reading it takes only milliseconds."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_START = Span(0, 0, 0, 1)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class _Unreadable(Exception):
    """The content can't be text, or is too large."""

    def __init__(self, code: str, message: str) -> None:
        self.problem = FileProblem(_START, "error", code, message)


def _decoded(content: str | bytes) -> tuple[str, Sequence[FileProblem]]:
    """The text of UTF-8, with the columns of what was given, and what is wrong with it. Raises _Unreadable."""
    if len(content) > SIZE_LIMIT:
        unit = "bytes" if isinstance(content, bytes) else "characters"
        raise _Unreadable(
            "too-large", f"the file has more than {SIZE_LIMIT:,} {unit}: too large for a goal, shorten it"
        )
    if isinstance(content, bytes) and content.startswith(_UTF16):
        raise _Unreadable("encoding", "the file is UTF-16: save it as UTF-8")
    text = content if isinstance(content, str) else content.decode("utf-8-sig", errors="replace")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _Unreadable("binary", f"the file is binary (a zero byte on line {line}): a goal is a Markdown text")
    if isinstance(content, bytes):
        try:
            content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start)
            message = f"the file is not UTF-8 (byte {error.start + 1}, line {line + 1}): save it as UTF-8"
            return text, [_on_line(line, message)]
    lines = text.count("\n") + text.count("\r") - text.count("\r\n") + 1
    if lines > LINE_LIMIT:
        raise _Unreadable("too-large", f"the file has {lines:,} lines; a goal may have {LINE_LIMIT:,}: shorten it")
    if lone := _SURROGATE.search(text):
        line = text.count("\n", 0, lone.start())
        message = f"line {line + 1} holds half a character (a lone surrogate): remove it"
        return _SURROGATE.sub("\ufffd", text), [_on_line(line, message)]
    return text, ()


def _on_line(line: int, message: str) -> FileProblem:
    return FileProblem(Span(line, 0, line, 1), "error", "encoding", message)


# The objective of a goal file: its title and the prose before the first requirement.


@dataclass(frozen=True, slots=True)
class Objective:
    """The title (empty without a heading), the prose, and their positions."""

    title: str
    title_span: Span | None
    prose: str
    prose_span: Span | None

    @property
    def text(self) -> str:
        """What the goal is about: the prose, or the title if there is none."""
        return self.prose or self.title


def read_objective(layout: Layout, sections: Sequence[Section], start: int, end: int) -> Objective:
    """The first heading of the file, and the prose of the lines [start, end)."""
    at, heading = next(((at, one) for at, blocks in sections for one in blocks.headings), (0, None))
    title = one_line(heading.passage.text) if heading else ""
    span = heading.passage.span(0, len(heading.passage.text)).down(at) if heading and title else None
    lines = _prose_lines(layout, sections, start, end)
    if not lines:
        return Objective(title, span, "", None)
    prose = "\n".join(layout.lines[line].rstrip() for line in lines)
    return Objective(title, span, prose, layout.line_span(lines[0], lines[-1]))


def whole_objective(objective: Objective) -> tuple[RequirementSource, ...]:
    """The objective as the only requirement of a goal without a task list; none if there is no objective."""
    span = objective.title_span or objective.prose_span
    if span is None:
        return ()
    stop = "" if objective.title.endswith((".", ":", "!", "?")) else ":"
    both = f"{objective.title}{stop} {objective.prose}" if objective.title and objective.prose else objective.text
    text = one_line(both)
    requirement = Requirement(requirement_id(text), 1, text, line=span.start_line)
    return (RequirementSource(requirement, span, objective.prose_span or span),)


def _prose_lines(layout: Layout, sections: Sequence[Section], start: int, end: int) -> list[int]:
    """The lines of prose: without the title, comments, rules, and headings that introduce only the requirements."""
    dropped = {at + line for at, blocks in sections for first, after in blocks.silent for line in range(first, after)}
    headings = [
        set(range(at + heading.first_line, at + heading.end_line))
        for at, blocks in sections
        for heading in blocks.headings
    ]
    dropped.update(*headings[:1])
    heading_lines = set[int]().union(*headings)
    kept = [line for line in range(start, end) if line not in dropped]
    while kept and (kept[-1] in heading_lines or not layout.lines[kept[-1]].strip()):
        kept.pop()
    first = next((number for number, line in enumerate(kept) if layout.lines[line].strip()), 0)
    return kept[first:]


# Turns the task items of a goal file into its requirements, with the position of each of their parts.


MOST_REQUIREMENTS = 2_000


@dataclass(frozen=True, slots=True)
class _Task:
    """A task item, read by itself: lines are those of its section. Its requirement has no number yet, and an id that
    others may have too; None if it says nothing."""

    first_line: int
    source: RequirementSource | None
    faults: tuple[FileProblem, ...]


@lru_cache(maxsize=4096)
def _read_tasks(blocks: Blocks) -> tuple[_Task, ...]:
    """The items that are requirements: those whose first paragraph begins with a box."""
    tasks: list[_Task] = []
    for item in blocks.items:
        first = _opening(item)
        if first is not None and TASK.match(first.text):
            bound = Bound()
            source = _requirement_source(blocks.layout, item, bound)
            tasks.append(_Task(item.first_line, source, tuple(bound.faults)))
    return tuple(tasks)


def read_requirements(
    layout: Layout, tasks: Sequence[tuple[int, _Task]]
) -> tuple[tuple[RequirementSource, ...], tuple[FileProblem, ...]]:
    """The requirements, numbered in order, and their problems. With each task comes the line of its section."""
    sources: list[RequirementSource] = []
    problems: list[FileProblem] = []
    seen: Counter[str] = Counter()
    for at, task in tasks[:MOST_REQUIREMENTS]:
        problems.extend(fault.down(at) for fault in task.faults)
        if task.source is None:
            continue
        known = task.source.requirement
        seen[known.id] += 1
        own_id = known.id if seen[known.id] == 1 else requirement_id(known.text, seen[known.id])
        numbered = replace(known, id=own_id, number=len(sources) + 1, line=known.line + at)
        sources.append(task.source.down(at, numbered))
    if len(tasks) > MOST_REQUIREMENTS:
        at, task = tasks[MOST_REQUIREMENTS]
        message = f"a goal may have at most {MOST_REQUIREMENTS} requirements; this has {len(tasks)}: split it"
        problems.append(FileProblem(layout.line_span(at + task.first_line), "error", "too-many", message))
    return tuple(sources), tuple(problems)


@lru_cache(maxsize=4096)
def _near_tasks(blocks: Blocks) -> tuple[FileProblem, ...]:
    """Warnings for items that look like requirements, but by Markdown's rules are not task items."""
    bound = Bound()
    for item in blocks.items:
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


def _requirement_source(layout: Layout, item: Item, bound: Bound) -> RequirementSource | None:
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
    requirement = Requirement(
        id=requirement_id(text), number=0, text=text,
        checks=tuple({one.check.id: one.check for one in commands}.values()),
        sole_check=sole is not None or shown is not None,
        files=tuple(dict.fromkeys(value.text for value in bound.files)),
        problems=tuple(dict.fromkeys(value.text for value in bound.problems)),
        details=tuple(filter(None, bound.details)), ticked=not box[1].isspace(), line=checkbox.start_line,
        external=bound.external,
    )  # fmt: skip
    last = layout.last_filled(item.first_line, item.end_line)
    return RequirementSource(
        requirement=requirement, span=layout.line_span(item.first_line, last),
        text_span=passage.span(box.end(), len(passage.text)), checkbox=checkbox,
        commands=tuple(command.value for command in commands),
        checks=tuple(command.value for command in bound.checks),
        files=tuple(bound.files), problems=tuple(bound.problems),
    )  # fmt: skip


def _read_parts(item: Item, bound: Bound) -> None:
    for part in item.parts[1:]:
        if part.opens_item:
            read_line(part.passage, bound)
        else:
            bound.details.append(part.passage.text if part.code else one_line(part.passage.text))
