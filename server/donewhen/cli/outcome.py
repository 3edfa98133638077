"""Exit codes (protocol.md): what a run's end, or an error, means to the caller of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from donewhen.core.errors import DoneWhenError, LedgerError, LedgerTooNew, PersonNeeded, UnreadableRun, WorkerFailed

if TYPE_CHECKING:  # a run's records cost start-up time, which `serve` must not pay
    from donewhen.core.state import RunState

COMPLETE = 0
NOT_COMPLETE = 1
USAGE = 2
PERSON_NEEDED = 3
CRASHED = 4
PAUSED_BY_CTRL_C = 130


def exit_code(state: RunState) -> int:
    """The exit code for the present state of a run, or of an audit."""
    from donewhen.core.proof import satisfied

    if state.mode == "audit":
        if state.lifecycle.end_status == "crashed":
            return CRASHED
        return COMPLETE if state.lifecycle.end_status is None and satisfied(state) else NOT_COMPLETE
    if state.status == "complete":
        return COMPLETE
    if state.status == "crashed":
        return CRASHED
    return NOT_COMPLETE if state.lifecycle.ended else PERSON_NEEDED


def error_code(error: DoneWhenError) -> int:
    """The exit code for an expected error, by its class."""
    if isinstance(error, PersonNeeded):
        return PERSON_NEEDED
    return CRASHED if isinstance(error, WorkerFailed) else USAGE


def error_text(error: DoneWhenError) -> str:
    """One line for a person; if the error doesn't say what to do, the line does."""
    text = str(error) or type(error).__name__
    said = isinstance(error, UnreadableRun | LedgerTooNew) or "--state-dir" in text
    if isinstance(error, LedgerError) and not said:
        return f"{text}; free or repair it, or use another folder with --state-dir"
    return text
