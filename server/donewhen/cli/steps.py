"""What a worker reads, runs, edits and says, as lines on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from donewhen.cli.wording import bounded, count, one_line, plain
from donewhen.engine.api import RunStep

SHOWN = ("says", "reads", "runs", "edits", "tool", "hint")
"""What the picture of the run doesn't show anyhow."""
MAX_DIFF = 20
MAX_OUTPUT = 8
"""Lines of one step, the last ones of what a command printed."""
MAX_SAID = 5
STYLES = {"+": "green", "-": "red", "@": "dim"}


class StepLines:
    """Tells each step once, when it is over; `doing` is what goes on now."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self.doing: RunStep | None = None

    def take(self, steps: Sequence[RunStep]) -> list[Text]:
        """The lines of the steps that are over and were not told yet."""
        lines: list[Text] = []
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
                lines += step_lines(step)
        return lines

    def now(self) -> list[Text]:
        """The last lines of what goes on, as far as it says something."""
        if self.doing is None or not self.doing.text.strip():
            return []
        return [Text(f"    {line}", style="dim") for line in _tail(self.doing.text, MAX_OUTPUT)]


def step_lines(step: RunStep) -> list[Text]:
    """One step: what it was, then its diff, the end of what was printed, or what was said."""
    style = "red" if step.state == "failed" else ""
    counts = f" +{step.added} -{step.removed}" if step.diff else ""
    said = {"says": "the worker:", "hint": "you:"}.get(step.kind, "")
    head = " ".join(part for part in (said, one_line(step.title)) if part)
    lines = [Text(f"  {head}{counts}", style=style)] if head else []
    if step.diff:
        return [*lines, *(Text(f"    {line}", style=STYLES.get(line[:1], "")) for line in bounded(step.diff, MAX_DIFF))]
    if step.kind in ("says", "hint"):
        return [*lines, *(Text(f"    {line}") for line in bounded(step.text, MAX_SAID))]
    if step.kind == "reads":
        return lines
    return [*lines, *(Text(f"    {line}", style="dim") for line in _tail(step.text, MAX_OUTPUT))]


def _tail(text: str, lines: int) -> list[str]:
    found = plain(text).strip().splitlines()
    cut = len(found) - lines
    return found if cut <= 0 else [f"… {count(cut, 'line')} before", *found[-lines:]]
