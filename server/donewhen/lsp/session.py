"""One client's session: the client, and all that is shown to it."""

from __future__ import annotations

from pathlib import Path

from donewhen.lsp.client import Client
from donewhen.lsp.client_profile import ClientProfile
from donewhen.lsp.host import Folder, Host
from donewhen.lsp.protocol import Server
from donewhen.lsp.publisher import Publisher


class Session(Client):
    """From `initialize` until the client leaves. `outlived`: its runs don't end with it."""

    def __init__(self, server: Server, host: Host, profile: ClientProfile, *, outlived: bool = False) -> None:
        super().__init__(server, host, profile)
        self._outlived = outlived
        self.views = Publisher(self)
        host.listener = self.views.run_changed
        host.closed = self._folder_closed

    def _folder_closed(self, folder: Folder) -> None:
        """Nothing more is known of its goals: their diagnostics go."""
        for view in folder.snapshots.newest_first():
            if view.state.goal.path is not None:
                self.views.goal_changed(folder.root, view.state.goal.path)

    def closed(self, path: Path) -> None:
        """The document is no longer open."""
        self.discarded(path)
        self.views.diagnostics.closed(path)

    async def disconnect(self, reason: str) -> None:
        """The client leaves."""
        self.host.client_left()
        for folder in self.host.open_folders():
            folder.runs.editor_changed()
        for task in self.background:
            task.cancel()
        await self.views.close()
        if not self._outlived:
            await self.host.close(reason)
