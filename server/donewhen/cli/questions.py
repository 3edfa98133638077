"""Asks interrupts on the terminal where a run is followed, one after another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from donewhen.cli.display import Display
from donewhen.cli.formatting import bounded, one_line
from donewhen.cli.terminal import Terminal
from donewhen.core.answers import WAITS, answers_hint, form_of
from donewhen.core.errors import UnknownInterrupt, UsageError, WrongAnswer
from donewhen.core.questions import context_lines
from donewhen.core.work import Answer, Interrupt, Remember, ResponseKind
from donewhen.engine.api import Runs, RunView

MAX_PREVIEW = 200
"""Lines of a preview: nobody reads more before answering."""
MAX_AROUND = 12


class Questions:
    """Asks the oldest open interrupt; stops asking when it is answered elsewhere."""

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
        """True while the person uses the terminal."""
        return self._task is not None

    def update(self, view: RunView) -> None:
        self._view = view
        self._open = view.state.interrupts if view.state.active else ()
        gone = self._asked not in {i.id for i in self._open}
        if self._task is not None and gone and not self._answering:
            # The line that was being typed ends here, wherever the cursor was.
            self._terminal.message(f"\n{self._asked} no longer needs an answer" if view.state.active else "")
            self._task.cancel()
            self._task = None
        if self._task is None and self._open and not self._input_ended:
            self._ask_person(self._open[0])

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _ask_person(self, interrupt: Interrupt) -> None:
        self._display.hold()
        self._asked = interrupt.id
        self._task = asyncio.create_task(self._until_answered(interrupt))
        self._task.add_done_callback(self._answering_ended)

    def _answering_ended(self, task: asyncio.Task[None]) -> None:
        if self._task is not task:
            return
        self._task = None
        left = tuple(i for i in self._open if i.id != self._asked)
        if not task.cancelled() and task.exception() is None and left and not self._input_ended:
            self._ask_person(left[0])

    async def _until_answered(self, interrupt: Interrupt) -> None:
        around = context_lines(self._view.state, interrupt) if self._view is not None else []
        self._terminal.message(_question(interrupt, around))
        while (line := await self._terminal.lines.next()) is not None:
            try:
                answer = typed_answer(line, interrupt)
            except UsageError as unclear:
                self._terminal.message(str(unclear))
                continue
            self._answering = True
            try:
                await self._runs.answer(self._run_id, interrupt.id, answer)
                return
            except UnknownInterrupt as gone:
                self._terminal.message(str(gone))
                return
            except WrongAnswer as refused:  # it is asked again
                self._terminal.message(str(refused))
            finally:
                self._answering = False
        self._input_ended = True
        asked = one_line(interrupt.title, 100)
        await self._runs.pause(self._run_id, f"{WAITS}: {interrupt.id} {asked}", "run")


def _question(interrupt: Interrupt, around: Sequence[str]) -> str:
    shown = bounded(interrupt.preview, MAX_PREVIEW)
    preview = "".join(f"\n{line}" for line in [*shown, *(one for said in around for one in bounded(said, MAX_AROUND))])
    tool = f" [{interrupt.tool}]" if interrupt.tool else ""
    title = f"{interrupt.id}{tool} {one_line(interrupt.title, 500)}"
    if interrupt.about == "start":
        return f"{preview}\n{title} {answers_hint(interrupt, typed=True)}:"
    return f"\n{title}{preview}\n{answers_hint(interrupt, typed=True)}:"


# A person's answer to an interrupt, in words: on the command line and at the prompt of `run`.


_KINDS: Mapping[str, ResponseKind] = {kind: kind for kind in get_args(ResponseKind)}
_WORDS: Mapping[str, ResponseKind] = {
    **_KINDS, "a": "approve", "yes": "approve", "y": "approve", "d": "deny", "no": "deny", "n": "deny", "e": "edit",
    "t": "text",
}  # fmt: skip
_OF_FINDINGS: Mapping[str, ResponseKind] = {**_WORDS, "accept": "approve", "undo": "deny"}
_KEPT: Mapping[str, Remember] = {"r": "run", "run": "run", "w": "workspace", "workspace": "workspace"}


def typed_answer(line: str, interrupt: Interrupt) -> Answer:
    """The answer that a typed line means. Raises UsageError that lists the possible input."""
    word, _, rest = line.strip().partition(" ")
    if interrupt.about == "start" and not word:
        return Answer("deny")  # enter changes nothing
    return given_answer(word, rest.strip() or None, interrupt)


def given_answer(word: str, text: str | None, interrupt: Interrupt | None, remember: Remember = "") -> Answer:
    """The answer that a word means with the text that follows it, of which None is none. Where a text is an answer by
    itself, both are that text if the word says no kind of answer that the question takes. Raises UsageError that lists
    the possible input."""
    if interrupt is None:
        response = _KINDS.get(word)  # the engine says what is wrong
        return worded_answer(response, text, None, remember) if response else Answer("text", word)
    form, said = form_of(interrupt), word.casefold()
    if interrupt.remembers and said in _KEPT:
        return worded_answer("approve", text, interrupt, _KEPT[said])
    if form.asks_for_words:
        # "deny all of them" and "a" may be what was asked for: a word means a kind of answer where it stands alone.
        response = _KINDS.get(said) if text is None or said == "text" else None
    else:
        response = (_OF_FINDINGS if interrupt.about == "findings" else _WORDS).get(said)
    if response in form.takes:
        return worded_answer(response, text, interrupt, remember)
    if form.words and word and (response is None or text is not None):
        return Answer("text", word if text is None else f"{word} {text}", remember=remember)
    raise UsageError(f"answer {interrupt.id} with {answers_hint(interrupt)}")


def worded_answer(
    response: ResponseKind, text: str | None, interrupt: Interrupt | None, remember: Remember = ""
) -> Answer:
    """An answer of a kind with its text: the reason for `approve`, `deny` and `end`, the input for `edit`. None means
    no text; an empty text is a text like any other."""
    if response in ("approve", "deny", "end"):
        return Answer(response, reason=text or "", remember=remember)
    if text is None or (response == "edit" and not text):
        raise UsageError(f"`{response}` needs text: `{response} TEXT`")
    if response == "text":
        return Answer("text", text=text, remember=remember)
    return Answer("edit", text=text, input=_edited(text, interrupt), remember=remember)


def _edited(text: str, interrupt: Interrupt | None) -> Mapping[str, Any] | None:
    """The tool's input with `text` as its main argument; a JSON object replaces the whole input."""
    try:
        value: object = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return cast(dict[str, Any], value)
    if interrupt is None:
        return None
    texts = [name for name, item in interrupt.input.items() if isinstance(item, str)]
    name = "command" if "command" in texts else (texts[0] if len(texts) == 1 else None)
    if name is None:
        raise UsageError("`edit` needs the tool's whole input here, as a JSON object")
    return {**interrupt.input, name: text}
