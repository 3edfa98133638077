"""The door of a run: whatever comes through it, the run goes on, and nothing is done that nobody waits for."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import pytest_asyncio

from donewhen.core.acts import ActOutcome, ActReply, AskedAct, RefusedAct, StopRun, line_of
from donewhen.core.errors import ActRefused, PersonNeeded
from donewhen.core.people import Seen
from donewhen.ports import Owner
from donewhen.workspace import people
from donewhen.workspace.door import SocketDoor
from donewhen.workspace.locks import FileRunLock
from donewhen.workspace.people import MOST_CALLERS, SystemPeople

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no such sockets here")

RUN = "4711"
STOP = StopRun("enough")
SAID = line_of(AskedAct, AskedAct(RUN, "editor", STOP))


@dataclass
class Owning:
    """A process that owns a run. `done` are the acts that it did; `before` is awaited before it agrees to one, and
    `during` while it does it."""

    folder: Path
    lock: FileRunLock
    people: SystemPeople
    done: list[AskedAct] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    before: Callable[[], Awaitable[object]] | None = None
    during: Callable[[], Awaitable[object]] | None = None

    async def take(
        self, asked: AskedAct, look: Callable[[], Awaitable[Seen | None]], agreed: Callable[[], Awaitable[bool]]
    ) -> ActReply | None:
        self.heard.set()
        if await look() is None:
            self.refusals.append("it is gone")
            return None
        if self.before is not None:
            await self.before()
        if not await agreed():
            self.refusals.append("nobody waits")
            return None
        if self.during is not None:
            await self.during()
        self.done.append(asked)
        return ActOutcome()

    @property
    def owner(self) -> Owner:
        found = self.lock.owner()
        assert found is not None
        return found

    async def connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await SocketDoor.connect(self.owner.door)

    async def works(self) -> None:
        """A person's act is done after all that."""
        done = len(self.done)
        async with asyncio.timeout(10):
            assert await self.people.ask(self.owner, STOP) == ActOutcome()
        assert len(self.done) == done + 1


def locked(folder: Path, runtime: Path) -> FileRunLock:
    folder.mkdir(exist_ok=True)
    lock = FileRunLock(folder, runtime)
    lock.acquire(RUN, "token")
    return lock


@pytest_asyncio.fixture
async def owning(tmp_path: Path) -> AsyncIterator[Owning]:
    lock = locked(tmp_path / "workspace", tmp_path / "runtime")
    people = SystemPeople(lock, "editor")
    made = Owning(tmp_path, lock, people)
    await people.listen(RUN, made.take)
    yield made
    await people.replied()
    lock.release()
    assert not list((tmp_path / "runtime").iterdir())


async def test_an_act_is_done_and_whoever_asked_hears_what_came_of_it(owning: Owning) -> None:
    await owning.works()
    assert owning.done == [AskedAct(RUN, "editor", STOP)]


