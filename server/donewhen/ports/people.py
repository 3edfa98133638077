"""Who asks something of a run. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from donewhen.core.acts import Person, Seen
from donewhen.ports.records import Request


class People(Protocol):
    """Who asks something of a run, from where: this process, and those whose requests it takes."""

    def me(self) -> Person:
        """Who acts through this process."""
        ...

    def inside(self, run_id: str) -> bool:
        """Whether this process was started by that run: by its worker or by one of its checks."""
        ...

    def asking(
        self, run_id: str, operation: str, arguments: Mapping[str, Any]
    ) -> AbstractAsyncContextManager[Mapping[str, object]]:
        """What a request carries so that the owner of the run takes it, as long as this lasts. Raises ActRefused if
        it can't be signed."""
        ...

    async def look(self, request: Request) -> Seen:
        """The process behind a request for a run that this process owns. Raises ActRefused if nobody signed it, or
        not for this run, or where it was taken before."""
        ...
