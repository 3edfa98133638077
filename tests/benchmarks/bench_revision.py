"""How long it takes to know the workspace's content, as ratios against git in the same run."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from donewhen.workspace.folder import FolderWorkspace

_FOLDER_SIZE = 40
_SAVES = 60


def measure(size: int) -> dict[str, float]:
    """Figures for a workspace of `size` tracked files (4 kB each); seconds, but for the ratios."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "workspace"
        paths = make_files(root, size)
        return asyncio.run(_measure(root, Path(place) / "state", paths))


async def _measure(root: Path, state: Path, paths: list[str]) -> dict[str, float]:
    listing = "\n".join(paths).encode()
    hashing = min(_git(root, "hash-object", "--stdin-paths", stdin=listing) for _ in range(3))
    status = min(_git(root, "status", "--porcelain") for _ in range(3))
    workspace = FolderWorkspace(root, state)
    opened = min([await _first_computed(root, state) for _ in range(3)])
    await workspace.open([])
    await workspace.confirm()
    walked = min([await _timed(workspace.confirm()) for _ in range(5)])
    quiet = max([await _timed(workspace.current()) for _ in range(20)])
    checkpoint = await _timed(workspace.checkpoint())
    saves = sorted([await _save(workspace, root / paths[number * 7 % len(paths)]) for number in range(_SAVES)])
    await workspace.close()
    return {
        "files": len(paths),
        "git hash-object": hashing,
        "first computed": opened,
        "first computed / git hash-object (bar 3)": opened / hashing,
        "warm git status": status,
        "full stat walk": walked,
        "full stat walk / git status (bar 3)": walked / status,
        "confirmed from a quiet watcher, worst of 20 (bar 0.050)": quiet,
        "first checkpoint": checkpoint,
        "saved to settled, p50": statistics.median(saves),
        "saved to settled, p95": saves[int(len(saves) * 0.95)],
    }


async def _first_computed(root: Path, state: Path) -> float:
    workspace = FolderWorkspace(root, state)
    seconds = await _timed(workspace.open([]))
    await workspace.close()
    return seconds


async def _save(workspace: FolderWorkspace, path: Path) -> float:
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.sleep(0.02)
    began = time.perf_counter()
    _write(path, f"saved at {began}\n")
    await waiting
    return time.perf_counter() - began


def _write(path: Path, text: str) -> None:
    path.write_text(text)


async def _timed(doing: Awaitable[object]) -> float:
    began = time.perf_counter()
    await doing
    return time.perf_counter() - began


def make_files(root: Path, size: int) -> list[str]:
    paths: list[str] = []
    for number in range(size):
        group = number // _FOLDER_SIZE
        path = f"part{group // 50:03}/module{group % 50:02}/file{number:06}.py"
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# {number}\n" + "value = 1\n" * 400)
        paths.append(path)
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    for command in (
        ["init", "-q"],
        ["add", "."],
        [*who, "commit", "-q", "-m", "start"],
        ["repack", "-adq"],
        ["prune-packed"],
    ):
        _git(root, *command)
    # git, too, reads again what changed in the second of its index.
    time.sleep(2)
    _git(root, "status", "--porcelain")
    return paths


def _git(root: Path, *arguments: str, stdin: bytes = b"") -> float:
    began = time.perf_counter()
    subprocess.run(["git", *arguments], cwd=root, input=stdin, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    for asked in [int(argument) for argument in sys.argv[1:]] or [10_000]:
        for name, figure in measure(asked).items():
            print(f"{name:<60} {figure:10.4f}")
