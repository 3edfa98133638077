"""Every text that a worker is sent. No other module holds one."""

from __future__ import annotations

from collections.abc import Sequence

from donewhen.core.goal import Goal, Requirement
from donewhen.core.verdict import RequirementView
from donewhen.ports import Turn

RULES = """\
## How this works
- Look at the workspace as it is now, not at what you remember of it. Work towards the whole objective.
- After your turn the server runs the checks itself and reads the files. What you say proves nothing; what you change
  does.
- Repair the cause. Don't skip, delete or weaken a test, don't change what a check runs or how it is configured, and
  don't edit the goal file: each is found, and then the goal can't complete.
- If you can't go on, say so and why; don't invent a success."""

END_LINE = """\
## How to end
You may end your output with one line of JSON, alone on the last line:
{"donewhen": {"state": "finished", "text": "what you did"}}
`state` is one of: finished; blocked (something outside your reach is missing); impossible (the goal contradicts itself
or can't be reached); question (a person has to decide; ask in `text`)."""


def turn_prompt(turn: Turn) -> str:
    """All that a worker is told for one turn: objective, requirements with their status, feedback, answers (C3)."""
    sections = [_objective(turn.goal), _requirements(turn.goal, turn.views)]
    if turn.feedback and turn.feedback.strip():
        sections.append(f"## What the audit of your last turn found\n{turn.feedback.strip()}")
    if turn.answers:
        sections.append(_answers(turn.answers))
    sections.append(RULES)
    return "\n\n".join(sections) + "\n"


def command_prompt(turn: Turn) -> str:
    """The prompt of a worker that can only answer on its output: `turn_prompt`, and how to end."""
    return f"{turn_prompt(turn)}\n{END_LINE}\n"


def _objective(goal: Goal) -> str:
    title, objective = goal.title.strip(), goal.objective.strip()
    if not title or objective == title:
        return f"# Goal\n\n{objective or title}"
    return f"# Goal: {title}\n\n{objective}".rstrip()


def _requirements(goal: Goal, views: Sequence[RequirementView]) -> str:
    by_id = {view.requirement_id: view for view in views}
    lines = ["## Requirements", "The goal is done when each of these is proven:"]
    for requirement in goal.requirements:
        lines.extend(_requirement(requirement, by_id.get(requirement.id)))
    if goal.protect:
        lines.append(f"Files that you must not change: {', '.join(goal.protect)}")
    return "\n".join(lines)


def _requirement(requirement: Requirement, view: RequirementView | None) -> list[str]:
    status = view.status if view else "unverified"
    lines = [f"- {requirement.label} [{status}] {requirement.text}"]
    lines.extend(f"  - {detail}" for detail in requirement.details)
    lines.extend(f"  - check: `{check.command}`{_expected(check.expected_exit)}" for check in requirement.checks)
    lines.extend(f"  - file: `{glob}`" for glob in requirement.files)
    lines.extend(f"  - no editor problems in: `{glob}`" for glob in requirement.problems)
    if view and view.reason.strip():
        lines.append(f"  - now: {_one_line(view.reason)}")
    return lines


def _expected(code: int) -> str:
    return f" (must exit {code})" if code else ""


def _answers(answers: Sequence[str]) -> str:
    return "## What the person answered\n" + "\n".join(f"- {_one_line(answer, 4_000)}" for answer in answers)


def _one_line(text: str, limit: int = 600) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit // 4]} [...] {line[-limit * 3 // 4 :]}"
