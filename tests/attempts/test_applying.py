"""Changes that were made elsewhere come into a folder all or none, and never over what somebody changed there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.errors import WorkspaceError
from donewhen.extras.attempts.applying import Change, apply, in_the_way, standing
from donewhen.workspace.checkpoints import Content
from tests.tools import examples

PLAIN, PROGRAM, LINK = "100644", "100755", "120000"
Tree = Mapping[str, Content]
CONTENTS = st.one_of(
    st.builds(Content, st.sampled_from((PLAIN, PROGRAM)), st.sampled_from((b"", b"one\n", b"two\n", b"\xff\0"))),
    st.builds(Content, st.just(LINK), st.sampled_from((b"a", b"/nowhere"))),
)
PATHS = ("a", "b", "d", "d/x", "d/y", "d/e/z")


def fits(tree: Tree) -> bool:
    """No file stands where a folder must be."""
    return not any(path.startswith(f"{other}/") for path in tree for other in tree)


TREES = st.dictionaries(st.sampled_from(PATHS), CONTENTS).filter(fits)


def write(root: Path, tree: Tree) -> None:
    for path, content in tree.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if content.mode == LINK:
            place.symlink_to(os.fsdecode(content.data))
        else:
            place.write_bytes(content.data)
            place.chmod(0o755 if content.mode == PROGRAM else 0o644)


def read(root: Path) -> dict[str, Content]:
    found: dict[str, Content] = {}
    for folder, folders, names in os.walk(root):
        for name in (*names, *(one for one in folders if (Path(folder) / one).is_symlink())):
            path = (Path(folder) / name).relative_to(root).as_posix()
            content = standing(root, path)
            assert content is not None
            found[path] = content
    return found


def changes(before: Tree, after: Tree) -> list[Change]:
    differ = (path for path in {*before, *after} if before.get(path) != after.get(path))
    return [Change(path, before.get(path), after.get(path)) for path in sorted(differ)]


@pytest.mark.slow
@examples(1_000, deadline=None)
@given(TREES, TREES, TREES)
def test_what_a_person_changed_meanwhile_is_never_overwritten(before: Tree, after: Tree, persons: Tree) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, persons)
        wanted = changes(before, after)
        try:
            changed = apply(root, wanted)
        except WorkspaceError:
            assert read(root) == persons
            return
        now = read(root)
        for path in {*persons, *now}:
            if persons.get(path) != before.get(path):  # the person's edit
                assert now.get(path) == persons.get(path), path
        assert all(now.get(one.path) == one.after for one in wanted)
        assert set(changed) == {path for path in {*persons, *now} if persons.get(path) != now.get(path)}
        assert apply(root, wanted) == []


@examples(500, deadline=None)
@given(TREES, TREES)
def test_where_nobody_edited_the_folder_becomes_what_the_attempt_made(before: Tree, after: Tree) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, before)
        apply(root, changes(before, after))
        assert read(root) == dict(after)


@pytest.mark.parametrize("leads_to", ["a", "d", "there"])
def test_a_folder_takes_the_place_of_a_link_wherever_that_led(leads_to: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "x").write_bytes(b"another one's")
    before = {"a": Content(LINK, b"a"), "d": Content(LINK, leads_to.encode())}
    after = {"d/x": Content(LINK, b"a")}
    write(tmp_path, before)
    assert apply(tmp_path, changes(before, after)) == ["a", "d", "d/x"]
    assert (tmp_path / "d" / "x").is_symlink()
    assert (tmp_path / "there" / "x").read_bytes() == b"another one's"


def test_the_files_in_the_way_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    before = {"a": Content(PLAIN, b"1"), "b": Content(PLAIN, b"1")}
    write(tmp_path, before)
    (tmp_path / "b").write_bytes(b"a person's")
    wanted = changes(before, {"a": Content(PLAIN, b"2"), "b": Content(PLAIN, b"2")})
    assert in_the_way(tmp_path, wanted) == ["b"]
    with pytest.raises(WorkspaceError, match="changed here since the attempt began: b"):
        apply(tmp_path, wanted)
    assert (tmp_path / "a").read_bytes() == b"1"


def test_nothing_is_written_through_a_link_that_took_the_place_of_a_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "x").write_bytes(b"1")
    (root / "d").symlink_to(outside)
    with pytest.raises(WorkspaceError, match="d/x"):
        apply(root, [Change("d/x", Content(PLAIN, b"1"), Content(PLAIN, b"2"))])
    assert (outside / "x").read_bytes() == b"1"


def test_a_file_that_belongs_to_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="belongs to git"):
        apply(tmp_path, [Change(".git/hooks/pre-commit", None, Content(PROGRAM, b"#!/bin/sh\n"))])


def test_what_was_written_is_put_back_where_a_later_file_cant_be(tmp_path: Path) -> None:
    persons = {"a": Content(PLAIN, b"1"), "file": Content(PLAIN, b"where a folder must be")}
    write(tmp_path, persons)
    taken = [Change("a", persons["a"], Content(PLAIN, b"2")), Change("file/b", None, Content(PLAIN, b"2"))]
    with pytest.raises(WorkspaceError, match=r"file/b can't be written .*; nothing was changed"):
        apply(tmp_path, taken)
    assert read(tmp_path) == persons


def test_applying_again_finds_a_folder_that_became_a_link(tmp_path: Path) -> None:
    before = {"d/x": Content(PLAIN, b"1")}
    write(tmp_path, before)
    wanted = changes(before, {"d": Content(LINK, b"elsewhere")})
    assert apply(tmp_path, wanted) == ["d", "d/x"]
    assert apply(tmp_path, wanted) == []


@pytest.mark.parametrize("leads", ["../outside/key", "{root}/outside/key", "sub/key", "a/up/../outside/key"])
def test_of_a_link_that_leads_out_its_name_is_taken(tmp_path: Path, leads: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "key").write_text("secret")
    work = tmp_path / "work"
    (work / "a").mkdir(parents=True)
    (work / "sub").symlink_to("../outside")
    (work / "a" / "up").symlink_to("../../outside")
    (work / "file").symlink_to(leads.format(root=tmp_path))
    assert (work / "file").read_text() == "secret"
    assert standing(work, "file") == Content(LINK, os.fsencode(leads.format(root=tmp_path)))


def test_what_can_not_be_looked_at_is_in_the_way_and_not_gone(tmp_path: Path) -> None:
    name = "n" * 300  # no system opens it
    assert in_the_way(tmp_path, [Change(name, Content(PLAIN, b"1"), None)]) == [name]
