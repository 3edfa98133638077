"""Limits the time in which nothing comes of a reply, and not the reply."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Silence:
    """A context manager that raises TimeoutError where nothing is heard for `first` seconds, or for `between` seconds
    after something was."""

    def __init__(self, first: float, between: float) -> None:
        self._seconds = first
        self._between = between
        self._timeout = asyncio.timeout(first)

    async def __aenter__(self) -> Silence:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise TimeoutError(f"sent nothing for {self._seconds:.0f} s") from None

    def heard(self) -> None:
        """Something came: the time begins anew."""
        if not self._timeout.expired():
            self._seconds = self._between
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._between)
