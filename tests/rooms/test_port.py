"""What every kind of room does (`ports.Rooms`)."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.core.evidence import Outcome
from donewhen.core.goal import Check
from donewhen.ports import Laid
from tests.rooms.conftest import FILES, KINDS, Site, remains


def tree(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


async def test_what_is_not_out_of_sight_is_told(site: Site, kind: str) -> None:
    """The person's key, and what lies in a folder of ours."""
    ours = site.state / "record"
    ours.write_text("secret")
    async with site.rooms.open(site.workspace, []) as room:
        seen = [(await site.run(room, f"cat '{file}'")).output for file in (site.secret, ours)]
    told = await site.rooms.hindrance(site.workspace)
    assert ("secret" in seen[0], "secret" in seen[1]) == (kind == "copy", kind == "copy")
    assert ("can read your files, your keys and Done When's records" in told) is (kind == "copy")


async def test_files_are_of_the_version_that_was_laid(site: Site) -> None:
    site.write("tests/test_product.py", "def test_value():\n    assert True\n")
    site.write("tests/test_new.py", "new")
    (site.root / "tests/data/rows.csv").unlink()
    await site.workspace.confirm()
    laid = [
        *site.as_before("tests/test_product.py", "tests/data/rows.csv", "tests/test_new.py"),
        Laid("a/b", content=b"x"),
    ]
    async with site.rooms.open(site.workspace, laid) as room:
        seen = await site.run(room, "cat tests/test_product.py tests/data/rows.csv a/b; ls tests; cat ignored/tool.txt")
    assert FILES["tests/test_product.py"] in seen.output
    assert "a,b" in seen.output
    assert "test_new.py" not in seen.output
    assert seen.output.rstrip().endswith("tool"), "what git ignores is there"
    assert tree(site.root)["tests/test_new.py"] == "new"


async def test_nothing_that_is_written_stays(site: Site) -> None:
    before = tree(site.root)
    command = "echo more >> src/product.py && rm run.sh && mkdir new && echo x > new/y && mv tests moved"
    async with site.rooms.open(site.workspace, []) as room:
        await site.run(room, command)
        assert (await site.run(room, "cat src/product.py new/y")).outcome is Outcome.PASSED, (
            "it stays as long as the room"
        )
    assert tree(site.root) == before
    assert remains(site.state / "rooms") == []


@pytest.mark.parametrize(
    "kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])], indirect=True
)
async def test_checks_give_the_results_of_the_laid_files(site: Site) -> None:
    """The report is read, failures have their names, and the workspace's own check says something else."""
    site.write("src/product.py", "VALUE = 'new'\n")
    await site.workspace.confirm()
    check = Check.of(f"PYTHONPATH=src {sys.executable} -m pytest -q -p no:cacheprovider")
    async with site.rooms.open(site.workspace, []) as room:
        now = await room.checker.run(check, timeout=60, token="t")
    async with site.rooms.open(site.workspace, site.as_before("src/product.py")) as room:
        before = await room.checker.run(check, timeout=60, token="t")
    assert (now.outcome, [(test.name.rpartition("::")[2], test.outcome) for test in now.tests]) == (
        Outcome.FAILED,
        [("test_value", "failed")],
    )
    assert before.passed
    assert before.totals is not None
    assert before.totals.executed == 1


@pytest.mark.slow
async def test_a_report_that_the_check_writes_into_the_workspace_is_read(site: Site) -> None:
    command = f"PYTHONPATH=src {sys.executable} -m pytest -q -p no:cacheprovider --junitxml=out/report.xml"
    async with site.rooms.open(site.workspace, []) as room:
        result = await site.run(room, command)
    assert result.passed
    assert [test.outcome for test in result.tests] == ["passed"]
    assert not (site.root / "out").exists()


async def test_the_mode_of_a_file_is_kept(site: Site) -> None:
    site.write("run.sh", "#!/bin/sh\nexit 1\n")
    await site.workspace.confirm()
    async with site.rooms.open(site.workspace, site.as_before("run.sh")) as room:
        assert (await site.run(room, "./run.sh")).output.strip() == "ran"
    async with site.rooms.open(site.workspace, [Laid("run.sh", content=b"#!/bin/sh\necho other\n")]) as room:
        assert (await site.run(room, "./run.sh")).output.strip() == "other"


@pytest.mark.parametrize(
    ("command", "rewritten"),
    [
        ("cat tests/test_product.py", []),
        ("echo '# x' >> tests/test_product.py", ["tests/test_product.py"]),
        ("rm tests/test_product.py", ["tests/test_product.py"]),
        ("rm -r tests", ["tests/data/rows.csv", "tests/test_product.py"]),
        ("rm -r tests && mkdir tests", ["tests/data/rows.csv", "tests/test_product.py"]),
        ("mv tests moved", ["tests/data/rows.csv", "tests/test_product.py"]),
        ("echo x > tests/other.txt", []),
    ],
)
async def test_what_was_written_is_known(site: Site, command: str, rewritten: list[str]) -> None:
    async with site.rooms.open(site.workspace, site.as_before("tests/test_product.py")) as room:
        await site.run(room, command)
        assert list(await room.rewritten()) == rewritten


