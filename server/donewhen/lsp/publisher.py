"""What a client is sent unasked when runs or files change: snapshots, diagnostics, refreshes, progress, interrupts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from donewhen.lsp.actions import Ticking
from donewhen.lsp.diagnostics import Diagnostics, Goal
from donewhen.lsp.interrupts import Interrupts
from donewhen.lsp.progress import Progress
from donewhen.wire.changes import changes
from donewhen.wire.plain import step_json
from donewhen.wire.snapshot import snapshot
from donewhen.wire.view import view_of

if TYPE_CHECKING:
    from donewhen.engine.api import RunView
    from donewhen.lsp.host import Folder
    from donewhen.lsp.session import Session


logger = logging.getLogger(__name__)


SNAPSHOT_SECONDS = 0.1
ACTIVITY_SECONDS = 0.08
DIAGNOSTICS_SECONDS = 0.005
CHECKING_SECONDS = 0.08
"""As long as checks run, diagnostics follow their results at this pace; what an audit ends with is shown at once."""
REFRESH_SECONDS = 0.25
MOST_SENT = 8
"""Runs of which the last snapshot is kept, to tell what changes of it."""
MOST_OPERATIONS = 10_000
"""Where more than that changes, the whole snapshot is smaller."""
REST = 4.0
"""What takes long to show, such as a thousand requirements, is followed by so many times its own seconds of rest."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """The last snapshot of a run that the client has, as it was sent."""

    version: int
    document: dict[str, Any]


@dataclass(slots=True)
class _FollowedRun:
    """How many of the run's steps the client has received."""

    folder: Folder
    run_id: str
    version: int


