"""The receipt on a few lines, for a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from donewhen.core.evidence import CheckResult, Evidence
from donewhen.core.goal import Requirement
from donewhen.core.state import KnownFinding, RunState
from donewhen.core.summary import room_text
from donewhen.core.verdict import GRADES, RequirementView
from donewhen.core.words import counted, shortened
from donewhen.engine.api import RunView
from donewhen.wire.reports.markdown import (
    SHORT,
    act_text,
    code,
    edits_text,
    headline,
    mark,
    observed,
    place,
    plain_line,
    proven,
    spent,
    stale_lines,
    table_row,
    undone_text,
    when,
    why,
)

MAX_LINES = 15
MAX_ROWS = 6
"""Requirements that are shown; the rest is counted, those that are not proven before those that are."""
MAX_TEXT = 160
MAX_REASON = 400
"""Characters of why a run is not complete: it may name the command that goes on."""
MAX_ACTS = 4
"""As many findings of a kind are shown, too."""
_SHOWN = ("waived", "accepted", "took back", "put back")
"""What stands in for proof, or changed the files."""
_UNPROVEN_FIRST = ("unmet", "regressed", "stale", "unverified", "waived", "met")


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """At most 15 lines of Markdown: the objective, each requirement with its check and result, when and how long, cost
    and revision. What a person waived or accepted is never said to be proven."""
    state = view.state
    head = f"**{plain_line(_cut(state.goal.title))}**: {headline(view)}, {proven(view)}"
    acts = [act_text(one) for one in state.acts if one.what.startswith(_SHOWN)]
    more = [f"and {len(acts) - MAX_ACTS} more before"] if len(acts) > MAX_ACTS else []
    acted = [f"By people: {'; '.join([*map(_cut, acts[-MAX_ACTS:]), *more])}"] if acts else []
    reason = plain_line(_cut(why(state), MAX_REASON))
    below = [*([reason] if reason else []), *_finding_lines(state)]
    below += [_facts(view), *acted, *(line for line in stale_lines(view) if line)]
    # The line and its blank one for the head, the two of the table's head, and the blank one after the table.
    room = MAX_LINES - 5 - len(below)
    objective = plain_line(_cut(state.goal.objective))
    told = [objective, ""] if objective and objective != plain_line(_cut(state.goal.title)) else []
    if min(len(view.views), MAX_ROWS + 1) > room - len(told):
        told = []  # the requirements say more
    table = ["| | Requirement | Check | Result |", "|---|---|---|---|", *_rows(view, evidence, room - len(told)), ""]
    return "\n".join([head, "", *told, *table, *below]) + "\n"


def _finding_lines(state: RunState) -> list[str]:
    """A line for what is open, and one for what a person accepted, which is not proven by that."""
    standing = [f"{_finding_place(one)}: {plain_line(_cut(one.finding.message))}" for one in state.open_findings]
    accepted = [
        f"{_finding_place(one)}" + (f" ({plain_line(_cut(one.reason))})" if one.reason else "")
        for one in state.present_findings
        if one.by_a_person
    ]
    undone = [undone_text(one) for one in state.undone_findings]
    lines: list[str] = []
    for name, found in (
        ("Open findings", standing),
        ("Accepted by a person, not proven", accepted),
        ("Refused on the way", undone),
    ):
        more = [f"and {len(found) - MAX_ACTS} more"] if len(found) > MAX_ACTS else []
        lines += [f"{name}: {'; '.join([*found[:MAX_ACTS], *more])}"] if found else []
    return lines


def _finding_place(known: KnownFinding) -> str:
    return f"{known.id} {known.finding.kind} at {place(known.finding)}"


def _rows(view: RunView, evidence: Mapping[str, Evidence], room: int) -> list[str]:
    """As many rows as there is room for, with that of how many more there are."""
    known = {one.id: one for one in view.state.goal.requirements}
    most = min(MAX_ROWS, room if len(view.views) <= room else room - 1)
    kept = sorted(view.views, key=lambda one: _UNPROVEN_FIRST.index(one.status))[:most]
    shown = [one for one in view.views if one in kept]
    rows = [_requirement_row(view.state, known[one.requirement_id], one, evidence) for one in shown]
    more = len(view.views) - len(shown)
    return [*rows, f"| | and {more} more | | |"] if more else rows


def _requirement_row(
    state: RunState, requirement: Requirement, one: RequirementView, evidence: Mapping[str, Evidence]
) -> str:
    cited = [found for identity in one.evidence_ids if (found := evidence.get(identity)) is not None]
    checks = [seen for found in cited if isinstance(seen := found.observation, CheckResult)]
    how = ", ".join(code(_cut(seen.command)) for seen in checks) or (
        f"a {state.decider(one.decided_by)}" if one.decided_by else ""
    )
    result = "; ".join(seen.reason or seen.outcome.value for seen in checks) if checks else one.reason
    if not checks and one.status == "met" and cited:
        result = "; ".join(observed(found) for found in cited)
    sign, word = mark(one).split(" ", 1)
    told = plain_line(_cut(result.removeprefix(f"{one.status}: ")))
    graded = f" ({GRADES[one.grade]})" if one.grade is not None else ""
    if one.refused:
        told += ", but a trial refuses it"
    said = f"{told}{graded}" if one.status == "met" else f"{word}: {told}"
    return table_row(sign, plain_line(_cut(requirement.text)), how, said)


def _facts(view: RunView) -> str:
    state = view.state
    turns = [counted(state.iteration, "iteration")] if state.iteration else []
    worked = [where for where in (room_text(state.options), spent(state)) if where]
    turns += [f"changed {edits_text(view.edits)}"] if view.edits else []
    parts = [when(state.updated_at), f"{state.elapsed:.0f} s", *turns, *(worked if state.mode == "pursue" else [])]
    return " · ".join([*parts, f"revision {code(state.revision[:SHORT])}", f"run {code(state.run_id)}"])


def _cut(value: str, most: int = MAX_TEXT) -> str:
    return shortened(value, most)
