"""How trials change a run's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from donewhen.core import events as e
from donewhen.core.changing import replace
from donewhen.core.fold_audit import known_finding
from donewhen.core.fold_calls import judge_paid, written_off
from donewhen.core.integrity_facts import PROOF_FINDINGS, TRIAL_FINDINGS
from donewhen.core.state import KnownFinding, RunState, Tried


def _started(state: RunState, event: e.TrialsStarted, at: float) -> RunState:
    return replace(state, trying=True, trials=())


def _finished(state: RunState, event: e.TrialsFinished, at: float) -> RunState:
    """What was tried at a revision that is no more says nothing."""
    ended = judge_paid(written_off(replace(state, trying=False), "judge"), event.usage)
    if event.revision != state.revision:
        return ended
    found = {**state.found, **{f.key: state.found.get(f.key, state.turns_ended) for f in event.findings}}
    ids = dict(state.finding_ids)
    known = replace(ended, found=found)
    read = tuple(one for one in state.findings if one.finding.kind not in TRIAL_FINDINGS)
    tried = tuple(known_finding(known, finding, ids) for finding in event.findings)
    return replace(
        known,
        tried=Tried(event.revision, event.findings, event.grades, event.changed, event.advice),
        findings=(*read, *tried),
        finding_ids=ids,
    )


def _abandoned(state: RunState, event: e.TrialsAbandoned, at: float) -> RunState:
    return replace(written_off(state, "judge"), trying=False)


def accepted(state: RunState, known: KnownFinding, *, undo: bool) -> RunState:
    """A person who accepts what a trial found takes the proof as it is now for the original; see `RunState.agreed`."""
    if known.finding.kind not in PROOF_FINDINGS or state.tried is None:
        return state
    changed = dict.fromkeys(state.tried.changed, "")
    if undo:
        return replace(state, agreed={path: kept for path, kept in state.agreed.items() if path not in changed or kept})
    return replace(state, agreed={**state.agreed, **changed})


FOLDS: Mapping[type, Callable[[RunState, Any, float], RunState]] = {
    e.TrialsStarted: _started,
    e.TrialsFinished: _finished,
    e.TrialsAbandoned: _abandoned,
}
