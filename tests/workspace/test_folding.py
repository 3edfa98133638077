"""Packs that are made few, and content that nothing needs any more: what is needed stays."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.checkpoints import Checkpoints
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.folding import RECENT_SECONDS, FoldingTrees
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
    import time

    return time.time() + LATER


async def test_many_packs_become_one_and_an_open_reader_goes_on(root: Path, tmp_path: Path) -> None:
    made = await kept(root, tmp_path / "state", *map(str, range(8)))
    reader = Checkpoints(root, tmp_path / "state", None)
    assert await reader.file_at(made[0], "a") == b"0"
    folding = FoldingTrees(tmp_path / "state")
    assert folding.packs() == 8
    done = await folding.fold()
    assert folding.packs() == 1
    assert done.files == 14
    assert [await reader.file_at(one, "a") for one in made] == [str(n).encode() for n in range(8)]
    assert (await folding.fold(all_of_them=True)).files == 0
    assert [await content(root, tmp_path / "state", one) for one in made] == [str(n).encode() for n in range(8)]


async def test_what_no_needed_tree_holds_goes(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    old, new = await kept(root, state, "old" * 999, "new")
    assert (await FoldingTrees(state).prune([new])).bytes == 0, "it was kept lately"
    assert await content(root, state, old) == b"old" * 999
    done = await FoldingTrees(state, now=later).prune([new])
    assert done.files > 0
    assert await content(root, state, new) == b"new"
    with pytest.raises(WorkspaceError):
        await content(root, state, old)
    await FoldingTrees(state, now=later).prune([])
    assert FoldingTrees(state).packs() == 0


async def test_a_process_that_knew_content_as_kept_keeps_it_again(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    write(root, "a", b"one")
    workspace = FolderWorkspace(root, state, watch=False)
    await workspace.open(())
    checkpoint = await workspace.checkpoint()
    await FoldingTrees(state, now=later).prune([])
    with pytest.raises(WorkspaceError):
        await content(root, state, checkpoint)
    assert await workspace.checkpoint() == checkpoint
    assert await content(root, state, checkpoint) == b"one"
    await workspace.close()


async def test_a_tree_that_is_kept_while_others_are_removed_is_whole(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    (old,) = await kept(root, state, "old")
    loop, made = asyncio.get_running_loop(), list[str]()

    def step(done: str) -> None:
        if done == "copied what is needed":
            # A tree of content that this very moment is about to go.
            made.extend(asyncio.run_coroutine_threadsafe(kept(root, state, "old"), loop).result(20))

    (state / "checkpoints.git/recent").write_text("")  # the first time was long ago
    await FoldingTrees(state, step=step).prune([])
    assert made == [old]
    assert await content(root, state, old) == b"old"


PRUNE = """\
import asyncio, os, signal, sys, time
from pathlib import Path
from donewhen.workspace.folding import FoldingTrees
state, what, dies, needed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]
def step(done):
    global dies
    dies -= 1
    if dies == 0:
        os.kill(os.getpid(), signal.SIGKILL)
trees = FoldingTrees(state, step=step, now=lambda: time.time() + 1e9)
asyncio.run(trees.fold() if what == "fold" else trees.prune(needed))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signal ends a process like that there")
@pytest.mark.parametrize("what", ["fold", "prune"])
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
async def test_killed_at_any_step_it_has_lost_nothing_that_is_needed(
    root: Path, tmp_path: Path, what: str, every: int
) -> None:
    state = tmp_path / "state"
    made = await kept(root, state, *"abcd")
    needed = made[2:]
    for dies in range(1, 20, every):
        arguments = [sys.executable, "-c", PRUNE, os.fspath(state), what, str(dies), *needed]
        code = forked.run(arguments, timeout=60).returncode
        assert code in (0, -signal.SIGKILL)
        assert [await content(root, state, one) for one in needed] == [b"c", b"d"]
        if code == 0:
            break
        await kept(root, state, f"more {dies}", f"and more {dies}")
    else:
        pytest.fail("it never came to an end")
    assert dies > 3
    await FoldingTrees(state, now=later).prune(needed)
    await FoldingTrees(state).fold()
    assert FoldingTrees(state).packs() == 1
    assert not [path for path in (state / "checkpoints.git/objects/pack").iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is played by a quota of file size")
async def test_a_full_disk_leaves_all_as_it_was(root: Path, tmp_path: Path) -> None:
    import resource

    state = tmp_path / "state"
    made = await kept(root, state, *(str(n) * 50_000 + os.urandom(30_000).hex() for n in range(3)))
    before = [await content(root, state, one) for one in made]
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, usual[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            await FoldingTrees(state).fold()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, previous)
    assert [await content(root, state, one) for one in made] == before
    assert FoldingTrees(state).packs() == 3


async def test_what_cant_be_read_now_is_not_removed(root: Path, tmp_path: Path) -> None:
    """As a program does that searches a file for viruses and lets nobody else read it."""
    state = tmp_path / "state"
    made = await kept(root, state, "one", "two", "three")
    for suffix in (".idx", ".pack"):
        for held in sorted((state / "checkpoints.git/objects/pack").glob(f"*{suffix}")):
            aside = tmp_path / "aside"
            held.rename(aside)
            held.mkdir()
            with pytest.raises(OSError):  # each system has its own text
                await FoldingTrees(state).fold()
            with pytest.raises(OSError):
                await FoldingTrees(state, now=later).prune(made)
            held.rmdir()
            aside.rename(held)
            assert FoldingTrees(state).packs() == 3
    assert [await content(root, state, one) for one in made] == [b"one", b"two", b"three"]


async def test_a_pack_whose_index_is_damaged_is_left_for_who_can_repair_it(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    made = await kept(root, state, "one", "two", "three")
    index = next((state / "checkpoints.git/objects/pack").glob("*.idx"))
    whole = index.read_bytes()
    index.write_bytes(whole[:-1])
    await FoldingTrees(state).fold()
    await FoldingTrees(state, now=later).prune(made)
    assert FoldingTrees(state).packs() == 2
    index.write_bytes(whole)
    assert index.with_suffix(".pack").exists()
