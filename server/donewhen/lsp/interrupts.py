"""Open interrupts for clients that can't show them in their own way: a message with buttons.

The first answer counts. A message whose interrupt was answered elsewhere is withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from donewhen.core.answers import answer_choices
from donewhen.core.errors import AlreadyRunning, DoneWhenError, UnknownInterrupt
from donewhen.core.feedback import keep_ends
from donewhen.core.plugging import Halted
from donewhen.core.questions import context_lines
from donewhen.core.work import Interrupt
from donewhen.engine.api import RunView, StartOptions
from donewhen.lsp.client import Client
from donewhen.lsp.host import Folder
from donewhen.wire.snapshot import halt_text
from donewhen.wire.view import visible

logger = logging.getLogger(__name__)

PERSON_SECONDS = 24 * 3600.0
"""A person may be away for long; then the interrupt stays open and `donewhen answer` still takes it."""
MAX_PREVIEW = 600
MAX_SUMMARY = 2_400
"""The start summary is shown in full before it is accepted."""


class Interrupts:
    """The open messages of one client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._open: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self._offers: dict[str, asyncio.Task[Any]] = {}
        """The messages that offer to go on with an interrupted run, by run: once for each time that it is."""
        self._halted: dict[str, Halted] = {}

    def show(self, folder: Folder, view: RunView) -> None:
        """Asks about newly opened interrupts, withdraws closed ones, and reports a plugin that stopped the run."""
        if self._client.profile.interrupts:
            return
        self._tell_halt(view)
        run_id = view.state.run_id
        if view.state.status != "interrupted":
            # It goes on, or a person ended or paused it: it is no longer offered, whoever did that.
            offer = self._offers.pop(run_id, None)
            if offer is not None:
                offer.cancel()
        elif view.take_over and self._client.host.trusted:
            # This window followed it, and can take it over.
            self.offer_resume(folder, view)
        wanted = {(run_id, one.id): one for one in view.state.interrupts} if view.state.active else {}
        for key in [key for key in self._open if key[0] == run_id and key not in wanted]:
            self._open.pop(key).cancel()
        for key, interrupt in wanted.items():
            if key not in self._open:
                context = context_lines(view.state, interrupt, str(folder.root))
                work = self._ask_person(folder, run_id, interrupt, context)
                self._open[key] = self._client.later(work, f"interrupt {interrupt.id}")

    def ask_again(self, folder: Folder, view: RunView, interrupt_id: str) -> None:
        """Shows an open interrupt once more: its message may no longer be visible. Raises UnknownInterrupt."""
        if all(one.id != interrupt_id for one in view.state.interrupts):
            raise UnknownInterrupt(f"question {interrupt_id} is no longer open")
        asking = self._open.pop((view.state.run_id, interrupt_id), None)
        if asking is not None:
            asking.cancel()
        self.show(folder, view)

    def _tell_halt(self, view: RunView) -> None:
        """Once per halt: no button can give a plugin the data that it asks for."""
        run_id, halt = view.state.run_id, view.state.plugins.halt if view.state.halted else None
        if halt is None:
            self._halted.pop(run_id, None)
        elif self._halted.get(run_id) != halt:
            self._halted[run_id] = halt
            said = _in_message(f"“{view.state.goal.title}” {halt_text(halt)}")
            self._client.show_message(types.MessageType.Info, said)

    def offer_resume(self, folder: Folder, view: RunView) -> None:
        """An interrupted run was found: the person may continue it, or take it over from a window that is gone."""
        run_id = view.state.run_id
        if not self._client.profile.interrupts and run_id not in self._offers:
            self._offers[run_id] = self._client.later(self._resume(folder, view), f"resuming {run_id}")

    def offer_overwrite(self, folder: Folder, run_id: str, finding_id: str, kept: Sequence[str]) -> None:
        """A revert kept a person's later edits: the person may choose to overwrite them."""
        if not self._client.profile.interrupts:
            self._client.later(self._overwrite(folder, run_id, finding_id, kept), f"reverting {finding_id}")

    def close(self) -> None:
        for task in (*self._open.values(), *self._offers.values()):
            task.cancel()
        self._open.clear()
        self._offers.clear()

    async def _ask_person(self, folder: Folder, run_id: str, interrupt: Interrupt, context: Sequence[str]) -> None:
        offered = answer_choices(interrupt.kind, interrupt.about, remembers=interrupt.remembers)
        chosen = await self._show_question(question_text(interrupt, context), [one.label for one in offered])
        choice = next((one for one in offered if one.label == chosen), None)
        if choice is None:
            return
        try:
            await folder.runs.answer(run_id, interrupt.id, choice.answer)
        except DoneWhenError as problem:
            logger.info("interrupt %s: %s", interrupt.id, problem)

    async def _resume(self, folder: Folder, view: RunView) -> None:
        run_id, title = view.state.run_id, _in_message(view.state.goal.title)
        said, go_on = f"The run of “{title}” was interrupted.", "Resume"
        if view.take_over:
            said = f"The window or terminal that was running “{title}” is gone. Take the run over here?"
            go_on = "Take over"
        if await self._show_question(said, ["Not now", go_on]) == go_on:
            # Apart from the message, which is withdrawn once the run goes on.
            self._client.later(self._go_on(folder, run_id), f"resuming {run_id}")

    async def _go_on(self, folder: Folder, run_id: str) -> None:
        try:
            self._client.require_trust()
            await folder.runs.resume(run_id, options=StartOptions(askable=True))
        except DoneWhenError as problem:
            # Of several windows that take a run over, one has it, and the others follow it.
            follows = isinstance(problem, AlreadyRunning) and problem.run_id == run_id
            if not follows and (await folder.runs.view(run_id)).state.status == "interrupted":
                self._client.show_message(types.MessageType.Error, problem.said)

    async def _overwrite(self, folder: Folder, run_id: str, finding_id: str, kept: Sequence[str]) -> None:
        names = _in_message(", ".join(kept))
        question = f"{names} was edited since, so {finding_id} was not reverted. Overwrite it with the file from before"
        undo = "What is there now is set aside, and is not lost."
        if await self._show_question(f"{question} {finding_id}? {undo}", ["Keep it", "Overwrite it"]) == "Overwrite it":
            try:
                await folder.runs.revert_finding(run_id, finding_id, force=True)
            except DoneWhenError as problem:
                self._client.show_message(types.MessageType.Error, problem.said)

    async def _show_question(self, message: str, buttons: list[str]) -> str | None:
        actions = [types.MessageActionItem(title) for title in buttons]
        params = types.ShowMessageRequestParams(types.MessageType.Info, message, actions)
        question = self._client.server.protocol.send_request_async(
            types.WINDOW_SHOW_MESSAGE_REQUEST, params, timeout=PERSON_SECONDS
        )
        item = await self._client.answered(question)
        return None if item is None else item.title


def question_text(interrupt: Interrupt, context: Sequence[str] = ()) -> str:
    """The question, with as much of the preview and its context as a message can hold."""
    title, preview = (_in_message(one).strip() for one in (interrupt.title, interrupt.preview))
    most = MAX_SUMMARY if interrupt.about in ("start", "findings") else MAX_PREVIEW
    if len(preview) > most:
        # The effect of a long command is often at its end: nobody should approve it by its beginning.
        cut = len(preview) - most
        head, tail = preview[: most // 2], preview[-most // 2 :]
        preview = f"{head}\n… {cut} characters are not shown here; `donewhen status` shows all …\n{tail}"
    around = [keep_ends(_in_message(line), MAX_PREVIEW) for line in context]
    return "\n".join([title, *([preview] if preview else []), *around])


def _in_message(text: str) -> str:
    """Nothing makes a command look like another one: a carriage return would write over its beginning."""
    return visible(text).replace("\r", "\ufffd")
