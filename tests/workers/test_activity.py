from __future__ import annotations

import asyncio

import pytest

from donewhen.workers.activity import LiveOutput, activity_line, without_control
from donewhen.workers.command import CommandWorker
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.plain import PlainRooms
from tests.tools import each_row

from .turns import Context, Recorder, ended, environment, python, turn


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


async def test_a_flood_is_told_in_few_lines_and_the_last_one_is_kept(context: Context) -> None:
    flood = [f"line {n}" for n in range(10_000)]
    await CommandWorker("agent", PlainRooms(Recorder(ended(), flood)), dict).work(turn(), context)
    assert context.activities[0] == "running agent"
    assert context.activities[-1] == "line 9999"
    assert len(context.activities) < 50


async def test_a_line_is_told_while_the_command_still_runs(context: Context, processes: SystemProcesses) -> None:
    command = python("import time; print('one', flush=True); print('two', flush=True); time.sleep(600)")
    working = asyncio.create_task(CommandWorker(command, PlainRooms(processes), environment).work(turn(), context))
    await context.hears("two")
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


async def test_nothing_is_told_after_the_end() -> None:
    told: list[str] = []
    live = LiveOutput(told.append, every=0.001)
    for line in ("first", "second", "", "third"):
        live.hear(line)
    live.close()
    assert told == ["first", "third"]
