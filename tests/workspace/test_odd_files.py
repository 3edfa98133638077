"""Pipes, devices, sockets and endless links in place of files hold nothing up."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.errors import DoneWhenError, GoalFileError, InvalidGoal, LedgerUnavailable
from donewhen.goalfile.detect.folder import Folder
from donewhen.goalfile.files import WorkspaceGoalFiles
from donewhen.regular import read_bytes, read_start, read_text, write_whole
from donewhen.settings.loading import load_settings
from donewhen.store.sqlite import SqliteLedger
from donewhen.workers.script import load_script
from donewhen.workspace.scanning import nested_entry, read_rules

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are none of them")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


ODD = [fifo, endless, link_to_fifo, circle, bound]


@pytest.fixture(params=ODD, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    return request.param


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    return Path()


def test_what_is_no_regular_file_is_not_read(folder: Path, make: Callable[[Path], None]) -> None:
    make(folder / "f")
    for read in (read_bytes, read_text, lambda path: read_start(path, 10)):
        with pytest.raises(OSError, match=r"not a regular file|symbolic links|No such device"):
            read(folder / "f")


def test_a_file_is_read_as_a_whole_up_to_a_size(folder: Path) -> None:
    (folder / "f").write_bytes(b"a\r\nb\rc\n")
    assert read_bytes("f", 7) == b"a\r\nb\rc\n"
    assert read_text("f") == "a\nb\nc\n"
    assert read_start("f", 3) == b"a\r\n"
    with pytest.raises(OSError, match="larger than 6 bytes"):
        read_bytes("f", 6)


def test_what_can_not_be_written_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    write_whole(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "half a character: \ud800")
    assert [one.name for one in tmp_path.iterdir()] == ["kept.json"]
    assert read_text(file) == "old"


def test_files_of_the_kernel_are_read_to_their_end(folder: Path) -> None:
    """They are regular, and say that they are empty."""
    assert read_text("/proc/self/status").startswith("Name:")


def test_goals_settings_scripts_rules_and_records_in_their_place_are_refused(
    folder: Path, make: Callable[[Path], None]
) -> None:
    for name in ("GOAL.md", "config.toml", "script.yaml", ".gitignore", "package.json"):
        (folder / "pipe").unlink(missing_ok=True)
        make(folder / name)
    with pytest.raises(GoalFileError):
        WorkspaceGoalFiles(folder).load("GOAL.md")
    with pytest.raises(InvalidGoal, match=r"config\.toml can't be read"):
        load_settings({}, {}, None, user_file=folder / "config.toml")
    with pytest.raises(DoneWhenError):
        load_script(folder / "script.yaml")
    assert read_rules(".gitignore") == ""
    assert Folder(folder).file_text("package.json") == ""
    (folder / "nested").mkdir()
    make(folder / "nested/.git") if make is not link_to_fifo else None
    assert nested_entry("nested").mode


async def test_a_record_of_runs_that_is_no_file_is_said(folder: Path, make: Callable[[Path], None]) -> None:
    make(folder / "ledger.sqlite")
    with pytest.raises(LedgerUnavailable, match=r"--state-dir"):
        await SqliteLedger.open(folder / "ledger.sqlite")
