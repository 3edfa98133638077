"""Hover on a requirement: verdict, reason, evidence, cost. On a key of the front matter: its meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from lsprotocol import types

from donewhen.core.evidence import CheckResult, EditorReport, Evidence, Problem
from donewhen.core.proof_files import ProofBasis
from donewhen.core.state import RunState
from donewhen.core.verdict import GRADES, RequirementView
from donewhen.core.words import listed, money
from donewhen.engine.api import RunView
from donewhen.goalfile.source import RequirementSource
from donewhen.lsp.client import Client
from donewhen.lsp.goal_view import GoalView, goal_view
from donewhen.lsp.navigation import evidence_command, evidence_uris
from donewhen.lsp.proof_basis import MARKDOWN, PLAIN, Markup, proof_basis_text
from donewhen.settings.table import KEYS
from donewhen.wire.snapshot import changed_since, halt_text, shown_halt

MAX_CHANGED = 5
TAIL_LINES = 15
TAIL_CHARACTERS = 1500
MAX_FAILURES = 3
_PROGRESS = re.compile(r"[.FEsxX]+(\s*\[\s*\d+%\])?\s*$")
"""A line of a test runner's progress, such as pytest's dots."""
NOWHERE: Mapping[str, str] = MappingProxyType({})


async def hover(client: Client, params: types.HoverParams) -> types.Hover | None:
    """`textDocument/hover`."""
    goal = await goal_view(client, params.text_document.uri)
    if goal is None:
        return None
    line = params.position.line
    source = goal.requirement_at(line)
    folder, basis = client.host.folder_if_open(goal.place.root), None
    if folder is not None and source is not None and source.requirement.checks:
        of = ("\n".join(goal.lines), goal.view.state.revision if goal.view is not None else "")
        basis = await client.proof_bases.basis_of(folder.runs, goal.place.absolute, goal.place.path, of)
    if not client.profile.markdown:
        return goal_hover(goal, line, PLAIN, basis=basis)
    one = None if source is None else goal.status(source)
    uris = {} if one is None else await evidence_uris(client, goal, one)
    if client.profile.documents and goal.view is not None:
        uris = {name: evidence_command(goal.view.state.run_id, name) for name in uris}
    return goal_hover(goal, line, MARKDOWN, uris, basis)


def goal_hover(
    goal: GoalView,
    line: int,
    markup: Markup = MARKDOWN,
    uris: Mapping[str, str] = NOWHERE,
    basis: ProofBasis | None = None,
) -> types.Hover | None:
    """What is known of the requirement on this line; of the whole run on the title's; what a key of the front matter
    says. `uris` are where evidence can be read, by id; `basis` is what the goal's proof rests on."""
    source, key = goal.requirement_at(line), goal.parsed.key_at(line)
    if key is not None and (setting := KEYS.get(key.text)) is not None:
        said = [setting.sentence, f"Write {setting.expected}.", setting.more]
        # The table is in Markdown, and ours.
        told = [one if markup is MARKDOWN else one.replace("`", "") for one in said if one]
        text, span = "\n\n".join([markup.code(setting.name), *told]), key.span
    elif source is not None:
        text, span = requirement_text(goal, source, markup, uris, basis), source.text_span
    elif goal.parsed.title_span is not None and goal.parsed.title_span.start_line == line and goal.view is not None:
        text, span = _run_text(goal.view, markup), goal.parsed.title_span
    else:
        return None
    return types.Hover(types.MarkupContent(markup.kind, text), goal.range(span))


def requirement_text(
    goal: GoalView,
    source: RequirementSource,
    markup: Markup = MARKDOWN,
    uris: Mapping[str, str] = NOWHERE,
    basis: ProofBasis | None = None,
) -> str:
    """What is known of one requirement."""
    one = goal.status(source)
    rests = [] if basis is None else [proof_basis_text(basis, markup, source.requirement.id)]
    label = source.requirement.label
    external = ["external: checked again after every turn"] if source.requirement.external else []
    if one is None or goal.view is None:
        checks = ", ".join(markup.code(check.command) for check in source.requirement.checks)
        how = f"decided by {checks}" if checks else "without a check, a judge or a person decides"
        unchecked = " · ".join([markup.strong("Not checked yet"), how, label, *external])
        return "\n\n".join(part for part in (unchecked, *rests) if part)
    cited = goal.evidence_of(one)
    names = {name: markup.link(name, uris[name]) if name in uris else name for name in one.evidence_ids}
    marks = [f"decided by a {goal.view.state.decider(one.decided_by)}"] if one.decided_by is not None else []
    marks += [GRADES[one.grade]] if one.grade is not None and one.status == "met" else []
    marks += ["flaky"] if one.flaky else []
    marks += ["being proven again"] if one.renewing else []
    parts = [" · ".join([markup.strong(one.status.capitalize()), *marks, label, *external])]
    parts += [] if _said_by(cited, one) else [markup.prose(one.reason)]
    for evidence in cited:
        parts.append(_evidence_text(evidence, names.pop(evidence.id), markup))
    parts += [f"Evidence: {', '.join(names.values())}"] if names else []
    parts += [_stale(goal.view, markup)] if one.status == "stale" and goal.view.stale else []
    note = goal.view.state.waived.get(one.requirement_id)
    parts += [f"Waived by a person: {markup.prose(note)}"] if note else []
    parts += rests
    legend = f"{label} is the number of this requirement"
    legend += f"; {one.evidence_ids[0]} is evidence: what Done When observed itself" if one.evidence_ids else ""
    parts += [markup.muted(cost(goal.view.state)), markup.muted(legend)]
    return "\n\n".join(part for part in parts if part)


