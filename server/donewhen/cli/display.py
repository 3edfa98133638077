"""How a run is shown during its progress: JSON Lines, plain lines, or a live view."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from donewhen.cli.calling import Call, snapshot_text
from donewhen.cli.formatting import SYMBOLS, duration, one_line, spending
from donewhen.cli.progress import Log, StepLines, closing, finding_line, met_of_total, reason_told, requirement_of
from donewhen.cli.terminal import Terminal
from donewhen.engine.api import RunStep, RunView


class Display(Protocol):
    """Shows a run. `show` and `finish` may raise OutputClosed."""

    def show(self, view: RunView) -> None: ...

    def did(self, steps: Sequence[RunStep]) -> None:
        """The worker's new steps, finished or in progress."""
        ...

    def hold(self) -> None:
        """Leaves the terminal to something else until the next `show`."""
        ...

    def note(self, text: str) -> None:
        """Something to know at once, besides the run itself."""
        ...

    def finish(self, view: RunView) -> None:
        """The last view, shown in full."""
        ...


class JsonDisplay:
    """One snapshot per line, with the steps that ended since the previous line. `finish` adds no line if the last one
    already shows that view."""

    def __init__(self, terminal: Terminal, root: Path) -> None:
        self._terminal, self._root = terminal, root
        self._last = ""
        self._did: list[RunStep] = []

    def show(self, view: RunView) -> None:
        text = snapshot_text(view, self._root)
        if text == self._last and not self._did:
            return
        line = text
        if self._did:
            from donewhen.wire.plain import step_json  # lazy: pydantic costs start-up time

            steps = json.dumps([step_json(step, self._root) for step in self._did], ensure_ascii=False)
            line = f'{text.removesuffix("}")},"steps":{steps}}}'
        self._terminal.result(line)
        self._last, self._did = text, []

    def did(self, steps: Sequence[RunStep]) -> None:
        self._did += [step for step in steps if step.state != "running"]

    def hold(self) -> None:
        return

    def note(self, text: str) -> None:
        self._terminal.message(text)

    def finish(self, view: RunView) -> None:
        self.show(view)


class LinesDisplay:
    """A line for each relevant change, and a few for each step of the worker."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._log = Log()
        self._steps = StepLines()
        self._did: list[RunStep] = []

    def show(self, view: RunView) -> None:
        did, self._did = self._did, []
        for line in self._log.lines(view, did):
            self._terminal.result(line)

    def did(self, steps: Sequence[RunStep]) -> None:
        self._did += self._steps.over(steps)

    def hold(self) -> None:
        return

    def note(self, text: str) -> None:
        self._terminal.message(text)

    def finish(self, view: RunView) -> None:
        self.show(view)
        for line in closing(view):
            self._terminal.result(line)


def display_for(call: Call) -> Display:
    """The display for this call: JSON if requested, a live view if it can be redrawn, otherwise lines."""
    if call.json:
        return JsonDisplay(call.terminal, call.root)
    if call.terminal.live:
        return LiveDisplay(call.terminal)
    return LinesDisplay(call.terminal)


# The live view of a run on a terminal: its requirements, its present activity, its cost.


STYLES = {
    "met": "green",
    "unmet": "red",
    "unverified": "yellow",
    "stale": "yellow",
    "waived": "magenta",
    "regressed": "red",
}


class LiveDisplay:
    """Redraws one picture; the last one stays on the screen. The worker's steps are printed above it."""

    def __init__(self, terminal: Terminal) -> None:
        self._console = Console(file=terminal.stdout, force_terminal=True, highlight=False)
        self._live: Live | None = None
        self._view: RunView | None = None
        self._shown_at = 0.0
        self._note: str | None = None
        self._steps = StepLines()

    def show(self, view: RunView) -> None:
        self._view, self._shown_at = view, time.monotonic()
        if self._live is None:
            self._live = Live(
                get_renderable=self._picture, console=self._console, refresh_per_second=4, redirect_stdout=False,
                redirect_stderr=False, transient=True,
            )  # fmt: skip
            self._live.start(refresh=True)
        else:
            self._live.refresh()

    def did(self, steps: Sequence[RunStep]) -> None:
        for line in self._steps.take(steps):
            self._console.print(Text(line.text, style=line.style))
        if self._live is not None:
            self._live.refresh()

    def hold(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._view is not None:
            self._console.print(standing(self._view))

    def note(self, text: str) -> None:
        self._note = text
        if self._live is not None:
            self._live.refresh()

    def finish(self, view: RunView) -> None:
        self._view = view
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._console.print(picture(view, seconds=None))

    def _picture(self) -> RenderableType:
        if self._view is None:
            return Text("")
        now = self._steps.now()
        shown = picture(self._view, time.monotonic() - self._shown_at, self._console.height - len(now))
        if now:
            shown = Group(shown, *(Text(line.text, style=line.style) for line in now))
        return Group(shown, Text(self._note, style="bold")) if self._note else shown


def picture(view: RunView, seconds: float | None, height: int | None = None) -> RenderableType:
    """The whole run as one renderable, at `seconds` after the view was taken; None means its end. If it may not fit
    into `height` lines, whose rest is cut off, the present activity comes first."""
    questions = [Text(f"{i.id} {i.kind}: {one_line(i.title)}", style="cyan") for i in view.state.interrupts]
    if seconds is None:
        style = "bold green" if view.state.status == "complete" else "bold"
        last = [Text(line, style=style if n == 0 else "") for n, line in enumerate(closing(view))]
    else:
        last = [Text(" · ".join(_doing(view, seconds)), style="dim")]
    foot = [*questions, *last]
    lines = sum(1 + len(reason_told(view, one)) for one in view.views)
    if height is not None and lines + len(view.state.present_findings) + len(foot) + 2 > height:
        return Group(*foot, standing(view))
    return Group(standing(view), *foot)


def standing(view: RunView) -> RenderableType:
    """Where its requirements stand, and what was found."""
    state = view.state
    table = Table.grid(padding=(0, 1))
    for one in view.views:
        told = Text(one_line(requirement_of(view, one).text, 120))
        if one.status != "met" and one.reason:
            told.append("\n" + "\n".join(reason_told(view, one)), style="dim")
        if one.renewing and one.status != "unverified":
            told.append(" (being proven again)", style="dim")
        cited = f" [{', '.join(one.evidence_ids)}]" if one.evidence_ids else ""
        told.append(cited, style="dim")
        table.add_row(Text(SYMBOLS[one.status], style=STYLES[one.status]), Text(f"R{one.number}"), told)
    findings = [Text(finding_line(f), style="magenta" if f.accepted else "red") for f in state.present_findings]
    warnings = [Text(f"warning: {one_line(w.message)}", style="yellow") for w in state.warnings]
    title = Text(one_line(state.goal.title), style="bold")
    return Group(title, *warnings, table, *findings)


def _doing(view: RunView, seconds: float) -> list[str]:
    state = view.state
    cap = state.limit("max_iterations")
    parts = [] if state.mode == "audit" else [f"iteration {state.iteration}{f'/{cap}' if cap is not None else ''}"]
    parts += [state.phase or state.status or "checking"]
    parts += [one_line(view.live.activity, 60)] if view.live.activity else []
    parts += [met_of_total(view), duration(view.elapsed + (seconds if state.time_counts else 0.0))]
    return [*parts, *spending(state.usage)]
