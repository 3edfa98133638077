"""Content that nothing needs any more goes; what is needed stays, whatever cuts that off."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.checkpoints import Checkpoints
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.objects import RECENT_SECONDS, STORE, ObjectStore
from tests import forked

from .conftest import write

LATER = 10 * RECENT_SECONDS


async def kept(root: Path, state: Path, *contents: str) -> list[str]:
    """A checkpoint for each content of one file."""
    found: list[str] = []
    for content in contents:
        write(root, "a", content.encode())
        workspace = FolderWorkspace(root, state, watch=False)
        await workspace.open(())
        found.append(await workspace.checkpoint())
        await workspace.close()
    return found


async def content(root: Path, state: Path, checkpoint: str) -> bytes | None:
    return await Checkpoints(root, state, None).file_at(checkpoint, "a")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    write(folder, "deep/er/same", b"same\n")
    return folder


def later() -> float:
    return time.time() + LATER


async def prune(state: Path, *needed: str, old: bool = True) -> None:
    """Removes what these trees don't need; those that were kept lately are `old` by now."""
    await ObjectStore(state / STORE, None, now=later if old else time.time).prune(needed)


async def test_what_no_needed_tree_holds_goes_and_its_room_with_it(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    old, new = await kept(root, state, os.urandom(99_999).hex(), "new")
    reader = Checkpoints(root, state, None)
    assert await reader.file_at(new, "a") == b"new"
    await prune(state, new, old=False)
    assert await content(root, state, old) is not None, "it was kept lately"
    before = (state / STORE / "objects.db").stat().st_size
    await prune(state, new)
    assert (state / STORE / "objects.db").stat().st_size < before - 90_000
    assert await content(root, state, new) == await reader.file_at(new, "a") == b"new"
    assert await Checkpoints(root, state, None).file_at(new, "deep/er/same") == b"same\n"
    for _ in range(2):
        with pytest.raises(WorkspaceError):
            await content(root, state, old)
        await prune(state)
    with pytest.raises(WorkspaceError):
        await content(root, state, new)


async def test_a_process_that_knew_content_as_kept_keeps_it_again(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    write(root, "a", b"one")
    workspace = FolderWorkspace(root, state, watch=False)
    await workspace.open(())
    checkpoint = await workspace.checkpoint()
    await prune(state)
    with pytest.raises(WorkspaceError):
        await content(root, state, checkpoint)
    assert await workspace.checkpoint() == checkpoint
    assert await content(root, state, checkpoint) == b"one"
    await prune(state)
    write(root, "b", b"another")
    both = await workspace.checkpoint()
    assert await content(root, state, both) == b"one"
    await workspace.close()


class PrunedMeanwhile(ObjectStore):
    """Of which everything is removed after it has said what is missing, once."""

    done = False

    @contextmanager
    def writing(self) -> Generator[object]:  # type: ignore[override]
        if not self.done:
            self.done = True
            asyncio.run(ObjectStore(self._place, None, now=later).prune([]))
        with super().writing() as writer:
            yield writer


async def test_a_tree_that_is_kept_while_others_are_removed_is_whole(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    (old,) = await kept(root, state, "old")
    workspace = FolderWorkspace(root, state, watch=False)
    await workspace.open(())
    checkpoints = Checkpoints(root, state, None)
    checkpoints._objects = PrunedMeanwhile(state / STORE, None)  # type: ignore[assignment]
    assert await checkpoints.keep(workspace._manifest) == old
    assert await content(root, state, old) == b"old"
    assert await Checkpoints(root, state, None).file_at(old, "deep/er/same") == b"same\n"
    await workspace.close()


KILLED = """\
import asyncio, os, signal, sys, time
from contextlib import contextmanager
from pathlib import Path
from donewhen.workspace.checkpoints import Checkpoints
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.objects import STORE, ObjectStore
root, state, what, dies, needed = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5:]
opened = ObjectStore._open

def step():
    global dies
    dies -= 1
    if dies == 0:
        os.kill(os.getpid(), signal.SIGKILL)

@contextmanager
def counted(store):
    with opened(store) as database:
        database.set_progress_handler(step, 8)
        yield database

ObjectStore._open = counted

async def keep():
    workspace = FolderWorkspace(root, state, watch=False)
    await workspace.open(())
    print(await workspace.checkpoint())

store = ObjectStore(state / STORE, None, now=lambda: time.time() + 1e9)
asyncio.run(store.prune(needed) if what == "prune" else keep())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signal ends a process like that there")
@pytest.mark.parametrize("what", ["keep", "prune"])
@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
async def test_killed_at_any_step_it_has_lost_nothing_that_is_needed(
    root: Path, tmp_path: Path, what: str, every: int
) -> None:
    state = tmp_path / "state"
    made = await kept(root, state, *(letter + os.urandom(20_000).hex() for letter in "abcd"))
    needed = made[2:]
    there = [await content(root, state, one) for one in needed]
    for dies in range(1, 400, every):
        write(root, "a", os.urandom(20_000))
        arguments = [sys.executable, "-c", KILLED, *map(os.fspath, (root, state)), what, str(dies), *needed]
        done = forked.run(arguments, timeout=60)
        assert done.returncode in (0, -signal.SIGKILL)
        assert [await content(root, state, one) for one in needed] == there
        if done.returncode == 0:
            break
    else:
        pytest.fail("it never came to an end")
    assert dies > 3
    await prune(state, *needed)
    with sqlite3.connect(state / STORE / "objects.db") as database:
        assert database.execute("SELECT count(*) FROM objects").fetchone() == (2 * 4 + 1 - 2,)
    database.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is played by a quota of file size")
async def test_a_full_disk_leaves_all_as_it_was(root: Path, tmp_path: Path) -> None:
    import resource

    state = tmp_path / "state"
    made = await kept(root, state, *(os.urandom(30_000).hex() for _ in range(3)))
    before = [await content(root, state, one) for one in made]
    write(root, "a", os.urandom(90_000))
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((state / STORE / "objects.db").stat().st_size, usual[1]))
    workspace = FolderWorkspace(root, state, watch=False)
    try:
        await workspace.open(())
        with pytest.raises(WorkspaceError, match="can't be read or written"):
            await workspace.checkpoint()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, previous)
    assert [await content(root, state, one) for one in made] == before
    assert (await Checkpoints(root, state, None).file_at(await workspace.checkpoint(), "a")) == (
        root / "a"
    ).read_bytes()
    await workspace.close()


async def test_where_a_tree_cant_be_read_nothing_is_removed(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    made = await kept(root, state, "one", "two", "three")
    with sqlite3.connect(state / STORE / "objects.db") as database:
        database.execute("UPDATE objects SET content = x'00' WHERE id = ?", (bytes.fromhex(made[2]),))
    database.close()
    with pytest.raises(WorkspaceError, match="damaged"):
        await prune(state, *made[1:])
    assert [await content(root, state, one) for one in made[:2]] == [b"one", b"two"]


async def test_a_file_that_was_never_finished_holds_nothing(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    write(state / STORE, "objects.db", b"")
    await prune(state)
    with pytest.raises(WorkspaceError, match="there is no checkpoint"):
        await content(root, state, "ab" * 20)
    (checkpoint,) = await kept(root, state, "one")
    assert await content(root, state, checkpoint) == b"one"


async def test_several_readers_and_writers_at_once(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    write(root, "a", b"1")
    workspaces = [FolderWorkspace(root, state, watch=False) for _ in range(4)]
    for workspace in workspaces:
        await workspace.open(())
    first = await asyncio.gather(*(workspace.checkpoint() for workspace in workspaces))
    assert len(set(first)) == 1
    for number in range(20):
        write(root, "a", b"%d" % number)
        reads = [workspace.file_at(first[0], "a") for workspace in workspaces]
        keeps = [workspace.checkpoint() for workspace in workspaces]
        assert await asyncio.gather(*reads) == [b"1"] * 4
        await asyncio.gather(*keeps)
    for workspace in workspaces:
        await workspace.close()
