"""Sockets with a path, of processes outside of a room: whatever name they have, no command in a room reaches them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Unpack

import pytest

from donewhen.ports import Grants, ProcessOptions, ProcessResult
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.mounting import Bubblewrap, Inside, Mount, Shape
from donewhen.workspace.rooms.opening import Opener
from donewhen.workspace.rooms.showing import RoomSpec
from tests.rooms.conftest import mounter
from tests.rooms.test_live import CONTAINED, Live, live_at

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rooms for commands need Linux")

LISTENS = """
import os, socket, sys
listening = []
def bound(name, kind=socket.SOCK_STREAM):
    listening.append(socket.socket(socket.AF_UNIX, kind))
    listening[-1].bind(name)
    if kind == socket.SOCK_STREAM:
        listening[-1].listen()
here = os.getcwd()
os.mkdir(sys.argv[1])
bound(f'{here}/{sys.argv[1]}/absolute')
bound(f'{sys.argv[1]}/relative')
bound(f'{sys.argv[1]}/datagram', socket.SOCK_DGRAM)
bound(f'{sys.argv[1]}/@')
bound(f'{here}/{sys.argv[1]}/new\\nline\\n')
bound(f'{sys.argv[1]}/ other \\r\\v\\x85ends ')
bound(f'{sys.argv[1]}/first name')
os.rename(f'{sys.argv[1]}/first name', f'{sys.argv[1]}/second name')
bound(f'{here}/{sys.argv[1]}/linked')
os.link(f'{sys.argv[1]}/linked', f'{sys.argv[1]}/link')
print('ready', flush=True)
sys.stdin.read()
"""
REACHES = """
import os, socket, sys
for folder in ('here', 'elsewhere'):
    os.chdir(f'{sys.argv[1]}/{folder}')
    for name in sorted(os.listdir()):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                socket.socket(socket.AF_UNIX, kind).connect(name)
                print(folder, ascii(name))
            except OSError:
                pass
"""
NAMES = 9


@pytest.fixture(params=[CONTAINED[0], pytest.param(CONTAINED[2], marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def live(seen: Path, kind: str) -> Live:
    return live_at(seen, kind)


@pytest.fixture
def listened(seen: Path, live: Live) -> Iterator[Path]:
    """A folder with the sockets of two processes, one of them in a network namespace of its own, on a machine that has
    such: rooms open there."""
    beside = seen / "beside"
    beside.mkdir()
    apart = ("unshare", "--user", "--map-root-user", "--net")
    listeners = [
        subprocess.Popen([*words, sys.executable, "-c", LISTENS, name], cwd=beside, stdin=-1, stdout=-1, text=True)
        for words, name in (((), "here"), (apart, "elsewhere"))
    ]
    for one in listeners:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    yield beside
    for one in listeners:
        one.communicate(timeout=30)


async def test_no_name_of_a_socket_leads_to_who_listens_outside(live: Live, listened: Path, kind: str) -> None:
    (live.root / "reach.py").write_text(REACHES)
    command = f"{sys.executable} reach.py {listened}"
    outside = await SystemProcesses().run(command, cwd=live.root, environment=live.variables, token="token")
    assert len(outside.output.splitlines()) == 2 * NAMES
    inside = await live.once(command, Grants())
    assert (inside.output, inside.exit_code) == ("", 0)
    spec = RoomSpec("layered", live.root, (live.state,))
    opener = Opener(spec, live.state / "rooms", lambda: live.variables, SystemProcesses(), lambda _: [mounter(kind)])
    async with opener.open(spec) as (_, inside):
        tried = await inside.run(command, cwd=live.root, environment=live.variables, token="token")
    assert (tried.output, tried.exit_code) == ("", 0)


class Mounting:
    """Processes that say what bubblewrap does where something changes while it mounts, once for each of `changes`."""

    def __init__(self, *changes: Callable[[], object]) -> None:
        self.changes = list(changes)
        self.ran = 0

    async def run(self, command: str | Sequence[str], **options: Unpack[ProcessOptions]) -> ProcessResult:
        self.ran += 1
        if not self.changes:
            return ProcessResult(0, "done", 4, "", 0.0, 0.0)
        self.changes.pop(0)()
        return ProcessResult(1, "bwrap: Can't mkdir parents for /x/y", 35, "", 0.0, 0.0)


async def test_a_command_begins_though_a_covered_socket_goes_meanwhile(tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("first", "second"))
    for place in (first, second):
        place.touch()
    shape = Shape(tmp_path, tuple(Mount("masked", place) for place in (first, second)), False, {})
    options = ProcessOptions(cwd=tmp_path, environment={}, token="")
    going = Mounting(first.unlink, second.unlink)
    result = await Inside(going, Bubblewrap(Path("bwrap")), shape).run("true", **options)
    assert (result.output, going.ran) == ("done", 3)
    nothing = Mounting(*[lambda: None] * 9)
    result = await Inside(nothing, Bubblewrap(Path("bwrap")), shape).run("true", **options)
    assert result.output == "bwrap: Can't mkdir parents for /x/y"
    assert nothing.ran < 3, "it is not tried again where nothing changed; another test may mount something once"


async def test_a_command_begins_though_something_is_mounted_or_unmounted_meanwhile(tmp_path: Path) -> None:
    """Bubblewrap mounts everything that it found mounted once more, and ends where one of it has gone."""
    place = tmp_path / "place"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(place)], check=False, capture_output=True).returncode != 0:  # noqa: ASYNC221
        pytest.skip("nothing may be mounted here")
    unmount = partial(subprocess.run, ["umount", str(place)], check=True)
    mounting = Mounting(unmount)
    options = ProcessOptions(cwd=tmp_path, environment={}, token="")
    result = await Inside(mounting, Bubblewrap(Path("bwrap")), Shape(tmp_path, (), False, {})).run("true", **options)
    assert (result.output, mounting.ran) == ("done", 2)
