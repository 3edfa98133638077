"""Guarded writes: atomic, inside the workspace, never over what was not seen."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.core.errors import ChangedMeanwhile, WorkspaceError
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.guarded import GuardedFolder
from donewhen.workspace.memory import MemoryWorkspace
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.writes import TEMPORARY, encoded_like, read_text_keeping, write_guarded
from tests.tools import each_row


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "a.sh"
    target.write_bytes(b"1")
    target.chmod(0o750)
    write_guarded(tmp_path, "a.sh", b"2", _digest(b"1"))
    assert target.read_bytes() == b"2"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["a.sh"]


def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    write_guarded(tmp_path, "new/deep/a", b"1", None)
    assert (tmp_path / "new/deep/a").read_bytes() == b"1"


@pytest.mark.conformance("A20")
@pytest.mark.parametrize("expected", [None, _digest(b"read")])
def test_content_that_was_not_seen_is_not_overwritten(tmp_path: Path, expected: str | None) -> None:
    (tmp_path / "a").write_bytes(b"a person's edit")
    with pytest.raises(ChangedMeanwhile) as refusal:
        write_guarded(tmp_path, "a", b"worker", expected)
    assert refusal.value.current == "a person's edit"
    assert (tmp_path / "a").read_bytes() == b"a person's edit"


def test_a_file_that_vanished_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(ChangedMeanwhile) as refusal:
        write_guarded(tmp_path, "a", b"worker", _digest(b"read"))
    assert refusal.value.current is None
    assert not (tmp_path / "a").exists()


@each_row(
    "path",
    ["../a", "/etc/a", "x/../../a", ".git/hooks/pre-commit", "sub/.GIT/config", "", ".", "folder", "link/a", "a\0b"],
)
def test_only_files_of_the_workspace_are_written(tmp_path: Path, path: str) -> None:
    root = tmp_path / "workspace"
    (root / "folder").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(WorkspaceError, match=r"is a folder|lies outside|belongs to git|names no file"):
        write_guarded(root, path, b"1", None)
    assert list((tmp_path / "outside").iterdir()) == []


@each_row(
    "path",
    ["GIT~1/config", ".g\u200cit/config", "\ufeff.Git/config", ".git./config", ".git::$INDEX_ALLOCATION/config"],
)
def test_what_names_git_on_another_system_is_gits(tmp_path: Path, path: str) -> None:
    with pytest.raises(WorkspaceError, match="belongs to git"):
        write_guarded(tmp_path, path, b"1", None)
    with pytest.raises(WorkspaceError, match="belongs to git"):
        guarded(tmp_path).path(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["store/config", "deep/store/hooks/pre-commit", "sub/kept/config"])
def test_gits_own_folder_is_gits_by_every_name_that_it_has(tmp_path: Path, path: str) -> None:
    """A link stands for a file system that knows a folder by two names."""
    folder = tmp_path / path.rpartition("/")[0]
    folder.mkdir(parents=True)
    above = tmp_path / "sub" if path.startswith("sub/") else tmp_path
    own = folder.parent if path.endswith("pre-commit") else folder
    (above / ".git").symlink_to(own, target_is_directory=True)
    with pytest.raises(WorkspaceError, match="belongs to git"):
        write_guarded(tmp_path, path, b"1", None)
    with pytest.raises(WorkspaceError, match="belongs to git"):
        guarded(tmp_path).path(path)
    assert list(folder.iterdir()) == []


@each_row("path", [".github/ci.yml", ".gitignore", "git/a", "digit~1", "a.git/b", "github.com:x"])
def test_names_that_only_resemble_gits_are_anybodys(tmp_path: Path, path: str) -> None:
    (tmp_path / ".git").mkdir()
    write_guarded(tmp_path, path, b"1", None)
    assert guarded(tmp_path).path(path) == path
    assert (tmp_path / path).read_bytes() == b"1"


def guarded(root: Path) -> GuardedFolder:
    return GuardedFolder(MemoryWorkspace(root=root), SystemProcesses(), dict, "t-1")


def test_a_link_inside_the_workspace_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"1")
    (tmp_path / "link").symlink_to("real")
    write_guarded(tmp_path, "link", b"2", _digest(b"1"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"2"


@each_row(
    "data, content, changed",
    [
        (b"a\nb\n", "a\nb\n", b"a\nb\nc\n"),
        (b"a\r\nb\r\n", "a\nb\n", b"a\r\nb\r\nc\r\n"),
        (b"a\r\nb\n", "a\r\nb\n", b"a\r\nb\nc\n"),
        (b"\xef\xbb\xbfa\n", "a\n", b"\xef\xbb\xbfa\nc\n"),
        ("é\n".encode(), "é\n", "é\nc\n".encode()),
        (b"\xe9\n", "é\n", b"\xe9\nc\n"),
        (b"\xff\xfea\0\r\0\n\0", "a\n", b"\xff\xfea\0\r\0\n\0c\0\r\0\n\0"),
        (b"", "", b"c\n"),
    ],
)
def test_texts_keep_their_encoding_and_line_ends(tmp_path: Path, data: bytes, content: str, changed: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    text = read_text_keeping(tmp_path, "a")
    assert (text.content, text.digest) == (content, _digest(data))
    assert encoded_like(text, text.content) == data
    assert encoded_like(text, text.content + "c\n") == changed


def test_what_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0\1")
    with pytest.raises(WorkspaceError, match="not a text file"):
        read_text_keeping(tmp_path, "a")
    with pytest.raises(WorkspaceError, match="can't be read"):
        read_text_keeping(tmp_path, "absent")
    (tmp_path / "a").write_bytes(b"\xe9")
    with pytest.raises(WorkspaceError, match="can't hold"):
        encoded_like(read_text_keeping(tmp_path, "a"), "\u4e2d")


KILLED = """
import os, signal, sys
from pathlib import Path
from donewhen.workspace.writes import replace_file

sys.addaudithook(lambda event, _: os.kill(os.getpid(), signal.SIGKILL) if event == "os.rename" else None)
replace_file(Path(sys.argv[1]), b"new")
"""


async def revision(workspace: FolderWorkspace) -> str:
    return (await workspace.current()).revision


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX's")
async def test_what_a_killed_write_left_goes_with_the_next_look(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "kept.txt").write_bytes(b"old")
    before = FolderWorkspace(root, tmp_path / "state", watch=False)
    clean = (await before.open(())).revision
    killed = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", KILLED, str(root / "sub" / "kept.txt")], check=False
    )
    assert killed.returncode == -9
    assert [path.suffix for path in (root / "sub").iterdir() if path.name != "kept.txt"] == [TEMPORARY]
    assert await revision(before) == clean
    assert [path.name for path in (root / "sub").iterdir()] == ["kept.txt"]
    await before.close()


@pytest.mark.parametrize(
    "name", [f".abcd1234{TEMPORARY}", f".1-abcdef12{TEMPORARY}", f".x{TEMPORARY}", f"a{TEMPORARY}"]
)
async def test_no_file_of_somebody_else_is_hidden_by_the_name_of_a_temporary_one(tmp_path: Path, name: str) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    workspace = FolderWorkspace(root, tmp_path / "state", watch=False)
    seen = {(await workspace.open(())).revision}
    for content in ("one", "two"):
        (root / name).write_text(content)
        seen.add(await revision(workspace))
    assert len(seen) == 3
    await workspace.close()
