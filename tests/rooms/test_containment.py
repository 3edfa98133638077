"""Ways out of a room, each tried as a command of the agent, and looked at from outside: none gets anywhere.

An observer that stands outside knows of every way alike what would show that it succeeded: a file that came, went or
changed, a secret in what was printed or written, somebody who connected, a signal, a process that is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hashlib
import multiprocessing.shared_memory
import os
import pty
import random
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
import yaml
from _pytest.mark.structures import ParameterSet

from donewhen.core.goal import Check
from donewhen.evidence.runner import CommandChecker
from donewhen.ports import Checker, Grants, Processes, RoomLimits
from donewhen.workers.activity import without_control
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.live import MountedLiveRooms
from donewhen.workspace.rooms.mounting import Mounter
from donewhen.workspace.rooms.showing import RoomSpec
from donewhen.workspace.rooms.trials import TrialRooms
from tests.rooms.conftest import mounter, remains, variables_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rooms for commands need Linux")

SECRET = "s3cret-of-the-person"
OUT = "GOT OUT"
LIMITS = RoomLimits(processes=300, memory=400 * 1024**2, disk=200 * 1024**2)


@dataclass(frozen=True)
class Way:
    """A script that tries to get out: of the shell, or of Python. `limit` is what ends it, where that is a limit."""

    name: str
    script: str
    python: bool = False
    limit: str = ""
    network: bool = False


WAYS = tuple(
    Way(
        one["name"], one.get("shell") or one["python"], "python" in one, one.get("limit", ""), one.get("network", False)
    )
    for one in yaml.safe_load(Path(__file__).with_name("ways.yaml").read_text())
)


@dataclass
class World:
    """A workspace and all that a room must keep from it."""

    folder: Path
    rooms: MountedLiveRooms
    trials: TrialRooms
    variables: dict[str, str]
    victim: subprocess.Popen[bytes]
    listeners: list[socket.socket]
    names: dict[str, str]
    terminal: int
    signals: Path
    before: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.folder / "work"

    def seen(self) -> dict[str, str]:
        """All that must stay as it is."""
        places = [self.folder / name for name in ("beside", "home", "state", "config")]
        deeper = [f"a/b/c/repository/{name}" for name in (".git", ".vscode", ".envrc")]
        places += [self.root / name for name in (".git", ".vscode", ".github", "GOAL.md", *deeper)]
        found: dict[str, str] = {}
        for place in places:
            for file in (place, *sorted(place.rglob("*"))) if place.exists() else ():
                if "rooms" in file.relative_to(self.folder).parts:
                    continue
                status = file.lstat()
                content = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
                found[str(file)] = f"{status.st_mode} {status.st_uid} {content}"
                if file.is_file():
                    found[str(file)] += f" {status.st_nlink} {status.st_mtime_ns}"
        own = Path("~").expanduser()
        for file in (*map(Path, ("/etc", "/usr", "/opt", "/", "/var", "/tmp", "/var/tmp")), own):
            found[str(file / "donewhen-out")] = str((file / "donewhen-out").exists())
        found["/proc/sys/kernel/core_pattern"] = Path("/proc/sys/kernel/core_pattern").read_text()
        return found

    def script(self, way: Way, mark: str) -> str:
        text = way.script
        for name, value in {**self.names, "victim": str(self.victim.pid), "mark": mark}.items():
            text = text.replace(f"<{name}>", value)
        if not way.python:
            return text
        file = self.root / "script.py"
        file.write_text(text)
        return f"{sys.executable} script.py {mark}"

    def came(self) -> list[str]:
        """Who connected, sent something, or wrote to the terminal."""
        ready, _, _ = select.select([*self.listeners, self.terminal], [], [], 0)
        return [str(one) for one in ready]


KINDS = ("bubblewrap", "unshare")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest_asyncio.fixture
async def world(tmp_path: Path, kind: str) -> AsyncIterator[World]:
    with contextlib.ExitStack() as stack:
        yield await asyncio.to_thread(built, tmp_path, kind, stack)


def built(folder: Path, kind: str, stack: contextlib.ExitStack) -> World:
    files = {
        "work/src/a.py": "a = 1\n",
        "work/GOAL.md": "# Goal\n",
        "work/.github/workflows/ci.yml": "on: push\n",
        "work/a/b/c/repository/.git/HEAD": "ref: refs/heads/main\n",
        "work/a/b/c/repository/.git/hooks/pre-commit": "exit\n",
        "work/a/b/c/repository/.vscode/tasks.json": "{}",
        "work/a/b/c/repository/.envrc": "x",
        "beside/file": "file\n",
        "beside/.git/HEAD": "ref: refs/heads/main\n",
        "home/.git/HEAD": "ref: refs/heads/main\n",
        "home/.ssh/key": SECRET,
        "home/.netrc": SECRET,
        "home/.aws/credentials": SECRET,
        "home/.cargo/credentials.toml": SECRET,
        "home/.cargo/bin/tool": "tool",
        "home/.profile": "profile\n",
        "config/config.toml": f"# {SECRET}\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name, leads in {"other": "../beside", "keys": "../home", "a/up": "../.."}.items():
        (folder / "work" / name).symlink_to(leads)
    (folder / "state" / "runs").mkdir(parents=True)
    python = [sys.executable, "-c"]
    make = f"import sqlite3; b = sqlite3.connect('{folder}/state/runs/ledger.db'); b.execute('create table runs (a)')"
    subprocess.run([*python, make], check=True)
    subprocess.run(["git", "init", "-q", "."], cwd=folder / "work", check=True)
    variables = variables_of(folder / "home")
    found = mounter(kind)

    def programs(_: object) -> list[Mounter]:
        return [found]

    hidden = (folder / "state", folder / "config")
    root, state = folder / "work", folder / "state"
    rooms = MountedLiveRooms(root, state / "rooms", lambda: variables, hidden, programs=programs)

    def inside(processes: Processes, at: Path, scratch: Path, written: Path | None) -> Checker:
        return CommandChecker(processes, at, scratch, lambda: variables, written=written)

    spec = RoomSpec("layered", root, hidden, Grants(limits=LIMITS))
    trials = TrialRooms(spec, state / "rooms", SystemProcesses(), inside, lambda: variables, programs)
    signals = folder / "signals"
    victim = stack.enter_context(a_server(signals))
    names = {
        "root": str(root),
        "beside": str(folder / "beside"),
        "home": str(folder / "home"),
        "state": str(state),
        "config": str(folder / "config"),
        "abstract": f"donewhen-{folder.name}-{os.getpid()}",
        "address": address(),
    }
    (state / "runtime").mkdir()
    listeners = [listening(socket.AF_UNIX, place) for place in (
        str(state / "runtime" / "door.sock"),
        str(folder / "beside" / "service.sock"), str(root / "service.sock"), str(folder / "home" / "agent.sock"),
        f"\0{names['abstract']}",
    )]  # fmt: skip
    if os.access("/run", os.W_OK):
        session = Path(f"/run/{names['abstract']}.sock")
        listeners.append(listening(socket.AF_UNIX, str(session)))
        stack.callback(session.unlink)
    tcp = listening(socket.AF_INET, ("0.0.0.0", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", tcp.getsockname()[1]))
    listeners += [tcp, udp]
    for one in listeners:
        stack.callback(one.close)
    ours, theirs = pty.openpty()
    stack.callback(os.close, ours)
    stack.callback(os.close, theirs)
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=100)
    shared.buf[: len(SECRET)] = SECRET.encode()
    stack.callback(shared.unlink)
    stack.callback(shared.close)
    segment = random.randrange(1 << 20, 1 << 30)
    libc = ctypes.CDLL(None)
    number = libc.shmget(segment, 100, 0o1600)
    stack.callback(libc.shmctl, number, 0, None)
    libc.syscall(248, b"user", b"donewhen-test", SECRET.encode(), len(SECRET), -3)
    names |= {
        "port": str(tcp.getsockname()[1]),
        "terminal": os.ttyname(theirs),
        "shared": shared.name.lstrip("/"),
        "segment": str(segment),
    }
    return World(folder, rooms, trials, variables, victim, listeners, names, ours, signals)


@contextlib.contextmanager
def a_server(signals: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds a secret and writes down every signal that it gets."""
    code = f"""
import signal, sys, time
secret = {SECRET!r}
def note(number, frame):
    open({str(signals)!r}, 'a').write(f'{{number}} ')
for number in (1, 2, 10, 12, 15):
    signal.signal(number, note)
print('ready', flush=True)
while True:
    time.sleep(60)
"""
    environment = {"PATH": os.environ["PATH"], "KEY": SECRET}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def listening(family: socket.AddressFamily, place: object) -> socket.socket:
    one = socket.socket(family)
    one.bind(place)
    one.listen()
    return one


