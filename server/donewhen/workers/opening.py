"""Opens the room of a worker for one turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from donewhen.core.errors import WorkerFailed, WorkspaceError
from donewhen.ports import Grants, LiveRoom, LiveRooms, Turn


@asynccontextmanager
async def opened(rooms: LiveRooms, grants: Grants, turn: Turn) -> AsyncGenerator[LiveRoom]:
    """A room in which the goal's checks can be run and its file can't be changed. Raises WorkerFailed if none can be
    opened: what was promised to be contained does not run otherwise."""
    guarded = (*grants.guarded, *([turn.goal.path] if turn.goal.path is not None else []))
    commands = tuple(check.command for check in turn.goal.checks)
    async with AsyncExitStack() as stack:
        try:
            granted = replace(grants, guarded=guarded, commands=commands)
            room = await stack.enter_async_context(rooms.open(granted))
        except WorkspaceError as error:
            raise WorkerFailed(str(error), final=True) from error
        yield room
