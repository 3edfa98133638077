"""Ticks the boxes of proven requirements once a run is complete, if the setting `tickBoxes` is on."""

from __future__ import annotations

import logging

from lsprotocol import types

from donewhen.engine.api import RunView
from donewhen.lsp.client import Client
from donewhen.lsp.goal_view import GoalView, goal_view
from donewhen.lsp.host import Folder

logger = logging.getLogger(__name__)


class Ticking:
    """Acts on runs that become complete during this session; those that were complete before are left alone."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._active: set[str] = set()

    def note(self, view: RunView) -> None:
        """A run changed."""
        if view.state.active:
            self._active.add(view.state.run_id)

    def show(self, folder: Folder, view: RunView) -> None:
        """Ticks the boxes if the run has just become complete: an edit in the editor, which can be undone there."""
        state, client = view.state, self._client
        if state.active or state.run_id not in self._active:
            return
        self._active.discard(state.run_id)
        wanted = client.host.settings.get("tickBoxes") is True and client.profile.apply_edit
        if wanted and state.lifecycle.end_status == "complete" and state.goal.path is not None:
            uri = client.texts.uri(folder.root / state.goal.path)
            client.later(self._tick(uri), f"ticking boxes of {state.run_id}")

    async def _tick(self, uri: str) -> None:
        goal = await goal_view(self._client, uri)
        edits = [] if goal is None else ticks(goal)
        if not edits:
            return
        params = types.ApplyWorkspaceEditParams(types.WorkspaceEdit(changes={uri: edits}), "Tick what is proven")
        result = await self._client.answered(self._client.server.workspace_apply_edit_async(params))
        if result is not None and not result.applied:
            logger.info("the editor did not tick the boxes of %s", uri)


def ticks(goal: GoalView) -> list[types.TextEdit]:
    """The edits that tick the boxes of proven requirements. They change nothing that a proof rests on."""
    edits: list[types.TextEdit] = []
    for source in goal.parsed.requirements:
        one = goal.status(source)
        if source.checkbox is not None and not source.requirement.ticked and one is not None and one.status == "met":
            edits.append(types.TextEdit(goal.range(source.checkbox), "[x]"))
    return edits