def address() -> str:
    """An address of this machine that is not loopback, where it has one."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))
        return str(one.getsockname()[0])
    return "127.0.0.1"


def processes_with(mark: str) -> list[int]:
    """Those whose command line or environment holds the mark."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(mark.encode() in (place / name).read_bytes() for name in ("cmdline", "environ")):
                found.append(int(place.name))
    return found


def test_there_are_ways_enough() -> None:
    assert len(WAYS) >= 40
    assert len({way.name for way in WAYS}) == len(WAYS)
    assert {way.name for way in WAYS} >= TELLING


TELLING = {
    "an absolute path", "a link in place of a folder that is guarded", "keys in the home folder", "another root",
    "the memory of the server", "a socket without a path", "a port of the machine", "a daemon without a trace",
    "a fork bomb", "the ledger", "hooks of git", "the goal file", "a link to a repository",
    "a program that runs with its owner's rights",
}  # fmt: skip
"""One way of each sort, tried by default with what contains commands first, and one with both; the slow suite tries all
with both."""


def _way(kind: str, way: Way) -> ParameterSet:
    telling = way.name == "an absolute path" or (kind == KINDS[0] and way.name in TELLING)
    return pytest.param(kind, way, marks=[] if telling else [pytest.mark.slow], id=f"{kind}-{way.name}")


