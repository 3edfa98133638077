"""What the watchers hear of, without any walk."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.settling import Quiet
from donewhen.workspace.watching import FolderWatcher, Watcher

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

    def _make(self, root: Path, state: Path) -> Watcher:
        self._watchers.append(FolderWatcher(root, state))
        return self._watchers[0]

    @property
    def watcher(self) -> FolderWatcher:
        return self._watchers[0]

    async def until_quiet(self) -> None:
        """Until every folder is watched and nothing is left to look at."""
        async with asyncio.timeout(10):
            while await self.watcher.drain():
                await self.workspace.current()
                await asyncio.sleep(0.01)


async def test_ignored_trees_are_not_watched(folder: Open) -> None:
    watching = Watching(folder)
    workspace = watching.workspace
    write(workspace.root, ".gitignore", b"/ignored/\n")
    for number in range(20):
        write(workspace.root, f"ignored/{number}/a", b"")
        write(workspace.root, f"node_modules/{number}/a", b"")
    write(workspace.root, "src/a", b"")
    await workspace.open([])
    await watching.until_quiet()
    assert watching.watcher.places == {"", "src"}
    write(workspace.root, "ignored/1/a", b"1")
    assert not await watching.watcher.drain()


async def test_a_new_folder_is_watched_and_what_came_before_that_is_found(folder: Open) -> None:
    watching = Watching(folder)
    workspace = watching.workspace
    write(workspace.root, "a", b"1")
    await workspace.open([])
    await watching.until_quiet()
    write(workspace.root, "new/deep/b", b"1")
    assert (await workspace.current()).changed == ("new/deep/b",)
    await watching.until_quiet()
    assert watching.watcher.places == {"", "new", "new/deep"}
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
    assert workspace.warning is not None
    assert "UTF-8" in workspace.warning


async def test_whoever_closed_it_may_remove_its_folder(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    others = threading.enumerate()
    states = [tmp_path / f"state{number}" for number in range(120)]
    for number, state in enumerate(states):
        watcher = FolderWatcher(tmp_path / "workspace", state)
        watcher.start(lambda: None)
        await asyncio.sleep(number % 40 / 20_000)  # at another moment of its beginning each time
        watcher.close()
        shutil.rmtree(state, ignore_errors=True)
    listening = [one for one in threading.enumerate() if one.name == "watching" and one not in others]
    await asyncio.to_thread(lambda: [one.join(60) for one in listening])
    assert [state.name for state in states if state.exists()] == []


async def test_the_folder_of_marks_may_go(watched: Watched, tmp_path: Path) -> None:
    workspace = watched()
    write(workspace.root, "d/a", b"1")
    await workspace.open([])
    await workspace.current()
    marks = tmp_path / "state" / "watching"
    while not marks.exists():  # noqa: ASYNC110  # the thread that listens makes it, once it has begun
        await asyncio.sleep(0.01)
    shutil.rmtree(marks)
    for content in (b"2", b"3"):
        write(workspace.root, "d/a", content)
        assert await _current_equals_walked(workspace) == ("d/a",)


UNDER_A_LIMIT = """
import asyncio, sys
from pathlib import Path
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.settling import Quiet
from donewhen.workspace.watching import FolderWatcher

watchers = []

def watcher(root, state):
    watchers.append(FolderWatcher(root, state))
    return watchers[0]

async def main(place, refused):
    root = place / "workspace"
    for number in range(9):
        (root / f"d{number}").mkdir(parents=True)
        (root / f"d{number}/a").write_text("1")
    workspace = FolderWorkspace(root, place / "state", watcher=watcher, quiet=Quiet(poll=0.05))
    await workspace.open([])
    async with asyncio.timeout(20):
        while workspace.warning is None if refused else await watchers[0].drain():
            await workspace.current()
            await asyncio.sleep(0.01)
    (root / "new").mkdir()
    (root / "new/b").write_text("1")
    print((await workspace.current()).changed)
    async with asyncio.timeout(20):
        while not refused and await watchers[0].drain():
            await workspace.current()
            await asyncio.sleep(0.01)
    (root / "d4/a").write_text("22")
    print((await workspace.current()).changed)
    waiting = asyncio.create_task(workspace.settled())
    await asyncio.sleep(0)
    (root / "new/b").write_text("22")
    print((await asyncio.wait_for(waiting, 60)).changed)
    print(workspace.warning)
    await workspace.close()

asyncio.run(main(Path(sys.argv[1]), sys.argv[2] == "refused"))
"""


def _under_a_limit(limit: str, most: int, place: Path, what: str) -> str:
    """What the warning is, in a process of a user namespace with a limit of its own; the changes were found."""
    limited = f'echo {most} >/proc/sys/user/{limit} && exec "$@"'
    inside = ["unshare", "--user", "--map-root-user", "sh", "-c", limited, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"], check=False).returncode:
        pytest.skip("no user namespace can be made here")
    done = subprocess.run(
        [*inside, sys.executable, "-c", UNDER_A_LIMIT, str(place), what],
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
    warning = _under_a_limit(limit, most, tmp_path, "refused")
    assert "changes are looked for every few seconds" in warning
    assert "fs.inotify.max_user_watches" in warning


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize(("limit", "most"), [("max_inotify_watches", 14), ("max_inotify_instances", 1)])
def test_a_limit_that_fits_all_folders_once_is_enough_when_folders_come(limit: str, most: int, tmp_path: Path) -> None:
    assert _under_a_limit(limit, most, tmp_path, "fits") == "None"


UNCLOSED = """
import asyncio, sys
from pathlib import Path
from donewhen.workspace.folder import FolderWorkspace

async def main(place):
    (place / "workspace").mkdir()
    workspace = FolderWorkspace(place / "workspace", place / "state")
    await workspace.open([])
    while await workspace._watcher.drain():
        await workspace.current()

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_process_that_never_closes_its_workspace_ends_quietly(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCLOSED, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    marks = tmp_path / "state" / "watching"
    assert not marks.exists() or list(marks.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems don't wake us")
async def test_listening_wakes_nobody_while_nothing_happens(folder: Open) -> None:
    watching = Watching(folder)
    write(watching.workspace.root, "src/a", b"1")
    before = {thread.native_id for thread in threading.enumerate()}
    await watching.workspace.open([])
    await watching.until_quiet()
    (thread,) = (one for one in threading.enumerate() if one.name == "watching" and one.native_id not in before)
    await asyncio.sleep(0.5)  # what it still looks for after the last change
    woken = _wake_ups(thread)
    await asyncio.sleep(1)
    assert _wake_ups(thread) - woken <= 2


def _wake_ups(thread: threading.Thread) -> int:
    status = Path(f"/proc/self/task/{thread.native_id}/status").read_text(encoding="utf-8")
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


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

    async def drain(self) -> bool:
        self.looks += 1
        return await super().drain()


async def test_waiting_looks_at_nothing_while_nothing_happens(folder: Open) -> None:
    workspace = folder(watcher=CountingWatcher)
    watcher: CountingWatcher = workspace._watcher
    write(workspace.root, "a", b"1")
    await workspace.open([])
    while await watcher.drain():
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
