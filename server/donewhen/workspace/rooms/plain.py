"""Rooms that are none: commands run as the person, with all that they may do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from donewhen.ports import Grants, Processes, ProcessResult


class PlainRooms:
    """`ports.LiveRooms` where nothing is contained. `why` is what hinders it, or that it isn't wanted."""

    def __init__(self, processes: Processes, why: str = "commands are not contained") -> None:
        self._room = PlainRoom(processes)
        self._why = why

    async def hindrance(self) -> str:
        return self._why

    @asynccontextmanager
    async def open(self, grants: Grants) -> AsyncGenerator[PlainRoom]:
        """See `ports.LiveRooms`."""
        yield self._room


class PlainRoom:
    """See `ports.LiveRoom`."""

    contained = False

    def __init__(self, processes: Processes) -> None:
        self.processes = self.outside = processes

    def hint(self, result: ProcessResult) -> str:
        return ""
