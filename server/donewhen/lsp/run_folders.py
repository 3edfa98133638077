"""Which workspace folder a run belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from donewhen.core.errors import UnknownRun

if TYPE_CHECKING:
    from donewhen.lsp.host import Folder
    from donewhen.lsp.session import Session


async def folder_of(session: Session, run_id: str) -> Folder:
    """The folder whose ledger has the run: those on show first. Raises UnknownRun."""
    for folder in session.host.opened():
        if folder.board.of_run(run_id) is not None:
            return folder
    for folder in await session.all_folders():
        if any(summary.run_id == run_id for summary in await folder.runs.summaries()):
            return folder
    raise UnknownRun(f"there is no run {run_id} in the workspace folders of this editor")