async def test_what_is_written_in_a_nested_repository_rewrites_no_file(site: Site) -> None:
    for path in (".git/HEAD", ".git/objects/x", ".git/refs/x", "file"):
        site.write(f"nested/{path}", "ref: refs/heads/main\n")
    await site.workspace.confirm()
    async with site.rooms.open(site.workspace, []) as room:
        assert (await site.run(room, "echo x > nested/new")).passed
        assert list(await room.rewritten()) == []


async def test_rooms_side_by_side_see_nothing_of_each_other(site: Site) -> None:
    async def one(number: int) -> str:
        async with site.rooms.open(site.workspace, [Laid("n", content=str(number).encode())]) as room:
            await site.run(room, f"echo {number} > mine-{number}")
            return (await site.run(room, "cat n; ls")).output

    outputs = await asyncio.gather(*(one(number) for number in range(4)))
    for number, output in enumerate(outputs):
        assert output.startswith(str(number))
        assert [line for line in output.splitlines() if line.startswith("mine")] == [f"mine-{number}"]


async def test_nothing_runs_on_when_a_check_ends(site: Site) -> None:
    mark = f"donewhen-{time.time_ns()}"
    async with site.rooms.open(site.workspace, []) as room:
        await site.run(room, f"(setsid sh -c 'exec -a {mark} sleep 300' &) ; (setsid sleep 301 {mark} &); true")
    assert running(mark) == []


async def test_a_cancelled_check_leaves_nothing(site: Site) -> None:
    async def sleep() -> None:
        async with site.rooms.open(site.workspace, []) as room:
            await site.run(room, "touch started; sleep 300")

    task = asyncio.ensure_future(sleep())
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert remains(site.state / "rooms") == []


async def test_what_a_crash_left_is_removed_by_the_next_room(site: Site) -> None:
    rooms = site.state / "rooms"
    rooms.mkdir(exist_ok=True)
    left = rooms / "0123456789abcdef"
    (left / "work" / "work").mkdir(parents=True)
    (left / "work" / "work").chmod(0)
    (left / "upper").mkdir()
    left.with_suffix(".lock").touch()
    async with site.rooms.open(site.workspace, []):
        assert not left.exists()
        held = list(rooms.glob("*.lock"))
        assert len(held) == 1
        async with site.rooms.open(site.workspace, []):
            assert held[0].exists(), "a room that is open is no leftover"


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="nothing here takes privileges away")
def test_a_folder_that_a_mount_closed_is_removed_without_privileges(tmp_path: Path) -> None:
    left = tmp_path / "room"
    (left / "work" / "work" / "inner").mkdir(parents=True)
    (left / "work" / "work").chmod(0)
    code = "import sys, pathlib; from donewhen.workspace.rooms.places import remove; remove(pathlib.Path(sys.argv[1]))"
    plain = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = subprocess.run([*plain, sys.executable, "-c", code, left], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert not left.exists()


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b", ""])
async def test_no_file_is_laid_outside(site: Site, path: str) -> None:
    with pytest.raises(WorkspaceError):
        async with site.rooms.open(site.workspace, [Laid(path, content=b"x")]):
            pass
    assert remains(site.state / "rooms") == []


async def test_a_folder_may_become_a_file_and_a_file_a_folder(site: Site) -> None:
    (site.root / "run.sh").unlink()
    site.write("run.sh/inner", "folder now")
    await site.workspace.confirm()
    async with site.rooms.open(site.workspace, site.as_before("run.sh", "run.sh/inner")) as room:
        assert (await site.run(room, "./run.sh")).output.strip() == "ran"


async def test_what_builds_left_can_be_left_out(site: Site) -> None:
    site.write(".gitignore", "dist/\nignored/\n")
    site.write("dist/product.js", "built")
    site.write("packages/a/target/debug/a", "built")
    site.write("build/kept.txt", "the project's own")
    site.write("packages/a/.gitignore", "target/\n")
    await site.workspace.open([])
    async with site.rooms.open(site.workspace, [], built=False) as room:
        seen = await site.run(room, "ls; ls packages/a; cat build/kept.txt")
    assert "dist" not in seen.output
    assert "target" not in seen.output
    assert "the project's own" in seen.output
    assert (site.root / "dist/product.js").exists()


async def test_links_are_laid_as_links(site: Site) -> None:
    (site.root / "link").symlink_to("src")
    await site.workspace.confirm()
    kept = await site.workspace.checkpoint()
    (site.root / "link").unlink()
    await site.workspace.confirm()
    async with site.rooms.open(site.workspace, [Laid("link", kept)]) as room:
        assert (await site.run(room, "readlink link && cat link/product.py")).output.startswith("src\nVALUE")


def running(mark: str) -> list[Path]:
    """The processes whose command line holds the mark."""
    return [place for place in Path("/proc").glob("[0-9]*") if mark in _command_line(place)]


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