def _said_by(cited: Sequence[Evidence], one: RequirementView) -> bool:
    """Whether the evidence that is shown already contains the whole reason: then the reason isn't repeated."""
    left = one.reason
    for evidence in cited:
        seen = evidence.observation
        if isinstance(seen, CheckResult):
            left = left.replace(f"`{seen.command}`: {seen.reason or 'passed'}", "")
    return left.strip("; ") == ""


def cost(state: RunState) -> str:
    """Iterations, time and money so far; an unknown price is called unknown, and no price is shown without a model."""
    usage = state.usage
    turns = f"iteration {state.iteration}" if state.iteration else ""
    took = f"{state.elapsed:.0f} s" if turns else f"took {state.elapsed:.0f} s"
    price = money(usage.usd) if usage.usd != 0 or usage.tokens else ""
    tokens = f"{usage.tokens} tokens" if usage.tokens else ""
    return ", ".join(part for part in (turns, took, price, tokens) if part)


def _stale(view: RunView, markup: Markup) -> str:
    """Which content was proven, and what has changed since."""
    names = listed([markup.code(path) for path in changed_since(view)], MAX_CHANGED)
    since = f"; changed since: {names}" if names else ""
    return f"Was met at revision {markup.code(view.state.revision[:12])}{since}. “Check Now” tries to prove it again."


def _run_text(view: RunView, markup: Markup) -> str:
    state = view.state
    halt = shown_halt(state)
    told = halt_text(halt) if halt is not None else state.lifecycle.reason
    guarded = ", on guard" if state.guard is not None else ""
    status = markup.strong(
        (state.status or "checked").replace("_", " ").capitalize() + guarded + (", stale now" if view.stale else "")
    )
    parts = [status + (f" · {markup.prose(told)}" if told else "")]
    parts += [_stale(view, markup)] if view.stale else []
    return "\n\n".join([*parts, markup.muted(cost(state))])


def _evidence_text(evidence: Evidence, name: str, markup: Markup) -> str:
    """What failed first, then what was run and how it ended."""
    observation = evidence.observation
    if isinstance(observation, CheckResult):
        errors = [one for one in observation.problems if one.severity == "error" and one.message.strip()]
        named = [] if observation.passed else errors[:MAX_FAILURES]
        how, totals = observation.reason, observation.totals
        if named and totals is not None and totals.failed:
            # Without what the assertions above already say.
            how = f"{totals.failed} of {totals.executed} test{'' if totals.executed == 1 else 's'} failed"
        how = markup.prose(how) or observation.outcome.value
        line = f"{name} · {markup.code(observation.command)}: {how}, {observation.seconds:.1f} s"
        failed = "" if observation.passed else _failure(observation, named)
        return f"{markup.block(failed)}\n\n{line}" if failed else line
    if isinstance(observation, EditorReport):
        return f"{name} · {observation.told}"
    return f"{name} · {type(observation).__name__}"


def _failure(observation: CheckResult, named: Sequence[Problem]) -> str:
    """The failed assertions, with their positions; if the check names none, the end of its output."""
    if named:
        text = "\n".join(f"{one.path}:{one.line + 1}: {one.message.strip()}" for one in named)
        return "\n".join(text.splitlines()[:TAIL_LINES])[:TAIL_CHARACTERS]
    text = "\n".join(line for line in observation.output.rstrip().splitlines() if not _PROGRESS.match(line))
    return "\n".join(text.splitlines()[-TAIL_LINES:])[-TAIL_CHARACTERS:]
