"""A workspace on disk, and every kind of room of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Unpack

import pytest
import pytest_asyncio

from donewhen.core.evidence import CheckResult
from donewhen.core.goal import Check
from donewhen.evidence.runner import CommandChecker
from donewhen.ports import Checker, Grants, Laid, Processes, ProcessOptions, ProcessResult, Room, Rooms
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.copying import CopiedRooms
from donewhen.workspace.rooms.mounting import Mounter, Shape, mounters
from donewhen.workspace.rooms.places import ALONE
from donewhen.workspace.rooms.showing import RoomSpec
from donewhen.workspace.rooms.trials import TrialRooms

FILES = {
    "src/product.py": "VALUE = 'old'\n",
    "tests/test_product.py": "import product\n\ndef test_value():\n    assert product.VALUE == 'old'\n",
    "tests/data/rows.csv": "a,b\n",
    "run.sh": "#!/bin/sh\necho ran\n",
    ".gitignore": "ignored/\n*.log\n",
}


@dataclass
class Site:
    """A workspace with its first state kept under `start`, and rooms of it."""

    root: Path
    state: Path
    workspace: FolderWorkspace
    rooms: Rooms
    variables: dict[str, str]
    start: str = ""
    secret: Path = field(default_factory=Path)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def as_before(self, *paths: str) -> list[Laid]:
        return [Laid(path, self.start) for path in paths]

    async def run(self, room: Room, command: str) -> CheckResult:
        return await room.checker.run(Check.of(command), timeout=60, token="run-token")


KINDS = ("bubblewrap", "unshare", "copy")
SLICE = ("bubblewrap", pytest.param("unshare", marks=pytest.mark.slow), "copy")
"""By default one kind that mounts and one that copies; the slow suite takes all of them."""


def variables_of(home: Path) -> dict[str, str]:
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def mounter(kind: str) -> Mounter:
    """What mounts rooms of that kind. Skips the test where nothing does, but never in CI: a program that is found may
    still open no namespace, as in most containers."""
    found, why = _tried(kind)
    if found is None:
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    return found


@cache
def _tried(kind: str) -> tuple[Mounter | None, str]:
    found = [one for one in mounters(os.environ) if one.name == kind]
    if not found:
        return None, f"{kind} is not installed"
    words = found[-1].words(Shape(Path(os.sep), (), False, {}), Path(os.sep), ["true"])
    tried = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    told = tried.stderr.strip().splitlines()
    return (found[-1], "") if tried.returncode == 0 else (None, f"{kind} opens no room here: {told[-1:]}")


class Loaded(SystemProcesses):
    """The processes of a machine that is too slow for the first commands, which are never started."""

    def __init__(self, late: int) -> None:
        super().__init__()
        self.late = late

    async def run(self, command: str | Sequence[str], **options: Unpack[ProcessOptions]) -> ProcessResult:
        self.late -= 1
        if self.late >= 0:
            return ProcessResult(None, "", 0, "", 10.0, 0.0, timed_out=True)
        return await super().run(command, **options)


def remains(rooms: Path) -> list[Path]:
    """What is left of rooms where they are kept."""
    return [one for one in rooms.glob("*") if one.name != ALONE]


def rooms_of(kind: str, root: Path, state: Path, variables: dict[str, str]) -> Rooms:
    processes, bytecode = SystemProcesses(), state / "pycache"

    def inside(processes: Processes, at: Path, scratch: Path, written: Path | None) -> Checker:
        return CommandChecker(processes, at, scratch, lambda: variables, bytecode=bytecode, written=written)

    if kind == "copy":
        return CopiedRooms(state / "rooms", processes, inside)
    spec = RoomSpec("layered", root, (state,), Grants(network=True, reads=(bytecode,)), contained=False)
    found = mounter(kind)
    return TrialRooms(spec, state / "rooms", processes, inside, lambda: variables, lambda _: [found])


@pytest.fixture(params=SLICE)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param != "copy" and sys.platform != "linux":
        pytest.skip("overlays are Linux's")
    return str(request.param)


@pytest_asyncio.fixture
async def site(kind: str, tmp_path: Path) -> AsyncIterator[Site]:
    root, state, home = tmp_path / "work space", tmp_path / "state", tmp_path / "home"
    for folder in (root, state / "pycache", home / ".ssh"):
        folder.mkdir(parents=True)
    secret = home / ".ssh" / "key"
    secret.write_text("secret")
    variables = variables_of(home)
    workspace = FolderWorkspace(root, state / "checkpoints", watch=False)
    made = Site(root, state, workspace, rooms_of(kind, root, state, variables), variables, secret=secret)
    for path, text in FILES.items():
        made.write(path, text)
    (root / "run.sh").chmod(0o755)
    made.write("ignored/tool.txt", "tool")
    await workspace.open([])
    made.start = await workspace.checkpoint()
    yield made
    await workspace.close()


@pytest.fixture
def seen() -> Iterator[Path]:
    """A folder that rooms don't hide, as they do what is temporary, where the clone isn't in such a folder itself."""
    above = Path(__file__).parents[2] / ".pytest_cache"
    above.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=above) as folder:
        yield Path(folder)
