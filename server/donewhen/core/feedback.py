"""What a worker is told about an audit: exactly what is not proven, why, and where (C3).

Everything in it is the server's own observation. It is bounded; where something is cut, the cut is marked and the
end is kept, since the end of a runner's output is what decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from donewhen.core.evidence import CheckResult, EditorReport, Evidence, ObservedCommand, Outcome, Problem
from donewhen.core.goal import Goal, Requirement
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.verdict import RequirementView

PROVEN = ("met", "waived")
MAX_LOCATIONS = 20
MAX_MESSAGE = 400
MAX_REASON = 2_000
MAX_OUTPUT = 3_000
MAX_FEEDBACK = 40_000

INSPECT = (
    "Look at the workspace as it is now, not at what you remember of it: files may have changed since your last turn. "
    "Keep the whole objective in view; what is proven must stay proven."
)


def feedback_text(
    goal: Goal,
    views: Sequence[RequirementView],
    locations: Mapping[str, Sequence[Problem]] | None = None,
    *,
    findings: Sequence[IntegrityFinding] = (),
    outputs: Mapping[str, str] | None = None,
) -> str:
    """The feedback of one audit for the worker's next turn.

    `locations` and `outputs` are by requirement id, see `locations_of` and `outputs_of`; `findings` are the open
    integrity findings. Names every requirement that is neither met nor waived, and no other.
    """
    blocks = [
        _requirement(requirement, view, (locations or {}).get(requirement.id, ()), (outputs or {}).get(requirement.id))
        for requirement, view in unproven(goal, views)
    ]
    parts: list[str] = []
    if blocks:
        parts.append(f"Not proven yet, {len(blocks)} of {len(goal.requirements)} requirements:")
        parts.extend(blocks)
    if findings:
        parts.append(_findings(findings))
    parts.append(INSPECT)
    return keep_ends("\n\n".join(parts), MAX_FEEDBACK)


def feedback_key(goal: Goal, views: Sequence[RequirementView], findings: Sequence[IntegrityFinding] = ()) -> str:
    """A digest that is equal where two audits told the worker the same (A14).

    Evidence ids, times and output differ from run to run of a check and are left out.
    """
    told = [f"{r.id}\0{view.status}\0{view.reason}" for r, view in unproven(goal, views)]
    told += sorted(f"{finding.key}\0{finding.fact}" for finding in findings)
    return hashlib.sha256("\n".join(told).encode(errors="replace")).hexdigest()


def unproven(goal: Goal, views: Sequence[RequirementView]) -> list[tuple[Requirement, RequirementView]]:
    """The requirements that are neither met nor waived, in the goal's order; without a view: unverified."""
    by_id = {view.requirement_id: view for view in views}
    found: list[tuple[Requirement, RequirementView]] = []
    for requirement in goal.requirements:
        view = by_id.get(requirement.id)
        if view is None:
            view = RequirementView(requirement.id, requirement.number, "unverified", "nothing is known about it yet")
        if view.status not in PROVEN:
            found.append((requirement, view))
    return found


def locations_of(views: Sequence[RequirementView], evidence: Mapping[str, Evidence]) -> dict[str, tuple[Problem, ...]]:
    """The places that the cited evidence names, by requirement id; `evidence` is by evidence id."""
    found: dict[str, tuple[Problem, ...]] = {}
    for view in views:
        places = [place for cited in _cited(view, evidence) for place in _places(cited)]
        if places:
            found[view.requirement_id] = tuple(dict.fromkeys(places))
    return found


def outputs_of(views: Sequence[RequirementView], evidence: Mapping[str, Evidence]) -> dict[str, str]:
    """The end of what the cited checks that did not pass printed, by requirement id."""
    found: dict[str, str] = {}
    for view in views:
        for cited in _cited(view, evidence):
            output = _failed_output(cited)
            if output.strip():
                found[view.requirement_id] = output
    return found


def keep_ends(text: str, limit: int) -> str:
    """At most `limit` characters of text: a quarter from its head, the rest from its tail, the cut marked (A12)."""
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    return f"{text[:head]}\n[... {len(text) - limit} characters cut ...]\n{text[-tail:]}"


def _cited(view: RequirementView, evidence: Mapping[str, Evidence]) -> list[Evidence]:
    return [evidence[key] for key in view.evidence_ids if key in evidence]


def _failed_output(evidence: Evidence) -> str:
    seen = evidence.observation
    if isinstance(seen, CheckResult):
        return "" if seen.outcome is Outcome.PASSED else seen.output
    return seen.output if isinstance(seen, ObservedCommand) and seen.exit_code != 0 else ""


def _places(evidence: Evidence) -> list[Problem]:
    seen = evidence.observation
    if isinstance(seen, EditorReport):
        return list(seen.problems)
    if not isinstance(seen, CheckResult):
        return []
    failed = [test for test in seen.tests if test.outcome in ("failed", "error") and test.path is not None]
    tests = [Problem(test.path or "", test.line or 0, f"{test.name}: {test.message}".rstrip(": ")) for test in failed]
    return [*tests, *seen.problems]


def _requirement(requirement: Requirement, view: RequirementView, places: Sequence[Problem], output: str | None) -> str:
    lines = [f"{requirement.label} ({view.status}): {requirement.text}"]
    if view.reason.strip():
        lines.append(f"  why: {_indented(keep_ends(view.reason.strip(), MAX_REASON), 7)}")
    if view.evidence_ids:
        lines.append(f"  evidence: {', '.join(view.evidence_ids)}")
    lines.extend(f"  check: {check.command}" for check in requirement.checks)
    lines.extend(f"  at {place}" for place in _bounded(places))
    if output and output.strip():
        lines.append(f"  printed:\n    {_indented(keep_ends(output.strip(), MAX_OUTPUT), 4)}")
    return "\n".join(lines)


def _bounded(places: Sequence[Problem]) -> list[str]:
    """One line for each place, `path:line: message` with lines from 1; the last ones where there are too many."""
    lines = [f"{place.path}:{place.line + 1}: {_one_line(place.message)}" for place in places]
    cut = len(lines) - MAX_LOCATIONS
    return lines if cut <= 0 else [f"[... {cut} more places cut ...]", *lines[-MAX_LOCATIONS:]]


def _findings(findings: Sequence[IntegrityFinding]) -> str:
    lines = ["The proof itself was changed; undo this, or a person has to accept it:"]
    lines.extend(f"  {f.path}:{f.line + 1}: {f.kind}: {_one_line(f.message)}" for f in findings)
    return "\n".join(lines)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_MESSAGE else f"{line[: MAX_MESSAGE // 4]} [...] {line[-MAX_MESSAGE * 3 // 4 :]}"


def _indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)
