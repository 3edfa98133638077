"""One watcher per folder, however many look at it."""

from __future__ import annotations

from pathlib import Path

from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.sharing import SharedWatcher
from donewhen.workspace.watching import FolderWatcher, Watcher


async def test_all_hear_of_each_change_through_one_watcher_that_ends_with_the_last(tmp_path: Path) -> None:
    made: list[FolderWatcher] = []

    def make(root: Path, state: Path) -> Watcher:
        made.append(FolderWatcher(root, state))
        return made[-1]

    shared, root = SharedWatcher(make), tmp_path / "w"
    (root / "src").mkdir(parents=True)
    one, other = (FolderWorkspace(root, tmp_path / "state", watcher=shared.share) for _ in range(2))
    await one.open([])
    (root / "src" / "a.py").write_text("1")
    await one.current()  # what the first has heard and looked at, the second still finds
    await other.open([])
    (root / "src" / "new").mkdir()
    (root / "src" / "new" / "b.py").write_text("2")
    assert [tree.changed for tree in (await one.settled(), await other.settled())] == [("src/new/b.py",)] * 2
    await one.close()
    (root / "src" / "new" / "b.py").write_text("3")
    assert (await other.moved()).changed == ("src/new/b.py",)
    assert (len(made), shared.real) == (1, made[0])
    await other.close()
    assert shared.real is None
