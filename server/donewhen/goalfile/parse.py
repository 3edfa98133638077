"""Reads a goal file: Markdown with YAML front matter in, a goal with source positions and problems out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from donewhen.core.goal import Goal
from donewhen.goalfile.decode import decode
from donewhen.goalfile.front_matter import read_front_matter
from donewhen.goalfile.layout import Layout
from donewhen.goalfile.markdown import read_blocks
from donewhen.goalfile.objective import Objective, read_objective, whole_objective
from donewhen.goalfile.preflight import preflight
from donewhen.goalfile.requirements import near_tasks, read_requirements, task_items
from donewhen.goalfile.settings import Settings, read_settings
from donewhen.goalfile.source import FileProblem, ParsedGoalFile, RequirementSource

EMPTY = "the goal is empty: write a title, some text, or a task list of requirements"
_TITLE_LENGTH = 80


def parse(text: str | bytes, *, path: str | None = None, name: str = "Goal") -> ParsedGoalFile:
    """Parses a goal file; whatever is wrong with it is a problem, never an exception.

    `path` is the file relative to the workspace, `name` the title of a goal without heading or prose. Bytes must be
    UTF-8, with or without a byte-order mark. `goal` is None where any problem is an error.
    """
    decoded = decode(text)
    if not decoded.readable:
        return ParsedGoalFile(decoded.original, None, decoded.problems, path=path)
    layout = Layout.of(decoded.text)
    front = read_front_matter(layout)
    settings, setting_problems = read_settings(front.entries)
    body = _read_body(layout, front.body_line)
    problems = [*decoded.problems, *front.problems, *setting_problems, *body.problems]
    broken = any(problem.severity == "error" for problem in problems)
    return ParsedGoalFile(
        text=decoded.original,
        goal=None if broken else _goal(body, settings, path, name),
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


def _goal(body: _Body, settings: Settings, path: str | None, name: str) -> Goal:
    first_line = body.objective.prose.split("\n", 1)[0].strip()
    return Goal(
        title=body.objective.title or _shortened(first_line) or name.strip() or "Goal",
        objective=body.objective.text,
        requirements=tuple(source.requirement for source in body.requirements),
        limits=settings.limits,
        path=path,
        worker=settings.worker,
        model=settings.model,
        judge_model=settings.judge_model,
        protect=settings.protect,
        proof=settings.proof,
        may_change=settings.may_change,
        guard=settings.guard,
        explicit_limits=settings.explicit_limits,
    )


def _shortened(line: str) -> str:
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"


def _in_order(problems: Iterable[FileProblem]) -> tuple[FileProblem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.span.start_line, problem.span.start_column)))
