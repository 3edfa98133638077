"""Goal files on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from donewhen.core.errors import GoalFileError
from donewhen.goalfile.files import WorkspaceGoalFiles, find_goals
from tests.tools import each_row


def write(root: Path, path: str, content: str | bytes = "# T\n- [ ] a\n") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def refusal(files: WorkspaceGoalFiles, path: str) -> str:
    with pytest.raises(GoalFileError) as caught:
        files.load(path)
    return str(caught.value)


def test_a_goal_is_loaded_by_relative_and_absolute_path(tmp_path: Path) -> None:
    file = write(tmp_path, "docs/export.goal.md", "- [ ] a")
    files: WorkspaceGoalFiles = WorkspaceGoalFiles(tmp_path)
    for path in ("docs/export.goal.md", "./docs/../docs/export.goal.md", str(file)):
        goal = files.load(path)
        assert (goal.path, goal.title) == ("docs/export.goal.md", "export")


def test_the_first_error_is_raised_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "GOAL.md", "---\nworker: agent\nmax_iterations: 0\n---\n# T\n")
    message = refusal(WorkspaceGoalFiles(tmp_path), "GOAL.md")
    assert message.startswith("GOAL.md, line 3: max_iterations must be a whole number of at least 1")


def test_what_is_no_goal_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    files = WorkspaceGoalFiles(tmp_path)
    assert "donewhen init" in refusal(files, "GOAL.md")
    assert "is a folder" in refusal(files, "folder")
    assert "is a folder" in refusal(files, ".")
    assert "outside of the workspace" in refusal(files, "../GOAL.md")
    assert "outside of the workspace" in refusal(files, str(tmp_path.parent / "GOAL.md"))
    assert "can't be read" in refusal(files, "a\0b")


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs symbolic links")
def test_links_may_not_leave_the_workspace(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    write(tmp_path, "outside.md")
    write(root, "real.md")
    (root / "GOAL.md").symlink_to(tmp_path / "outside.md")
    (root / "inside.goal.md").symlink_to(root / "real.md")
    (root / "loop.goal.md").symlink_to(root / "loop.goal.md")
    (root / "up").symlink_to(tmp_path)
    files = WorkspaceGoalFiles(root)
    assert "leads out of the workspace" in refusal(files, "GOAL.md")
    assert "leads out of the workspace" in refusal(files, "up/outside.md")
    assert "can't be read" in refusal(files, "loop.goal.md")
    assert files.load("inside.goal.md").path == "inside.goal.md"


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_workspace_behind_a_link_takes_paths_of_either_name(tmp_path: Path) -> None:
    write(tmp_path, "real/GOAL.md")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    files = WorkspaceGoalFiles(tmp_path / "link")
    assert files.load(str(tmp_path / "link" / "GOAL.md")).path == "GOAL.md"
    assert files.load(str(tmp_path / "real" / "GOAL.md")).path == "GOAL.md"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "GOAL.md")
    assert "not a regular file" in refusal(WorkspaceGoalFiles(tmp_path), "GOAL.md")


@each_row("content", [b"", b"\xff\xfe", b"\0", b"x" * 2_000_000], ids=["empty", "utf16", "nul", "large"])
def test_bad_content_is_a_parse_result_and_a_load_error(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, "GOAL.md", content)
    parsed = WorkspaceGoalFiles(tmp_path).read("GOAL.md")
    assert parsed.errors[0].message in refusal(WorkspaceGoalFiles(tmp_path), "GOAL.md")


def test_goals_are_found_in_order(tmp_path: Path) -> None:
    for path in (
        "z.goal.md", "GOAL.md", "sub/GOAL.md", "sub/a.goal.md", "README.md", "goalie.md",
        "node_modules/x/GOAL.md", ".git/GOAL.md", ".venv/GOAL.md", "target/GOAL.md",
    ):  # fmt: skip
        write(tmp_path, path)
    assert find_goals(tmp_path) == ["GOAL.md", "sub/GOAL.md", "z.goal.md", "sub/a.goal.md"]
    assert find_goals(tmp_path / "missing") == []
