"""How calls to models, and what was said in them, change a run's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from donewhen.core import calls as c
from donewhen.core.changing import replace
from donewhen.core.state import IterationRecord, RunState
from donewhen.core.work import Usage


def call_started(state: RunState, event: c.CallStarted, at: float) -> RunState:
    return replace(state, open_calls={**state.open_calls, event.call_id: event}, call_count=state.call_count + 1)


def call_finished(state: RunState, event: c.CallFinished, at: float) -> RunState:
    """Counted once; what comes after the call was written off changes nothing (C19)."""
    started = state.open_calls.get(event.call_id)
    if started is None:
        return state
    counted = _spent(state, started, event.usage)
    if event.message is None or started.role != "worker" or state.turn is None:
        return counted
    return replace(counted, conversation=(*counted.conversation, event.message))


def message_kept(state: RunState, event: c.MessageKept, at: float) -> RunState:
    return replace(state, conversation=(*state.conversation, event.message))


def tool_started(state: RunState, event: c.ToolStarted, at: float) -> RunState:
    return state


def tool_finished(state: RunState, event: c.ToolFinished, at: float) -> RunState:
    return replace(state, conversation=(*state.conversation, event.message))


def compacted(state: RunState, event: c.ConversationCompacted, at: float) -> RunState:
    return replace(state, conversation=event.messages)


def budget_reached(state: RunState, event: c.BudgetReached, at: float) -> RunState:
    return replace(state, unaffordable=event.reason)


def written_off(state: RunState, role: c.CallRole) -> RunState:
    """Calls that were cut off count as what their prompts cost: nobody tells more."""
    for started in [call for call in state.open_calls.values() if call.role == role]:
        state = _spent(state, started, started.prompt)
    return state


def charged(state: RunState, usage: Usage) -> tuple[IterationRecord, ...]:
    """The records with the judge's usage added to the latest iteration (A16)."""
    if not state.iterations:
        return state.iterations
    latest = state.iterations[-1]
    return (*state.iterations[:-1], replace(latest, usage=latest.usage + usage))


def _spent(state: RunState, started: c.CallStarted, usage: Usage) -> RunState:
    left = {key: call for key, call in state.open_calls.items() if key != started.call_id}
    if started.role == "judge":
        return replace(state, open_calls=left, judge_usage=state.judge_usage + usage, iterations=charged(state, usage))
    return replace(
        state,
        open_calls=left,
        worker_usage=state.worker_usage + usage,
        unfinished_usage=state.unfinished_usage + usage,
    )


FOLDS: dict[type, Callable[[RunState, Any, float], RunState]] = {
    c.CallStarted: call_started,
    c.CallFinished: call_finished,
    c.MessageKept: message_kept,
    c.ToolStarted: tool_started,
    c.ToolFinished: tool_finished,
    c.ConversationCompacted: compacted,
    c.BudgetReached: budget_reached,
}
