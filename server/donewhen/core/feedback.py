"""The feedback of an audit to the worker: exactly what is not proven, why, and where.

Everything in it is the server's own observation. It is bounded; where something is cut, the cut is marked and the
end is kept, since the end of a runner's output is what decides.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from donewhen.core.evidence import CheckResult, Evidence, Problem
from donewhen.core.failure_text import clipped
from donewhen.core.goal import Goal, Requirement
from donewhen.core.integrity import PROOF_FINDINGS, IntegrityFinding
from donewhen.core.verdict import PROVEN, RequirementView

MASK = "[masked]"
"""What stands for a secret in whatever is stored, shown or sent."""

MAX_LOCATIONS = 20
MAX_MESSAGE = 400
MAX_REASON = 2_000
MAX_OUTPUT = 3_000
MAX_FEEDBACK = 40_000

INSPECT = (
    "Look at the workspace as it is now, not at what you remember of it: files may have changed since your last turn."
)
CHANGED_PROOF = "The proof itself was changed. Undo the change, or a person has to accept it:"
HELD_OUT = "A check that you can't see has to pass as well. Fix what its name describes, or a person has to accept it:"
WANTED = "If the goal calls for a change to a test, say so in the report of your turn: a person is then asked, once."
KEEP = "Keep the whole objective in view; what is proven must stay proven."


def feedback_text(
    goal: Goal,
    views: Sequence[RequirementView],
    locations: Mapping[str, Sequence[Problem]] | None = None,
    *,
    findings: Sequence[IntegrityFinding] = (),
    outputs: Mapping[str, str] | None = None,
) -> str:
    """The feedback of one audit for the worker's next turn.

    `locations` and `outputs` are by requirement id, see `outputs_of`; `findings` are the open integrity findings.
    Names every requirement that is neither met nor waived, and no other.
    """
    places, printed = locations or {}, outputs or {}
    blocks = [
        _requirement_feedback(requirement, view, places.get(requirement.id, ()), printed.get(requirement.id, ""))
        for requirement, view in unproven(goal, views)
    ]
    parts: list[str] = []
    if blocks:
        parts.append(f"Not proven yet, {len(blocks)} of {len(goal.requirements)} requirements:")
        parts.extend(blocks)
    for heading, held_out in ((CHANGED_PROOF, False), (HELD_OUT, True)):
        of_kind = [one for one in findings if (one.kind == "held_out_fails") is held_out]
        if of_kind:
            parts.append(_findings_feedback(heading, of_kind))
    parts.append(f"{INSPECT} {KEEP}" if goal.about == "workspace" else KEEP)
    return keep_ends("\n\n".join(parts), MAX_FEEDBACK)


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


def outputs_of(views: Sequence[RequirementView], evidence: Mapping[str, Evidence]) -> dict[str, str]:
    """What the last failed check that each view cites printed, by requirement id; `evidence` is by evidence id."""
    printed: dict[str, str] = {}
    for view in views:
        seen = [evidence[key].observation for key in view.evidence_ids if key in evidence]
        failed = [check for check in seen if isinstance(check, CheckResult) and not check.passed]
        if failed and failed[-1].output.strip():
            printed[view.requirement_id] = failed[-1].output.strip()
    return printed


def keep_ends(text: str, limit: int) -> str:
    """At most `limit` characters of text: a quarter from its head, the rest from its tail, the cut marked."""
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    return f"{text[:head]}\n[... {len(text) - limit} characters cut ...]\n{text[-tail:]}"


MOST_LINES = 4_000
"""Lines between the first and the last that changed in a diff that is worked out."""
_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def changed_lines(old: Sequence[str], new: Sequence[str], around: int = 3) -> list[str]:
    """The hunks of a unified diff, whose lines are as they were given. What is alike at both ends is left out before
    lines are compared, and what is too long to be compared is only said to differ: that would take minutes."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    first, last = max(head - around, 0), max(tail - around, 0)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(old), len(new)) > MOST_LINES:
        return [f"@@ -{first + 1},{len(old)} +{first + 1},{len(new)} @@", "(too long to be compared line by line)"]
    lines = list(difflib.unified_diff(old, new, n=around, lineterm=""))[2:]
    for at, line in enumerate(lines):
        if (heading := _HUNK.match(line)) is not None:  # it counts from where what is compared begins
            was_at, was_size, now_at, now_size = heading.groups(default="")
            lines[at] = f"@@ -{int(was_at) + first}{was_size} +{int(now_at) + first}{now_size} @@"
    return lines


def _requirement_feedback(
    requirement: Requirement, view: RequirementView, places: Sequence[Problem], output: str
) -> str:
    lines = [f"{requirement.label} ({view.status}): {requirement.text}"]
    if view.reason.strip():
        lines.append(f"  why: {_indented(keep_ends(view.reason.strip(), MAX_REASON), 7)}")
    if view.evidence_ids:
        lines.append(f"  evidence: {', '.join(view.evidence_ids)}")
    lines.extend(f"  check: {check.command}" for check in requirement.checks)
    # Without those that the reason names; the last ones where there are too many.
    left = [one for one in places if f"{one.path}:{one.line + 1}: {clipped(one.message)}" not in view.reason]
    if len(left) > MAX_LOCATIONS:
        lines.append(f"  at [... {len(left) - MAX_LOCATIONS} more places cut ...]")
    lines.extend(f"  at {one.path}:{one.line + 1}: {_one_line(one.message)}" for one in left[-MAX_LOCATIONS:])
    if output.strip():
        lines.append(f"  printed:\n    {_indented(keep_ends(output.strip(), MAX_OUTPUT), 4)}")
    return "\n".join(lines)


def _findings_feedback(heading: str, findings: Sequence[IntegrityFinding]) -> str:
    """Each with its diff, unless one before it has the same."""
    lines = [heading]
    shown: set[str] = {""}
    for finding in findings:
        place = f"{finding.path}:{finding.line + 1}: " if finding.path else ""
        lines.append(f"  {place}{finding.kind}: {_one_line(finding.message)}")
        diff = finding.diff.strip("\n")
        if diff not in shown:
            shown.add(diff)
            lines.append(f"    {_indented(keep_ends(diff, MAX_OUTPUT), 4)}")
    if any(finding.kind in PROOF_FINDINGS for finding in findings):
        lines.append(WANTED)
    return "\n".join(lines)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_MESSAGE else f"{line[: MAX_MESSAGE // 4]} [...] {line[-MAX_MESSAGE * 3 // 4 :]}"


def _indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)
