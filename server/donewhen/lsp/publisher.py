"""What a client is sent unasked when runs or files change: snapshots, diagnostics, refreshes, progress, interrupts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types

from donewhen.engine.api import RunView
from donewhen.lsp.client import Client
from donewhen.lsp.diagnostics import Diagnostics, Goal
from donewhen.lsp.host import Folder
from donewhen.lsp.interrupts import Interrupts
from donewhen.lsp.progress import Progress
from donewhen.lsp.ticking import Ticking
from donewhen.wire.plain import step_json
from donewhen.wire.snapshot import Snapshot, Wire, snapshot
from donewhen.wire.view import RequirementRows, requirement_rows, view_of

logger = logging.getLogger(__name__)

SNAPSHOT_SECONDS = 0.1
ACTIVITY_SECONDS = 0.08
DIAGNOSTICS_SECONDS = 0.005
CHECKING_SECONDS = 0.08
"""As long as checks run, diagnostics follow their results at this pace; what an audit ends with is shown at once."""
REFRESH_SECONDS = 0.25
MOST_SENT = 8
"""Runs of which the requirements that were sent last are kept, to leave out those that are the same."""
REST = 4.0
"""What takes long to show, such as a thousand requirements, is followed by so many times its own seconds of rest."""


class Publisher:
    """Turns changes into messages, each kind at its own pace, and never drops the last state."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._snapshots: dict[str, Throttle] = {}
        self._sent: dict[str, RequirementRows] = {}
        """As they were sent last to a client of sparse snapshots; the run that was sent last comes last."""
        self._followed: dict[str, Throttle] = {}
        """The runs whose steps the client receives."""
        self._goals: set[Goal] = set()
        self._diagnostics = Throttle(DIAGNOSTICS_SECONDS, self._publish_diagnostics)
        self._refresh = Throttle(REFRESH_SECONDS, self._ask_to_refresh)
        self._pull_again = Throttle(REFRESH_SECONDS, self._ask_to_pull)
        self._shown: dict[str, object] = {}
        self.diagnostics = Diagnostics(client, self._pull_again.trigger)
        self.progress = Progress(client)
        self.interrupts = Interrupts(client)
        self._ticking = Ticking(client)

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
            patience = CHECKING_SECONDS if view.state.auditing.open is not None else 0.0
            self.goal_changed(folder.root, view.state.goal.path, patience)

    def follow(self, folder: Folder, run_id: str, version: int | None) -> None:
        """From now on the client gets every new step of the run since `version`; None ends that."""
        before = self._followed.pop(run_id, None)
        if before is not None:
            before.stop()
        if version is None:
            return
        received = version

        async def publish_steps() -> None:
            nonlocal received
            found = await folder.runs.steps(run_id, received)
            received = found.version
            if found.steps:
                steps = [step_json(step, folder.root) for step in found.steps]
                self._client.server.protocol.notify("donewhen/activity", {"runId": run_id, "steps": steps})

        self._followed[run_id] = Throttle(ACTIVITY_SECONDS, publish_steps)
        self._followed[run_id].trigger()

    def goal_changed(self, root: Path, path: str, patience: float = 0.0) -> None:
        """A goal file, or what is known about it, changed."""
        self._goals.add((root, path))
        self._diagnostics.trigger(patience)

    async def settle_diagnostics(self) -> None:
        await self._diagnostics.flush()

    async def close(self) -> None:
        """Sends the last states, and nothing after that."""
        own = (self._diagnostics, self._refresh, self._pull_again)
        for throttle in (*self._snapshots.values(), *self._followed.values(), *own):
            throttle.stop()
        self.interrupts.close()

    async def _publish_snapshot(self, folder: Folder, run_id: str) -> None:
        view = folder.snapshots.of_run(run_id)
        if view is None:
            return
        if self._client.profile.sparse:
            # Without what the client has.
            sent = self._sent.pop(run_id, {})
            document, self._sent[run_id] = sparse_json(self._client, view, folder.root, sent)
            if len(self._sent) > MOST_SENT:
                del self._sent[next(iter(self._sent))]
        else:
            document = snapshot_json(self._client, view, folder.root)
        self._client.server.protocol.notify("donewhen/snapshot", document)
        self.progress.show(folder, view)
        self.interrupts.show(folder, view)
        self._ticking.show(folder, view)
        state = view.state
        look = (state.status, state.iteration, view.views, state.present_findings, state.plugins.halt, view.present)
        if self._shown.get(run_id) != look:
            self._shown[run_id] = look
            self._refresh.trigger()

    async def _publish_diagnostics(self) -> None:
        goals, self._goals = self._goals, set()
        await self.diagnostics.refresh(goals)

    async def _ask_to_refresh(self) -> None:
        """Lenses and hints are pulled: the client is asked to pull again, if it supports that."""
        profile, server = self._client.profile, self._client.server
        if profile.lens_refresh:
            self._client.later(server.workspace_code_lens_refresh_async(None), types.WORKSPACE_CODE_LENS_REFRESH)
        if profile.hint_refresh:
            self._client.later(server.workspace_inlay_hint_refresh_async(None), types.WORKSPACE_INLAY_HINT_REFRESH)

    async def _ask_to_pull(self) -> None:
        asking = self._client.server.workspace_diagnostic_refresh_async(None)
        self._client.later(asking, types.WORKSPACE_DIAGNOSTIC_REFRESH)


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


def client_snapshot(client: Client, view: RunView, root: Path) -> Snapshot:
    """The present snapshot of a run, with columns and uris as the client writes them."""
    found = snapshot(view, root, client.texts.character)
    if view.state.goal.path is None:
        return found
    return found.model_copy(update={"goal_uri": client.texts.uri(root / view.state.goal.path)})


def snapshot_json(client: Client, view: RunView, root: Path) -> dict[str, Any]:
    """A snapshot as it is sent, with its view for clients that want one."""
    if client.profile.sparse:
        return sparse_json(client, view, root, {})[0]
    found = client_snapshot(client, view, root)
    document = _dumped(found)
    if client.profile.views:
        document["view"] = _dumped(view_of(found, silent=view.live.silent > 0))
    return document


def sparse_json(
    client: Client, view: RunView, root: Path, sent: RequirementRows
) -> tuple[dict[str, Any], RequirementRows]:
    """A snapshot that holds what is seen at first, with null for each requirement that was sent before as it is; and
    all rows of requirements. Where others stand than before, or in another order, none is null."""
    found = client_snapshot(client, view, root)
    rows = requirement_rows(found, sent)
    same = list(rows) == list(sent)
    kept = [same and row is sent[name][1] for name, (_, row) in rows.items()]
    shown = view_of(found, silent=view.live.silent > 0, rows=rows)
    document = _dumped(found.model_copy(update={"requirements": [], "iterations": []}))
    document["requirements"] = _unless(kept, found.requirements)
    document["view"] = _dumped(shown.model_copy(update={"requirements": []}))
    document["view"]["requirements"] = _unless(kept, shown.requirements)
    return document, rows


def _unless(kept: Sequence[bool], items: Sequence[Wire]) -> list[dict[str, Any] | None]:
    return [None if skipped else _dumped(one) for skipped, one in zip(kept, items, strict=True)]


def _dumped(one: Wire) -> dict[str, Any]:
    return one.model_dump(mode="json", by_alias=True)
