"""The revision moves if, and only if, covered content does."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.errors import WorkspaceError
from donewhen.ports import TreeState
from donewhen.workspace.folder import FolderWorkspace
from tests.tools import examples

from .conftest import Open, git, make_repository, write

NAMES = ("a.py", "b", "d/a.py", "d/e/f", "d/x.log", "out/y")
CONTENTS = (b"", b"1", b"2", b"10")

edits = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(CONTENTS)),
        st.tuples(st.just("forge"), st.sampled_from(NAMES), st.sampled_from(CONTENTS)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(b"")),
        st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from([n.encode() for n in NAMES])),
        st.tuples(st.just("chmod"), st.sampled_from(NAMES), st.just(b"")),
        st.tuples(st.just("look"), st.sampled_from(["current", "confirm"]), st.just(b"")),
    ),
    max_size=14,
)


@pytest.mark.conformance("A9")
@examples(60)
@given(edits=edits, in_git=st.booleans())
def test_two_looks_have_one_revision_exactly_where_covered_content_is_equal(
    edits: list[tuple[str, str, bytes]], in_git: bool
) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_follow(Path(place), edits, in_git))


async def _follow(place: Path, edits: list[tuple[str, str, bytes]], in_git: bool) -> None:
    root = place / "workspace"
    write(root, ".gitignore", b"*.log\nout/\n")
    if in_git:
        git(root, "init", "-q")
    workspace = FolderWorkspace(root, place / "state")
    seen = {(await workspace.open([])).revision: _covered(root)}
    for what, path, data in edits:
        if what == "look":
            state = await (workspace.current() if path == "current" else workspace.confirm())
            assert seen.setdefault(state.revision, _covered(root)) == _covered(root)
        else:
            _edit(root, what, path, data)
    final = await workspace.current()
    assert (await workspace.confirm()).revision == final.revision
    assert seen.setdefault(final.revision, _covered(root)) == _covered(root)
    assert len({repr(covered) for covered in seen.values()}) == len(seen)
    await workspace.close()


def _edit(root: Path, what: str, path: str, data: bytes) -> None:
    place = root / path
    if what == "write":
        write(root, path, data)
    elif not place.exists():
        return
    elif what == "forge":
        times = place.stat().st_atime_ns, place.stat().st_mtime_ns
        place.write_bytes(data)
        os.utime(place, ns=times)
    elif what == "delete":
        place.unlink()
    elif what == "rename":
        target = root / data.decode()
        target.parent.mkdir(parents=True, exist_ok=True)
        place.replace(target)
    else:
        place.chmod(place.stat().st_mode ^ 0o100)


def _covered(root: Path) -> dict[str, tuple[bytes, int]]:
    found = {place.relative_to(root).as_posix(): place for place in root.rglob("*") if place.is_file()}
    covered = {path: place for path, place in found.items() if not path.startswith((".git/", "out/"))}
    return {
        path: (place.read_bytes(), place.stat().st_mode & 0o100)
        for path, place in sorted(covered.items())
        if not path.endswith(".log")
    }


@pytest.mark.conformance("A9")
@pytest.mark.parametrize("watch", [True, False])
async def test_a_rewrite_of_the_same_size_with_its_time_set_back_is_found(folder: Open, watch: bool) -> None:
    workspace = folder(watch=watch)
    target = workspace.root / "a.py"
    target.write_bytes(b"good")
    old = time.time_ns() - 3_600_000_000_000
    os.utime(target, ns=(old, old))
    await workspace.open([])
    await _until_not_racy(workspace)
    target.write_bytes(b"evil")
    os.utime(target, ns=(old, old))
    assert (await workspace.confirm()).changed == ("a.py",)


async def _until_not_racy(workspace: FolderWorkspace) -> TreeState:
    await asyncio.sleep(0.06)
    return await workspace.confirm()


async def test_rewrites_within_one_tick_of_the_clock_are_found(folder: Open) -> None:
    workspace = folder(watch=False)
    target = workspace.root / "a"
    target.write_bytes(b"0000")
    revisions = {(await workspace.open([])).revision}
    for number in range(1, 40):
        target.write_bytes(b"%04d" % number)
        revisions.add((await workspace.confirm()).revision)
    assert len(revisions) == 40


@pytest.mark.conformance("A9")
async def test_ignore_rules_are_those_of_the_start(folder: Open, tmp_path: Path) -> None:
    make_repository(tmp_path / "workspace", {".gitignore": b"*.log\n", "a.py": b"1"})
    workspace = folder()
    first = await workspace.open([])
    write(workspace.root, ".gitignore", b"*.log\n*.py\nhidden/\n")
    write(workspace.root, "hidden/b.py", b"2")
    write(workspace.root, "own/.gitignore", b"*\n")
    write(workspace.root, "own/c.py", b"3")
    state = await workspace.confirm()
    assert state.revision != first.revision
    assert state.changed == (".gitignore", "hidden/b.py", "own/.gitignore", "own/c.py")


async def test_other_rules_are_another_revision_of_the_same_files(folder: Open) -> None:
    workspace = folder()
    write(workspace.root, ".git/info/exclude", b"")
    git(workspace.root, "init", "-q")
    first = await workspace.open([])
    write(workspace.root, ".git/info/exclude", b"*.log\n")
    again = FolderWorkspace(workspace.root, workspace.root.parent / "state")
    assert (await again.open([])).revision != first.revision
    assert again.files() == workspace.files()
    await again.close()


async def test_bytecode_that_stands_for_a_source_counts_though_ignored(folder: Open, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    make_repository(root, {"a.py": b"1"})
    write(root, ".gitignore", b"*.pyc\n")
    write(root, "__pycache__/a.cpython-311.pyc", b"2")
    write(root, "b.pyc", b"3")
    workspace = folder()
    await workspace.open([])
    assert workspace.files() == (".gitignore", "a.py", "b.pyc")


@pytest.mark.parametrize("name", ["data.txt~", ".data.donewhen-tmp", "data.bak", "data.txt.orig"])
async def test_what_a_product_might_read_is_hidden_by_no_name(folder: Open, tmp_path: Path, name: str) -> None:
    workspace = folder()
    await workspace.open([])
    write(tmp_path / "workspace", name, b"42")
    assert (await workspace.current()).changed == (name,)


@pytest.mark.conformance("A9")
async def test_tracked_files_count_though_ignored_or_in_a_cache(folder: Open, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    make_repository(root, {"a.log": b"1", "build/b": b"2", "node_modules/c": b"3", "d.pyc": b"4"})
    write(root, ".gitignore", b"*.log\nbuild/\n")
    write(root, "build/untracked", b"")
    workspace = folder()
    await workspace.open([])
    assert workspace.files() == (".gitignore", "a.log", "build/b", "d.pyc", "node_modules/c")
    write(root, "build/b", b"changed")
    assert (await workspace.current()).changed == ("build/b",)


async def test_a_folder_of_a_repository_follows_the_rules_above_it(folder: Open, tmp_path: Path) -> None:
    make_repository(tmp_path, {".gitignore": b"*.tmp\n/workspace/gen/\n", "workspace/a.py": b"1", "other.py": b""})
    for path in ("x.tmp", "gen/y", "sub/gen/z"):
        write(tmp_path / "workspace", path, b"")
    workspace = folder()
    await workspace.open([])
    assert workspace.files() == ("a.py", "sub/gen/z")


async def test_the_state_folder_and_git_are_not_part_of_it(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    make_repository(root, {"a": b"1"})
    workspace = FolderWorkspace(root, root / "state")
    first = await workspace.open(["**"])
    await workspace.checkpoint()
    git(root, "commit", "-q", "--allow-empty", "-m", "more")
    assert (await workspace.confirm()).revision == first.revision
    assert workspace.files() == ("a",)
    await workspace.close()


async def test_a_link_counts_by_its_target_and_is_not_followed(folder: Open, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret", b"1")
    workspace = folder()
    (workspace.root / "file").symlink_to("../outside/secret")
    (workspace.root / "folder").symlink_to("../outside")
    (workspace.root / "loop").symlink_to("loop")
    first = await workspace.open([])
    assert workspace.files() == ("file", "folder", "loop")
    write(tmp_path, "outside/secret", b"2")
    assert (await workspace.confirm()).revision == first.revision
    (workspace.root / "file").unlink()
    (workspace.root / "file").symlink_to("elsewhere")
    assert (await workspace.current()).changed == ("file",)


async def test_a_nested_repository_counts_by_its_commit(folder: Open) -> None:
    workspace = folder()
    write(workspace.root, "a", b"1")
    make_repository(workspace.root / "nested", {"b": b"1"})
    first = await workspace.open([])
    assert workspace.files() == ("a", "nested")
    write(workspace.root, "nested/b", b"2")
    assert (await workspace.confirm()).revision == first.revision
    git(workspace.root / "nested", "commit", "-q", "-a", "-m", "more")
    assert (await workspace.confirm()).changed == ("nested",)


async def test_a_folder_that_becomes_a_repository_and_back(folder: Open) -> None:
    workspace = folder()
    write(workspace.root, "sub/b", b"1")
    first = await workspace.open([])
    git(workspace.root / "sub", "init", "-q")
    assert (await workspace.current()).changed == ("sub", "sub/b")
    (workspace.root / "sub/.git").rename(workspace.root.parent / "away")
    assert (await workspace.current()).revision == first.revision


async def test_names_that_are_not_utf8(folder: Open) -> None:
    workspace = folder()
    name = os.fsdecode(b"caf\xe9 \n\"'.txt")
    write(workspace.root, name, b"1")
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    write(workspace.root, name, b"2")
    assert (await workspace.current()).changed == (name,)
    assert "b/caf? " in await workspace.diff(checkpoint, None)
    await workspace.restore(checkpoint)
    assert (workspace.root / name).read_bytes() == b"1"


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder in which this process can be refused: root, whom nothing is refused, becomes nobody for the test."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o777)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield place
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(place)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are not refused this way")
async def test_what_cannot_be_read_still_counts(unprivileged: Path) -> None:
    root = unprivileged / "w"
    write(root, "locked/b", b"1")
    write(root, "secret", b"1")
    workspace = FolderWorkspace(root, unprivileged / "state")
    (root / "secret").chmod(0)
    (root / "locked").chmod(0)
    try:
        first = await workspace.open([])
        assert "secret" in workspace.files()
    finally:
        (root / "secret").chmod(stat.S_IRUSR)
        (root / "locked").chmod(stat.S_IRWXU)
    assert (await workspace.confirm()).revision != first.revision
    await workspace.close()


async def test_pipes_and_sockets_are_passed_by(folder: Open) -> None:
    workspace = folder()
    write(workspace.root, "a", b"1")
    os.mkfifo(workspace.root / "pipe")
    await asyncio.wait_for(workspace.open([]), 60)
    assert workspace.files() == ("a",)


async def test_a_large_file_is_read_in_pieces(folder: Open) -> None:
    workspace = folder()
    large = bytes(range(256)) * 20_000
    write(workspace.root, "large.bin", large)
    first = await workspace.open([])
    write(workspace.root, "large.bin", large[:-1] + b"x")
    assert (await workspace.current()).revision != first.revision
    checkpoint = await workspace.checkpoint()
    assert await workspace.file_at(checkpoint, "large.bin") == large[:-1] + b"x"


@pytest.mark.parametrize("watch", [True, False])
async def test_a_lost_root_is_a_clear_error(folder: Open, watch: bool) -> None:
    workspace = folder(watch=watch)
    await workspace.open([])
    workspace.root.rename(workspace.root.with_name("elsewhere"))
    for look in (workspace.current, workspace.confirm, workspace.checkpoint):
        with pytest.raises(WorkspaceError, match="is gone"):
            await look()


async def test_a_root_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="not a folder"):
        await FolderWorkspace(tmp_path / "absent", tmp_path / "state").open([])


async def test_opening_again_takes_the_rules_of_now(folder: Open) -> None:
    workspace = folder()
    write(workspace.root, "a.log", b"1")
    write(workspace.root, "b.py", b"1")
    await workspace.open([])
    write(workspace.root, ".gitignore", b"*.log\n")
    await workspace.open([])
    assert workspace.files() == (".gitignore", "b.py")


async def test_a_repository_configuration_runs_no_program(folder: Open, tmp_path: Path) -> None:
    make_repository(tmp_path / "workspace", {"a": b"1"})
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for setting in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "core.sshCommand", "core.pager"):
        git(tmp_path / "workspace", "config", setting, str(program))
    write(tmp_path / "workspace", ".gitattributes", b"* filter=x\n")
    workspace = folder()
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    write(workspace.root, "a", b"2")
    await workspace.restore(checkpoint)
    assert not ran.exists()


async def test_it_works_where_git_fails(folder: Open) -> None:
    workspace = folder()
    write(workspace.root, ".git", b"gitdir: /nowhere\n")
    write(workspace.root, ".gitignore", b"*.log\n")
    write(workspace.root, "a.log", b"")
    await workspace.open([])
    assert workspace.files() == (".gitignore",)
    assert await workspace.checkpoint()


async def test_a_repository_that_ignores_the_workspace_has_no_say_in_it(folder: Open, tmp_path: Path) -> None:
    make_repository(tmp_path, {})
    write(tmp_path, ".gitignore", b"*\n")
    write(tmp_path / "workspace", "a.py", b"1")
    workspace = folder()
    await workspace.open([])
    assert workspace.files() == ("a.py",)


async def test_an_output_declared_during_a_look_counts_as_output(folder: Open) -> None:
    workspace = folder()
    for number in range(500):
        write(workspace.root, f"d/{number}", b"1")
    write(workspace.root, "report.xml", b"1")
    await workspace.open([])
    workspace.volatile("tests", ["report.xml"])
    output = await workspace.current()
    write(workspace.root, "report.xml", b"2")
    looking = asyncio.create_task(workspace.confirm())
    await asyncio.sleep(0.001)
    workspace.volatile("tests", ["report.xml"])
    await looking
    assert (await workspace.current()).revision == output.revision