@pytest.mark.parametrize(("kind", "way"), [_way(kind, way) for kind in KINDS for way in WAYS], indirect=["kind"])
async def test_no_way_leads_out(world: World, way: Way) -> None:
    mark = f"donewhen-way-{time.time_ns()}"
    command = world.script(way, mark)
    before = world.seen()
    async with world.rooms.open(Grants(network=way.network, limits=LIMITS)) as room:
        seen_inside = world.seen()
        done = await room.processes.run(
            command, cwd=world.root, environment={**world.variables, "MARK": mark}, token="t", timeout=80
        )
    assert set(seen_inside) - set(before) <= {str(world.root / ".vscode")}
    unchanged(world, before, done.output, mark)
    for file in world.root.rglob("*"):
        if file.is_file() and not file.is_symlink() and file.stat().st_size < 1_000_000:
            assert SECRET.encode() not in file.read_bytes(), file
            assert not file.stat().st_mode & (stat.S_ISUID | stat.S_ISGID), file
    assert "\x1b" not in without_control(done.output)
    assert "\x9b" not in without_control(done.output)
    if way.limit:
        assert f"room_{way.limit}" in done.limit, done
    else:
        assert done.limit == ""


def unchanged(world: World, before: dict[str, str], output: str, mark: str) -> None:
    after = world.seen()
    assert {name: value for name, value in after.items() if before.get(name) != value} == {}
    assert sorted(before) == sorted(after)
    assert SECRET not in output
    assert OUT not in output
    assert world.came() == []
    assert world.victim.poll() is None
    assert not world.signals.exists()
    assert processes_with(mark) == []


OF_TRIALS = {"a socket with a path", "a link to a repository"}
"""Tried by default in the rooms of trials; the slow suite tries all there."""


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        pytest.param(
            kind,
            way,
            marks=[] if kind == KINDS[0] and way.name in OF_TRIALS else [pytest.mark.slow],
            id=f"{kind}-{way.name}",
        )
        for kind in KINDS
        for way in WAYS
        if not way.network
    ],
    indirect=["kind"],
)
async def test_no_way_leads_out_of_a_trial(world: World, way: Way) -> None:
    """Where checks are contained, what tries them is, too."""
    mark = f"donewhen-way-{time.time_ns()}"
    command, before = world.script(way, mark), world.seen()
    workspace = FolderWorkspace(world.root, world.folder / "kept", watch=False)
    await workspace.open([])
    try:
        async with world.trials.open(workspace, []) as room:
            done = await room.checker.run(Check.of(f"({command})\n: {mark}"), timeout=80, token="t")
    finally:
        await workspace.close()
    unchanged(world, before, done.output, mark)
    assert not way.limit or f"room_{way.limit}" in done.reason, done


async def test_the_observer_sees_what_gets_out(world: World) -> None:
    """Were there no room, most ways would lead out: the observer notices."""
    before = world.seen()
    (world.folder / "beside" / "new").write_text("x")
    assert world.seen() != before
    client = socket.create_connection(("127.0.0.1", int(world.names["port"])))
    assert world.came() != []
    client.close()
    world.victim.send_signal(signal.SIGUSR1)
    for _ in range(500):
        if world.signals.exists():
            break
        await asyncio.sleep(0.01)
    assert world.signals.exists()
    assert processes_with(str(world.signals)) != []


MOMENTS = 80
COMMANDS = (
    "sleep 60",
    "trap '' TERM INT HUP; while :; do sleep 1; done",
    "(setsid sleep 60 &) ; (setsid sh -c 'trap \"\" TERM; sleep 60' &) ; sleep 60",
    "for i in $(seq 40); do sleep 60 & done; wait",
    "while :; do (true &); done",
    "setsid nohup env -i sh -c 'sleep 60; : $0' {mark} >/dev/null 2>&1 </dev/null & sleep 60",
)


@pytest.mark.slow
async def test_stop_leaves_no_process_at_any_moment(world: World) -> None:
    """Also while a room is being made: nothing is left 2 s after."""
    chance = random.Random(13)
    left: list[str] = []
    for number in range(MOMENTS):
        mark = f"donewhen-stop-{time.time_ns()}"
        command = COMMANDS[number % len(COMMANDS)].replace("{mark}", mark)

        async def work(command: str = command, mark: str = mark) -> None:
            async with world.rooms.open(Grants()) as room:
                variables = {**world.variables, "MARK": mark}
                await room.processes.run(f"{command} # {mark}", cwd=world.root, environment=variables, token="t")

        task = asyncio.ensure_future(work())
        await asyncio.sleep(chance.random() * (0.05 if number % 2 else 0.6))
        begun = time.monotonic()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        took = time.monotonic() - begun
        if processes_with(mark):
            left.append(f"{number}: {command!r}")
        assert took < 20, f"{command!r}: {took:.1f} s"
    assert left == []
    assert remains(world.folder / "state" / "rooms") == []
