"""What only overlays promise: the workspace's own path, at once, with nothing of the person's in sight."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from donewhen.ports import Laid, Processes
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.home import toolchains
from donewhen.workspace.rooms.mounting import Bubblewrap, Mounter, mounters
from donewhen.workspace.rooms.opening import memory_folder
from donewhen.workspace.rooms.showing import RoomSpec
from donewhen.workspace.rooms.trials import TrialRooms
from tests.rooms.conftest import Loaded, Site
from tests.rooms.test_port import running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are Linux's")


@pytest.fixture(params=["bubblewrap", pytest.param("unshare", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_the_room_is_at_the_workspaces_own_path(site: Site) -> None:
    async with site.rooms.open(site.workspace, [Laid("n", content=b"x")]) as room:
        assert room.same_place
        assert room.root == site.root
        assert (await site.run(room, f"pwd; cat '{site.root}/n'")).output == f"{site.root}\nx"


async def test_what_is_not_the_workspaces_is_out_of_sight_or_read_only(site: Site) -> None:
    commands = {
        f"cat {site.secret}": "No such file",
        f"ls {site.state}/checkpoints": "No such file",
        f"touch {site.root.parent}/beside && ls {site.root.parent}": "beside",
        "touch /usr/donewhen": "cannot touch",
        "mount -t tmpfs none /mnt": "mount: /mnt: ",
        "unshare -Ur true": "unshare",
        "ls -A /tmp | grep -v pytest": "",
        "echo x > $HOME/new && cat $HOME/new": "x",
    }
    async with site.rooms.open(site.workspace, []) as room:
        for command, said in commands.items():
            assert said in (await site.run(room, command)).output, command
    assert not (site.root.parent / "beside").exists()
    assert not (Path(site.variables["HOME"]) / "new").exists()


async def test_what_is_compiled_in_a_room_goes_with_it(site: Site) -> None:
    (site.root / "one.py").write_text("")
    async with site.rooms.open(site.workspace, []) as room:
        result = await site.run(room, f"'{sys.executable}' -m py_compile one.py && env | grep ^PYTHONPYCACHEPREFIX")
        assert result.passed, result.output
        assert result.output == f"PYTHONPYCACHEPREFIX={site.state}/pycache\n"
    assert list((site.state / "pycache").iterdir()) == []


def test_programs_of_a_home_that_a_link_leads_to_are_shown(tmp_path: Path) -> None:
    home, link = tmp_path / "var" / "home", tmp_path / "home"
    (home / "tools" / "bin").mkdir(parents=True)
    (home / "go").mkdir()
    link.symlink_to(home)
    variables = {"HOME": str(link), "PATH": f"{link}/tools/bin:/usr/bin", "GOPATH": f"{link}/go"}
    assert toolchains(home, variables) == (home / "go", home / "tools")


async def test_the_home_folder_may_be_a_temporary_one(site: Site) -> None:
    site.variables["HOME"] = "/tmp"  # as in containers
    async with site.rooms.open(site.workspace, []) as room:
        assert room.same_place
        assert (await site.run(room, "echo x > ~/new && cat /tmp/new")).output == "x\n"


async def test_files_of_another_owner_are_found_and_are_those_that_no_room_changes(site: Site) -> None:
    assert await site.rooms.hindrance(site.workspace) == ""
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(site.root / "src/product.py", -1, 4321)
    told = await site.rooms.hindrance(site.workspace)
    assert "src/product.py. A check" in told
    assert "tests" not in told
    async with site.rooms.open(site.workspace, []) as room:
        wrote = await site.run(room, "echo more >> tests/data/rows.csv && echo more >> src/product.py")
        assert not wrote.passed
        assert "src/product.py" in wrote.output
        assert (await site.run(room, "cat src/product.py")).passed


async def test_tools_below_home_are_there_and_stay_as_they_are(site: Site) -> None:
    home = Path(site.variables["HOME"])
    for name in (".cargo/bin", "tools/bin", ".config"):
        (home / name).mkdir(parents=True)
    (home / "tools/bin/tool").write_text("#!/bin/sh\necho tool\n")
    (home / "tools/bin/tool").chmod(0o755)
    (home / ".cargo/registry").write_text("registry")
    (home / ".config/token").write_text("secret")
    site.variables["PATH"] = f"{home}/tools/bin:{site.variables['PATH']}"
    async with site.rooms.open(site.workspace, []) as room:
        seen = await site.run(room, "tool; cat ~/.cargo/registry; echo more > ~/.cargo/registry; ls -A ~")
    assert seen.output.split() == ["tool", "registry.cargo", "tools"]
    assert (home / ".cargo/registry").read_text() == "registry"


async def test_what_a_command_of_the_persons_own_names_is_seen_and_nothing_beside_it(site: Site) -> None:
    home = Path(site.variables["HOME"])
    (home / "held").mkdir()
    (home / "held/check.sh").write_text("cat $(dirname $0)/rows; ls -A ~\n")
    (home / "held/rows").write_text("rows\n")
    (home / "alone.sh").write_text("echo alone; echo more > ~/alone.sh\n")
    for command, said in {"sh ~/held/check.sh": "rows held", f"sh {home}/held/check.sh": "rows held"}.items():
        async with site.rooms.open(site.workspace, [], naming=command) as room:
            assert " ".join((await site.run(room, command)).output.split()) == said
    async with site.rooms.open(site.workspace, [], naming="sh ~/alone.sh") as room:
        seen = await site.run(room, "sh ~/alone.sh; ls -A ~")
        assert "alone" in seen.output
        assert ".ssh" not in seen.output
    assert "more" in (home / "alone.sh").read_text()
    assert (home / "alone.sh").read_text().count("\n") == 1


async def test_a_workspace_with_a_mount_in_it_is_copied(site: Site) -> None:
    """An overlay shows only what is on the file system of its layers."""
    other = site.root / "mounted"
    other.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", str(other)], check=False).returncode == 0  # noqa: ASYNC221
    if not mounted:
        pytest.skip("nothing may be mounted here")
    try:
        (other / "file").write_text("there")
        assert isinstance(site.rooms, TrialRooms)
        assert "mounted in the workspace" in await site.rooms.why_copies()
        async with site.rooms.open(site.workspace, []) as room:
            assert room.kind == "copy"
            assert "hide nothing" in await site.rooms.hindrance(site.workspace)
            assert (await site.run(room, "cat mounted/file; echo more >> mounted/file")).output == "there"
        assert (other / "file").read_text() == "there"
    finally:
        subprocess.run(["umount", str(other)], check=True)  # noqa: ASYNC221


KILLED = """
import asyncio, sys
from pathlib import Path
from donewhen.workspace.folder import FolderWorkspace
from tests.rooms.conftest import rooms_of, variables_of
from donewhen.core.goal import Check
root, state, home = [Path(each) for each in sys.argv[1:4]]
mark, kind = sys.argv[4:]
async def main():
    workspace = FolderWorkspace(root, state / "checkpoints", watch=False)
    await workspace.open([])
    async with rooms_of(kind, root, state, variables_of(home)).open(workspace, []) as room:
        command = f"(setsid sleep 300 {mark} &) ; echo ready > ready; sh -c 'sleep 301 # {mark}'"
        print("open", flush=True)
        await room.checker.run(Check.of(command), timeout=600, token="t")
