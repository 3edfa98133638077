"""Reads a goal file: Markdown with YAML front matter in, a goal with source positions and problems out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from donewhen.core.goal import Goal, Limits
from donewhen.goalfile.decode import decode
from donewhen.goalfile.front_matter import read_front_matter, read_settings
from donewhen.goalfile.layout import Layout
from donewhen.goalfile.markdown import read_blocks
from donewhen.goalfile.objective import Objective, read_objective, whole_objective
from donewhen.goalfile.preflight import preflight
from donewhen.goalfile.requirements import near_tasks, read_requirements, task_items
from donewhen.goalfile.source import FileProblem, ParsedGoalFile, RequirementSource
from donewhen.settings.kinds import UNLIMITED
from donewhen.settings.table import KEYS, Choices

EMPTY = "the goal is empty: write a title, some text, or a task list of requirements"
_TITLE_LENGTH = 80


def parse(
    text: str | bytes, *, path: str | None = None, name: str = "Goal", plugged: Callable[[], bool] = lambda: False
) -> ParsedGoalFile:
    """Parses a goal file; whatever is wrong with it is a problem, never an exception.

    `path` is the file relative to the workspace, `name` the title of a goal without heading or prose. Bytes must be
    UTF-8, with or without a byte-order mark. `goal` is None if any problem is an error. `plugged` says whether there
    are plugins, which may bring a worker that the file names; it is asked only where a name isn't built in.
    """
    decoded = decode(text)
    if not decoded.readable:
        return ParsedGoalFile(decoded.original, None, decoded.problems, path=path)
    layout = Layout.of(decoded.text)
    front = read_front_matter(layout)
    said, setting_problems = read_settings(front.entries, plugged)
    body = _read_body(layout, front.body_line)
    problems = [*decoded.problems, *front.problems, *setting_problems, *body.problems]
    broken = any(problem.severity == "error" for problem in problems)
    return ParsedGoalFile(
        text=decoded.original,
        goal=None if broken else _goal(body, said, path, name),
        problems=_in_order([*problems, *preflight(body.requirements)]),
        requirements=body.requirements,
        front_matter=front.located,
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
    blocks = read_blocks(layout, first_line)
    tasks = task_items(blocks.items)
    objective = read_objective(layout, blocks, first_line, tasks[0].first_line if tasks else len(layout.lines))
    requirements, problems = read_requirements(layout, tasks)
    if not tasks:
        requirements = whole_objective(objective)
    if not requirements and not problems:
        problems = (FileProblem(layout.line_span(0), "error", "empty", EMPTY),)
    return _Body(objective, requirements, (*problems, *near_tasks(blocks.items)))


def _goal(body: _Body, said: Choices, path: str | None, name: str) -> Goal:
    first_line = body.objective.prose.split("\n", 1)[0].strip()
    return Goal(
        title=body.objective.title or _shortened(first_line) or name.strip() or "Goal",
        objective=body.objective.text,
        requirements=tuple(source.requirement for source in body.requirements),
        path=path,
        **_front(said),
    )


def _front(said: Choices) -> dict[str, Any]:
    """What front matter says of a goal: its limits, and what has the name of a key."""
    values: dict[str, Any] = {name: value for name in KEYS if (value := getattr(said, name)) is not None}
    limits: dict[str, Any] = {one.name: values.pop(one.name) for one in fields(Limits) if one.name in values}
    explicit = frozenset(limits)
    limits.update({name: None for name, value in limits.items() if value == UNLIMITED})
    return {"limits": Limits(**limits), "explicit_limits": explicit, **values}


def _shortened(line: str) -> str:
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"


def _in_order(problems: Iterable[FileProblem]) -> tuple[FileProblem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.span.start_line, problem.span.start_column)))
