"""Ticks the boxes of what a run has proven once it is complete, for those who want that (`tickBoxes`)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

from donewhen.lsp.actions import ticks
from donewhen.lsp.goal_view import goal_view
from donewhen.lsp.protocol import ClientSilent

if TYPE_CHECKING:
    from donewhen.engine.api import RunView
    from donewhen.lsp.host import Folder
    from donewhen.lsp.session import Session

logger = logging.getLogger(__name__)


class Ticking:
    """What becomes complete while this client looks; what was complete before is left as it stands."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._active: set[str] = set()

    def note(self, view: RunView) -> None:
        """A run changed."""
        if view.state.active:
            self._active.add(view.state.run_id)

    def show(self, folder: Folder, view: RunView) -> None:
        """Ticks the boxes where the run has just become complete: an edit in the editor, which can be undone there."""
        state, session = view.state, self._session
        if state.active or state.run_id not in self._active:
            return
        self._active.discard(state.run_id)
        wanted = session.host.settings.get("tickBoxes") is True and session.profile.apply_edit
        if wanted and state.end_status == "complete" and state.goal.path is not None:
            uri = session.texts.uri(folder.root / state.goal.path)
            session.later(self._tick(uri), f"ticking boxes of {state.run_id}")

    async def _tick(self, uri: str) -> None:
        goal = await goal_view(self._session, uri)
        edits = [] if goal is None else ticks(goal)
        if not edits:
            return
        params = types.ApplyWorkspaceEditParams(types.WorkspaceEdit(changes={uri: edits}), "Tick what is proven")
        try:
            result = await self._session.server.workspace_apply_edit_async(params)
        except ClientSilent as problem:
            logger.info("%s", problem)
            return
        if not result.applied:
            logger.info("the editor did not tick the boxes of %s", uri)
