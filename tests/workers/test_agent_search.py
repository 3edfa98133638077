"""Searching the workspace: in a process of its own, with ripgrep or without, in covered files only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Hit
from donewhen.workspace.guarded import GuardedFolder, find_ripgrep
from donewhen.workspace.processes.running import SystemProcesses
from tests.tools import needs

from .agent_turns import Files
from .turns import environment

FAKE = """\
import json, sys
for path in sys.argv[sys.argv.index("--") + 1 :]:
    told = {"path": {"text": path}, "lines": {"text": "needle\\r\\n"}, "line_number": 1}
    print(json.dumps({"type": "begin", "data": {"path": {"text": path}}}, separators=(",", ":")))
    print(json.dumps({"type": "match", "data": told}, separators=(",", ":")))
    offset = 8 if path.endswith(".bin") else None
    print(json.dumps({"type": "end", "data": {"path": {"text": path}, "binary_offset": offset}}, separators=(",", ":")))
    print(path, file=sys.stderr)
print('{"data":{},"type":"summary"}')
"""


def no_program(root: Path) -> str | None:
    return None


def folder(root: Path, ripgrep: Callable[[Path], str | None] = no_program) -> GuardedFolder:
    return GuardedFolder(Files(root), SystemProcesses(), environment, "t-1", ripgrep)  # pyright: ignore[reportArgumentType]


def write(root: Path, path: str, content: bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(content)


@pytest.fixture(
    params=[
        no_program,
        pytest.param(find_ripgrep, marks=[needs("rg"), pytest.mark.slow]),
    ],
    ids=["python", "ripgrep"],
)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> GuardedFolder:
    write(tmp_path, "b.py", b"import os\n\n\ndef main():\n    os.exit()\n")
    write(tmp_path, "src/a.py", b"def   main(x):\r\n    pass\r\n")
    write(tmp_path, "src/a.md", b"def main\n")
    write(tmp_path, "blob.bin", b"def main\0")
    return folder(tmp_path, request.param)


async def test_it_finds_lines_in_their_order(files: GuardedFolder) -> None:
    found = await files.search(r"def\s+main\(")
    assert found.hits == (Hit("b.py", 4, "def main():"), Hit("src/a.py", 1, "def   main(x):"))
    assert not found.more


async def test_it_can_be_narrowed(files: GuardedFolder) -> None:
    assert [hit.path for hit in (await files.search("main", "src")).hits] == ["src/a.md", "src/a.py"]
    assert [hit.path for hit in (await files.search("main", glob="*.py")).hits] == ["b.py", "src/a.py"]
    assert [hit.path for hit in (await files.search("main", "src/a.py")).hits] == ["src/a.py"]
    assert (await files.search("nowhere")).hits == ()


async def test_a_line_s_end_is_its_end_with_either_line_ends(files: GuardedFolder) -> None:
    assert [hit.path for hit in (await files.search(r"\):$")).hits] == ["b.py", "src/a.py"]


async def test_it_says_that_there_are_more(files: GuardedFolder) -> None:
    found = await files.search("main", limit=1)
    assert len(found.hits) == 1
    assert found.more


async def test_a_pattern_that_is_none_is_refused(files: GuardedFolder) -> None:
    with pytest.raises(WorkspaceError, match="is the pattern a regular expression"):
        await files.search("main(")


async def test_a_pattern_is_never_an_option(files: GuardedFolder) -> None:
    assert (await files.search("--files")).hits == ()


async def test_it_follows_no_link_out_of_the_workspace(files: GuardedFolder, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.txt"
    outside.write_text("def main( outside")
    (tmp_path / "link.py").symlink_to(outside)
    assert [hit.path for hit in (await files.search(r"def\s+main\(")).hits] == ["b.py", "src/a.py"]


async def test_an_expression_that_backtracks_for_ever_is_stopped(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", b"a" * 60 + b"b\n")
    with pytest.raises(WorkspaceError, match="took longer"):
        await folder(tmp_path).search("(a|a)*$", timeout=0.5)


async def test_ripgrep_s_answers_are_read_without_binary_files(tmp_path: Path) -> None:
    program = tmp_path / "rg"
    program.write_text(f"#!{sys.executable}\n{FAKE}")
    program.chmod(0o755)
    root = tmp_path / "workspace"
    for path in ("one.txt", "two.bin", "three.txt"):
        write(root, path, b"needle")
    found = await folder(root, lambda _: str(program)).search("needle")
    assert found.hits == (Hit("one.txt", 1, "needle"), Hit("three.txt", 1, "needle"))


async def test_many_files_go_into_several_calls(tmp_path: Path) -> None:
    program = tmp_path / "rg"
    program.write_text(f"#!{sys.executable}\n{FAKE}")
    program.chmod(0o755)
    root = tmp_path / "workspace"
    for number in range(700):
        write(root, f"{'long' * 50}/{number:03}", b"")
    found = await folder(root, lambda _: str(program)).search("needle", limit=10_000)
    assert len(found.hits) == 700


def test_a_program_in_the_workspace_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "bin/rg", b"#!/bin/sh\n")
    (tmp_path / "bin/rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_ripgrep(tmp_path) is None
    assert find_ripgrep(tmp_path / "other") == str(tmp_path / "bin/rg")
