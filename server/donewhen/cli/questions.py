"""Interrupts asked on the terminal where a run is followed, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from donewhen.cli.answers import choices, typed_answer
from donewhen.cli.display import Display
from donewhen.cli.terminal import Terminal
from donewhen.cli.wording import bounded, one_line
from donewhen.core.asking import context_lines
from donewhen.core.errors import UnknownInterrupt, UsageError, WrongAnswer
from donewhen.core.work import Answer, Interrupt
from donewhen.engine.api import Runs, RunView

MAX_PREVIEW = 200
"""Lines of a preview: more than this nobody reads before an answer."""
MAX_AROUND = 12


class Questions:
    """Asks the oldest open interrupt; stops asking when it was answered elsewhere."""

    def __init__(self, runs: Runs, run_id: str, terminal: Terminal, display: Display) -> None:
        self._runs, self._run_id = runs, run_id
        self._terminal, self._display = terminal, display
        self._asked: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._open: tuple[Interrupt, ...] = ()
        self._view: RunView | None = None
        self._input_ended = False
        self._answering = False

    @property
    def asking(self) -> bool:
        """True while the terminal is the person's."""
        return self._task is not None

    def update(self, view: RunView) -> None:
        self._view = view
        self._open = view.state.interrupts if view.state.active else ()
        gone = self._asked not in {i.id for i in self._open}
        if self._task is not None and gone and not self._answering:
            # The line that was being typed ends here, wherever it stood.
            self._terminal.say(f"\n{self._asked} no longer needs an answer" if view.state.active else "")
            self._task.cancel()
            self._task = None
        if self._task is None and self._open and not self._input_ended:
            self._ask(self._open[0])

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _ask(self, interrupt: Interrupt) -> None:
        self._display.hold()
        self._asked = interrupt.id
        self._task = asyncio.create_task(self._until_answered(interrupt))
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._task is not task:
            return
        self._task = None
        left = tuple(i for i in self._open if i.id != self._asked)
        if not task.cancelled() and task.exception() is None and left and not self._input_ended:
            self._ask(left[0])

    async def _until_answered(self, interrupt: Interrupt) -> None:
        around = context_lines(self._view.state, interrupt) if self._view is not None else []
        self._terminal.say(_question(interrupt, around))
        taken = False
        while not taken:
            answer = await self._typed(interrupt)
            if answer is None:
                asked = one_line(interrupt.title, 100)
                await self._runs.pause(self._run_id, f"waits for a person: {interrupt.id} {asked}", "run")
                return
            taken = await self._taken(interrupt, answer)

    async def _taken(self, interrupt: Interrupt, answer: Answer) -> bool:
        """False if the interrupt doesn't take such an answer: it is asked again."""
        self._answering = True
        try:
            await self._runs.answer(self._run_id, interrupt.id, answer)
        except (UnknownInterrupt, WrongAnswer) as refused:
            self._terminal.say(str(refused))
            return isinstance(refused, UnknownInterrupt)
        finally:
            self._answering = False
        return True

    async def _typed(self, interrupt: Interrupt) -> Answer | None:
        """None at the end of input."""
        while True:
            line = await self._terminal.lines.next()
            if line is None:
                self._input_ended = True
                return None
            try:
                return typed_answer(line, interrupt)
            except UsageError as unclear:
                self._terminal.say(str(unclear))


def _question(interrupt: Interrupt, around: Sequence[str]) -> str:
    shown = bounded(interrupt.preview, MAX_PREVIEW)
    preview = "".join(f"\n{line}" for line in [*shown, *(one for said in around for one in bounded(said, MAX_AROUND))])
    tool = f" [{interrupt.tool}]" if interrupt.tool else ""
    title = f"{interrupt.id}{tool} {one_line(interrupt.title, 500)}"
    if interrupt.about == "start":
        return f"{preview}\n{title} {choices(interrupt)}:"
    return f"\n{title}{preview}\n{choices(interrupt)}:"
