"""The control group that counts a room's processes: nothing runs in a room without the one that was made for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.workspace.rooms import confining
from donewhen.workspace.rooms.limits import control_group


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


@pytest.mark.skipif(sys.platform != "linux", reason="rooms for commands need Linux")
def test_nothing_runs_where_the_group_of_the_room_is_gone(tmp_path: Path) -> None:
    ended = confined(tmp_path / "gone" / "cgroup.procs", "touch", str(tmp_path / "ran"))
    assert ended.returncode == 1
    assert "nothing was run" in ended.stderr
    assert not (tmp_path / "ran").exists()
    assert confined("", "touch", str(tmp_path / "ran")).returncode == 0
    assert (tmp_path / "ran").exists()
