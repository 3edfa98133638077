"""How a run is shown while it goes on: JSON Lines, plain lines, or a live view."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from donewhen.cli.calling import Call, snapshot_text
from donewhen.cli.progress import Log, closing
from donewhen.cli.steps import StepLines
from donewhen.cli.terminal import Terminal
from donewhen.engine.api import RunStep, RunView


class Display(Protocol):
    """Shows a run. `show` and `finish` may raise OutputClosed."""

    def show(self, view: RunView) -> None: ...

    @property
    def follows(self) -> bool:
        """Whether `did` shows anything: else nobody has to work it out."""
        ...

    def did(self, steps: Sequence[RunStep]) -> None:
        """What the worker did since, and does."""
        ...

    def hold(self) -> None:
        """Leaves the terminal to something else until the next `show`."""
        ...

    def note(self, text: str) -> None:
        """Something to know at once, beside the run itself."""
        ...

    def finish(self, view: RunView) -> None:
        """The last view: shown whole."""
        ...


class JsonDisplay:
    """One snapshot a line, with the steps that are over since the line before. `finish` adds none where the last line
    is that view already."""

    follows = True

    def __init__(self, terminal: Terminal, root: Path) -> None:
        self._terminal, self._root = terminal, root
        self._last = ""
        self._did: list[RunStep] = []

    def show(self, view: RunView) -> None:
        text = snapshot_text(view, self._root)
        if text != self._last or self._did:
            self._terminal.result(self._with_steps(text))
            self._last, self._did = text, []

    def _with_steps(self, text: str) -> str:
        if not self._did:
            return text
        from donewhen.wire.steps import step_json  # lazy: pydantic costs start-up time

        steps = json.dumps([step_json(step, self._root) for step in self._did], ensure_ascii=False)
        return f'{text.removesuffix("}")},"steps":{steps}}}'

    def did(self, steps: Sequence[RunStep]) -> None:
        self._did += [step for step in steps if step.state != "running"]

    def hold(self) -> None:
        return

    def note(self, text: str) -> None:
        self._terminal.say(text)

    def finish(self, view: RunView) -> None:
        self.show(view)


class LinesDisplay:
    """A line for each change of substance, and a few for each step of the worker."""

    follows = True

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
        self._terminal.say(text)

    def finish(self, view: RunView) -> None:
        self.show(view)
        for line in closing(view):
            self._terminal.result(line)


def display_for(call: Call, root: Path | None = None) -> Display:
    """The display that suits the call: JSON where asked for, a live view where it can be redrawn, lines elsewhere."""
    if call.json:
        return JsonDisplay(call.terminal, root or call.root)
    if call.terminal.live:
        from donewhen.cli.live_view import LiveDisplay  # lazy: rich costs start-up time

        return LiveDisplay(call.terminal)
    return LinesDisplay(call.terminal)
