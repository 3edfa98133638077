"""The evidence of a requirement as files that any editor can open."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.core.errors import DoneWhenError
from donewhen.core.verdict import RequirementView
from donewhen.lsp.goal_view import GoalView

if TYPE_CHECKING:
    from donewhen.lsp.session import Session


async def evidence_files(session: Session, goal: GoalView, one: RequirementView) -> dict[str, Path]:
    """The read-only file of each evidence that the verdict cites, by id; those that can't be written are left out."""
    folder = session.host.folder_if_open(goal.place.root)
    found: dict[str, Path] = {}
    if goal.view is not None and folder is not None:
        for evidence_id in one.evidence_ids:
            with contextlib.suppress(OSError, DoneWhenError):
                file = await folder.runs.evidence_file(goal.view.state.run_id, evidence_id)
                found |= {} if file is None else {evidence_id: file}
    return found
