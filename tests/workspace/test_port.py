"""What every workspace does, on disk or in memory."""

from __future__ import annotations

import asyncio
import hashlib
import time

import pytest

from donewhen.core.errors import OtherRevision, WorkspaceError

from .conftest import Make


async def test_a_change_moves_the_revision_and_undoing_it_moves_it_back(make: Make) -> None:
    subject = make({"a.py": b"one", "b/c.py": b"two"})
    first = await subject.workspace.open([])
    subject.write("b/c.py", b"2wo")
    second = await subject.workspace.current()
    subject.write("b/c.py", b"two")
    third = await subject.workspace.current()
    assert second.revision != first.revision == third.revision
    assert second.changed == third.changed == ("b/c.py",)


async def test_an_unchanged_workspace_says_so(make: Make) -> None:
    subject = make({"a.py": b"one"})
    first = await subject.workspace.open([])
    subject.write("a.py", b"one")
    for look in (subject.workspace.current, subject.workspace.confirm):
        state = await look()
        assert (state.revision, state.changed) == (first.revision, ())


async def test_new_and_deleted_files_are_changes(make: Make) -> None:
    subject = make({"a.py": b"one"})
    first = await subject.workspace.open([])
    subject.write("new/deep/b.py", b"")
    assert (await subject.workspace.current()).changed == ("new/deep/b.py",)
    subject.delete("new/deep/b.py")
    subject.delete("a.py")
    assert (await subject.workspace.confirm()).changed == ("a.py", "new/deep/b.py")
    assert (await subject.workspace.current()).revision != first.revision


async def test_a_renamed_file_is_another_revision(make: Make) -> None:
    subject = make({"a.py": b"one"})
    first = await subject.workspace.open([])
    subject.delete("a.py")
    subject.write("b.py", b"one")
    assert (await subject.workspace.current()).revision != first.revision


async def test_ignored_files_and_caches_do_not_count_unless_named(make: Make) -> None:
    subject = make({"a.py": b"one"})
    first = await subject.workspace.open(["out/wanted/**"])
    for path in ("noise.log", "out/x", "__pycache__/a.pyc", "deep/.pytest_cache/y", ".coverage", "node_modules/p/i.js"):
        subject.write(path, b"noise")
    assert await subject.workspace.confirm() == first.__class__(first.revision)
    subject.write("out/wanted/z", b"counts")
    assert (await subject.workspace.confirm()).changed == ("out/wanted/z",)


async def test_amending_what_is_named_changes_what_counts(make: Make) -> None:
    subject = make({"a.py": b"one", "out/x": b"1", "y.log": b"2"})
    first = await subject.workspace.open([])
    await subject.workspace.name(["out/*", "y.log"])
    assert (await subject.workspace.current()).changed == ("out/x", "y.log")
    await subject.workspace.name([])
    assert (await subject.workspace.confirm()).revision == first.revision


async def test_a_wildcard_does_not_name_what_lies_in_caches(make: Make) -> None:
    subject = make({"a.py": b"one", "src/d.py": b""})
    await subject.workspace.open(["**/*.py", "src/**"])
    for path in (".venv/lib/b.py", "out/c.py", "src/node_modules/e.py"):
        subject.write(path, b"")
    await subject.workspace.confirm()
    assert subject.workspace.files(["**/*.py"]) == ("a.py", "src/d.py")


async def test_files_and_digests_are_of_the_last_state(make: Make) -> None:
    subject = make({"src/a.py": b"one", "src/b.py": b"two", "c.txt": b"three"})
    workspace = subject.workspace
    await workspace.open([])
    subject.write("src/a.py", b"1")
    assert workspace.digest("src/a.py") == hashlib.sha256(b"one").hexdigest()
    await workspace.current()
    assert workspace.digest("src/a.py") == hashlib.sha256(b"1").hexdigest()
    assert workspace.digest("absent") is None
    assert workspace.files() == (".gitignore", "c.txt", "src/a.py", "src/b.py")
    assert workspace.files(["src"]) == ("src/a.py", "src/b.py")


async def test_settled_waits_for_a_change_of_content(make: Make) -> None:
    subject = make({"a.py": b"one"})
    await subject.workspace.open([])
    waiting = asyncio.create_task(subject.workspace.settled())
    subject.write("noise.log", b"ignored")
    subject.write("a.py", b"one")
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    subject.write("a.py", b"two")
    assert (await asyncio.wait_for(waiting, 60)).changed == ("a.py",)


async def test_settled_returns_at_once_what_changed_before_it_was_asked(make: Make) -> None:
    subject = make({"a.py": b"one"})
    await subject.workspace.open([])
    subject.write("a.py", b"two")
    assert (await asyncio.wait_for(subject.workspace.settled(), 60)).changed == ("a.py",)


