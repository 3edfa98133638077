"""How plugins, halts and the start summary change a run's state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from donewhen.core import plugging as p
from donewhen.core.calls import Message, ToolCall
from donewhen.core.changing import replace
from donewhen.core.fold_calls import unreported, written_off
from donewhen.core.state import OpenTurn, Resuming, RunState
from donewhen.core.work import RunWarning


def run_halted(state: RunState, event: p.RunHalted, at: float) -> RunState:
    """The loop stands still: an open turn goes on where it is, an audit that had begun is not counted."""
    state = written_off(written_off(state, "worker"), "judge")
    if event.halt.stage == "turn":
        state = unreported(state)
    turn = state.turn
    return replace(
        state,
        halt=event.halt,
        reason=event.halt.reason,
        redo=replace(turn, suspended=True) if turn is not None else state.redo,
        turn=None,
        audit=None,
        audit_due=state.audit_due or state.audit is not None,
        judging=(),
        resuming=None,
        late_answers={},
        last_alive=at,
    )


def halt_resumed(state: RunState, event: p.HaltResumed, at: float) -> RunState:
    """The answers and results that the halt had kept go on with the turn."""
    if state.halt is None:
        return state
    directive = replace(event.directive, completed={**state.halt.completed, **event.directive.completed})
    return replace(state, halt=None, reason="", resuming=Resuming(state.halt, directive))


def plugin_state_set(state: RunState, event: p.PluginStateSet, at: float) -> RunState:
    kept = {name: value for name, value in state.plugin_states.items() if name != event.plugin}
    if event.state is not None:
        kept[event.plugin] = event.state
    return replace(state, plugin_states=kept)


def plugin_off(state: RunState, event: p.PluginOff, at: float) -> RunState:
    said = f"the plugin {event.plugin} failed in {event.hook} and is switched off for this run: {event.reason}"
    warning = RunWarning("plugin_failed", said)
    return replace(
        state,
        plugins_off={**state.plugins_off, event.plugin: f"{event.hook}: {event.reason}"},
        warnings=(*state.warnings, warning),
    )


def pending_calls(conversation: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the model's last message that have no result yet; none where it called nothing."""
    answered: list[str] = []
    for message in reversed(conversation):
        if message.role == "tool":
            answered.append(message.answers)
            continue
        if message.role != "assistant":
            return ()
        left = list(message.calls)
        for identity in answered:
            found = next((call for call in left if call.id == identity), None)
            if found is not None:
                left.remove(found)
        return tuple(left)
    return ()


def standing_still(state: RunState) -> bool:
    """True if the open turn waits for a person about a tool call that had no effect yet: nothing is lost by going
    on from there, and no model call is repeated."""
    asking = any(one.about.startswith(("tool:", "plugin:")) for one in state.interrupts)
    return asking and bool(pending_calls(state.conversation))


def unread_again(state: RunState) -> dict[str, tuple[str, ...]]:
    """The hints once the open turn is cut off: where it runs again from its beginning, what it had read is lost."""
    cut = cut_turn(state)
    if cut is None or cut.suspended:
        return {}
    return {"hints": (*state.hints_read, *state.hints), "hints_read": ()}


def cut_turn(state: RunState) -> OpenTurn | None:
    """The open turn as it runs again: from its beginning, or, where it only waited for a person, from there."""
    turn = state.turn
    return replace(turn, suspended=standing_still(state)) if turn is not None else None


FOLDS: dict[type, Callable[[RunState, Any, float], RunState]] = {
    p.RunHalted: run_halted,
    p.HaltResumed: halt_resumed,
    p.PluginStateSet: plugin_state_set,
    p.PluginOff: plugin_off,
}