asyncio.run(main())
"""


async def test_kill_9_leaves_no_process_and_the_next_room_takes_the_folder_away(site: Site, kind: str) -> None:
    mark = f"donewhen-{time.time_ns()}"
    arguments = [str(site.root), str(site.state), site.variables["HOME"], mark, kind]
    repository = Path(__file__).parents[2]
    process = subprocess.Popen(  # noqa: ASYNC220  # it is to be killed
        [sys.executable, "-c", KILLED, *arguments], stdout=subprocess.PIPE, cwd=repository
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"open\n"
    until(lambda: bool(list((site.state / "rooms").glob("*/upper/ready"))))
    assert running(mark)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    until(lambda: not running(mark))
    left = [place for place in (site.state / "rooms").iterdir() if place.is_dir()]
    assert len(left) == 1
    async with site.rooms.open(site.workspace, []):
        assert not left[0].exists()


async def test_the_best_rooms_that_work_are_chosen(site: Site, tmp_path: Path, kind: str) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied'; exit 1\n")
    broken.chmod(0o755)
    works = [one for one in mounters(site.variables) if one.name == kind][-1]
    cases: list[tuple[list[Mounter], str, str]] = [
        ([Bubblewrap(broken)], "copy", "Permission denied"),
        ([], "copy", "not installed"),
        ([Bubblewrap(broken), works], "overlay", ""),
    ]
    for programs, made, why in cases:
        rooms = best_of(site, programs)
        async with rooms.open(site.workspace, []) as room:
            assert room.kind == made
        assert why in await rooms.why_copies()
        assert bool(why) == bool(await rooms.why_copies())


async def test_a_trial_of_overlays_that_timed_out_is_made_again(site: Site, kind: str) -> None:
    works = [one for one in mounters(site.variables) if one.name == kind][-1:]
    loaded = Loaded(4)  # in the state folder, and in memory
    rooms = best_of(site, works, loaded)
    async with rooms.open(site.workspace, []) as room:
        assert room.kind == "copy"
    assert "timed out" in await rooms.why_copies()
    async with rooms.open(site.workspace, []) as room:
        assert room.kind == "overlay"
    loaded.late = 2
    assert await rooms.why_copies() == ""  # what works is remembered
    assert loaded.late == 2


async def test_a_state_folder_that_no_overlay_can_be_made_in_is_made_up_for(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "no folder"
    file.write_text("")
    rooms = best_of(site, mounters(site.variables), folder=file)
    async with rooms.open(site.workspace, [Laid("n", content=b"x")]) as room:
        assert room.kind == "overlay"
        assert (await site.run(room, "cat n")).output == "x"


def best_of(
    site: Site, programs: Sequence[Mounter], processes: Processes | None = None, folder: Path | None = None
) -> TrialRooms:
    inside = site.rooms._inside  # type: ignore[attr-defined]
    spec = RoomSpec("layered", site.root, contained=False)
    where = folder or site.state / "rooms"
    return TrialRooms(spec, where, processes or SystemProcesses(), inside, lambda: site.variables, lambda _: programs)


def test_a_folder_in_memory_is_nobody_elses(tmp_path: Path) -> None:
    made = memory_folder(tmp_path)
    assert made is not None
    assert memory_folder(tmp_path) == made
    made.chmod(0o777)
    assert memory_folder(tmp_path) is None
    made.rmdir()
    made.symlink_to(tmp_path)
    assert memory_folder(tmp_path) is None


def until(reached: object, patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while not reached():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)
