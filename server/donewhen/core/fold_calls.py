"""How calls to models, and what was said in them, change a run's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from donewhen.core import calls as c
from donewhen.core.changing import replace
from donewhen.core.hints import hint_in, without
from donewhen.core.state import RunState
from donewhen.core.work import UNKNOWN, Usage


def call_started(state: RunState, event: c.CallStarted, at: float) -> RunState:
    return replace(state, open_calls={**state.open_calls, event.call_id: event}, call_count=state.call_count + 1)


def call_finished(state: RunState, event: c.CallFinished, at: float) -> RunState:
    """Counted once; what arrives after the call was written off changes nothing."""
    started = state.open_calls.get(event.call_id)
    if started is None:
        return state
    counted = _spent(state, started, event.usage)
    if event.message is None or started.role != "worker" or state.turn is None:
        return counted
    return replace(counted, conversation=(*counted.conversation, event.message))


def message_kept(state: RunState, event: c.MessageKept, at: float) -> RunState:
    kept = replace(state, conversation=(*state.conversation, event.message))
    read = hint_in(event.message)
    if read is None:
        return kept
    return replace(kept, hints=without(state.hints, read), hints_read=(*state.hints_read, read))


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


def worker_paid(state: RunState, usage: Usage) -> RunState:
    """What the worker's turn cost, or a part of it."""
    return replace(
        state,
        worker_spent=state.worker_spent + usage,
        unfinished_usage=state.unfinished_usage + usage,
        known_usd=state.known_usd + (usage.usd or 0.0),
    )


def judge_paid(state: RunState, usage: Usage) -> RunState:
    """What asking the judge cost: it is the latest iteration's."""
    iterations = state.iterations
    if iterations:
        iterations = (*iterations[:-1], replace(iterations[-1], usage=iterations[-1].usage + usage))
    return replace(
        state,
        judge_usage=state.judge_usage + usage,
        known_usd=state.known_usd + (usage.usd or 0.0),
        iterations=iterations,
    )


def unreported(state: RunState) -> RunState:
    """An open turn ended without saying what it cost: that of a worker whom nobody accounts for is unknown."""
    return state if state.turn is None or state.options.metered else worker_paid(state, UNKNOWN)


def _spent(state: RunState, started: c.CallStarted, usage: Usage) -> RunState:
    left = {key: call for key, call in state.open_calls.items() if key != started.call_id}
    paid = judge_paid if started.role == "judge" else worker_paid
    return paid(replace(state, open_calls=left), usage)


FOLDS: dict[type, Callable[[RunState, Any, float], RunState]] = {
    c.CallStarted: call_started,
    c.CallFinished: call_finished,
    c.MessageKept: message_kept,
    c.ToolStarted: tool_started,
    c.ToolFinished: tool_finished,
    c.ConversationCompacted: compacted,
    c.BudgetReached: budget_reached,
}
