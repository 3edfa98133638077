"""Workspaces of every kind, behind one small handle."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Protocol

import pytest
import pytest_asyncio

from donewhen.ports import Workspace
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.memory import MemoryWorkspace
from donewhen.workspace.settling import Quiet

IGNORED = "*.log\n/out/\n"


class Subject(Protocol):
    """A workspace under test, and the world's way to change its files. `*.log` and `out/` are ignored."""

    workspace: Workspace

    def write(self, path: str, data: bytes) -> None: ...
    def delete(self, path: str) -> None: ...
    def read(self, path: str) -> bytes | None: ...


class InMemory:
    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.workspace = MemoryWorkspace({".gitignore": IGNORED.encode(), **files}, ignored=IGNORED)

    def write(self, path: str, data: bytes) -> None:
        self.workspace.edit(path, data)

    def delete(self, path: str) -> None:
        self.workspace.edit(path, None)

    def read(self, path: str) -> bytes | None:
        return self.workspace.read(path)


class OnDisk:
    def __init__(self, workspace: FolderWorkspace) -> None:
        self.workspace = workspace

    def write(self, path: str, data: bytes) -> None:
        write(self.workspace.root, path, data)

    def delete(self, path: str) -> None:
        (self.workspace.root / path).unlink()

    def read(self, path: str) -> bytes | None:
        place = self.workspace.root / path
        return place.read_bytes() if place.is_file() else None


def write(root: Path, path: str, data: bytes) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def git(root: Path, *arguments: str) -> str:
    names = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    names |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(root.parent)}
    for who in ("AUTHOR", "COMMITTER"):
        names |= {f"GIT_{who}_NAME": "somebody", f"GIT_{who}_EMAIL": "somebody@example.org"}
    done = subprocess.run(["git", *arguments], cwd=root, env=names, capture_output=True, text=True, check=True)
    return done.stdout


def make_repository(root: Path, files: Mapping[str, bytes]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q")
    for path, data in files.items():
        write(root, path, data)
    git(root, "add", "--all")
    git(root, "commit", "-q", "--allow-empty", "-m", "start")


Make = Callable[[Mapping[str, bytes]], Subject]
KINDS = ["memory", "git", "no git", "no watching"]


@pytest_asyncio.fixture(params=KINDS)
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """Makes a workspace of each kind over the given files; it is closed after the test."""
    made: list[Subject] = []

    def maker(files: Mapping[str, bytes]) -> Subject:
        made.append(InMemory(files) if request.param == "memory" else _on_disk(request.param, tmp_path, files))
        return made[-1]

    yield maker
    for subject in made:
        await subject.workspace.close()


def _on_disk(kind: str, place: Path, files: Mapping[str, bytes]) -> OnDisk:
    root, state = place / "workspace", place / "state"
    files = {".gitignore": IGNORED.encode(), **files}
    if kind == "git":
        make_repository(root, files)
    for path, data in files.items():
        write(root, path, data)
    return OnDisk(FolderWorkspace(root, state, watch=kind != "no watching", quiet=Quiet(poll=0.2)))


Open = Callable[..., FolderWorkspace]


@pytest_asyncio.fixture
async def folder(tmp_path: Path) -> AsyncIterator[Open]:
    """Makes a `FolderWorkspace` on `tmp_path/workspace`; it is closed after the test."""
    made: list[FolderWorkspace] = []

    def maker(**options: object) -> FolderWorkspace:
        (tmp_path / "workspace").mkdir(exist_ok=True)
        made.append(FolderWorkspace(tmp_path / "workspace", tmp_path / "state", **options))  # type: ignore[arg-type]
        return made[-1]

    yield maker
    for workspace in made:
        await workspace.close()
