"""When the editor last reported something new about the files: its diagnostics need time to follow an edit."""

from __future__ import annotations

import asyncio

QUIET = 2.0
"""Seconds without news after which the editor's tools are taken to have looked at what there is."""
PATIENCE = 10.0


class EditorNews:
    """News are diagnostics that differ, text that is edited, opened, saved or closed, and files that changed."""

    def __init__(self, quiet: float = QUIET, patience: float = PATIENCE) -> None:
        self.count = 0
        self._quiet = quiet
        self._patience = patience
        self._last: float | None = None
        self._more = asyncio.Event()

    def came(self) -> None:
        self.count += 1
        self._last = asyncio.get_running_loop().time()
        self._more.set()
        self._more = asyncio.Event()

    async def quiet(self) -> bool:
        """True once there were no news for a while; False if they go on and on."""
        now = asyncio.get_running_loop().time
        given_up = now() + self._patience
        while self._last is not None and (left := self._last + self._quiet - now()) > 0:
            if now() >= given_up:
                return False
            await asyncio.sleep(min(left, self._patience))
        return True

    async def after(self, count: int) -> None:
        """Returns once there are more news than these."""
        while self.count == count:
            await self._more.wait()
