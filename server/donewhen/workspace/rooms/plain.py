"""Rooms without containment: commands run as the person, with all of the person's rights."""

from __future__ import annotations

import shlex
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Unpack

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Grants, LiveRoom, LiveRooms, Processes, ProcessOptions, ProcessResult


class PlainRooms:
    """`ports.LiveRooms` without containment. `why` says what prevents it, or that it isn't wanted."""

    def __init__(self, processes: Processes, why: str = "commands are not contained") -> None:
        self._room = plain_room(processes)
        self._why = why

    async def hindrance(self) -> str:
        return self._why

    @asynccontextmanager
    async def open(self, grants: Grants) -> AsyncGenerator[LiveRoom]:
        """See `ports.LiveRooms`."""
        yield self._room


def plain_room(processes: Processes) -> LiveRoom:
    return LiveRoom(processes, processes, contained=False, hint=lambda result: "")


# Commands that each have their own room.


class EachInARoom:
    """`ports.Processes` that opens a room for every command, as `chosen` then says. Where none can be opened, nothing
    runs."""

    def __init__(self, chosen: Callable[[], tuple[LiveRooms, Grants]]) -> None:
        self._chosen = chosen

    async def run(self, command: str | Sequence[str], **options: Unpack[ProcessOptions]) -> ProcessResult:
        """See `ports.Processes`."""
        line = command if isinstance(command, str) else shlex.join(command)
        rooms, grants = self._chosen()
        try:
            async with rooms.open(replace(grants, commands=(*grants.commands, line))) as room:
                result = await room.processes.run(command, **options)
                # Readers of the output should not look for the reason outside of the room.
                hint = room.hint(result)
                return replace(result, output=f"{result.output.rstrip()}\n({hint})\n") if hint else result
        except WorkspaceError as error:
            return ProcessResult(None, "", 0, "", 0.0, time.time(), spawn_error=str(error))
