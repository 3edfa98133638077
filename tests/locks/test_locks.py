"""Who may supervise a run: real processes race, die and leave orphans behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from donewhen.core.errors import AlreadyRunning, HeldElsewhere, LedgerUnavailable
from donewhen.workspace.locks import TOKEN_VARIABLE, FileRunLock, holders, try_lock
from tests.tools import runs

pytestmark = pytest.mark.conformance("C20")

TOKEN = f"token-{os.getpid()}-1"
"""Another one in each process of tests: all that carries it is ended."""
SUPERVISOR = Path(__file__).with_name("supervisor.py")

Spawn = Callable[..., "Supervisor"]


class Supervisor:
    """A supervising process, and what it said."""

    def __init__(self, folder: Path, run_id: str, token: str, *children: str, wait_for_go: bool) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SUPERVISOR), str(folder), run_id, token, *children],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "WAIT_FOR_GO": "1" if wait_for_go else ""},
        )
        self._said: dict[str, Any] | None = None

    @property
    def said(self) -> dict[str, Any]:
        if self._said is None:
            assert self.process.stdout is not None
            self._said = json.loads(self.process.stdout.readline())
        return self._said

    @property
    def children(self) -> list[int]:
        return self.said["children"]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()
        for pid in (self._said or {}).get("children", []):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    started: list[Supervisor] = []

    def start(*children: str, run_id: str = "run-1", wait_for_go: bool = False) -> Supervisor:
        started.append(Supervisor(tmp_path, run_id, TOKEN, *children, wait_for_go=wait_for_go))
        return started[-1]

    yield start
    for supervisor in started:
        supervisor.end()


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[FileRunLock]:
    lock = FileRunLock(tmp_path)
    yield lock
    lock.release()


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process of another run, whose token only begins like the one that is ended."""
    code = [sys.executable, "-c", "import time; time.sleep(600)"]
    process = subprocess.Popen(code, env={**os.environ, TOKEN_VARIABLE: f"{TOKEN}2"})
    yield process
    process.kill()
    process.wait()


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_the_owner_is_on_record_until_it_gives_up(lock: FileRunLock) -> None:
    assert lock.owner() is None
    assert lock.last_owner() is None
    lock.acquire("run-1", TOKEN)
    owner = lock.owner()
    assert owner is not None
    assert (owner.run_id, owner.pid, owner.token) == ("run-1", os.getpid(), TOKEN)
    assert owner.started == pytest.approx(psutil.Process().create_time())
    lock.release()
    assert lock.owner() is None
    assert lock.last_owner() == owner


def test_a_second_run_in_one_process_is_refused(lock: FileRunLock, tmp_path: Path) -> None:
    lock.acquire("run-1", "t")
    with pytest.raises(AlreadyRunning) as same:
        lock.acquire("run-2", "t")
    with pytest.raises(AlreadyRunning) as other:
        FileRunLock(tmp_path).acquire("run-3", "t")
    assert (same.value.run_id, other.value.run_id) == ("run-1", "run-1")
    lock.release()
    FileRunLock(tmp_path).acquire("run-4", "t")


@pytest.mark.conformance("C19")
def test_a_live_owner_elsewhere_is_named(lock: FileRunLock, spawn: Spawn) -> None:
    first = spawn(run_id="first")
    assert first.said["acquired"]
    owner = lock.owner()
    assert owner is not None
    assert owner.pid == first.process.pid
    with pytest.raises(AlreadyRunning, match="first"):
        lock.acquire("second", "t")
    assert lock.owner() == owner


def test_after_a_killed_owner_without_children_the_lock_is_free(lock: FileRunLock, spawn: Spawn) -> None:
    first = spawn(run_id="first")
    assert first.said["acquired"]
    first.kill()
    assert lock.owner() is None
    last = lock.last_owner()
    assert last is not None
    assert last.run_id == "first"
    lock.acquire("second", "t")


