"""What the watchers hear of, without any walk."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.settling import Quiet
from donewhen.workspace.watching import FolderWatcher, Hints, WakingWatcher, Watcher

from .conftest import Open, write

Watched = Callable[[], FolderWorkspace]


@pytest.fixture
def watched(folder: Open) -> Watched:
    return lambda: folder(watcher=FolderWatcher)


async def _current_equals_walked(workspace: FolderWorkspace) -> tuple[str, ...]:
    heard = await workspace.current()
    walked = await workspace.confirm()
    assert walked.changed == ()
    assert heard.revision == walked.revision
    return heard.changed


async def test_new_folders_with_many_files_at_once(watched: Watched) -> None:
    workspace = watched()
    await workspace.open([])
    for number in range(600):
        write(workspace.root, f"new{number % 7}/deep{number % 30}/er/file{number}", b"%d" % number)
    assert len(await _current_equals_walked(workspace)) == 600
    write(workspace.root, "new3/deep3/er/file3", b"changed")
    assert await _current_equals_walked(workspace) == ("new3/deep3/er/file3",)


async def test_files_that_appear_while_somebody_looks(watched: Watched) -> None:
    workspace = watched()
    await workspace.open([])

    def work() -> None:
        for number in range(400):
            write(workspace.root, f"d{number % 20}/e{number}/file", b"1")

    working = asyncio.create_task(asyncio.to_thread(work))
    while not working.done():
        await workspace.current()
    await _current_equals_walked(workspace)
    assert len(workspace.files()) == 400


async def test_a_folder_is_renamed_and_then_written_into(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "one/sub/a", b"1")
    await workspace.open([])
    (workspace.root / "one").rename(workspace.root / "two")
    assert await _current_equals_walked(workspace) == ("one/sub/a", "two/sub/a")
    write(workspace.root, "two/sub/a", b"2")
    assert await _current_equals_walked(workspace) == ("two/sub/a",)
    (workspace.root / "two").rename(workspace.root / "one")
    write(workspace.root, "one/sub/a", b"3")
    assert await _current_equals_walked(workspace) == ("one/sub/a", "two/sub/a")
    write(workspace.root, "one/sub/b", b"3")
    assert await _current_equals_walked(workspace) == ("one/sub/b",)


async def test_folders_swap_their_names(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "one/a", b"1")
    write(workspace.root, "two/a", b"2")
    await workspace.open([])
    for old, new in (("one", "x"), ("two", "one"), ("x", "two")):
        (workspace.root / old).rename(workspace.root / new)
    assert await _current_equals_walked(workspace) == ("one/a", "two/a")
    write(workspace.root, "one/a", b"3")
    assert await _current_equals_walked(workspace) == ("one/a",)


async def test_a_folder_that_moved_is_watched_though_another_takes_its_name(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "one/sub/a", b"1")
    await workspace.open([])
    (workspace.root / "one").rename(workspace.root / "two")
    await _current_equals_walked(workspace)
    write(workspace.root, "one/sub/a", b"1")
    assert await _current_equals_walked(workspace) == ("one/sub/a",)
    write(workspace.root, "two/sub/a", b"2")
    write(workspace.root, "one/sub/a", b"2")
    assert await _current_equals_walked(workspace) == ("one/sub/a", "two/sub/a")


async def test_a_folder_moves_out_and_another_in(watched: Watched, tmp_path: Path) -> None:
    workspace = watched()
    write(workspace.root, "one/sub/a", b"1")
    write(tmp_path, "outside/sub/b", b"2")
    await workspace.open([])
    (workspace.root / "one").rename(tmp_path / "away")
    (tmp_path / "outside").rename(workspace.root / "one")
    assert await _current_equals_walked(workspace) == ("one/sub/a", "one/sub/b")
    write(tmp_path, "away/sub/a", b"unseen")
    write(workspace.root, "one/sub/b", b"3")
    assert await _current_equals_walked(workspace) == ("one/sub/b",)


async def test_a_file_replaced_by_a_folder_and_back(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "thing", b"1")
    await workspace.open([])
    (workspace.root / "thing").unlink()
    write(workspace.root, "thing/inside/a", b"2")
    assert await _current_equals_walked(workspace) == ("thing", "thing/inside/a")
    shutil.rmtree(workspace.root / "thing")
    write(workspace.root, "thing", b"3")
    assert await _current_equals_walked(workspace) == ("thing", "thing/inside/a")


async def test_a_deleted_folder_that_comes_back(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "d/e/a", b"1")
    await workspace.open([])
    shutil.rmtree(workspace.root / "d")
    write(workspace.root, "d/e/a", b"2")
    assert await _current_equals_walked(workspace) == ("d/e/a",)
    write(workspace.root, "d/e/a", b"3")
    assert await _current_equals_walked(workspace) == ("d/e/a",)


def _save_in_place(target: Path, data: bytes) -> None:
    target.write_bytes(data)


def _save_by_rename(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.write_bytes(data)
    temporary.replace(target)


def _save_with_backup(target: Path, data: bytes) -> None:
    probe = target.with_name("4913")
    probe.write_bytes(b"")
    probe.unlink()
    target.rename(target.with_name(f"{target.name}~"))
    target.write_bytes(data)
    target.with_name(f"{target.name}~").unlink()


def _save_with_lock(target: Path, data: bytes) -> None:
    lock = target.with_name(f".#{target.name}")
    lock.symlink_to("somebody@host.1:2")
    target.write_bytes(b"")
    target.write_bytes(data)
    lock.unlink()


@pytest.mark.parametrize("save", [_save_in_place, _save_by_rename, _save_with_backup, _save_with_lock])
async def test_the_ways_in_which_editors_save(watched: Watched, save: Callable[[Path, bytes], None]) -> None:
    workspace = watched()
    write(workspace.root, "src/a.py", b"1")
    await workspace.open([])
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.sleep(0)
    save(workspace.root / "src/a.py", b"2")
    assert (await asyncio.wait_for(waiting, 60)).changed == ("src/a.py",)


async def test_a_change_of_the_mode_is_heard_of(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "a.sh", b"1")
    await workspace.open([])
    (workspace.root / "a.sh").chmod(0o755)
    assert await _current_equals_walked(workspace) == ("a.sh",)


class Watching:
    """Makes a workspace whose watcher can be looked at."""

    def __init__(self, folder: Open) -> None:
        self._watchers: list[FolderWatcher] = []
        self.workspace = folder(watcher=self._make)

    def _make(self, root: Path) -> Watcher:
        self._watchers.append(FolderWatcher(root))
        return self._watchers[0]

    @property
    def watcher(self) -> FolderWatcher:
        return self._watchers[0]

    @property
    def places(self) -> set[str]:
        return set(self.watcher.places.values())


async def test_ignored_trees_are_not_watched(folder: Open) -> None:
    watching = Watching(folder)
    workspace = watching.workspace
    write(workspace.root, ".gitignore", b"/ignored/\n")
    for number in range(20):
        write(workspace.root, f"ignored/{number}/a", b"")
        write(workspace.root, f"node_modules/{number}/a", b"")
    write(workspace.root, "src/a", b"")
    await workspace.open([])
    await workspace.current()
    assert watching.places == {"", "src"}
    write(workspace.root, "ignored/1/a", b"1")
    assert watching.watcher.take() is None


async def test_a_new_folder_is_watched_and_what_came_before_that_is_found(folder: Open) -> None:
    watching = Watching(folder)
    workspace = watching.workspace
    write(workspace.root, "a", b"1")
    await workspace.open([])
    await workspace.current()
    write(workspace.root, "new/deep/b", b"1")
    assert (await workspace.current()).changed == ("new/deep/b",)
    await workspace.current()
    assert watching.places == {"", "new", "new/deep"}
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.sleep(0)
    write(workspace.root, "new/deep/b", b"2")
    assert (await asyncio.wait_for(waiting, 60)).changed == ("new/deep/b",)


async def test_a_storm_of_changes_is_heard_of_whole(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "d/a", b"")
    await workspace.open([])
    await workspace.current()
    # More than the system keeps for somebody who doesn't listen; the loop doesn't run meanwhile.
    with (
        (workspace.root / "d/a").open("wb", buffering=0) as one,
        (workspace.root / "d/b").open("wb", buffering=0) as two,
    ):
        for _ in range(20_000):
            one.write(b"1")
            two.write(b"1")
    (workspace.root / "d").rename(workspace.root / "e")
    write(workspace.root, "e/c", b"1")
    assert await _current_equals_walked(workspace) == ("d/a", "e/a", "e/b", "e/c")
    write(workspace.root, "e/c", b"2")
    assert await _current_equals_walked(workspace) == ("e/c",)


@pytest.mark.skipif(sys.platform != "linux", reason="names of other systems are text")
async def test_files_whose_names_are_not_utf8_are_found_all_the_same(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "d/a", b"1")
    await workspace.open([])
    await workspace.current()
    odd = os.fsdecode(b"d/\xff")
    for content in (b"1", b"2"):
        write(workspace.root, odd, content)
        assert await _current_equals_walked(workspace) == (odd,)
    assert workspace.warning is None
    inside = os.fsdecode(b"\xfe/inside")
    for content in (b"1", b"2", b"3"):
        write(workspace.root, inside, content)
        assert await _current_equals_walked(workspace) == (inside,)
    assert workspace.warning is None


UNDER_A_LIMIT = """
import asyncio, sys
from pathlib import Path
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.settling import Quiet

