"""Where state lives: one private folder for each workspace, whichever way its path is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.core.errors import LedgerUnavailable
from donewhen.store.folders import state_folder, workspace_folder
from tests.tools import each_row


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_an_override_is_made_private_with_its_parents(tmp_path: Path) -> None:
    folder = state_folder(tmp_path / "a" / "b")
    assert folder == tmp_path / "a" / "b"
    assert (mode(folder), mode(folder.parent)) == (0o700, 0o700)


@pytest.mark.skipif(sys.platform != "linux", reason="where it is differs by platform")
def test_without_an_override_it_is_the_users_state_folder(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from donewhen.store.folders import state_folder; print(state_folder())"],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.strip() == str(tmp_path / "donewhen")
    assert mode(tmp_path / "donewhen") == 0o700


def test_a_workspace_has_one_folder_by_any_way_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "My project!"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    folder = workspace_folder(tmp_path / "state", root)
    assert folder.name.startswith("My-project-")
    assert workspace_folder(tmp_path / "state", tmp_path / "link") == folder
    monkeypatch.chdir(root)
    assert workspace_folder(tmp_path / "state", Path()) == folder
    assert json.loads((folder / "workspace.json").read_text("utf-8")) == {"root": str(root)}
    assert mode(folder) == 0o700
    assert [file.name for file in folder.iterdir()] == ["workspace.json"]


def test_equal_names_in_different_places_have_different_folders(tmp_path: Path) -> None:
    folders = {workspace_folder(tmp_path / "state", tmp_path / place / "app") for place in ("a", "b")}
    assert len(folders) == 2
    assert {folder.name[:4] for folder in folders} == {"app-"}


@each_row("name", ["/", "/tmp/…", "/tmp/" + "x" * 200, "/tmp/.hidden", "/tmp/a\nb"])
def test_any_root_has_a_name(tmp_path: Path, name: str) -> None:
    folder = workspace_folder(tmp_path, Path(name))
    assert folder.is_dir()
    assert len(folder.name) < 64
    assert json.loads((folder / "workspace.json").read_text("utf-8"))["root"] == str(Path(name))


def test_a_file_in_the_way_is_explained(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(LedgerUnavailable, match="--state-dir"):
        state_folder(tmp_path / "state")
    with pytest.raises(LedgerUnavailable, match="--state-dir"):
        workspace_folder(tmp_path / "state", tmp_path)
