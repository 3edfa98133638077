"""What outlives a client's session: the opened workspace folders and their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donewhen.lsp.services import LspServices


class Host:
    """The workspaces of this process, each opened once, when something first needs it."""

    def __init__(self, services: LspServices) -> None:
        self.services = services

    async def close(self, reason: str) -> None:
        """Ends every child process and records the active runs as interrupted."""
        del reason