async def main(place):
    root = place / "workspace"
    for number in range(9):
        (root / f"d{number}").mkdir(parents=True)
        (root / f"d{number}/a").write_text("1")
    workspace = FolderWorkspace(root, place / "state", quiet=Quiet(poll=0.05))
    await workspace.open([])
    (root / "new").mkdir()
    (root / "new/b").write_text("1")
    print((await workspace.current()).changed)
    (root / "d4/a").write_text("22")
    print((await workspace.current()).changed)
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.sleep(0)
    (root / "new/b").write_text("22")
    print((await asyncio.wait_for(waiting, 60)).changed)
    print(workspace.warning)
    await workspace.close()

asyncio.run(main(Path(sys.argv[1])))
"""


def _under_a_limit(limit: str, most: int, place: Path) -> str:
    """What the warning is, in a process of a user namespace with a limit of its own; the changes were found."""
    limited = f'echo {most} >/proc/sys/user/{limit} && exec "$@"'
    inside = ["unshare", "--user", "--map-root-user", "sh", "-c", limited, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"], check=False).returncode:
        pytest.skip("no user namespace can be made here")
    done = subprocess.run(
        [*inside, sys.executable, "-c", UNDER_A_LIMIT, str(place)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *changed, warning = done.stdout.splitlines()
    assert changed == ["('new/b',)", "('d4/a',)", "('new/b',)"]
    return warning


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize(("limit", "most"), [("max_inotify_watches", 4), ("max_inotify_instances", 0)])
def test_a_full_system_is_said_and_changes_are_found_by_looking(limit: str, most: int, tmp_path: Path) -> None:
    warning = _under_a_limit(limit, most, tmp_path)
    assert "changes are looked for every few seconds" in warning
    assert "fs.inotify.max_user_watches" in warning


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize(("limit", "most"), [("max_inotify_watches", 14), ("max_inotify_instances", 1)])
def test_a_limit_that_fits_all_folders_once_is_enough_when_folders_come(limit: str, most: int, tmp_path: Path) -> None:
    assert _under_a_limit(limit, most, tmp_path) == "None"


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
async def test_all_hear_of_each_change_through_one_descriptor_that_ends_with_the_last(tmp_path: Path) -> None:
    root, before = tmp_path / "w", _descriptors()
    (root / "src").mkdir(parents=True)
    one, other = (FolderWorkspace(root, tmp_path / "state", watcher=FolderWatcher) for _ in range(2))
    await one.open([])
    (root / "src" / "a.py").write_text("1")
    await one.current()  # what the first has heard and looked at, the second still finds
    await other.open([])
    (root / "src" / "new").mkdir()
    (root / "src" / "new" / "b.py").write_text("2")
    assert [tree.changed for tree in (await one.settled(), await other.settled())] == [("src/new/b.py",)] * 2
    assert len(_descriptors() - before) == 1
    await one.close()
    (root / "src" / "new" / "b.py").write_text("3")
    assert (await other.moved()).changed == ("src/new/b.py",)
    await other.close()
    assert _descriptors() <= before


def _descriptors() -> set[str]:
    """Those of inotify."""
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    return {one.name for one in links if one.is_symlink() and os.readlink(one) == "anon_inode:inotify"}  # noqa: PTH115


async def test_where_another_system_only_wakes_every_look_is_a_walk(folder: Open) -> None:
    workspace = folder(watcher=WakingWatcher)
    write(workspace.root, "src/a", b"1")
    await workspace.open([])
    write(workspace.root, "src/a", b"2")
    assert await _current_equals_walked(workspace) == ("src/a",)
    waiting = asyncio.create_task(workspace.settled())
    number = 2
    while not waiting.done():  # it takes a moment until it listens
        number += 1
        write(workspace.root, "src/a", b"%d" % number)
        await asyncio.wait([waiting], timeout=1)
    assert (await waiting).changed == ("src/a",)
    assert workspace.warning is None


UNCLOSED = """
import asyncio, sys
from pathlib import Path
from donewhen.workspace.folder import FolderWorkspace

