"""Every process is ended with all that it started, and nothing else is."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import psutil
import pytest

from donewhen.ports import ProcessResult
from donewhen.workspace.processes.leftovers import find_marked
from donewhen.workspace.processes.running import SystemProcesses
from tests.tools import in_flight, runs

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are written for a POSIX shell")

# A daemon as it should be: two forks, a session of its own, every descriptor closed. It says its pid in a file.
DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()))
if sys.argv[2] == "quiet": os.closerange(0, 64)
time.sleep(300)
"""
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(300)
"""


Run = Callable[..., Coroutine[object, object, ProcessResult]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    processes = SystemProcesses()

    async def run_one(command: str | list[str], **options: object) -> ProcessResult:
        environment = {**os.environ, **options.pop("variables", {})}  # type: ignore[dict-item]
        options.setdefault("cwd", tmp_path)
        options.setdefault("token", "run-token")
        return await processes.run(command, environment=environment, **options)  # type: ignore[arg-type]

    return run_one


def script(folder: Path, text: str, name: str = "program.py") -> str:
    (folder / name).write_text(text)
    return f"{sys.executable} {folder / name}"


async def pid_in(file: Path) -> int:
    """What another process writes into the file, once it has."""
    async with asyncio.timeout(20):
        while not (text := read(file)):  # noqa: ASYNC110 # no event crosses processes
            await asyncio.sleep(0.01)
    return int(text)


def read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


async def test_tells_exit_code_and_merged_output(run: Run) -> None:
    result = await run("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.signal, result.timed_out, result.spawn_error) == (3, None, False, None)
    assert result.output == "out\nerr\n"
    assert result.output_bytes == 8
    assert result.output_digest == hashlib.sha256(b"out\nerr\n").hexdigest()
    assert abs(result.started_at - time.time()) < 60


async def test_a_sequence_needs_no_shell(run: Run) -> None:
    assert (await run([sys.executable, "-c", "import sys; print(sys.argv[1])", "a b; $c"])).output == "a b; $c\n"


async def test_a_signal_is_no_exit_code(run: Run) -> None:
    result = await run("kill -9 $$")
    assert (result.exit_code, result.signal) == (None, 9)


async def test_standard_input_is_closed(run: Run) -> None:
    result = await run("cat; echo end", timeout=60)
    assert (result.exit_code, result.output) == (0, "end\n")


async def test_standard_input_is_what_was_given(run: Run) -> None:
    given = b"line\n" * 200_000
    result = await run("wc -c", stdin=given, timeout=60)
    assert int(result.output) == len(given)


async def test_input_that_nobody_reads_holds_nothing_up(run: Run) -> None:
    assert (await run("exit 4", stdin=b"x" * 5_000_000, timeout=60)).exit_code == 4


async def test_the_environment_is_the_given_one_and_the_tokens(run: Run) -> None:
    lines = (await run("env", variables={"GIVEN": "yes"})).output.splitlines()
    assert "GIVEN=yes" in lines
    assert "DONEWHEN_RUN_TOKEN=run-token" in lines
    assert any(line.startswith("DONEWHEN_STEP_TOKEN=") for line in lines)


async def test_what_never_ends_is_ended(run: Run) -> None:
    result = await in_flight(lambda seconds: run("echo before; sleep 300", timeout=seconds), lambda found: found.output)
    assert result.timed_out
    assert result.exit_code is None
    assert result.output == "before\n"
    assert result.seconds < 30


@pytest.mark.slow
async def test_what_ignores_the_request_to_end_is_killed(run: Run, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    step = asyncio.create_task(run(f"{script(tmp_path, STUBBORN)} {pid_file}", timeout=1.5))
    pid = await pid_in(pid_file)
    result = await step
    assert result.timed_out
    assert not runs(pid)


@pytest.mark.parametrize("manner", ["quiet", "holds-output"])
async def test_a_daemon_is_gone_within_2_s(run: Run, tmp_path: Path, manner: str) -> None:
    pid_file = tmp_path / "pid"
    command = f"{script(tmp_path, DAEMON)} {pid_file} {manner}; while [ ! -s {pid_file} ]; do sleep 0.01; done; echo ok"
    result = await run(command, timeout=30)
    assert (result.exit_code, result.output) == (0, "ok\n")
    assert not runs(int(pid_file.read_text()))


async def test_a_stubborn_daemon_is_killed_within_2_s(run: Run, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = script(tmp_path, STUBBORN)
    stamp = tmp_path / "over"
    await run(
        f"setsid {command} {pid_file} >/dev/null 2>&1 & while [ ! -s {pid_file} ]; do sleep 0.01; done; touch {stamp}",
        timeout=30,
    )
    assert time.time() - stamp.stat().st_mtime < 20
    assert not runs(int(pid_file.read_text()))


@pytest.mark.conformance("C19")
@pytest.mark.parametrize("program", [STUBBORN, DAEMON])
async def test_cancelling_ends_every_child_before_it_takes_effect(run: Run, tmp_path: Path, program: str) -> None:
    pid_file = tmp_path / "pid"
    step = asyncio.create_task(run(f"{script(tmp_path, program)} {pid_file} x; sleep 300"))
    pid = await pid_in(pid_file)
    begun = time.monotonic()
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert time.monotonic() - begun < 20
    assert not runs(pid)


async def test_a_child_that_sheds_its_mark_and_its_session_is_ended(run: Run, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = f"env -i setsid {script(tmp_path, STUBBORN)} {pid_file} & wait"
    step = asyncio.create_task(run(command))
    pid = await pid_in(pid_file)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert not runs(pid)


async def test_a_daemon_that_sheds_its_mark_its_session_and_its_parent_is_ended(run: Run, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    daemon = f"env -i {script(tmp_path, DAEMON)} {pid_file} x >/dev/null 2>&1"
    assert (await run(f"{daemon}; while [ ! -s {pid_file} ]; do sleep 0.01; done", timeout=30)).exit_code == 0
    assert not runs(int(pid_file.read_text()))


async def test_steps_leave_no_descriptor_open(run: Run, tmp_path: Path) -> None:
    await run("true")
    before = psutil.Process().num_fds()
    for command in ("true", ["no-such-program"], "kill -9 $$"):
        await run(command)
    await run("true", cwd=tmp_path / "gone")
    await run("sleep 9", timeout=0.05)
    after = psutil.Process().num_fds()
    assert after == before


async def test_cancelling_twice_still_ends_every_child(run: Run, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    step = asyncio.create_task(run(f"{script(tmp_path, STUBBORN)} {pid_file}"))
    pid = await pid_in(pid_file)
    step.cancel()
    await asyncio.sleep(0)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert not runs(pid)


async def test_cancelling_at_once_leaves_nothing(run: Run, tmp_path: Path) -> None:
    for turns in range(4):
        step = asyncio.create_task(run("sleep 299", variables={"TURN": str(turns)}, token=f"at-once-{tmp_path}"))
        for _ in range(turns):
            await asyncio.sleep(0)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
    assert not find_marked(f"DONEWHEN_RUN_TOKEN=at-once-{tmp_path}")


def test_a_loop_that_closes_takes_its_children_along(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = f"{script(tmp_path, STUBBORN)} {pid_file}"

    async def main() -> int:
        processes = SystemProcesses()
        step = asyncio.create_task(processes.run(command, cwd=tmp_path, environment=os.environ, token="t"))
        pid = await pid_in(pid_file)
        assert not step.done()
        return pid

    pid = asyncio.run(main())
    until(lambda: not runs(pid))


def until(true: Callable[[], bool]) -> None:
    """What is killed is still there for a moment."""
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


async def test_a_start_that_is_given_up_in_the_middle_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio ends the process itself where a loop closes while it connects the pipes, but none of its children."""
    token = f"given-up-{tmp_path}"

    async def gives_up(_: object, command: str, **options: Any) -> None:
        with subprocess.Popen(command, shell=True, env=options["env"], start_new_session=True) as shell:  # noqa: ASYNC220  # at once, as asyncio does
            until(lambda: len(find_marked(f"DONEWHEN_RUN_TOKEN={token}")) == 2)
            shell.kill()
        raise asyncio.CancelledError

    monkeypatch.setattr(asyncio.get_running_loop(), "subprocess_shell", gives_up)
    with pytest.raises(asyncio.CancelledError):
        await SystemProcesses().run("sleep 299 & wait", cwd=tmp_path, environment=os.environ, token=token)
    until(lambda: not find_marked(f"DONEWHEN_RUN_TOKEN={token}"))


