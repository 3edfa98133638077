"""One client's session: what it said, what it has open, and what is shown to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from donewhen.lsp.client_profile import ClientProfile
from donewhen.lsp.documents import Documents

if TYPE_CHECKING:
    from donewhen.lsp.hardening import HardenedProtocol
    from donewhen.lsp.host import Host
    from donewhen.lsp.transport import Doorkeeper


class Session:
    """The state of one conversation. Everything that outlives it is in the host."""

    def __init__(self, protocol: HardenedProtocol, host: Host, doorkeeper: Doorkeeper | None = None) -> None:
        self.protocol = protocol
        self.host = host
        self.doorkeeper = doorkeeper
        self.profile = ClientProfile()
        self.documents = Documents()

    def introduce(self, profile: ClientProfile) -> None:
        self.profile = profile
        self.documents.encoding = profile.encoding

    def dismiss(self) -> None:
        """Ends the conversation once what was answered is sent."""
        self.protocol.dismiss()

    async def begin(self) -> None:
        """The client is ready to be told things."""

    async def leave(self, reason: str) -> None:
        """The client goes. Its runs end with it, except where it came over TCP."""
        if self.doorkeeper is None:
            await self.host.close(reason)
