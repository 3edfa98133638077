"""How a halt reads wherever a run is shown, and whether it still matters."""

from __future__ import annotations

from donewhen.core.plugging import Halted
from donewhen.core.state import RunState


def shown_halt(state: RunState) -> Halted | None:
    """The halt that the run stands at, or that ended it; None if the run ended otherwise."""
    return None if state.ended and state.end_status != "blocked" else state.halt


def halt_text(halt: Halted) -> str:
    """`waits: plugin NAME: REASON`; a halt that can't be resumed stopped the run."""
    # A worker of one's own may halt too, and is not a plugin.
    who = "the worker" if halt.plugin == "worker" else f"plugin {halt.plugin}"
    return f"{'waits' if halt.resumable else 'stopped'}: {who}: {halt.reason}"