async def main(place):
    (place / "workspace").mkdir()
    workspace = FolderWorkspace(place / "workspace", place / "state")
    await workspace.open([])
    await workspace.current()

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_process_that_never_closes_its_workspace_ends_quietly(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCLOSED, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


async def test_a_save_that_the_editor_reports_is_looked_at_at_once(folder: Open) -> None:
    workspace = folder(watch=False, quiet=Quiet(poll=600))
    write(workspace.root, "a", b"1")
    await workspace.open([])
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.sleep(0.1)
    write(workspace.root, "a", b"2")
    workspace.saved_by_client("a", "2")
    assert (await asyncio.wait_for(waiting, 60)).changed == ("a",)


async def test_whoever_waits_learns_that_the_root_is_gone(folder: Open) -> None:
    workspace = folder()
    write(workspace.root, "a", b"1")
    await workspace.open([])
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.sleep(0)
    shutil.rmtree(workspace.root)
    with pytest.raises(WorkspaceError, match="is gone"):
        await asyncio.wait_for(waiting, 60)


class CountingWatcher(FolderWatcher):
    looks = 0

    def take(self) -> Hints | None:
        self.looks += 1
        return super().take()


async def test_waiting_looks_at_nothing_while_nothing_happens(folder: Open) -> None:
    workspace = folder(watcher=CountingWatcher)
    watcher: CountingWatcher = workspace._watcher
    write(workspace.root, "a", b"1")
    await workspace.open([])
    await workspace.current()
    watcher.looks = 0
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.wait([waiting], timeout=0.2)
    looks = watcher.looks
    await asyncio.wait([waiting], timeout=0.3)
    assert watcher.looks == looks <= 2
    waiting.cancel()


async def test_the_loop_does_none_of_the_work_of_a_walk(folder: Open) -> None:
    workspace = folder()
    for number in range(1500):
        write(workspace.root, f"d{number % 50}/{number}", b"x" * 2000)
    for step in (workspace.open([]), workspace.confirm(), workspace.checkpoint()):
        assert await _longest_hold(asyncio.ensure_future(step)) < 0.05


async def _longest_hold(doing: asyncio.Future[object]) -> float:
    """The most of a processor's time that the loop's own thread spent at once."""
    longest = 0.0
    while not doing.done():
        before = time.thread_time()
        await asyncio.sleep(0.001)
        longest = max(longest, time.thread_time() - before)
    await doing
    return longest


async def test_whoever_stops_waiting_loses_nothing_for_the_others(watched: Watched) -> None:
    workspace = watched()
    for number in range(300):
        write(workspace.root, f"d{number % 30}/{number}", b"0")
    await workspace.open([])
    for number in range(60):
        waiting = asyncio.create_task(workspace.settled())
        write(workspace.root, f"d{number % 30}/{number}", b"1")
        for _ in range(number % 8):
            await asyncio.sleep(0.0005)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    heard = await workspace.current()
    assert (await workspace.confirm()).revision == heard.revision


async def test_after_a_failed_look_nothing_is_missed(watched: Watched) -> None:
    workspace = watched()
    write(workspace.root, "d/a", b"1")
    await workspace.open([])
    write(workspace.root, "d/a", b"2")
    workspace.root.rename(workspace.root.with_name("away"))
    with pytest.raises(WorkspaceError, match="is gone"):
        await workspace.current()
    workspace.root.with_name("away").rename(workspace.root)
    assert (await workspace.current()).changed == ("d/a",)


async def test_a_workspace_behind_a_link_is_watched(tmp_path: Path) -> None:
    write(tmp_path, "real/d/a", b"1")
    (tmp_path / "link").symlink_to("real")
    workspace = FolderWorkspace(tmp_path / "link", tmp_path / "state")
    await workspace.open([])
    await workspace.current()
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.sleep(0)
    write(tmp_path, "real/d/a", b"2")
    assert (await asyncio.wait_for(waiting, 60)).changed == ("d/a",)
    await workspace.close()
