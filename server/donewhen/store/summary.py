"""What a list of runs shows for each run, updated event by event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from donewhen.core.errors import UnknownRun
from donewhen.core.events import (
    Event,
    GoalAmended,
    InterruptAnswered,
    InterruptOpened,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
)
from donewhen.core.plugging import RunHalted
from donewhen.ports import RunSummary


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run's line and what it is derived from. `standing` is its status apart from open interrupts."""

    run_id: str
    mode: Literal["pursue", "audit"]
    title: str
    goal_path: str | None
    standing: str | None
    started_at: float
    updated_at: float
    open_interrupts: frozenset[str] = frozenset()

    @property
    def status(self) -> str | None:
        """A running run with an open interrupt is `waiting`; a paused or ended one keeps its status."""
        return "waiting" if self.standing == "running" and self.open_interrupts else self.standing

    def summary(self) -> RunSummary:
        return RunSummary(
            self.run_id, self.mode, self.title, self.goal_path, self.status, self.started_at, self.updated_at
        )


def updated(record: RunRecord | None, event: Event, at: float) -> RunRecord | None:
    """The record after one more event. A run is on the list from its RunStarted on; before that, None."""
    if isinstance(event, RunStarted):
        goal = event.goal
        return RunRecord(event.run_id, event.mode, goal.title, goal.path, "running", at, at)
    if record is None:
        return None
    return replace(_after_event(record, event), updated_at=at)


def _after_event(record: RunRecord, event: Event) -> RunRecord:
    match event:
        case GoalAmended(goal=goal):
            return replace(record, title=goal.title, goal_path=goal.path)
        case RunPaused() if record.standing in ("running", "interrupted", "waiting"):
            return replace(record, standing="paused")
        case RunInterrupted() if record.standing in ("running", "paused"):
            return replace(record, standing="interrupted")
        case RunResumed():
            return replace(record, standing="running")
        case RunHalted(halt=halt) if halt.resumable:
            return replace(record, standing="waiting")
        case RunEnded(status=status):
            return replace(record, standing=status, open_interrupts=frozenset())
        case InterruptOpened(interrupt=interrupt):
            return replace(record, open_interrupts=record.open_interrupts | {interrupt.id})
        case InterruptAnswered(interrupt_id=answered):
            return replace(record, open_interrupts=record.open_interrupts - {answered})
        case _:
            return record


def removed_run(run_id: str) -> UnknownRun:
    return UnknownRun(f"run {run_id} was removed from the record meanwhile: start a new one")
