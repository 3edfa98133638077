"""Which commit a result is about: only one that holds every file as it was proven."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from donewhen.workspace.folder import FolderWorkspace
from tests.tools import needs

pytestmark = needs("git")


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "app").mkdir(parents=True)
    (root / "app" / "a.py").write_text("a = 1\n", encoding="utf-8")
    (root / "app" / ".gitignore").write_text("*.log\n", encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


async def commit(root: Path, state: Path, named: tuple[str, ...] = ()) -> str | None:
    workspace = FolderWorkspace(root, state, watch=False)
    try:
        await workspace.open(named)
        return await workspace.commit()
    finally:
        await workspace.close()


async def test_files_as_they_were_committed_are_of_that_commit(repository: Path, tmp_path: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert await commit(repository, tmp_path / "state") == head
    assert await commit(repository / "app", tmp_path / "state2") == head


async def test_an_edit_a_new_file_and_a_missing_one_are_of_no_commit(repository: Path, tmp_path: Path) -> None:
    file = repository / "app" / "a.py"
    file.write_text("a = 2\n", encoding="utf-8")
    assert await commit(repository, tmp_path / "s1") is None
    git(repository, "add", ".")
    assert await commit(repository, tmp_path / "s2") is None
    git(repository, "commit", "-q", "-m", "second")
    assert await commit(repository, tmp_path / "s3") is not None
    (repository / "new.py").write_text("", encoding="utf-8")
    assert await commit(repository, tmp_path / "s4") is None
    (repository / "new.py").unlink()
    file.unlink()
    assert await commit(repository, tmp_path / "s5") is None


async def test_an_ignored_file_counts_where_a_requirement_names_it(repository: Path, tmp_path: Path) -> None:
    (repository / "app" / "run.log").write_text("", encoding="utf-8")
    assert await commit(repository, tmp_path / "s1") is not None
    assert await commit(repository, tmp_path / "s2", named=("app/run.log",)) is None


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_an_edit_that_is_hidden_from_git_is_of_no_commit(repository: Path, tmp_path: Path, flag: str) -> None:
    git(repository, "update-index", flag, "app/a.py")
    (repository / "app" / "a.py").write_text("a = 'not committed'\n", encoding="utf-8")
    assert await commit(repository, tmp_path / "state") is None


async def test_a_folder_without_a_commit_has_none(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.py").write_text("", encoding="utf-8")
    assert await commit(tmp_path / "w", tmp_path / "state") is None
    git(tmp_path / "w", "init", "-q")
    assert await commit(tmp_path / "w", tmp_path / "state2") is None