async def test_the_end_of_an_owner_is_noticed_at_once(lock: FileRunLock, spawn: Spawn) -> None:
    first = spawn(run_id="first")
    assert first.said["acquired"]
    owner = lock.owner()
    assert owner is not None
    waiting = asyncio.ensure_future(lock.until_gone(owner))
    assert not (await asyncio.wait({waiting}, timeout=0.1))[0]
    first.kill()
    async with asyncio.timeout(1):
        await waiting
        await lock.until_gone(owner)  # it is gone already
    assert lock.owner() is None


def test_holders_are_named_though_they_close_other_files_meanwhile(lock: FileRunLock, tmp_path: Path) -> None:
    lock.acquire("run-1", "t")
    over = threading.Event()

    def opens_and_closes() -> None:
        while not over.is_set():
            for descriptor in [os.open(tmp_path, os.O_RDONLY) for _ in range(20)]:
                os.close(descriptor)

    busy = threading.Thread(target=opens_and_closes)
    busy.start()
    try:
        assert all(os.getpid() in holders(tmp_path / "run.lock") for _ in range(20))
    finally:
        over.set()
        busy.join()


def test_an_owner_that_is_a_zombie_is_dead(lock: FileRunLock, spawn: Spawn) -> None:
    first = spawn()
    assert first.said["acquired"]
    first.process.send_signal(signal.SIGKILL)  # nobody has asked for its exit code yet
    wait_for(lambda: not runs(first.process.pid))
    assert lock.owner() is None
    lock.acquire("second", "t")


def test_a_process_that_only_has_the_pid_of_the_owner_is_not_the_owner(
    lock: FileRunLock, tmp_path: Path, stranger: subprocess.Popen[bytes]
) -> None:
    lock.acquire("run-1", "t")
    lock.release()
    record = json.loads((tmp_path / "owner.json").read_text())
    other = {**record, "pid": stranger.pid, "released": False}
    (tmp_path / "owner.json").write_text(json.dumps(other))
    assert lock.owner() is None
    (tmp_path / "owner.json").write_text("{ half a rec")
    assert lock.owner() is None
    assert lock.last_owner() is None
    lock.acquire("run-2", "t")


@pytest.mark.parametrize("attempt", [0, *(pytest.param(more, marks=pytest.mark.slow) for more in (1, 2))])
def test_of_racing_supervisors_exactly_one_wins(lock: FileRunLock, spawn: Spawn, tmp_path: Path, attempt: int) -> None:
    racers = [spawn(run_id=f"run-{n}", wait_for_go=True) for n in range(6)]
    wait_for(lambda: len(list(tmp_path.glob("ready-*"))) == 6)
    (tmp_path / "go").touch()
    winners = [n for n, racer in enumerate(racers) if racer.said.get("acquired")]
    assert len(winners) == 1
    refused = [racer.said for n, racer in enumerate(racers) if n not in winners]
    assert {said["refused"] for said in refused} == {"AlreadyRunning"}
    assert all(f"run-{winners[0]} " in said["message"] for said in refused)
    owner = lock.owner()
    assert owner is not None
    assert owner.run_id == f"run-{winners[0]}"


def test_orphans_of_a_dead_supervisor_keep_the_lock_and_are_named(lock: FileRunLock, spawn: Spawn) -> None:
    dead = spawn("plain", run_id="first")
    (orphan,) = dead.children
    dead.kill()
    assert lock.owner() is None
    with pytest.raises(HeldElsewhere) as refused:
        lock.acquire("second", "t")
    assert "run first has ended" in str(refused.value)
    assert f"process {orphan} (" in str(refused.value)
    assert runs(orphan)


async def test_leftovers_are_ended_within_two_seconds_daemons_too_and_others_are_not(
    lock: FileRunLock, spawn: Spawn, stranger: subprocess.Popen[bytes]
) -> None:
    dead = spawn("plain", "daemon", "stubborn")
    assert len(dead.children) == 3
    dead.kill()
    begun = time.monotonic()
    assert await lock.end_leftovers(TOKEN) == 3
    lock.acquire("run-1", "token-2")
    assert time.monotonic() - begun < 20
    assert not any(runs(pid) for pid in dead.children)
    assert stranger.poll() is None


