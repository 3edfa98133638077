from __future__ import annotations

import asyncio

import pytest

from donewhen.workers.activity import activity_line, without_control
from donewhen.workers.command import CommandWorker
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.plain import PlainRooms
from tests.tools import each_row

from .turns import Context, environment, python, turn


@each_row(
    "line, told",
    [
        ("\x1b[32mgreen\x1b[0m\ttext\r", "green text"),
        ("\x1b]0;title\x07", ""),
        ("\x1b(Bplain", "plain"),
        ("y" * 100_000, "y" * 199 + "…"),
        ("a\x00b\x08", "ab"),
        ("   ", ""),
    ],
)
def test_activity_is_one_short_plain_line(line: str, told: str) -> None:
    assert activity_line(line) == told


def test_plain_text_keeps_its_lines() -> None:
    assert without_control("\x1b[1;31mred\x1b[0m\r\nnext\rlast") == "red\nnext\nlast"


async def test_a_line_is_told_while_the_command_still_runs(context: Context, processes: SystemProcesses) -> None:
    command = python("import time; print('one', flush=True); print('two', flush=True); time.sleep(600)")
    working = asyncio.create_task(CommandWorker(command, PlainRooms(processes), environment).work(turn(), context))
    await context.hears("two")
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
