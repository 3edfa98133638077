"""The ignore rules say what git says."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.ignoring import CACHE_FOLDERS
from tests.tools import examples

from .conftest import git, write

PATHS = ("a", "b.txt", "d/a", "d/b.txt", "d/e/a", "d/e/f/b.txt", "e/a", "e/d/a", "x y/a", "#h", "!n", "e/[q]", "B.TXT")
PATTERNS = """a|/a|*.txt|d|d/|/d/|e/|d/e|d/*|d/**|**/a|**/e/**|d/**/b.txt|!a|!*.txt|!d/|!d/e|!d/e/a|e/*|!e/d|/e/*|!/e/a
x?y|x\\ y/|\\#h|\\!n|[ab].txt|[!a]|*|!*/|!/d|#c||   |a   |b.txt\\ |e/\\[q\\]|/*|d/e/|f""".replace("\n", "|").split("|")

rules = st.lists(st.sampled_from(PATTERNS), max_size=5).map("\n".join)


@examples(60)
@given(top=rules, inner=rules, exclude=rules)
def test_the_same_files_are_covered_as_git_lists(top: str, inner: str, exclude: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "workspace"
        for path in PATHS:
            write(root, path, b"")
        git(root, "init", "-q")
        write(root, ".gitignore", top.encode())
        write(root, "d/.gitignore", inner.encode())
        write(root, ".git/info/exclude", exclude.encode())
        listed = git(root, "ls-files", "-z", "--others", "--exclude-standard")
        assert asyncio.run(_covered(root)) == sorted(listed.split("\0")[:-1])


async def _covered(root: Path) -> list[str]:
    workspace = FolderWorkspace(root, root.parent / "state", watch=False)
    await workspace.open([])
    return list(workspace.files())


@pytest.mark.parametrize("name", sorted(CACHE_FOLDERS))
async def test_known_caches_do_not_count_without_any_rule(tmp_path: Path, name: str) -> None:
    write(tmp_path / "workspace", f"sub/{name}/x", b"")
    write(tmp_path / "workspace", f"{name}.py", b"")
    assert await _covered(tmp_path / "workspace") == [f"{name}.py"]


async def test_build_folders_count_unless_ignored(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    for name in ("build", "dist", "target"):
        write(root, f"{name}/x", b"")
    assert await _covered(root) == ["build/x", "dist/x", "target/x"]
    write(root, ".gitignore", b"build/\ndist\n/target\n")
    assert await _covered(root) == [".gitignore"]
