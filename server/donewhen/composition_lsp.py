"""Puts the language server's parts together; everything heavy is imported when a workspace is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.lsp.services import LspServices, OpenWorkspace

if TYPE_CHECKING:
    from donewhen.engine.api import Runs


def lsp_services(state_dir: Path | None) -> LspServices:
    """The factories that the language server works with; `state_dir` is the one of the command line."""

    async def open_workspace(wanted: OpenWorkspace) -> Runs:
        from donewhen.composition import open_engine
        from donewhen.config import Settings

        return await open_engine(wanted.root, wanted.state_dir or state_dir, Settings())

    return LspServices(open_workspace=open_workspace, goal_files=_goal_files)


def _goal_files() -> Any:
    return None