def test_a_door_is_its_users_alone(tmp_path: Path) -> None:
    made = SocketDoor(tmp_path / "runtime", tmp_path)
    door = Path(made.address)
    assert (door.stat().st_mode & 0o777, door.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    made.close()


NOISE = {
    "nothing at all": b"",
    "half a line": b'{"run_id": "47',
    "no JSON": b"GET / HTTP/1.1\r\n\r\n",
    "no text": bytes(range(256)) + b"\n",
    "no act": b'{"run_id": "4711", "where": "editor", "act": {"type": "Explode"}}\n',
    "too deep": b"[" * 100_000 + b"\n",
    "an act in the old way": b'{"operation": "stop", "arguments": {}, "signed": {}}\n',
}


@pytest.mark.parametrize("noise", NOISE)
async def test_noise_hurts_nobody(owning: Owning, noise: str) -> None:
    reader, writer = await owning.connected()
    writer.write(NOISE[noise])
    writer.write_eof()
    async with asyncio.timeout(10):
        reply = await reader.read()
    assert b"taken" not in reply
    writer.close()
    await owning.works()


async def test_what_has_no_end_is_read_no_further_than_a_limit(owning: Owning) -> None:
    _, writer = await owning.connected()

    async def pour() -> None:
        while True:
            writer.write(b"x" * 1_000_000)
            await writer.drain()

    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        await asyncio.wait_for(pour(), 20)
    writer.transport.abort()
    await owning.works()


async def test_a_crowd_at_the_door_is_sent_away_and_whoever_comes_next_is_heard(owning: Owning) -> None:
    crowd = [await owning.connected() for _ in range(2 * MOST_CALLERS)]
    gone = [asyncio.ensure_future(reader.read()) for reader, _ in crowd]
    async with asyncio.timeout(10):
        while sum(one.done() for one in gone) < MOST_CALLERS:  # noqa: ASYNC110  # no event tells that
            await asyncio.sleep(0.01)
    assert await owning.people.ask(owning.owner, STOP) is None
    for _, writer in crowd:
        writer.transport.abort()
    async with asyncio.timeout(10):
        while await owning.people.ask(owning.owner, STOP) is None:  # noqa: ASYNC110  # as whoever asks does
            await asyncio.sleep(0.01)
    assert len(owning.done) == 1


async def test_whatever_goes_wrong_at_an_act_whoever_asked_hears_of_it(owning: Owning) -> None:
    async def breaks() -> None:
        raise OSError("the disk is on fire")

    owning.during = breaks
    assert await owning.people.ask(owning.owner, STOP) == RefusedAct(
        "other", "`stop` failed: OSError: the disk is on fire"
    )
    owning.during = None
    await owning.works()


async def test_an_act_on_another_run_is_not_taken(owning: Owning) -> None:
    assert await owning.people.ask(replace(owning.owner, run_id="another"), STOP) is None
    assert not owning.heard.is_set()


async def test_where_orphans_go_is_found_out_once_however_many_ask(
    owning: Owning, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    others: list[Future[int]] = []
    adopted_by = owning.people._takes_orphans  # pyright: ignore[reportPrivateUsage]

    with ThreadPoolExecutor() as pool:

        def adopter() -> int:
            found.append(4711)
            others.append(pool.submit(adopted_by))
            assert not wait(others, timeout=0.2).done  # nobody is told anything before it is known
            return 4711

        monkeypatch.setattr(people, "_adopter_of_orphans", adopter)
        assert await asyncio.to_thread(adopted_by) == 4711
        assert ([one.result() for one in others], found) == ([4711], [4711])


async def test_a_door_at_which_too_many_wait_is_tried_again(owning: Owning, tmp_path: Path) -> None:
    """asyncio takes a connection for made that the system refused for now: nothing is known of who is there."""
    crowded, waiting = socket.socket(socket.AF_UNIX), list[socket.socket]()
    crowded.bind(str(tmp_path / "crowded"))
    crowded.listen(0)
    with contextlib.suppress(BlockingIOError):
        for _ in range(100):
            waiting.append(one := socket.socket(socket.AF_UNIX))
            one.setblocking(False)
            one.connect(str(tmp_path / "crowded"))
    assert await owning.people.ask(replace(owning.owner, door=str(tmp_path / "crowded")), STOP) is None
    for one in (crowded, *waiting):
        one.close()


async def test_nothing_is_done_for_somebody_who_gave_up(owning: Owning) -> None:
    """As where the owner was stopped for longer than anybody waits: what they said is still there to be read."""
    held = asyncio.Event()
    owning.before = held.wait
    asking = asyncio.ensure_future(owning.people.ask(owning.owner, STOP))
    await owning.heard.wait()
    asking.cancel()
    await asyncio.wait({asking})
    held.set()
    async with asyncio.timeout(10):
        while not owning.refusals:  # noqa: ASYNC110  # no event tells that
            await asyncio.sleep(0.01)
    assert (owning.refusals, owning.done) == (["nobody waits"], [])
    owning.before = None
    await owning.works()


async def test_whoever_leaves_once_the_act_is_taken_leaves_it_done(owning: Owning) -> None:
    begun, held = asyncio.Event(), asyncio.Event()

    async def during() -> None:
        begun.set()
        await held.wait()

    owning.during = during
    asking = asyncio.ensure_future(owning.people.ask(owning.owner, STOP))
    await begun.wait()
    asking.cancel()
    await asyncio.wait({asking})
    held.set()
    await owning.people.replied()
    assert len(owning.done) == 1


async def test_a_process_that_ends_replies_to_those_whose_act_it_took(owning: Owning) -> None:
    begun, held = asyncio.Event(), asyncio.Event()

    async def during() -> None:
        begun.set()
        await held.wait()

    owning.during = during
    asking = asyncio.ensure_future(owning.people.ask(owning.owner, STOP))
    waiting, writer = await owning.connected()  # says nothing, and holds nobody up
    await begun.wait()
    ending = asyncio.ensure_future(owning.people.replied())
    async with asyncio.timeout(5):
        assert await waiting.read() == b""
    writer.close()
    held.set()
    await ending
    assert await asking == ActOutcome()


async def test_who_is_not_heard_any_more_does_it_without_the_owner(owning: Owning) -> None:
    owner = owning.owner
    owning.before = asyncio.Event().wait
    asking = asyncio.ensure_future(owning.people.ask(owner, STOP))
    await owning.heard.wait()
    await owning.people.replied()
    assert await asking is None
    owning.lock.release()
    assert await owning.people.ask(owner, STOP) is None, "there is no door any more"
    owning.lock.acquire(RUN, "token")


@pytest.mark.parametrize("lines", [b"", b"{}\n"])
async def test_an_owner_that_dies_at_an_act_is_told_of(tmp_path: Path, lines: bytes) -> None:
    """Whether it was done isn't known; before `taken`, nothing was."""

    async def dies(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"taken\n")
        await reader.readline()
        writer.write(lines)
        writer.close()

    dying: list[asyncio.Future[None]] = []
    door = SocketDoor(tmp_path, tmp_path)
    lock = FileRunLock(tmp_path)
    await door.open(lambda *streams: dying.append(asyncio.ensure_future(dies(*streams))))
    owner = Owner(RUN, os.getpid(), 0.0, "token", door.address)
    with pytest.raises(PersonNeeded, match="ended while it carried out `stop`"):
        await SystemPeople(lock, "editor").ask(owner, STOP)
    door.close()


async def test_nobody_takes_another_one_for_the_owner(owning: Owning) -> None:
    """Who listens where its door was is not the process that is on record."""
    assert await owning.people.ask(replace(owning.owner, pid=1), STOP) is None
    assert not owning.done


# --------------------------------------------------------------------------------- what is in its place


def stale(door: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(door))
    left.close()


def link(door: Path) -> None:
    (door.parent / "elsewhere").write_text("mine")
    door.symlink_to("elsewhere")


PLACES: dict[str, Callable[[Path], object]] = {
    "the socket of a process that was killed": stale,
    "a file": lambda door: door.write_text("x"),
    "a link": link,
    "a link to nothing": lambda door: door.symlink_to("nowhere"),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_in_the_place_of_the_door_goes(tmp_path: Path, place: str) -> None:
    first = SocketDoor(tmp_path, tmp_path / "workspace")
    first.close()
    door = Path(first.address)
    PLACES[place](door)
    again = SocketDoor(tmp_path, tmp_path / "workspace")
    assert again.address == first.address
    assert door.is_socket()
    assert not door.is_symlink()
    again.close()
    assert not door.exists()
    if place == "a link":
        assert (tmp_path / "elsewhere").read_text() == "mine"


def a_folder(runtime: Path) -> None:
    made = SocketDoor(runtime, runtime.parent / "workspace")
    made.close()
    Path(made.address).mkdir()


HINDRANCES: dict[str, Callable[[Path], object]] = {
    "the folder can be read by others": lambda runtime: runtime.mkdir(mode=0o755),
    "the folder is a link": lambda runtime: runtime.symlink_to(runtime.parent),
    "the folder is a file": lambda runtime: runtime.write_text("x"),
    "there is a folder in its place": a_folder,
}


@pytest.mark.parametrize("what", HINDRANCES)
async def test_a_run_without_a_door_goes_on_and_says_so_to_who_asks(tmp_path: Path, what: str) -> None:
    HINDRANCES[what](tmp_path / "runtime")
    lock = locked(tmp_path / "workspace", tmp_path / "runtime")
    owner = lock.owner()
    assert owner is not None
    people = SystemPeople(lock, "editor")
    await people.listen(RUN, Owning(tmp_path, lock, people).take)
    with pytest.raises(ActRefused, match=f"which pursues run {RUN}, can't be reached"):
        await people.ask(owner, STOP)
    lock.release()


async def test_a_folder_that_is_too_deep_for_a_socket_has_a_door(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    lock = locked(tmp_path / "workspace", deep)
    people = SystemPeople(lock, "editor")
    made = Owning(tmp_path, lock, people)
    await people.listen(RUN, made.take)
    await made.works()
    lock.release()


async def test_where_the_door_is_stands_on_record(tmp_path: Path) -> None:
    """Whoever asks may have another runtime folder: a job of cron has none."""
    lock = locked(tmp_path / "workspace", tmp_path / "runtime")
    owner = FileRunLock(tmp_path / "workspace", tmp_path / "another").owner()
    assert owner is not None
    assert Path(owner.door).parent == tmp_path / "runtime"
    lock.release()
    assert not (tmp_path / "another").exists()


# ------------------------------------------------------------------------------------- who stands there

HANDS_ON = """
import os, socket, sys
door, said = sys.argv[1], sys.argv[2].encode()
os.chdir(os.path.dirname(door))
made = socket.socket(socket.AF_UNIX)
made.connect(os.path.basename(door))
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        pass
    made.sendall(said + b"\\n")
    made.settimeout(10)
    while made.recv(100):
        pass
"""


async def test_a_connection_that_was_handed_on_is_nobodys(owning: Owning) -> None:
    """The process that the kernel names has ended: another one, which may be a worker's, says something."""
    words = [sys.executable, "-S", "-c", HANDS_ON, owning.owner.door, json.dumps(json.loads(SAID))]
    process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.DEVNULL)
    assert await process.wait() == 0
    async with asyncio.timeout(10):
        while not owning.refusals:  # noqa: ASYNC110  # no event tells that
            await asyncio.sleep(0.01)
    assert owning.refusals == ["it is gone"]
    assert not owning.done


HOLDS = """
import asyncio, sys
from pathlib import Path
from donewhen.workspace.locks import FileRunLock
from donewhen.workspace.people import SystemPeople

async def main():
    lock = FileRunLock(Path(sys.argv[1]), Path(sys.argv[1]))
    lock.acquire("4711", "token")
    over = asyncio.Event()
    async def take(asked, look, agreed):
        print(await look(), flush=True)
        over.set()
    await SystemPeople(lock, "editor").listen("4711", take)
    print(lock.door.address, flush=True)
    await asyncio.wait_for(over.wait(), 20)
    lock.release()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_whoever_is_in_another_container_is_refused(tmp_path: Path) -> None:
    """The owner is in one, and doesn't see the process that asks: that may be anybody's."""
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if await asyncio.to_thread(subprocess.call, [*inside, "true"], stderr=subprocess.DEVNULL):
        pytest.skip("no namespaces can be made here")
    words = [*inside, sys.executable, "-c", HOLDS, str(tmp_path)]
    owner = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    async with asyncio.timeout(30):
        _, writer = await SocketDoor.connect((await owner.stdout.readline()).decode().strip())
        writer.write(SAID)
        said = await owner.stdout.read()
    writer.transport.abort()
    assert said == b"None\n"
    assert await owner.wait() == 0
