"""Checkpoints on disk: exact, outside of the workspace, and without a trace in the user's repository."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from donewhen.core.errors import OtherRevision, WorkspaceError
from donewhen.workspace.checkpoints import Checkpoints
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.manifest import Manifest
from donewhen.workspace.objects import ObjectStore

from .conftest import Open, git, make_repository, write


@pytest.fixture(params=["git", "no git"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    if request.param == "git":
        make_repository(root, {"tracked": b"1\n", "src/deep/a.py": b"2\n"})
    else:
        write(root, "tracked", b"1\n")
        write(root, "src/deep/a.py", b"2\n")
    return root


async def test_modes_links_and_kinds_are_put_back(place: Path, folder: Open) -> None:
    workspace = folder()
    write(place, "run.sh", b"#!/bin/sh\n")
    (place / "run.sh").chmod(0o755)
    (place / "link").symlink_to("src/deep")
    (place / "dangling").symlink_to("no\nwhere")
    before = _everything(place)
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    (place / "run.sh").chmod(0o644)
    (place / "link").unlink()
    write(place, "link/now/a/folder", b"1")
    (place / "dangling").unlink()
    write(place, "dangling", b"now a file")
    shutil.rmtree(place / "src")
    write(place, "src", b"now a file")
    await workspace.restore(checkpoint)
    assert _everything(place) == before


async def test_a_folder_that_became_a_link_is_not_written_through(place: Path, folder: Open, tmp_path: Path) -> None:
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    write(tmp_path, "outside/deep/a.py", b"mine")
    shutil.rmtree(place / "src")
    (place / "src").symlink_to(tmp_path / "outside")
    with pytest.raises(WorkspaceError, match=r"src/deep/a\.py") as refused:
        await workspace.restore(checkpoint, keep=["src"])
    assert str(refused.value).endswith(": nothing was put back")
    assert (tmp_path / "outside/deep/a.py").read_bytes() == b"mine"
    await workspace.restore(checkpoint)
    assert (place / "src/deep/a.py").read_bytes() == b"2\n"
    assert not (place / "src").is_symlink()


async def test_ignored_files_keep_their_folder_and_block_nothing_else(place: Path, folder: Open) -> None:
    write(place, ".gitignore", b"*.log\n")
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    (place / "tracked").unlink()
    write(place, "tracked/precious.log", b"ignored")
    write(place, "src/deep/a.py", b"changed")
    with pytest.raises(WorkspaceError, match=r"not restored: tracked .*: the rest was put back"):
        await workspace.restore(checkpoint)
    assert (place / "tracked/precious.log").read_bytes() == b"ignored"
    assert (place / "src/deep/a.py").read_bytes() == b"2\n"


async def test_the_users_repository_is_untouched(folder: Open, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    make_repository(root, {"a": b"1\n", "b": b"1\n"})
    write(root, "b", b"staged\n")
    git(root, "add", "b")
    write(root, "c", b"untracked\n")
    before = {name: data for name, data in _everything(root).items() if name.startswith(".git/")}
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    write(root, "a", b"2\n")
    (root / "c").unlink()
    await workspace.checkpoint()
    await workspace.restore(checkpoint)
    assert {name: data for name, data in _everything(root).items() if name.startswith(".git/")} == before
    assert git(root, "status", "--porcelain") == "M  b\n?? c\n"


async def test_content_that_git_has_is_borrowed_and_the_rest_kept(folder: Open, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    make_repository(root, {f"{number}.txt": b"%d\n" % number * 500 for number in range(50)})
    git(root, "gc", "-q")
    write(root, "new.txt", b"new\n")
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    with contextlib.closing(sqlite3.connect(tmp_path / "state/checkpoints.git/objects.db")) as kept:
        assert [row[0] for row in kept.execute("SELECT kind FROM objects ORDER BY kind")] == ["blob", "tree"]
    for path in root.glob("*.txt"):
        path.unlink()
    await workspace.restore(checkpoint)
    assert (root / "7.txt").read_bytes() == b"7\n" * 500
    assert await workspace.file_at(checkpoint, "new.txt") == b"new\n"


@pytest.mark.parametrize("attributes", [b"* text eol=crlf\n", b"* ident\n", b"* filter=upper\n"])
async def test_conversions_of_git_change_no_byte(folder: Open, tmp_path: Path, attributes: bytes) -> None:
    root = tmp_path / "workspace"
    make_repository(root, {".gitattributes": attributes, "a.txt": b"$Id$\r\nb\r\n"})
    git(root, "config", "filter.upper.clean", "tr a-z A-Z")
    git(root, "config", "core.autocrlf", "true")
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    write(root, "a.txt", b"other")
    await workspace.restore(checkpoint)
    assert (root / "a.txt").read_bytes() == b"$Id$\r\nb\r\n"
    assert await workspace.file_at(checkpoint, "a.txt") == b"$Id$\r\nb\r\n"


async def test_checkpoints_outlive_the_process(place: Path, tmp_path: Path) -> None:
    first = FolderWorkspace(place, tmp_path / "state")
    await first.open([])
    checkpoint = await first.checkpoint()
    await first.close()
    write(place, "tracked", b"changed\n")
    second = FolderWorkspace(place, tmp_path / "state")
    await second.open([])
    assert await second.changed_between(checkpoint, None) == ("tracked",)
    assert await second.restore(checkpoint) == ("tracked",)
    assert await second.checkpoint() == checkpoint
    await second.close()


async def test_a_file_changed_since_it_was_listed_is_kept_as_it_is_now(place: Path, tmp_path: Path) -> None:
    workspace = FolderWorkspace(place, tmp_path / "state")
    await workspace.open([])
    write(place, "new", b"listed")
    await workspace.confirm()
    checkpoints = Checkpoints(place, tmp_path / "other", None)
    manifest: Manifest = workspace._manifest  # the moment between listing and keeping
    write(place, "new", b"kept")
    (place / "tracked").unlink()
    checkpoint = await checkpoints.keep(manifest)
    assert await checkpoints.file_at(checkpoint, "new") == b"kept"
    assert await checkpoints.file_at(checkpoint, "tracked") is None
    await workspace.close()


async def test_a_file_with_holes_is_kept_and_put_back(place: Path, folder: Open) -> None:
    """It takes next to no place on the disk, as every file does where the file system counts no blocks."""
    with (place / "db.bin").open("wb") as file:
        file.truncate(5 * 1024**2)
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    assert workspace.not_captured == ()
    (place / "db.bin").unlink()
    assert "deleted file mode 100644" in await workspace.diff(checkpoint, None)
    assert await workspace.restore(checkpoint) == ("db.bin",)
    assert (place / "db.bin").read_bytes() == bytes(5 * 1024**2)


async def test_a_diff_says_of_what_is_too_large_that_its_content_was_not_kept(place: Path, folder: Open) -> None:
    for name in ("gone", "other", "smaller"):
        _make_large(place / name)
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    (place / "gone").unlink()
    (place / "other").write_bytes(b"")
    _make_large(place / "other")
    write(place, "smaller", b"small\n")
    _make_large(place / "came")
    assert await workspace.diff(checkpoint, None) == "".join(
        f"diff --git a/{name} b/{name}\n"
        f"{what}; its content was not kept: it is too large, unreadable, or a repository of its own\n"
        for name, what in (("came", "new"), ("gone", "deleted"), ("other", "changed"), ("smaller", "changed"))
    )


def _make_large(file: Path) -> None:
    with file.open("ab") as opened:
        opened.truncate(1024**3)


async def test_files_that_are_too_large_are_said_and_left_alone(place: Path, tmp_path: Path) -> None:
    write(place, "large", b"x" * 200)
    workspace = FolderWorkspace(place, tmp_path / "state")
    await workspace.open([])
    checkpoints = Checkpoints(place, tmp_path / "other", None, size_limit=100)
    checkpoint = await checkpoints.keep(workspace._manifest)
    assert checkpoints.not_captured == ("large",)
    write(place, "large", b"y" * 10)
    write(place, "also-large", b"z" * 200)
    await workspace.confirm()
    assert "large" in await checkpoints.changed_between(checkpoint, None, workspace._manifest)
    assert await checkpoints.restore(checkpoint, workspace._manifest, None, ()) == ()
    assert (place / "large").read_bytes() == b"y" * 10
    assert await checkpoints.file_at(checkpoint, "large") is None
    await workspace.close()


async def test_lost_and_damaged_content_is_a_clear_error(place: Path, folder: Open, tmp_path: Path) -> None:
    workspace = folder()
    write(place, "new", b"only here")
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    (place / "new").unlink()
    with contextlib.closing(sqlite3.connect(tmp_path / "state/checkpoints.git/objects.db")) as kept, kept:
        kept.execute("UPDATE objects SET content = x'00' WHERE kind = 'blob'")
    with pytest.raises(WorkspaceError, match="lost"):
        await workspace.restore(checkpoint)
    (tmp_path / "state/checkpoints.git/objects.db").write_bytes(b"not a database" * 99)
    with pytest.raises(WorkspaceError, match="is damaged"):
        await workspace.restore(checkpoint)


async def test_a_state_folder_that_cannot_be_written_is_a_clear_error(place: Path, tmp_path: Path) -> None:
    write(tmp_path, "state", b"a file, not a folder")
    workspace = FolderWorkspace(place, tmp_path / "state")
    await workspace.open([])
    with pytest.raises(WorkspaceError, match="can't be kept"):
        await workspace.checkpoint()
    await workspace.close()


async def test_without_git_on_the_path_checkpoints_work(
    tmp_path: Path, folder: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(tmp_path / "workspace", {"a": b"1"})
    monkeypatch.setenv("PATH", str(tmp_path))
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    write(tmp_path / "workspace", "a", b"2")
    assert await workspace.restore(checkpoint) == ("a",)
    assert await ObjectStore(tmp_path / "empty", None).missing([b"x" * 20]) == {b"x" * 20}


def _everything(root: Path) -> dict[str, tuple[int, bytes]]:
    return dict(_entries(root))


def _entries(root: Path) -> Iterator[tuple[str, tuple[int, bytes]]]:
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            yield name, (0, os.fsencode(path.readlink()))
        elif path.is_file():
            yield name, (stat.S_IMODE(path.stat().st_mode) & 0o111, path.read_bytes())


async def test_a_named_file_is_compared_though_it_is_not_named_now(folder: Open, tmp_path: Path) -> None:
    write(tmp_path / "workspace", ".gitignore", b"*.log\n")
    write(tmp_path / "workspace", "a.log", b"1")
    workspace = folder()
    await workspace.open(["*.log"])
    checkpoint = await workspace.checkpoint()
    await workspace.name([])
    assert await workspace.changed_between(checkpoint, None) == ()
    write(tmp_path / "workspace", "a.log", b"2")
    assert "-1" in await workspace.diff(checkpoint, None)
    assert await workspace.restore(checkpoint) == ("a.log",)
    assert (tmp_path / "workspace/a.log").read_bytes() == b"1"


async def test_a_checkpoint_has_the_id_of_gits_tree(folder: Open, tmp_path: Path) -> None:
    make_repository(
        tmp_path / "workspace", {f"d{number % 9}/{number}": os.urandom(number * 7) for number in range(300)}
    )
    write(tmp_path / "workspace", "d/x", b"")  # sorted before `d.`, as a folder after it
    write(tmp_path / "workspace", "d.x", b"")
    git(tmp_path / "workspace", "add", "--all")
    workspace = folder()
    await workspace.open([])
    assert await workspace.checkpoint() == git(tmp_path / "workspace", "write-tree").strip()


async def test_checkpoints_that_earlier_versions_kept_in_packs_are_read(tmp_path: Path) -> None:
    write(tmp_path, "workspace/src/a", b"now\n")
    make_repository(tmp_path / "made", {"src/a": b"then\n", "b": b"gone\n"})
    git(tmp_path / "made", "repack", "-a", "-d", "-q")
    checkpoint = git(tmp_path / "made", "rev-parse", "HEAD^{tree}").strip()
    shutil.copytree(tmp_path / "made/.git/objects/pack", tmp_path / "state/checkpoints.git/objects/pack")
    workspace = FolderWorkspace(tmp_path / "workspace", tmp_path / "state")
    await workspace.open([])
    await workspace.checkpoint()
    assert await workspace.restore(checkpoint) == ("b", "src/a")
    assert (tmp_path / "workspace/src/a").read_bytes() == b"then\n"
    # What is kept now doesn't need them: they may be deleted once no old run is.
    await workspace.current()
    again = await workspace.checkpoint()
    shutil.rmtree(tmp_path / "state/checkpoints.git/objects/pack")
    (tmp_path / "workspace/b").unlink()
    assert await workspace.restore(again) == ("b",)
    await workspace.close()


async def test_a_repository_with_other_object_ids_lends_nothing(folder: Open, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    write(root, "a", b"1\n")
    git(root, "add", "a")
    git(root, "commit", "-q", "-m", "start")
    git(root, "gc", "-q")
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    write(root, "a", b"2\n")
    assert await workspace.restore(checkpoint) == ("a",)
    assert (root / "a").read_bytes() == b"1\n"


async def test_a_diff_of_many_files_reads_only_what_it_shows(folder: Open, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    make_repository(root, {f"{number:03}": b"%d\n" % number for number in range(400)})
    workspace = folder()
    await workspace.open([])
    before = await workspace.checkpoint()
    for number in range(400):
        write(root, f"{number:03}", b"line\n" * 50)
    diff = await workspace.diff(before, None, limit=4000)
    assert diff.count("diff --git") == 12
    assert diff.endswith("[... diff cut: 388 more changed files ...]\n")
    whole = await workspace.diff(before, await workspace.checkpoint(), limit=10_000_000)
    assert whole.count("diff --git") == 400


@pytest.mark.conformance("A9")
@pytest.mark.parametrize("content", [b"another\n", None])
async def test_a_file_that_changes_while_it_is_diffed_is_not_shown(
    folder: Open, tmp_path: Path, content: bytes | None
) -> None:
    workspace = folder()
    write(workspace.root, "a", b"1\n")
    await workspace.open([])
    checkpoints = Checkpoints(workspace.root, tmp_path / "own", None)
    before = await checkpoints.keep(workspace._manifest)
    write(workspace.root, "a", b"2\n")
    await workspace.confirm()
    assert "+2" in await checkpoints.diff(before, None, workspace._manifest, 1000)
    (workspace.root / "a").unlink()
    if content is not None:
        write(workspace.root, "a", content)
    with pytest.raises(OtherRevision):
        await checkpoints.diff(before, None, workspace._manifest, 1000)
