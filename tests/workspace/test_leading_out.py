"""Files of a workspace are read by one door: no link leads a reader out, and no size holds one up."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.errors import GoalFileError, WorkspaceError
from donewhen.core.proof_files import ProofFiles
from donewhen.core.trials.disguise import disguised
from donewhen.core.trials.dividing import divided
from donewhen.evidence.tasks import text_of
from donewhen.goalfile.detect.folder import Folder
from donewhen.goalfile.files import WorkspaceGoalFiles
from donewhen.regular import LeadsOut, read_bytes, read_start, read_text
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.manifest import NESTED
from donewhen.workspace.scanning import read_entry
from donewhen.workspace.writes import read_text_keeping

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")

SECRET = "THE-TEXT-OF-A-KEY"


def relative(root: Path) -> None:
    (root / "file").symlink_to("../outside/key")


def absolute(root: Path) -> None:
    (root / "file").symlink_to(root.parent / "outside" / "key")


def link_to_link(root: Path) -> None:
    (root / "second").symlink_to("../outside/key")
    (root / "file").symlink_to("second")


def folder(root: Path) -> None:
    (root / "sub").symlink_to("../outside")
    (root / "file").symlink_to("sub/key")


def through_a_folder(root: Path) -> None:
    (root / "a").mkdir()
    (root / "a" / "up").symlink_to("../../outside")
    (root / "file").symlink_to("a/up/../outside/key")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root, outside = tmp_path / "work", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "key").write_text(SECRET)
    return root


@pytest.fixture(params=[relative, absolute, link_to_link, folder, through_a_folder], ids=lambda make: make.__name__)
def leading_out(request: pytest.FixtureRequest, root: Path) -> Path:
    make: Callable[[Path], None] = request.param
    make(root)
    assert (root / "file").read_text() == SECRET
    return root


def test_no_link_leads_a_reader_out(leading_out: Path) -> None:
    for read in (read_bytes, read_text, lambda path, within: read_start(path, 100, within=within)):
        with pytest.raises(LeadsOut):
            read("file", within=leading_out)
    assert text_of(leading_out, "file") is None
    assert Folder(leading_out).file_text("file") == ""
    with pytest.raises(WorkspaceError):
        read_text_keeping(leading_out, "file")
    (leading_out / "GOAL.md").symlink_to("file")
    with pytest.raises(GoalFileError, match="leads out of the workspace"):
        WorkspaceGoalFiles(leading_out).load("GOAL.md")


@pytest.mark.parametrize("path", ["../outside/key", "sub/key", "sub/../../outside/key", "sub/../outside/key"])
def test_no_folder_on_the_way_leads_out(root: Path, path: str) -> None:
    (root / "sub").symlink_to("../outside")
    with pytest.raises(LeadsOut):
        read_bytes(path, within=root)
    with pytest.raises(LeadsOut):
        read_bytes(root.parent / "outside" / "key", within=root)


@pytest.mark.parametrize("leads", ["real", "sub/../real", "{root}/real", "again", "sub/deep"])
def test_a_link_that_stays_inside_is_followed(root: Path, leads: str) -> None:
    (root / "real").write_text("inside")
    (root / "sub").mkdir()
    (root / "sub" / "deep").symlink_to("../real")
    (root / "again").symlink_to("sub/deep")
    (root / "link").symlink_to(leads.format(root=root))
    assert read_text("link", within=root) == "inside"
    by_link = root.parent / "by-link"
    by_link.symlink_to(root)
    assert read_text("link", within=by_link) == "inside"


async def test_of_a_link_a_workspace_has_the_name_that_it_holds(leading_out: Path, tmp_path: Path) -> None:
    """As its checkpoints have it: both versions of a file are told in the same way."""
    workspace = FolderWorkspace(leading_out, tmp_path / "state", watch=False)
    await workspace.open(())
    leads = os.fsencode((leading_out / "file").readlink())
    assert workspace.read("file") == await workspace.file_at(await workspace.checkpoint(), "file") == leads
    assert not workspace.is_persons("file")
    await workspace.close()


async def test_a_file_that_becomes_a_link_is_not_kept_as_what_it_leads_to(root: Path, tmp_path: Path) -> None:
    (root / "file").write_text("before")
    (root / "other").write_text("before")
    workspace = FolderWorkspace(root, tmp_path / "state", watch=False)
    await workspace.open(())
    first = await workspace.checkpoint()
    (root / "file").unlink()
    (root / "file").symlink_to("../outside/key")
    assert SECRET not in await workspace.diff(first, None)
    assert await workspace.file_at(await workspace.checkpoint(), "file") == b"../outside/key"
    await workspace.close()


async def test_a_file_of_holes_is_not_read(root: Path, tmp_path: Path) -> None:
    """200 GB that take no place on the disk: its times count."""
    (root / "small").write_text("x")
    with (root / "holes").open("wb") as file:
        file.truncate(200 * 1024**3)
    entry = read_entry(str(root / "holes"))
    assert entry is not None
    assert entry.mode == NESTED
    workspace = FolderWorkspace(root, tmp_path / "state", watch=False)
    first = await workspace.open(())
    assert workspace.read("holes") is None
    assert workspace.digest("holes") is None
    assert await workspace.checkpoint()
    assert workspace.not_captured == ("holes",)
    with (root / "holes").open("r+b") as file:
        file.write(b"other")
    assert (await workspace.confirm()).revision != first.revision
    await workspace.close()


def test_a_source_that_is_too_large_is_a_doubt_and_is_not_looked_into() -> None:
    now = b"import os\n" + b"".join(b'x = os.environ.get("PYTEST_%d")\n' % number for number in range(150_000))
    one = divided(ProofFiles(), "greet.py", b"def greet(): ...\n", now)
    assert one.product
    assert "greet.py is too large to be looked into (5" in one.doubt
    assert disguised({"greet.py": (None, now)}) == ()
    assert not divided(ProofFiles(), "data.bin", b"", now).doubt


@pytest.mark.parametrize("count", [2_000, pytest.param(8_000, marks=pytest.mark.slow)])
def test_many_lines_that_ask_are_answered_in_one_go(count: int) -> None:
    lines = [f'x{number} = os.environ.get("PYTEST_{number}")' for number in range(count)]
    text = "\n".join(["import os", *lines, "y = [", 'os.environ["PYTEST_CURRENT_TEST"],', "]", ""])
    (found,) = disguised({"greet.py": (None, text.encode())})
    assert len(found.lines) >= len(lines)
