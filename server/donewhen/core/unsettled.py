"""Files that go on changing without a worker or a person: a build left running, a log, a check that rewrites a source.

A proof holds for the files that it was made with, so such a run would audit for ever, or pay a worker for what no
worker may be able to stop. The state counts in how many audits in a row nothing but that was in the way, and
`endless` says when it is enough.
"""

from __future__ import annotations

from donewhen.core import events as e
from donewhen.core.changing import replace
from donewhen.core.evidence import CheckResult
from donewhen.core.proof import assess, bound_checks, needed_checks
from donewhen.core.state import RunState, Unsettled
from donewhen.core.verdict import PROVEN

ENOUGH = 3
"""Audits in a row after which a run may end."""
PATIENCE = 60.0
"""Seconds of work that are given to what may end by itself, such as a build, where no worker is paid meanwhile."""
MAX_PATHS = 10


def changed(before: RunState, after: RunState, event: e.RevisionChanged) -> RunState:
    """`after` another revision came. A person's edit resets the count; a worker's own changes say nothing."""
    if event.by == "person":
        return replace(after, unsettled=None)
    if event.by != "check" or before.turn is not None:
        return after
    known = before.unsettled or Unsettled(since=after.elapsed, turn=before.turns_ended)
    paths = tuple(dict.fromkeys((*event.paths, *known.paths)))[:MAX_PATHS]
    # Everything was proven, and is to be proven again: the last look and the trials find such changes.
    undone = before.audit is None and all(view.status in PROVEN for view in assess(before))
    return replace(after, unsettled=replace(known, audits=known.audits + undone, paths=paths))


def audited(state: RunState) -> RunState:
    """After an audit: counted where all that it ran passed, and files changed too often for that to be a proof."""
    known = state.unsettled
    if known is None:
        return state
    results = [state.results.get(check.id) for check in bound_checks(state)]
    passed = all(
        one is not None and isinstance(one.observation, CheckResult) and one.observation.passed for one in results
    )
    if not passed or state.flaky:
        return replace(state, unsettled=None)
    if needed_checks(state):
        return replace(state, unsettled=replace(known, audits=known.audits + 1))
    return state if known.audits else replace(state, unsettled=None)


def endless(state: RunState, seconds: float) -> str | None:
    """Why the run ends, so many seconds of work after its last entry; None where it may go on. Workers have been told
    by then, as often as a run may repeat itself (`stall_after`)."""
    known, stall = state.unsettled, state.limit("stall_after")
    if known is None or known.audits < ENOUGH or state.mode != "pursue" or state.persons_work:
        return None
    # The turn before the first of these audits is one of those that came to nothing else.
    turns = state.turns_ended - max(0, known.turn - 1)
    if state.elapsed_after(seconds) - known.since < PATIENCE and (stall is None or turns < stall):
        return None
    listed = ", ".join(known.paths[:3]) + (f" and {len(known.paths) - 3} more" if len(known.paths) > 3 else "")
    return (
        f"nothing can be proven while files go on changing ({listed or 'which ones is not known'}): end what writes"
        " them, or have git ignore them, then resume"
    )
