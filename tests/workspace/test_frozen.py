"""The ignore rules of a run last as long as the run does, whoever supervises it (A9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.workspace.folder import FolderWorkspace
from tests.workspace.conftest import make_repository, write


@pytest.mark.conformance("A9")
async def test_a09_a_run_that_is_opened_again_keeps_the_rules_and_the_tracked_files_it_began_with(
    tmp_path: Path,
) -> None:
    root, state = tmp_path / "w", tmp_path / "state"
    root.mkdir()
    make_repository(root, {".gitignore": b"*.log\n", "a.py": b"1"})
    write(root, "new.txt", b"1")
    first = FolderWorkspace(root, state)
    await first.open((), "run1")
    assert "new.txt" in first.files()
    await first.close()
    write(root, ".gitignore", b"*.log\n*.txt\n*.py\n")
    again, other = FolderWorkspace(root, state), FolderWorkspace(root, state)
    await again.open((), "run1")
    await other.open((), "run2")
    assert {"new.txt", "a.py"} <= set(again.files())
    assert "new.txt" not in other.files()
    await again.close()
    await other.close()


async def test_rules_that_can_not_be_read_are_frozen_anew(tmp_path: Path) -> None:
    root, state = tmp_path / "w", tmp_path / "state"
    root.mkdir()
    write(root, "a.py", b"1")
    (state / "rules").mkdir(parents=True)
    (state / "rules" / "run1.json").write_text("{", encoding="utf-8")
    workspace = FolderWorkspace(root, state)
    await workspace.open((), "run1")
    assert list(workspace.files()) == ["a.py"]
    await workspace.close()