class Publisher:
    """Turns changes into messages, each kind at its own pace, and never drops the last state."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._snapshots: dict[str, Throttle] = {}
        self._sent: dict[str, _Sent] = {}
        """What changes are told from, for a client that takes them; the run that was sent last comes last."""
        self._versions = count(1)
        self._followed: dict[str, Throttle] = {}
        """The runs whose steps the client receives."""
        self._goals: set[Goal] = set()
        self._diagnostics = Throttle(DIAGNOSTICS_SECONDS, self._publish_diagnostics)
        self._refresh = Throttle(REFRESH_SECONDS, self._ask_to_refresh)
        self._pull_again = Throttle(REFRESH_SECONDS, self._ask_to_pull)
        self._shown: dict[str, object] = {}
        self.diagnostics = Diagnostics(session)
        self.progress = Progress(session)
        self.interrupts = Interrupts(session)
        self._ticking = Ticking(session)

    def run_changed(self, folder: Folder, view: RunView) -> None:
        """A run changed; the engine calls this for every change, so nothing is computed here."""
        run_id = view.state.run_id
        self._ticking.note(view)
        if run_id not in self._snapshots:
            self._snapshots[run_id] = Throttle(SNAPSHOT_SECONDS, partial(self._publish_snapshot, folder, run_id))
        self._snapshots[run_id].trigger()
        if run_id in self._followed:
            self._followed[run_id].trigger()
        if view.state.goal.path is not None:
            self.goal_changed(
                folder.root, view.state.goal.path, CHECKING_SECONDS if view.state.audit is not None else 0.0
            )

    def follow(self, folder: Folder, run_id: str, version: int | None) -> None:
        """See `ClientViews.follow`."""
        before = self._followed.pop(run_id, None)
        if before is not None:
            before.stop()
        if version is not None:
            followed = _FollowedRun(folder, run_id, version)
            self._followed[run_id] = Throttle(ACTIVITY_SECONDS, partial(self._publish_steps, followed))
            self._followed[run_id].trigger()

    def goal_changed(self, root: Path, path: str, patience: float = 0.0) -> None:
        """A goal file, or what is known about it, changed."""
        self._goals.add((root, path))
        self._diagnostics.trigger(patience)

    def ask_to_pull_again(self) -> None:
        self._pull_again.trigger()

    async def settle_diagnostics(self) -> None:
        await self._diagnostics.flush()

    async def close(self) -> None:
        """Sends the last states, and nothing after that."""
        for throttle in (
            *self._snapshots.values(),
            *self._followed.values(),
            self._diagnostics,
            self._refresh,
            self._pull_again,
        ):
            throttle.stop()
        self.interrupts.close()

    async def _publish_snapshot(self, folder: Folder, run_id: str) -> None:
        view = folder.snapshots.of_run(run_id)
        if view is None:
            return
        self._send_snapshot(run_id, snapshot_json(self._session, view, folder.root))
        self.progress.show(folder, view)
        self.interrupts.show(folder, view)
        self._ticking.show(folder, view)
        state = view.state
        look = (state.status, state.iteration, view.views, state.present_findings, state.halt, view.present)
        if self._shown.get(run_id) != look:
            self._shown[run_id] = look
            self._refresh.trigger()

    def send_whole(self, run_id: str) -> None:
        """See `ClientViews.send_whole`."""
        self._sent.pop(run_id, None)

    def _send_snapshot(self, run_id: str, document: dict[str, Any]) -> None:
        notify = self._session.server.protocol.notify
        if not self._session.profile.snapshot_changes:
            notify("donewhen/snapshot", document)
            return
        sent = self._sent.pop(run_id, None)
        operations = [] if sent is None else changes(sent.document, document)
        if sent is not None and not operations:
            self._sent[run_id] = sent
            return
        version = next(self._versions)
        self._sent[run_id] = _Sent(version, document)
        if len(self._sent) > MOST_SENT:
            del self._sent[next(iter(self._sent))]
        if sent is None or len(operations) > MOST_OPERATIONS:
            notify("donewhen/snapshot", {**document, "version": version})
            return
        told = {"runId": run_id, "sequence": document["sequence"], "base": sent.version, "version": version}
        notify("donewhen/snapshotChanged", {**told, "changes": operations})

    async def _publish_steps(self, followed: _FollowedRun) -> None:
        found = await followed.folder.runs.steps(followed.run_id, followed.version)
        followed.version = found.version
        if found.steps:
            steps = [step_json(step, followed.folder.root) for step in found.steps]
            self._session.server.protocol.notify("donewhen/activity", {"runId": followed.run_id, "steps": steps})

    async def _publish_diagnostics(self) -> None:
        goals, self._goals = self._goals, set()
        await self.diagnostics.refresh(goals)

    async def _ask_to_refresh(self) -> None:
        """Lenses and hints are pulled: the client is asked to pull again, if it supports that."""
        profile, server = self._session.profile, self._session.server
        if profile.lens_refresh:
            self._session.later(server.workspace_code_lens_refresh_async(None), types.WORKSPACE_CODE_LENS_REFRESH)
        if profile.hint_refresh:
            self._session.later(server.workspace_inlay_hint_refresh_async(None), types.WORKSPACE_INLAY_HINT_REFRESH)

    async def _ask_to_pull(self) -> None:
        asking = self._session.server.workspace_diagnostic_refresh_async(None)
        self._session.later(asking, types.WORKSPACE_DIAGNOSTIC_REFRESH)


# Soon, and not too often.


class Throttle:
    """Runs `act` at once when triggered, one at a time, then at most once per `interval` seconds; where acts take long,
    they get a share of the time, not all of it."""

    def __init__(self, interval: float, act: Callable[[], Awaitable[None]]) -> None:
        self._interval = interval
        self._act = act
        self._due = False
        self._patience = 0.0
        """Seconds from the last act for which what is due can wait."""
        self._hurried = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def trigger(self, patience: float = 0.0) -> None:
        """Something is due. It can wait until `patience` seconds after the last act, if nothing else comes by then
        that can't."""
        self._patience = min(self._patience, patience) if self._due else patience
        self._due = True
        if not patience:
            self._hurried.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._act_while_due())

    def stop(self) -> None:
        self._due = False
        if self._task is not None:
            self._task.cancel()

    async def flush(self) -> None:
        """Returns when nothing is due: for callers that must see the last state."""
        while self._task is not None and not self._task.done():
            self._patience = 0.0
            self._hurried.set()
            await asyncio.wait((self._task,))

    async def _act_while_due(self) -> None:
        while self._due:
            self._due = False
            self._hurried.clear()
            began = time.monotonic()
            try:
                await self._act()
            except Exception:  # One failed publication must not end all later ones.
                logger.exception("publishing failed")
            ended = time.monotonic()
            await asyncio.sleep(max(self._interval, REST * (ended - began)))
            if self._due and self._patience:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, ended + self._patience - time.monotonic())):
                        await self._hurried.wait()


# Snapshots for one client: the contract's JSON, with columns in the client's encoding.


def snapshot_json(session: Session, view: RunView, root: Path) -> dict[str, Any]:
    """The present snapshot of a run, with its view for clients that want one."""
    found = snapshot(view, root, session.texts.character)
    if view.state.goal.path is not None:
        found = found.model_copy(update={"goal_uri": session.texts.uri(root / view.state.goal.path)})
    document = found.model_dump(mode="json", by_alias=True)
    if session.profile.views:
        shown = view_of(found, silent=view.live.silent > 0)
        document["view"] = shown.model_dump(mode="json", by_alias=True)
    return document
