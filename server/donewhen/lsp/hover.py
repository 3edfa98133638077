"""Hover on a requirement: verdict, reason, evidence, cost."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from lsprotocol import types

from donewhen.core.evidence import CheckResult, EditorReport, Evidence
from donewhen.core.state import RunState
from donewhen.core.verdict import RequirementView
from donewhen.lsp.evidence_files import evidence_files
from donewhen.lsp.goal_text import RequirementSource
from donewhen.lsp.goal_view import GoalView, goal_view
from donewhen.lsp.markup import MARKDOWN, PLAIN, Markup
from donewhen.wire.halt import halt_text, shown_halt

if TYPE_CHECKING:
    from donewhen.engine.api import RunView
    from donewhen.lsp.session import Session

MAX_CHANGED = 5
TAIL_LINES = 15
TAIL_CHARACTERS = 1500
NOWHERE: Mapping[str, str] = MappingProxyType({})


async def hover(session: Session, params: types.HoverParams) -> types.Hover | None:
    """`textDocument/hover`."""
    goal = await goal_view(session, params.text_document.uri)
    if goal is None:
        return None
    if not session.profile.markdown:
        return goal_hover(goal, params.position.line, PLAIN)
    source = goal.requirement_at(params.position.line)
    one = None if source is None else goal.status(source)
    files = {} if one is None else await evidence_files(session, goal, one)
    return goal_hover(goal, params.position.line, MARKDOWN, {name: file.as_uri() for name, file in files.items()})


def goal_hover(
    goal: GoalView, line: int, markup: Markup = MARKDOWN, uris: Mapping[str, str] = NOWHERE
) -> types.Hover | None:
    """What is known of the requirement on this line; of the whole run on the title's. `uris` are where evidence can
    be read, by id."""
    source = goal.requirement_at(line)
    if source is not None:
        text, span = requirement_text(goal, source, markup, uris), source.text_span
    elif goal.parsed.title_span is not None and goal.parsed.title_span.start_line == line and goal.view is not None:
        text, span = _run_text(goal.view, markup), goal.parsed.title_span
    else:
        return None
    return types.Hover(types.MarkupContent(markup.kind, text), goal.range(span))


def requirement_text(
    goal: GoalView, source: RequirementSource, markup: Markup = MARKDOWN, uris: Mapping[str, str] = NOWHERE
) -> str:
    """What is known of one requirement."""
    one = goal.status(source)
    label = source.requirement.label
    if one is None or goal.view is None:
        checks = ", ".join(markup.code(check.command) for check in source.requirement.checks)
        how = f"decided by {checks}" if checks else "no check is bound: a judge or a person decides"
        return " · ".join([markup.strong(label), "not examined yet", how, *_external(source)])
    names = {name: markup.link(name, uris[name]) if name in uris else name for name in one.evidence_ids}
    parts = [" · ".join([_heading(label, one, markup), *_external(source)]), markup.prose(one.reason)]
    for evidence in goal.evidence_of(one):
        parts.append(_evidence(evidence, names.pop(evidence.id), markup))
    parts += [f"Evidence: {', '.join(names.values())}"] if names else []
    parts += [_stale(goal.view, markup)] if one.status == "stale" and goal.view.stale else []
    note = goal.view.state.waived.get(one.requirement_id)
    parts += [f"Waived by a person: {markup.prose(note)}"] if note else []
    parts += [markup.aside(cost(goal.view.state))]
    return "\n\n".join(part for part in parts if part)


def _external(source: RequirementSource) -> list[str]:
    return ["external: looked at again after every turn"] if source.requirement.external else []


def cost(state: RunState) -> str:
    """Iterations, time and money so far; an unknown price is said to be unknown."""
    usage = state.usage
    money = "cost unknown" if usage.usd is None else f"${usage.usd:.2f}"
    tokens = f", {usage.tokens} tokens" if usage.tokens else ""
    return f"iteration {state.iteration}, {state.elapsed:.0f} s, {money}{tokens}"


def _heading(label: str, one: RequirementView, markup: Markup) -> str:
    marks = [one.status]
    marks += [f"decided by {one.decided_by}"] if one.decided_by is not None else []
    marks += ["flaky"] if one.flaky else []
    marks += ["being proven again"] if one.renewing else []
    return f"{markup.strong(label)} · " + " · ".join(marks)


def _stale(view: RunView, markup: Markup) -> str:
    """Of which content it was proven, and what changed since."""
    changed = (view.present.changed or ()) if view.present is not None else ()
    names = ", ".join(markup.code(path) for path in changed[:MAX_CHANGED])
    more = f" and {len(changed) - MAX_CHANGED} more" if len(changed) > MAX_CHANGED else ""
    since = f"; changed since: {names}{more}" if names else ""
    return f"Was met at revision {markup.code(view.state.revision[:12])}{since}. Check now proves it again."


def _run_text(view: RunView, markup: Markup) -> str:
    state = view.state
    halt = shown_halt(state)
    told = halt_text(halt) if halt is not None else state.reason
    guarded = ", on guard" if state.guard is not None else ""
    status = markup.strong((state.status or "audit") + guarded + (", stale now" if view.stale else ""))
    parts = [status + (f" · {markup.prose(told)}" if told else "")]
    parts += [_stale(view, markup)] if view.stale else []
    return "\n\n".join([*parts, markup.aside(cost(state))])


def _evidence(evidence: Evidence, name: str, markup: Markup) -> str:
    observation = evidence.observation
    if isinstance(observation, CheckResult):
        exit_code = "" if observation.exit_code is None else f", exit {observation.exit_code}"
        line = f"{name} · {markup.code(observation.command)}: {observation.outcome.value}{exit_code}"
        head = f"{line}, {observation.seconds:.1f} s"
        tail = _tail(observation.output)
        return f"{head}\n\n{markup.block(tail)}" if tail and not observation.passed else head
    if isinstance(observation, EditorReport):
        return f"{name} · the editor reports {len(observation.problems)} problems"
    return f"{name} · {type(observation).__name__}"


def _tail(output: str) -> str:
    lines = output.rstrip().splitlines()[-TAIL_LINES:]
    return "\n".join(lines)[-TAIL_CHARACTERS:]
