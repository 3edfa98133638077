"""What every worker without a model does alike."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.events import RunOptions
from donewhen.ports import Worker
from donewhen.workers.command import CommandWorker
from donewhen.workers.human import HumanWorker
from donewhen.workers.scripted import ScriptedWorker
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.plain import PlainRooms
from tests.tools import runs

from .agent_turns import worker_parts
from .turns import SECONDS, Context, environment, turn

CHILDREN = """\
import os, subprocess, sys, time
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
Path("pids.part").write_text(f"{os.getpid()} {child.pid}")
Path("pids.part").rename("pids")
time.sleep(600)
"""


def command_worker(processes: SystemProcesses, folder: Path) -> Worker:
    return CommandWorker(_children(folder), PlainRooms(processes), environment)


def scripted_worker(processes: SystemProcesses, folder: Path) -> Worker:
    script = f"turns:\n  - - run: {_children(folder)!r}\n"
    return ScriptedWorker(script, worker_parts(RunOptions("scripted"), processes=lambda: processes))


def human_worker(processes: SystemProcesses, folder: Path) -> Worker:
    return HumanWorker()


def _children(folder: Path) -> str:
    (folder / "children.py").write_text(CHILDREN)
    return f"{shlex.quote(sys.executable)} children.py"


MAKERS = {"command": command_worker, "human": human_worker, "scripted": scripted_worker}
Maker = Callable[[SystemProcesses, Path], Worker]


@pytest.mark.parametrize(("name", "make"), MAKERS.items(), ids=list(MAKERS))
async def test_it_has_a_name_says_what_it_does_and_stops_when_cancelled(
    name: str, make: Maker, context: Context, processes: SystemProcesses, tmp_path: Path
) -> None:
    worker = make(processes, tmp_path)
    assert worker.name == name
    assert worker.waits_for_person is (name == "human")
    working = asyncio.create_task(worker.work(turn(), context))
    await context.hears("")
    await _cancelled(working)
    assert context.activities[0].strip()
    assert "\n" not in context.activities[0]


@pytest.mark.conformance("C19")
@pytest.mark.parametrize("make", [command_worker, scripted_worker])
async def test_cancelling_ends_every_child_within_two_seconds(
    make: Maker, context: Context, processes: SystemProcesses, tmp_path: Path
) -> None:
    working = asyncio.create_task(make(processes, tmp_path).work(turn(), context))
    pids = await _pids(tmp_path / "pids")
    assert len(pids) == 2
    await _cancelled(working)
    assert [pid for pid in pids if runs(pid)] == []


async def _cancelled(working: asyncio.Task[object]) -> None:
    begun = time.monotonic()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert time.monotonic() - begun < 20


async def _pids(path: Path) -> list[int]:
    deadline = time.monotonic() + SECONDS
    while not (pids := _read_pids(path)) and time.monotonic() < deadline:  # noqa: ASYNC110 # another process writes it
        await asyncio.sleep(0.01)
    return pids


def _read_pids(path: Path) -> list[int]:
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []
