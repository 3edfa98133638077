"""A copy of a workspace to work in: everything that is there, and nothing that leads back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.extras.attempts import duplicating
from donewhen.extras.attempts.duplicating import duplicate, size_of
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.rooms.copying import copy_tree
from tests.tools import needs

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null")


def run(*words: str | Path) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, cwd="/").stdout


def git(folder: Path, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *IDENTITY, *words], cwd=folder, capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout


def contents(folder: Path) -> dict[str, bytes]:
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


async def copied(root: Path, place: Path) -> Path:
    workspace = FolderWorkspace(root, place.parent / "trees", watch=False, excluded=(place,))
    await workspace.open(())
    try:
        return await duplicate(workspace, place / "1", place / "look", without=place)
    finally:
        await workspace.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "a.txt").write_text("a\n", "utf-8")
    return made


@pytest.mark.skipif(sys.platform == "win32", reason="needs descriptors of folders")
def test_a_folder_that_becomes_a_link_while_it_is_copied_leads_nobody_out(root: Path, tmp_path: Path) -> None:
    for folder, key in ((tmp_path / "outside" / "build", "secret"), (root / "sub" / "build", "own")):
        folder.mkdir(parents=True)
        (folder / "key").write_text(key, "utf-8")

    class Swapping(frozenset[str]):
        """The covered files: who asks about the folder below `sub` finds a link in its place afterwards."""

        def __iter__(self) -> Iterator[str]:
            if not (root / "sub").is_symlink():
                (root / "sub").rename(root / "was")
                (root / "sub").symlink_to(tmp_path / "outside")
            return super().__iter__()

    copy_tree(root, tmp_path / "copy", Swapping({"sub/build/key"}))
    assert (root / "sub").is_symlink()
    assert (tmp_path / "copy" / "sub" / "build" / "key").read_text("utf-8") == "own"


async def test_links_lead_into_the_copy_and_those_that_leave_lead_where_they_did(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "absolute").symlink_to(root / "a.txt")
    (root / "relative").symlink_to("a.txt")
    (root / "leaves").symlink_to("../outside")
    copy = await copied(root, tmp_path / "attempts")
    assert (copy / "absolute").readlink() == copy / "a.txt"
    assert (copy / "relative").readlink() == Path("a.txt")
    assert (copy / "leaves").resolve() == outside
    assert not (tmp_path / "attempts" / "look").exists()


async def test_our_own_folder_inside_of_the_workspace_is_not_copied_into_itself(root: Path) -> None:
    copy = await copied(root, root / "state")
    assert contents(copy) == {"a.txt": b"a\n"}
    assert size_of(copy) == 2


async def test_an_environment_in_the_workspace_belongs_to_the_copy(root: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", root / ".venv")
    installed = next((root / ".venv").glob("lib/*/site-packages"), None) or root / ".venv" / "Lib" / "site-packages"
    (installed / "project.pth").write_text(f"{root}\n", "utf-8")
    copy = await copied(root, tmp_path / "attempts")
    python = copy / ".venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    (copy / "only_here.py").write_text("", "utf-8")
    assert Path(run(python, "-c", "import only_here, sys; print(sys.prefix)").strip()) == copy / ".venv"


async def test_what_is_installed_is_copied_and_what_builds_make_again_is_not(root: Path, tmp_path: Path) -> None:
    for path in ("node_modules/p/dist/index.js", "node_modules/p/package.json", "dist/app.js", "target/x.o"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    (root / ".gitignore").write_text("node_modules/\ndist/\ntarget/\n", "utf-8")
    copy = await copied(root, tmp_path / "attempts")
    there = ["node_modules/p/dist/index.js", "node_modules/p/package.json"]
    assert sorted(contents(copy)) == [".gitignore", "a.txt", *there]


@needs("git")
async def test_what_git_does_in_a_copy_of_a_repository_stays_there(root: Path, tmp_path: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    git(root, "worktree", "add", "-q", tmp_path / "other")
    (root / "a.txt").write_text("staged\n", "utf-8")
    git(root, "add", "a.txt")
    before = contents(root / ".git")
    copy = await copied(root, tmp_path / "attempts")
    assert git(copy, "diff", "--cached", "--name-only") == "a.txt\n"
    git(copy, "commit", "-qm", "second")
    git(copy, "checkout", "-qb", "elsewhere")
    assert git(copy, "worktree", "list").count("\n") == 1
    assert contents(root / ".git") == before


@needs("git")
async def test_a_linked_worktree_gets_a_repository_of_its_own(root: Path, tmp_path: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "-q", "-b", "work", linked)
    before = contents(root / ".git")
    copy = await copied(linked, tmp_path / "attempts")
    assert git(copy, "branch", "--show-current") == "work\n"
    (copy / "a.txt").write_text("b\n", "utf-8")
    git(copy, "commit", "-qam", "second")
    assert git(copy, "rev-parse", "--git-dir").strip() == ".git"
    assert contents(root / ".git") == before


@needs("git")
async def test_where_links_of_gits_own_folder_lead_stays_as_it_is(root: Path, tmp_path: Path) -> None:
    git(root, "init", "-q", ".")
    (root / ".git").rename(tmp_path / "kept")
    (root / ".git").symlink_to("../kept")
    (tmp_path / "config").write_text("[core]\n\tbare = false\n\tworktree = /elsewhere\n", "utf-8")
    (tmp_path / "kept" / "config").unlink()
    (tmp_path / "kept" / "config").symlink_to("../config")
    (tmp_path / "kept" / "worktrees" / "other").mkdir(parents=True)
    before = contents(tmp_path / "kept")
    copy = await copied(root, tmp_path / "attempts")
    assert contents(tmp_path / "kept") == before
    assert (tmp_path / "kept" / "worktrees" / "other").is_dir()
    assert not (copy / ".git").is_symlink()
    assert (copy / ".git" / "HEAD").is_file()


async def test_of_a_folder_of_a_repository_all_of_it_is_copied(root: Path, tmp_path: Path) -> None:
    git(root, "init", "-q")
    (root / ".gitignore").write_text("*.log\n", "utf-8")
    inner = root / "packages" / "one"
    inner.mkdir(parents=True)
    (inner / "b.txt").write_text("b\n", "utf-8")
    (inner / "x.log").write_text("ignored\n", "utf-8")
    git(root, "add", ".")
    copy = await copied(inner, tmp_path / "attempts")
    assert copy == tmp_path / "attempts" / "1" / "project" / "packages" / "one"
    assert contents(copy) == {"b.txt": b"b\n", "x.log": b"ignored\n"}
    assert (copy.parents[1] / "a.txt").is_file()
    workspace = FolderWorkspace(copy, tmp_path / "of the copy", watch=False)
    await workspace.open(())
    assert list(workspace.files()) == ["b.txt"]
    await workspace.close()


async def test_a_workspace_that_is_too_large_is_refused_and_leaves_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicating, "MAX_FILES", 1)
    (root / "b.txt").touch()
    with pytest.raises(WorkspaceError, match="too large to be copied: more than 1 files"):
        await copied(root, tmp_path / "attempts")
    assert not (tmp_path / "attempts" / "1").exists()
