"""What counts a room's processes: the control group, without which nothing runs in the room that it was made for; and
the looks, while which what has many processes rests."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from donewhen.ports import RoomLimits
from donewhen.workspace.rooms import confining
from donewhen.workspace.rooms.limits import RoomWatch, control_group

LIMITS = RoomLimits(processes=300)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="rooms for commands need Linux")


def confined(group: Path | str, *command: str) -> subprocess.CompletedProcess[str]:
    program = (sys.executable, "-I", "-S", str(Path(confining.__file__)), str(group), *command)
    return subprocess.run(program, capture_output=True, text=True, timeout=30)


def test_a_group_stays_while_its_maker_lives_though_nobody_joined_it_yet() -> None:
    first = control_group(10)
    if first is None:
        pytest.skip("this user may not make a control group that counts")
    second = control_group(10)
    try:
        assert first.joins.exists()
    finally:
        first.close()
        if second is not None:
            second.close()
    assert not first.joins.exists()


def test_a_group_that_a_crash_left_is_removed() -> None:
    made = control_group(10)
    if made is None:
        pytest.skip("this user may not make a control group that counts")
    over = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    left = made.joins.parent.with_name(f"donewhen-{over.stdout.strip()}-left")
    left.mkdir()
    other = control_group(10)
    try:
        assert not left.exists()
    finally:
        made.close()
        if other is not None:
            other.close()


@on_linux
def test_nothing_runs_where_the_group_of_the_room_is_gone(tmp_path: Path) -> None:
    ended = confined(tmp_path / "gone" / "cgroup.procs", "touch", str(tmp_path / "ran"))
    assert ended.returncode == 1
    assert "nothing was run" in ended.stderr
    assert not (tmp_path / "ran").exists()
    assert confined("", "touch", str(tmp_path / "ran")).returncode == 0
    assert (tmp_path / "ran").exists()


@contextmanager
def started(code: str) -> Iterator[subprocess.Popen[bytes]]:
    """Python in a session of its own, all of whose processes are ended at the end."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@on_linux
async def test_what_has_too_many_processes_rests_until_it_is_killed() -> None:
    with started("import os, time\nfor _ in range(9): os.fork()\ntime.sleep(60)") as process:
        async with asyncio.timeout(60):
            assert "room_processes" in await RoomWatch(LIMITS, ()).exceeded(process.pid)
            stopped = await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED)
        assert stopped is not None
        assert stopped.si_status == signal.SIGSTOP


@on_linux
async def test_what_has_many_processes_goes_on_after_each_look() -> None:
    code = "import os, time\nfor _ in range(200):\n    if not os.fork(): time.sleep(1); os._exit(0)\n"
    with started(f"{code}for _ in range(200): os.wait()") as process:
        watching = asyncio.ensure_future(RoomWatch(LIMITS, ()).exceeded(process.pid))
        async with asyncio.timeout(60):
            assert await asyncio.to_thread(process.wait) == 0
        assert not watching.done()
        watching.cancel()
        await asyncio.wait((watching,))
