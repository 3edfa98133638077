"""What is shown of a worker's program while it runs, as plain text, and the room of its turn."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from donewhen.core.errors import WorkerFailed, WorkspaceError
from donewhen.core.words import shortened
from donewhen.ports import Grants, LiveRoom, LiveRooms, Turn, TurnContext

MAX_ACTIVITY = 200
_MAX_READ = 4_096
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def output_shown(context: TurnContext, silent: Callable[[str], bool] = lambda _: False) -> Callable[[str], None]:
    """Takes the lines that a program prints, and shows them to whoever follows the run. Lines for which `silent` is
    true, as plain text, are left out."""

    def take_line(line: str) -> None:
        said = without_control(line)
        if not silent(said):
            context.stream(f"{said.rstrip()}\n")

    return take_line


def activity_line(line: str) -> str:
    """Output as one short plain line; empty if it says nothing."""
    text = " ".join(without_control(line[:_MAX_READ]).split())
    return shortened(text, MAX_ACTIVITY)


def without_control(text: str) -> str:
    """Output as a person reads it: without ANSI sequences and control characters, with plain line ends."""
    return _CONTROL.sub("", _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


# Opens the room of a worker for one turn, and ends what ran in it.


@asynccontextmanager
async def turn_room(rooms: LiveRooms, grants: Grants, turn: Turn) -> AsyncGenerator[LiveRoom]:
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


async def seen_through(step: Coroutine[Any, Any, object]) -> None:
    """Runs a step to its end, however often the caller is cancelled meanwhile; the cancellation then takes effect."""
    task = asyncio.ensure_future(step)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