@pytest.mark.slow
async def test_steps_side_by_side_leave_each_other_alone(run: Run, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    long = asyncio.create_task(run(f"{script(tmp_path, DAEMON)} {pid_file} x; sleep 2; echo survived", timeout=30))
    daemon = await pid_in(pid_file)
    short = await run("sleep 0.01 & exit 0")
    assert short.exit_code == 0
    assert runs(daemon)
    assert (await long).output == "survived\n"
    assert not runs(daemon)


async def test_a_flood_is_kept_small_and_digested_whole(run: Run) -> None:
    await _flood(run, 200_000_000)


@pytest.mark.slow
async def test_a_flood_of_a_gigabyte(run: Run) -> None:
    await _flood(run, 1_000_000_000)


async def _flood(run: Run, size: int) -> None:
    await run("true")  # whatever is loaded lazily is loaded now
    tracemalloc.start()
    result = await run(f"echo first; head -c {size} /dev/zero; echo; echo last", timeout=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.output_bytes == size + 12
    assert result.output.startswith("first\n␀")
    assert result.output.endswith("␀\nlast\n")
    cut = size + 12 - 262_144
    assert f"\n[... {cut:,} bytes cut ...]\n" in result.output
    assert len(result.output) < 262_144 + 100
    assert peak < 4_000_000
    expected = hashlib.sha256(b"first\n")
    for _ in range(size // 1_000_000):
        expected.update(bytes(1_000_000))
    expected.update(b"\nlast\n")
    assert result.output_digest == expected.hexdigest()


async def test_a_flood_that_never_ends_is_ended(run: Run) -> None:
    result = await run("yes", timeout=0.5)
    assert result.timed_out
    assert result.output.startswith("y\ny\n")


async def test_output_that_is_no_text_is_shown_all_the_same(run: Run) -> None:
    result = await run(r"printf 'a\377b\000c\033[31mred\033[0m\n'")
    assert result.output == "a\ufffdb␀c\x1b[31mred\x1b[0m\n"


async def test_lines_are_handed_out_as_they_come(run: Run, tmp_path: Path) -> None:
    lines: list[str] = []
    answer = tmp_path / "answer"

    def on_line(line: str) -> None:
        lines.append(line)
        answer.touch()

    command = f"echo one; while [ ! -e {answer} ]; do sleep 0.01; done; printf 'two\\r\\nthree'"
    assert (await run(command, on_line=on_line, timeout=30)).exit_code == 0
    assert lines == ["one", "two", "three"]


async def test_a_folder_that_is_gone_is_said(run: Run, tmp_path: Path) -> None:
    result = await run("true", cwd=tmp_path / "gone")
    assert result.exit_code is None
    assert "no longer exists" in (result.spawn_error or "")


async def test_a_command_may_delete_its_own_folder(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    result = await run(f"rm -rf {folder}; echo done", cwd=folder)
    assert (result.exit_code, result.output) == (0, "done\n")
    assert "no longer exists" in ((await run("true", cwd=folder)).spawn_error or "")


@pytest.mark.parametrize(
    ("command", "said"),
    [(["no-such-program"], "not found"), ("echo \0", "null byte"), (["/"], "may not be executed")],
)
async def test_what_can_not_start_says_why(run: Run, command: str | list[str], said: str) -> None:
    result = await run(command)
    assert result.exit_code is None
    assert said in (result.spawn_error or "")


@pytest.mark.conformance("C20")
async def test_children_inherit_the_extra_descriptors(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        processes = SystemProcesses(lambda: (lock.fileno(),))
        command = [sys.executable, "-c", f"import os; os.write({lock.fileno()}, b'held')"]
        result = await processes.run(command, cwd=tmp_path, environment=os.environ, token="t", timeout=60)
    assert result.exit_code == 0
    assert (tmp_path / "lock").read_text() == "held"
