"""Work-done progress for clients that show it: one per run, and cancelling it pauses the run."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from donewhen.core.errors import DoneWhenError
from donewhen.lsp.failures import ClientSilent
from donewhen.wire.halt import halt_text, shown_halt

if TYPE_CHECKING:
    from lsprotocol import types

    from donewhen.engine.api import RunView
    from donewhen.lsp.host import Folder
    from donewhen.lsp.session import Session


@dataclass(slots=True)
class _Shown:
    folder: Folder
    run_id: str
    created: bool = False
    ended: bool = False
    last: tuple[str, int] | None = None


class Progress:
    """The progress reports of one session, by token."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_run: dict[str, str] = {}
        self._by_token: dict[str, _Shown] = {}

    def show(self, folder: Folder, view: RunView) -> None:
        """Begins, reports or ends as the run's state asks for."""
        if not self._session.profile.progress:
            return
        run_id = view.state.run_id
        token = self._by_run.get(run_id)
        if token is None:
            if view.state.active and not view.state.ended:
                self._create(folder, view)
            return
        shown = self._by_token[token]
        if shown.created:
            self._update(token, shown, view)

    async def cancel(self, token: object) -> None:
        """The person cancelled it: the run is paused, not stopped."""
        shown = self._by_token.get(str(token))
        if shown is None:
            return
        try:
            await shown.folder.runs.pause(shown.run_id, "paused from the editor's progress")
        except DoneWhenError:
            self._end(str(token), shown, "ended")

    def _create(self, folder: Folder, view: RunView) -> None:
        token = f"donewhen-{uuid.uuid4()}"
        self._by_run[view.state.run_id] = token
        self._by_token[token] = _Shown(folder, view.state.run_id)
        self._session.later(self._begin(token), "window/workDoneProgress/create")

    async def _begin(self, token: str) -> None:
        shown = self._by_token[token]
        try:
            await self._session.protocol.ask("window/workDoneProgress/create", {"token": token})
        except ClientSilent:
            # The client does not want it, or never answers: without a token there is nothing to report to.
            return
        view = shown.folder.board.of_run(shown.run_id)
        if view is None:
            return
        shown.created = True
        title = view.state.goal.title
        value = {"kind": "begin", "title": title, "cancellable": True, "message": message(view), "percentage": 0}
        self._notify(token, value)
        self._update(token, shown, view)

    def _update(self, token: str, shown: _Shown, view: RunView) -> None:
        if not view.state.active:
            halt = shown_halt(view.state)
            self._end(token, shown, halt_text(halt) if halt is not None else view.state.status or "ended")
            return
        now = (message(view), percentage(view))
        if now != shown.last:
            shown.last = now
            self._notify(token, {"kind": "report", "message": now[0], "percentage": now[1]})

    def _end(self, token: str, shown: _Shown, last: str) -> None:
        self._by_run.pop(shown.run_id, None)
        self._by_token.pop(token, None)
        if shown.created and not shown.ended:
            shown.ended = True
            self._notify(token, {"kind": "end", "message": last})

    def _notify(self, token: str, value: dict[str, Any]) -> None:
        self._session.protocol.notify("$/progress", {"token": token, "value": value})


def message(view: RunView) -> str:
    """`iteration 3/10 · checking · 2 of 5 met`."""
    state = view.state
    limit = state.limit("max_iterations")
    iteration = f"iteration {state.iteration}" + ("" if limit is None else f"/{int(limit)}")
    met = sum(one.status == "met" for one in view.views)
    waived = sum(one.status == "waived" for one in view.views)
    tally = f"{met} of {len(view.views)} met" + (f", {waived} waived" if waived else "")
    return " · ".join(filter(None, (iteration, state.phase, tally)))


def percentage(view: RunView) -> int:
    """The score, 0 to 100."""
    met = sum(one.status in ("met", "waived") for one in view.views)
    return 100 * met // len(view.views) if view.views else 0


async def cancelled(session: Session, params: types.WorkDoneProgressCancelParams) -> None:
    """`window/workDoneProgress/cancel`."""
    if not session.errands.cancel(params.token):
        await session.showing.progress.cancel(params.token)