async def test_what_holds_the_lock_without_the_token_is_named_and_not_ended(lock: FileRunLock, spawn: Spawn) -> None:
    dead = spawn("unmarked")
    (orphan,) = dead.children
    dead.kill()
    await lock.end_leftovers(TOKEN)
    with pytest.raises(HeldElsewhere, match=str(orphan)):
        lock.acquire("run-1", "token-2")
    assert runs(orphan)


async def test_nothing_left_is_no_error(lock: FileRunLock) -> None:
    assert await lock.end_leftovers("nobody carries this") == 0


def test_a_supervisor_inside_the_dead_run_ends_nothing(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys, pathlib\n"
        "from donewhen.workspace.locks import FileRunLock\n"
        "asyncio.run(FileRunLock(pathlib.Path(sys.argv[1])).end_leftovers('inside'))\n"
    )
    shell = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
    ran = subprocess.run(
        [*shell, sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, TOKEN_VARIABLE: "inside"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "HeldElsewhere" in ran.stderr
    assert "terminal of your own" in ran.stderr
    assert ran.returncode == 1


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="there is no other file here that can't be locked")
def test_where_nothing_can_be_locked_the_error_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("")
    unlockable = os.open(tmp_path / "lock", os.O_PATH)
    try:
        with pytest.raises(LedgerUnavailable, match="use a state folder on a local disk"):
            try_lock(unlockable)
    finally:
        os.close(unlockable)


def test_children_hold_the_lock_only_where_the_descriptor_was_passed_on(lock: FileRunLock, tmp_path: Path) -> None:
    assert lock.inherited_descriptors() == ()
    lock.acquire("run-1", "t")
    (descriptor,) = lock.inherited_descriptors()
    code = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
    for pass_fds, held in (((descriptor,), True), ((), False)):
        child = subprocess.Popen(code, pass_fds=pass_fds, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        assert (child.pid in holders(tmp_path / "run.lock")) is held
        child.communicate()


def test_the_token_is_for_this_user_alone(lock: FileRunLock, tmp_path: Path) -> None:
    lock.acquire("run-1", "secret")
    assert [file.stat().st_mode & 0o077 for file in tmp_path.iterdir()] == [0, 0, 0]


FORKING = """
import os, pathlib, subprocess, sys
from donewhen.workspace.locks import TOKEN_VARIABLE, FileRunLock
lock = FileRunLock(pathlib.Path(sys.argv[1]))
lock.acquire("run", sys.argv[2])
print("up", flush=True)
environment = {**os.environ, TOKEN_VARIABLE: sys.argv[2]}
while True:
    subprocess.Popen(["sleep", "60"], env=environment, pass_fds=lock.inherited_descriptors(), start_new_session=True)
"""


async def kill_while_it_forks(lock: FileRunLock, folder: Path, token: str, seconds: float) -> None:
    supervisor = subprocess.Popen(  # noqa: ASYNC220  # brief
        [sys.executable, "-c", FORKING, str(folder), token], stdout=subprocess.PIPE
    )
    assert supervisor.stdout is not None
    supervisor.stdout.readline()
    await asyncio.sleep(seconds)
    supervisor.kill()
    supervisor.stdout.close()
    supervisor.wait(60)
    await lock.end_leftovers(token)
    lock.acquire("next", "next")
    lock.release()


async def test_a_supervisor_killed_while_it_starts_processes_leaves_nothing_that_holds(
    lock: FileRunLock, tmp_path: Path
) -> None:
    await kill_while_it_forks(lock, tmp_path, TOKEN, 0.05)


@pytest.mark.slow
async def test_supervisors_killed_at_many_moments_leave_nothing_that_holds(lock: FileRunLock, tmp_path: Path) -> None:
    for n in range(30):
        await kill_while_it_forks(lock, tmp_path, f"token-{n}", n * 0.004)
