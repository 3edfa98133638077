"""Hover on a requirement: verdict, reason, evidence, cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lsprotocol import types

from donewhen.core.evidence import CheckResult, EditorReport, Evidence
from donewhen.core.state import RunState
from donewhen.core.verdict import RequirementView
from donewhen.lsp.goal_text import RequirementSource
from donewhen.lsp.goal_view import GoalView, goal_view

if TYPE_CHECKING:
    from donewhen.lsp.session import Session

TAIL_LINES = 15
TAIL_CHARACTERS = 1500


async def hover(session: Session, params: types.HoverParams) -> types.Hover | None:
    """`textDocument/hover`."""
    goal = await goal_view(session, params.text_document.uri)
    return None if goal is None else goal_hover(goal, params.position.line)


def goal_hover(goal: GoalView, line: int) -> types.Hover | None:
    """What is known of the requirement on this line; of the whole run on the title's."""
    source = goal.requirement_at(line)
    if source is not None:
        text, span = requirement_text(goal, source), source.text_span
    elif goal.parsed.title_span is not None and goal.parsed.title_span.start_line == line and goal.view is not None:
        text, span = _run_text(goal.view.state), goal.parsed.title_span
    else:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), goal.range(span))


def requirement_text(goal: GoalView, source: RequirementSource) -> str:
    """Markdown on one requirement."""
    one = goal.status(source)
    label = source.requirement.label
    if one is None or goal.view is None:
        checks = ", ".join(_code(check.command) for check in source.requirement.checks)
        how = f"decided by {checks}" if checks else "no check is bound: a judge or a person decides"
        return f"**{label}** · not examined yet · {how}"
    parts = [_heading(label, one), one.reason]
    parts += [_evidence(evidence) for evidence in goal.evidence_of(one)]
    note = goal.view.state.waived.get(one.requirement_id)
    parts += [f"Waived by a person: {note}"] if note else []
    parts += [f"_{cost(goal.view.state)}_"]
    return "\n\n".join(part for part in parts if part)


def cost(state: RunState) -> str:
    """Iterations, time and money so far; an unknown price is said to be unknown."""
    usage = state.usage
    money = "cost unknown" if usage.usd is None else f"${usage.usd:.2f}"
    tokens = f", {usage.tokens} tokens" if usage.tokens else ""
    return f"iteration {state.iteration}, {state.elapsed:.0f} s, {money}{tokens}"


def _heading(label: str, one: RequirementView) -> str:
    marks = [one.status]
    marks += [f"decided by {one.decided_by}"] if one.decided_by is not None else []
    marks += ["flaky"] if one.flaky else []
    marks += ["being proven again"] if one.renewing else []
    return f"**{label}** · " + " · ".join(marks)


def _run_text(state: RunState) -> str:
    status = state.status or "audit"
    return f"**{status}**" + (f" · {state.reason}" if state.reason else "") + f"\n\n_{cost(state)}_"


def _evidence(evidence: Evidence) -> str:
    observation = evidence.observation
    if isinstance(observation, CheckResult):
        exit_code = "" if observation.exit_code is None else f", exit {observation.exit_code}"
        line = f"{evidence.id} · {_code(observation.command)}: {observation.outcome.value}{exit_code}"
        head = f"{line}, {observation.seconds:.1f} s"
        tail = _tail(observation.output)
        return f"{head}\n\n{_fenced(tail)}" if tail and not observation.passed else head
    if isinstance(observation, EditorReport):
        return f"{evidence.id} · the editor reports {len(observation.problems)} problems"
    return f"{evidence.id} · {type(observation).__name__}"


def _tail(output: str) -> str:
    lines = output.rstrip().splitlines()[-TAIL_LINES:]
    return "\n".join(lines)[-TAIL_CHARACTERS:]


def _fenced(text: str) -> str:
    fence = "`" * (max(_runs(text), default=0) + 1) if "```" in text else "```"
    return f"{fence}text\n{text}\n{fence}"


def _runs(text: str) -> Iterable[int]:
    length = 0
    for character in text + " ":
        if character == "`":
            length += 1
        elif length:
            yield length
            length = 0


def _code(text: str) -> str:
    ticks = "`" * (max(_runs(text), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"
