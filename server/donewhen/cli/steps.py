"""What a worker reads, runs, edits and says, as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from donewhen.cli.wording import bounded, count, one_line, plain
from donewhen.engine.api import RunStep

SHOWN = ("says", "reads", "runs", "edits", "tool", "hint")
"""What the picture of the run doesn't show anyhow."""
MAX_DIFF = 20
MAX_OUTPUT = 8
"""Lines of one step, the last ones of what a command printed."""
MAX_SAID = 5
STYLES = {"+": "green", "-": "red", "@": "dim"}


@dataclass(frozen=True, slots=True)
class StepLine:
    """One line, and the style that a terminal gives it."""

    text: str
    style: str = ""


class StepLines:
    """Tells each step once, when it is over; `doing` is what goes on now."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self.doing: RunStep | None = None

    def take(self, steps: Sequence[RunStep]) -> list[StepLine]:
        """The lines of the steps that are over and were not told yet."""
        return [line for step in self.over(steps) for line in step_lines(step)]

    def over(self, steps: Sequence[RunStep]) -> list[RunStep]:
        """The steps that are over and were not told yet."""
        over: list[RunStep] = []
        for step in steps:
            if step.kind not in SHOWN:
                continue
            if step.state == "running" and step.kind != "hint":
                self.doing = step
                continue
            if self.doing is not None and self.doing.id == step.id:
                self.doing = None
            # A change of a file is told once it is known what it was.
            if step.id not in self._told and (step.kind != "hint" or step.state == "done"):
                self._told.add(step.id)
                over.append(step)
        return over

    def now(self) -> list[StepLine]:
        """The last lines of what goes on, as far as it says something."""
        if self.doing is None or not self.doing.text.strip():
            return []
        return [StepLine(f"    {line}", "dim") for line in _tail(self.doing.text, MAX_OUTPUT)]


def step_lines(step: RunStep) -> list[StepLine]:
    """One step: what it was, then its diff, the end of what was printed, or what was said."""
    style = "red" if step.state == "failed" else ""
    counts = f" +{step.added} -{step.removed}" if step.diff else ""
    said = {"says": "the worker:", "hint": "you:"}.get(step.kind, "")
    head = " ".join(part for part in (said, one_line(step.title)) if part)
    lines = [StepLine(f"  {head}{counts}", style)] if head else []
    if step.diff:
        return [*lines, *(StepLine(f"    {line}", STYLES.get(line[:1], "")) for line in bounded(step.diff, MAX_DIFF))]
    if step.kind in ("says", "hint"):
        return [*lines, *(StepLine(f"    {line}") for line in bounded(step.text, MAX_SAID))]
    if step.kind == "reads":
        return lines
    return [*lines, *(StepLine(f"    {line}", "dim") for line in _tail(step.text, MAX_OUTPUT))]


def _tail(text: str, lines: int) -> list[str]:
    found = plain(text).strip().splitlines()
    cut = len(found) - lines
    return found if cut <= 0 else [f"… {count(cut, 'line')} before", *found[-lines:]]
