"""How a guard changes a run's state."""

from __future__ import annotations

from donewhen.core import events as e
from donewhen.core.changing import replace
from donewhen.core.evidence import CheckResult, Evidence
from donewhen.core.guarding import MAX_EDITS, Edit, Guard
from donewhen.core.proof import assess, guardable
from donewhen.core.state import RunState
from donewhen.core.work import Actor


def guard_set(state: RunState, event: e.GuardSet, at: float) -> RunState:
    return on_guard(state, at, event.by) if guardable(state) else state


def on_guard(state: RunState, at: float, by: str) -> RunState:
    """The state from which on what is met counts as proven: it must not get lost unnoticed."""
    good = {view.requirement_id: state.revision for view in assess(state) if view.status == "met"}
    return replace(state, guard=Guard(at, by, good))


def guard_lifted(state: RunState, event: e.GuardLifted, at: float) -> RunState:
    return replace(state, guard=None, audit=None)


def edited(state: RunState, event: e.RevisionChanged) -> RunState:
    """What changed since the requirements were met, bounded: the oldest edits become one."""
    guard = state.guard
    if guard is None:
        return state
    edits = (*guard.edits, Edit(event.revision, event.paths, event.by, event.total))
    if len(edits) > MAX_EDITS:
        first, second = edits[0], edits[1]
        by: Actor = first.by if first.by == second.by else "check"
        paths = tuple(dict.fromkeys((*first.paths, *second.paths)))
        edits = (Edit(second.revision, paths, by, len(paths)), *edits[2:])
    return replace(state, guard=replace(guard, edits=edits, failed={}))


def examined(state: RunState, evidence: Evidence, result: CheckResult) -> RunState:
    """Counts how often a check failed at one revision: once may be chance."""
    guard = state.guard
    if guard is None:
        return state
    failed = {key: times for key, times in guard.failed.items() if key != result.check_id}
    if result.outcome.decides and not result.passed and evidence.fresh(state.revision):
        failed[result.check_id] = guard.failed.get(result.check_id, 0) + 1
    return replace(state, guard=replace(guard, failed=failed))


def concluded(state: RunState, at: float) -> RunState:
    """After an audit: what is met again is good, what fails that was met has regressed."""
    guard = state.guard
    if guard is None:
        return state
    views = assess(replace(state, guard=None))
    good, regressions = dict(guard.good), dict(guard.regressions)
    for view in views:
        key = view.requirement_id
        if view.status == "met":
            good[key] = state.revision
            regressions.pop(key, None)
        elif view.status == "unmet" and key in good and key not in regressions:
            regressions[key] = guard.between(good[key], state.revision, at)
    known = {view.requirement_id for view in views}
    good = {key: value for key, value in good.items() if key in known}
    regressions = {key: value for key, value in regressions.items() if key in known}
    settled = all(value == state.revision for value in good.values())
    edits = () if settled else guard.edits
    return replace(state, guard=replace(guard, good=good, regressions=regressions, edits=edits))
