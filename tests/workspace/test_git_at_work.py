"""What settles while git works: a checkout of many files, and its lock."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.settling import Quiet
from tests.tools import needs

pytestmark = [needs("git"), pytest.mark.timeout(240)]
FILES = 10_000


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


def commit(branch: str, first: int) -> str:
    """What `git fast-import` makes a commit of, on top of those before it: the files from that number on."""
    lines = [f"commit refs/heads/{branch}", "committer Somebody <somebody@example.com> 0 +0000", "data 0"]
    for number in range(first, FILES):
        text = f"# {branch} {number}\n"
        lines += [f"M 100644 inline part{number // 100:03}/file{number:05}.py", f"data {len(text)}", text]
    return "\n".join(lines)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    git(root, "init", "-q", "-b", "none")
    history = commit("one", 0) + commit("other", 1)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=history, text=True, check=True)
    git(root, "switch", "-q", "other")
    return root


@pytest.mark.slow
async def test_a_checkout_of_ten_thousand_files_is_one_settled_revision(repository: Path, tmp_path: Path) -> None:
    workspace = FolderWorkspace(repository, tmp_path / "state")
    start = await workspace.open([])
    waiting = asyncio.create_task(workspace.settled())
    checkout = await asyncio.create_subprocess_exec("git", "switch", "-q", "one", cwd=repository)
    settled = await asyncio.wait_for(waiting, 120)
    assert checkout.returncode == 0, "it was settled while git was still writing"
    assert len(settled.changed) == FILES
    again = asyncio.create_task(workspace.settled())
    confirmed = await workspace.confirm()
    assert (confirmed.revision, confirmed.changed) == (settled.revision, ())
    (repository / "part001" / "file00100.py").write_text("# later\n")
    assert (await asyncio.wait_for(again, 60)).changed == ("part001/file00100.py",)
    await workspace.close()
    fresh = FolderWorkspace(repository, tmp_path / "fresh", watch=False)
    git(repository, "switch", "-q", "--force", "other")
    assert (await fresh.open([])).revision == start.revision
    await fresh.close()


async def test_files_are_not_settled_while_git_holds_its_lock(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    git(root, "init", "-q")
    workspace = FolderWorkspace(root, tmp_path / "state", quiet=Quiet(few=0.01, many=0.01))
    await workspace.open([])
    lock = root / ".git" / "index.lock"
    lock.touch()
    (root / "a.py").write_text("1")
    waiting = asyncio.create_task(workspace.settled())
    (root / "b.py").write_text("2")
    assert not (await asyncio.wait([waiting], timeout=0.5))[0], "git was still at work"
    lock.unlink()
    assert set((await asyncio.wait_for(waiting, 60)).changed) == {"a.py", "b.py"}
    lock.touch()
    for number, at in enumerate((1, 10_000_000_000)):
        os.utime(lock, (at, at))
        waiting = asyncio.create_task(workspace.settled())
        (root / "a.py").write_text(f"again {number}")
        told = "a lock of another time was left behind"
        assert (await asyncio.wait_for(waiting, 60)).changed == ("a.py",), told
    await workspace.close()