async def test_a_look_of_somebody_else_does_not_take_the_change_from_who_waits(make: Make) -> None:
    subject = make({"a.py": b"one"})
    await subject.workspace.open([])
    waiting = [asyncio.create_task(subject.workspace.settled()) for _ in range(2)]
    await asyncio.sleep(0)
    subject.write("a.py", b"two")
    await subject.workspace.confirm()
    revisions = {state.revision for state in await asyncio.wait_for(asyncio.gather(*waiting), 60)}
    assert revisions == {(await subject.workspace.current()).revision}


async def test_settled_waits_for_the_end_of_a_burst(make: Make) -> None:
    subject = make({f"{number}.py": b"" for number in range(20)})
    await subject.workspace.open([])
    waiting = asyncio.create_task(subject.workspace.settled())
    for number in range(20):
        subject.write(f"{number}.py", b"changed")
        await asyncio.sleep(0.003)
    assert len((await asyncio.wait_for(waiting, 60)).changed) == 20


async def test_what_a_check_writes_counts_as_its_output_until_somebody_else_writes_it(make: Make) -> None:
    subject = make({"a.py": b"one"})
    workspace = subject.workspace
    await workspace.open([])
    subject.write("report.xml", b"run 1")
    assert (await workspace.current()).changed == ("report.xml",)
    assert workspace.volatile("tests", ["report.xml"]) == ()
    output = await workspace.current()
    subject.write("report.xml", b"run 2")
    assert (await workspace.current()).revision != output.revision
    workspace.volatile("tests", ["report.xml"])
    assert (await workspace.confirm()).revision == output.revision
    subject.write("report.xml", b"a worker's")
    assert (await workspace.confirm()).revision != output.revision


async def test_a_deleted_output_is_a_change(make: Make) -> None:
    subject = make({"a.py": b"one", "report.xml": b"1"})
    await subject.workspace.open([])
    subject.workspace.volatile("tests", ["report.xml"])
    first = await subject.workspace.current()
    subject.delete("report.xml")
    assert (await subject.workspace.confirm()).revision != first.revision


@pytest.mark.conformance("A9")
async def test_source_configuration_and_named_files_are_never_output(make: Make) -> None:
    subject = make({})
    await subject.workspace.open(["named.xml"])
    paths = [
        "a.py",
        "conftest.py",
        "x/Makefile",
        "setup.cfg",
        "pyproject.toml",
        ".env",
        "named.xml",
        "package-lock.json",
    ]
    reports = ["free.xml", "coverage.json", "test-report.md", "log", "x.lcov"]
    for path in [*paths, *reports]:
        subject.write(path, b"1")
    await subject.workspace.confirm()
    assert list(subject.workspace.volatile("tests", [*paths, *reports])) == paths


async def test_a_checkpoint_is_put_back_byte_for_byte(make: Make) -> None:
    files = {"a.py": b"one", "crlf.txt": b"x\r\ny\r\n", "empty": b"", "deep/er/b.bin": bytes(range(256)), "gone": b"g"}
    subject = make(files)
    workspace = subject.workspace
    first = await workspace.open([])
    checkpoint = await workspace.checkpoint()
    subject.write("a.py", b"changed")
    subject.write("created/x", b"new")
    subject.write("kept.log", b"ignored")
    subject.delete("gone")
    changed = await workspace.restore(checkpoint)
    assert sorted(changed) == ["a.py", "created/x", "gone"]
    assert {path: subject.read(path) for path in files} == files
    assert subject.read("created/x") is None
    assert subject.read("kept.log") == b"ignored"
    assert (await workspace.current()).revision == first.revision


async def test_some_paths_are_put_back_and_some_kept(make: Make) -> None:
    subject = make({"a": b"1", "b": b"1", "c": b"1"})
    workspace = subject.workspace
    await workspace.open([])
    checkpoint = await workspace.checkpoint()
    for path in "abc":
        subject.write(path, b"2")
    assert list(await workspace.restore(checkpoint, ["a", "b"], keep=["b"])) == ["a"]
    assert [subject.read(path) for path in "abc"] == [b"1", b"2", b"2"]


