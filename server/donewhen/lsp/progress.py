"""Work-done progress for clients that support it: one per run, and one for work that a request waits for."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from lsprotocol import types

from donewhen.core.errors import DoneWhenError
from donewhen.engine.api import RunView
from donewhen.lsp.client import Client
from donewhen.lsp.host import Folder
from donewhen.lsp.protocol import ClientSilent
from donewhen.wire.snapshot import halt_text, shown_halt
from donewhen.wire.view import tally

ResultT = TypeVar("ResultT")


class WorkDone:
    """One progress in the editor, through pygls. `cancelled` is called once if the person cancels it."""

    def __init__(self, client: Client, cancelled: Callable[[], object]) -> None:
        self._progress = client.server.work_done_progress
        self._tokens = cast("dict[str | int, Future[Any]]", self._progress.tokens)  # pyright: ignore[reportUnknownMemberType]  # pygls annotates it in part
        self._cancelled = cancelled
        self._token = f"donewhen-{uuid.uuid4()}"
        self.begun = self._over = False
        self._reported: tuple[str, int] | None = None

    async def begin(self, value: Callable[[], types.WorkDoneProgressBegin]) -> bool:
        """False if the client doesn't want it or never answers, and if it has ended in the meantime."""
        try:
            await self._progress.create_async(self._token)  # pyright: ignore[reportUnknownMemberType]  # pygls annotates it in part
        except ClientSilent:
            return False
        if self._over:
            self._tokens.pop(self._token, None)
            return False

        def done(token: Future[Any]) -> None:
            if token.cancelled():
                self._cancelled()

        self._tokens[self._token].add_done_callback(done)
        self._progress.begin(self._token, value())
        self.begun = True
        return True

    def report(self, message: str, percentage: int) -> None:
        if self.begun and self._reported != (message, percentage):
            self._reported = (message, percentage)
            self._progress.report(self._token, types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self, message: str | None = None) -> None:
        self._over = True
        # pygls would keep the token for ever.
        self._tokens.pop(self._token, None)
        if self.begun:
            self.begun = False
            self._progress.end(self._token, types.WorkDoneProgressEnd(message=message))


async def with_progress(client: Client, title: str, work: Coroutine[Any, Any, ResultT]) -> ResultT | None:
    """The result of work that a person may stop; None if they did. Cancelling the request cancels the work too."""
    task = asyncio.ensure_future(work)
    shown = WorkDone(client, task.cancel)
    if client.profile.progress:
        beginning = shown.begin(lambda: types.WorkDoneProgressBegin(title=title, cancellable=True))
        client.later(beginning, types.WINDOW_WORK_DONE_PROGRESS_CREATE)
    try:
        await asyncio.wait({task})
        return None if task.cancelled() else task.result()
    finally:
        task.cancel()
        shown.end()


class Progress:
    """The progress reports of runs in one client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._shown: dict[str, WorkDone] = {}

    def show(self, folder: Folder, view: RunView) -> None:
        """Begins, reports or ends as the run's state requires."""
        if not self._client.profile.progress:
            return
        run_id = view.state.run_id
        work = self._shown.get(run_id)
        if work is not None:
            if work.begun or not view.state.active:
                self._update(work, view)
        elif view.state.active and not view.state.lifecycle.ended:
            work = WorkDone(self._client, lambda: self._client.later(self._pause(folder, run_id), f"pausing {run_id}"))
            self._shown[run_id] = work
            self._client.later(self._begin(folder, run_id, work), types.WINDOW_WORK_DONE_PROGRESS_CREATE)

    async def _begin(self, folder: Folder, run_id: str, work: WorkDone) -> None:
        def value() -> types.WorkDoneProgressBegin:
            view = folder.snapshots.of_run(run_id)
            text = None if view is None else message(view)
            title = "" if view is None else view.state.goal.title
            return types.WorkDoneProgressBegin(title=title, cancellable=True, message=text, percentage=0)

        if await work.begin(value) and (view := folder.snapshots.of_run(run_id)) is not None:
            self._update(work, view)

    async def _pause(self, folder: Folder, run_id: str) -> None:
        """The person cancelled the progress: the run is paused, not stopped."""
        work = self._shown.get(run_id)
        if work is None:
            return
        try:
            await folder.runs.pause(run_id, "paused from the editor's progress")
        except DoneWhenError:
            self._shown.pop(run_id, None)
            work.end("ended")

    def _update(self, work: WorkDone, view: RunView) -> None:
        if view.state.active:
            work.report(message(view), percentage(view))
            return
        halt = shown_halt(view.state)
        self._shown.pop(view.state.run_id, None)
        work.end(halt_text(halt) if halt is not None else view.state.status or "ended")


def message(view: RunView) -> str:
    """`iteration 3/10 · checking · 2 of 5 met`."""
    state = view.state
    limit = state.limit("max_iterations")
    iteration = f"iteration {state.iteration}" + ("" if limit is None else f"/{int(limit)}")
    met = sum(one.status == "met" for one in view.views)
    waived = sum(one.status == "waived" for one in view.views)
    return " · ".join(filter(None, (iteration, state.phase, tally(met, len(view.views), waived))))


def percentage(view: RunView) -> int:
    """The score, 0 to 100."""
    met = sum(one.status in ("met", "waived") for one in view.views)
    return 100 * met // len(view.views) if view.views else 0