async def test_checkpoints_are_compared_read_and_diffed(make: Make) -> None:
    subject = make({"a.py": b"one\ntwo\n", "b.py": b"same\n"})
    workspace = subject.workspace
    await workspace.open([])
    before = await workspace.checkpoint()
    subject.write("a.py", b"one\nthree")
    subject.write("new.bin", b"\0\1")
    after = await workspace.checkpoint()
    subject.write("b.py", b"present\n")
    assert list(await workspace.changed_between(before, after)) == ["a.py", "new.bin"]
    assert list(await workspace.changed_between(before, None)) == ["a.py", "b.py", "new.bin"]
    assert await workspace.file_at(before, "a.py") == b"one\ntwo\n"
    assert await workspace.file_at(before, "new.bin") is None
    assert await workspace.file_at(after, "new.bin") == b"\0\1"
    diff = await workspace.diff(before, after)
    assert "-two\n+three\n\\ No newline at end of file\n" in diff
    assert "Binary files differ" in diff
    assert "+present" in await workspace.diff(after, None)


@pytest.mark.conformance("A9")
async def test_what_is_compared_is_of_the_revision_that_is_asked_about(make: Make) -> None:
    subject = make({"a.py": b"one\n", "b.py": b"same\n"})
    workspace = subject.workspace
    await workspace.open([])
    before = await workspace.checkpoint()
    subject.write("a.py", b"two\n")
    revision = (await workspace.confirm()).revision
    assert "+two" in await workspace.diff(before, None, revision=revision)
    assert list(await workspace.changed_between(before, None, revision=revision)) == ["a.py"]
    subject.write("a.py", b"three\n")
    with pytest.raises(OtherRevision):
        await workspace.diff(before, None, revision=revision)
    with pytest.raises(OtherRevision):
        await workspace.changed_between(before, None, revision=revision)
    subject.write("a.py", b"two\n")
    assert "+two" in await workspace.diff(before, None, revision=revision)


async def test_a_long_diff_is_cut_and_says_so(make: Make) -> None:
    subject = make({"a": b"", "b": b"", "c": b""})
    workspace = subject.workspace
    await workspace.open([])
    before = await workspace.checkpoint()
    for path in "abc":
        subject.write(path, b"line\n" * 1000)
    diff = await workspace.diff(before, None, limit=2000)
    assert len(diff) < 2300
    assert "more characters of a ..." in diff
    assert "2 more changed files" in diff


async def test_an_unknown_checkpoint_is_an_error(make: Make) -> None:
    subject = make({"a": b""})
    await subject.workspace.open([])
    for wrong in ("0" * 40, "nonsense"):
        with pytest.raises(WorkspaceError, match=r"(no|not a) checkpoint"):
            await subject.workspace.restore(wrong)


async def test_a_workspace_is_opened_first(make: Make) -> None:
    with pytest.raises(WorkspaceError, match="open it first"):
        await make({}).workspace.current()


@pytest.mark.conformance("A20")
async def test_what_the_client_saved_is_the_persons(make: Make) -> None:
    subject = make({"a.py": b"one"})
    workspace = subject.workspace
    await workspace.open([])
    assert not workspace.is_persons("a.py")
    workspace.saved_by_client("a.py", "x\ny é\n")
    for data in ("x\ny é\n".encode(), "x\r\ny é\r\n".encode(), "\ufeffx\ny é\n".encode()):
        subject.write("a.py", data)
        assert workspace.is_persons("a.py")
    subject.write("a.py", "x\ny é".encode())
    assert not workspace.is_persons("a.py")
    assert not workspace.is_persons("absent")


async def test_what_changed_after_a_moment(make: Make) -> None:
    subject = make({"a": b"1", "b": b"1"})
    await subject.workspace.open([])
    await asyncio.sleep(0.05)
    at = time.time() - 0.02
    subject.write("a", b"2")
    assert subject.workspace.changed_after(at, ["a", "b"]) == ("a",)
    assert subject.workspace.changed_after(time.time() + 5, ["a", "b"]) == ()
    subject.delete("b")
    assert subject.workspace.changed_after(at, ["b"]) == ("b",)


async def test_whoever_waits_is_told_that_the_workspace_was_closed(make: Make) -> None:
    subject = make({"a": b"1"})
    await subject.workspace.open([])
    waiting = asyncio.create_task(subject.workspace.settled())
    await asyncio.sleep(0)
    await subject.workspace.close()
    with pytest.raises(WorkspaceError, match="open it first"):
        await asyncio.wait_for(waiting, 60)


async def test_a_closed_workspace_is_opened_again(make: Make) -> None:
    subject = make({"a": b"1"})
    first = await subject.workspace.open([])
    assert first.changed == ()
    await subject.workspace.close()
    subject.write("a", b"2")
    assert (await subject.workspace.open([])).changed == ("a",)
    waiting = asyncio.create_task(subject.workspace.settled())
    await asyncio.sleep(0)
    subject.write("a", b"3")
    assert (await asyncio.wait_for(waiting, 60)).changed == ("a",)
