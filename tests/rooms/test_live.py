"""What every live room does (`ports.LiveRooms`), and what those that contain commands promise besides."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Grants, LiveRoom, LiveRooms, ProcessResult, RoomLimits
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.limits import RoomWatch
from donewhen.workspace.rooms.live import MountedLiveRooms
from donewhen.workspace.rooms.mounting import Bubblewrap, Mounter, Shape
from donewhen.workspace.rooms.plain import PlainRooms
from tests.rooms.conftest import mounter, remains, variables_of
from tests.rooms.test_port import running

CONTAINED = ("bubblewrap", "bubblewrap without overlays", "unshare")
SLICE = (CONTAINED[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in CONTAINED[1:]))


@dataclass
class Live:
    """A workspace beside a home and a state folder, and live rooms of it."""

    root: Path
    home: Path
    state: Path
    rooms: LiveRooms
    variables: dict[str, str]

    async def run(self, room: LiveRoom, command: str, timeout: float = 60) -> ProcessResult:
        return await room.processes.run(
            command, cwd=self.root, environment=self.variables, token="token", timeout=timeout
        )

    async def once(self, command: str, grants: Grants | None = None) -> ProcessResult:
        async with self.rooms.open(grants or Grants()) as room:
            return await self.run(room, command)


def live_at(folder: Path, kind: str) -> Live:
    root, home, state = folder / "work space", folder / "home", folder / "state"
    for one in (root / "src", home / ".ssh", state / "runs"):
        one.mkdir(parents=True)
    (root / "src" / "a.py").write_text("a = 1\n")
    (home / ".ssh" / "key").write_text("secret")
    variables = variables_of(home)
    if kind == "plain":
        return Live(root, home, state, PlainRooms(SystemProcesses()), variables)

    found = mounter(kind)
    rooms = MountedLiveRooms(root, state / "rooms", lambda: variables, (state,), programs=lambda _: [found])
    return Live(root, home, state, rooms, variables)


@pytest.fixture(params=("plain", *SLICE))
def kind(request: pytest.FixtureRequest) -> str:
    if request.param != "plain" and sys.platform != "linux":
        pytest.skip("rooms for commands need Linux")
    return str(request.param)


@pytest.fixture
def live(kind: str, tmp_path: Path) -> Live:
    return live_at(tmp_path, kind)


contained = pytest.mark.parametrize("kind", SLICE, indirect=True)


async def test_the_workspace_is_changed_for_good(live: Live) -> None:
    async with live.rooms.open(Grants()) as room:
        done = await live.run(room, "pwd; echo 'b = 2' >> src/a.py; mkdir new; mv src/a.py new/; echo $((1+1)); exit 3")
        assert (await live.run(room, "cat new/a.py")).output == "a = 1\nb = 2\n"
    assert (done.exit_code, done.output) == (3, f"{live.root}\n2\n")
    assert (live.root / "new" / "a.py").read_text() == "a = 1\nb = 2\n"
    assert not (live.root / "src" / "a.py").exists()


async def test_input_and_variables_reach_the_command(live: Live) -> None:
    async with live.rooms.open(Grants()) as room:
        done = await room.processes.run(
            ["sh", "-c", "cat; echo $WORD $HOME"],
            cwd=live.root / "src",
            environment={**live.variables, "WORD": "said"},
            token="token",
            stdin=b"given\n",
        )
    assert done.output == f"given\nsaid {live.home}\n"


async def test_whether_commands_are_contained_is_known_before_one_runs(live: Live) -> None:
    hindrance = await live.rooms.hindrance()
    async with live.rooms.open(Grants()) as room:
        assert room.contained == (hindrance == "")


async def test_nothing_is_left_of_a_room(live: Live) -> None:
    before = sorted(live.root.rglob("*"))
    async with live.rooms.open(Grants()) as room, live.rooms.open(Grants()) as other:
        await live.run(room, "true")
        await live.run(other, "true")
    assert sorted(live.root.rglob("*")) == before
    assert remains(live.state / "rooms") == []


async def test_what_a_command_started_ends_with_it(live: Live) -> None:
    mark = f"donewhen-{time.time_ns()}"
    await live.once(
        f"(setsid sh -c 'sleep 301; : {mark}' &) ; (setsid nohup env -i sh -c 'sleep 302; : {mark}' &) ; true"
    )
    assert running(mark) == []


@contained
async def test_what_is_temporary_lasts_as_long_as_the_room(live: Live) -> None:
    async with live.rooms.open(Grants()) as room:
        await live.run(room, "echo 1 > /tmp/one; echo 2 > ~/two")
        assert (await live.run(room, "cat /tmp/one ~/two")).output == "1\n2\n"
    assert not (live.home / "two").exists()
    assert "No such file" in (await live.once("cat /tmp/one")).output


@contained
async def test_what_git_and_editors_keep_stays_as_it_is(live: Live) -> None:
    (live.root / ".git" / "hooks").mkdir(parents=True)
    (live.root / ".git" / "config").write_text("[core]\n")
    (live.root / "GOAL.md").write_text("# Goal\n")
    (live.root / "goals").mkdir()
    (live.root / "goals" / "other.goal.md").write_text("# Goal\n")
    tried = (
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "mv .git gone",
        "rm -rf .git",
        "mkdir -p .vscode && echo x > .vscode/tasks.json",
        "mv .vscode gone",
        "ln -sfn src .vscode",
        "echo x >> GOAL.md",
        "rm -f GOAL.md",
        "mv GOAL.md gone",
        "echo x > new && mv new GOAL.md",
        "echo x >> goals/other.goal.md",
        "mv goals gone",
    )
    async with live.rooms.open(Grants(guarded=("goals/other.goal.md",))) as room:
        for command in tried:
            done = await live.run(room, command)
            assert done.exit_code != 0, command
            assert "only the workspace can be changed" in room.hint(done), done.output
    assert (live.root / ".git" / "config").read_text() == "[core]\n"
    assert list((live.root / ".git" / "hooks").iterdir()) == []
    assert [(live.root / name).read_text() for name in ("GOAL.md", "goals/other.goal.md")] == ["# Goal\n"] * 2
    assert not (live.root / ".vscode").exists()
    assert not (live.root / "gone").exists()


@contained
async def test_history_is_changed_where_that_is_granted_and_hooks_never_are(live: Live) -> None:
    git = "git -c user.name=a -c user.email=a@b.c"
    assert (await PlainRun(live)(f"git init -q . && git add -A && {git} commit -qm one")).exit_code == 0
    assert (await live.once(f"{git} commit --allow-empty -qm two")).exit_code != 0
    granted = Grants(writes=(live.root / ".git",))
    done = await live.once(f"echo x > new && git add new && {git} commit -qm two && git log --oneline", granted)
    assert (done.exit_code, len(done.output.splitlines())) == (0, 2)
    for command in ("git config core.fsmonitor ./evil", "echo x > .git/hooks/pre-commit", "mv .git/hooks .git/old"):
        assert (await live.once(command, granted)).exit_code != 0, command
    await live.once("mkdir evil && echo ../evil > .git/commondir", granted)
    assert not (live.root / ".git" / "commondir").exists()


@contained
async def test_folders_are_granted(live: Live) -> None:
    (live.home / ".agent").mkdir()
    (live.home / ".agent" / "login").write_text("key")
    (live.home / ".agent.json").write_text("{}")
    command = "cat ~/.agent/login && echo new > ~/.agent/new && echo '{1}' > ~/x && mv ~/x ~/.agent.json"
    assert (await live.once(command)).exit_code != 0
    assert (await live.once("cat ~/.agent/login; touch ~/.agent/x", Grants(reads=(live.home / ".agent",)))).exit_code
    grants = Grants(writes=(live.home / ".agent",), copied=(live.home / ".agent.json",))
    assert (await live.once(command, grants)).exit_code == 0
    assert (live.home / ".agent" / "new").read_text() == "new\n"
    assert (live.home / ".agent.json").read_text() == "{1}\n"
    assert not (live.home / "x").exists()


@contained
async def test_the_network_is_there_where_it_is_granted(live: Live) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('reached')"
        command = f'{sys.executable} -c "{code}"'
        assert "reached" not in (await live.once(command)).output
        assert "reached" in (await live.once(command, Grants(network=True))).output
    own = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print(1)"
    )
    assert (await live.once(f'{sys.executable} -c "{own}"')).output == "1\n", "the room has a loopback of its own"


@contained
async def test_a_command_that_finds_no_network_is_told(live: Live) -> None:
    async with live.rooms.open(Grants()) as room:
        done = await live.run(room, f"{sys.executable} -c \"import socket; socket.getaddrinfo('example.invalid', 80)\"")
        assert room.hint(done) == "there is no network in the room that it ran in"
        refused = await live.run(room, "echo 'connect ECONNREFUSED 127.0.0.1:5432'; false")
        assert "what listens on this machine is out of reach" in room.hint(refused)
        assert room.hint(await live.run(room, "false")) == ""


@contained
@pytest.mark.parametrize(
    ("command", "limits", "named"),
    [
        ("for i in $(seq 100); do sleep 60 & done; wait", RoomLimits(processes=50), "50 processes and threads"),
        (
            f'{sys.executable} -c "import time; a = bytearray(400 * 1024 * 1024); time.sleep(60)"',
            RoomLimits(memory=200 * 1024 * 1024),
            "200 MB of memory",
        ),
        (
            "head -c 80000000 /dev/zero > big; sync big; sleep 60",
            RoomLimits(disk=40 * 1024 * 1024),
            "40 MB of the disk",
        ),
    ],
)
async def test_what_takes_too_much_is_ended_and_told(live: Live, command: str, limits: RoomLimits, named: str) -> None:
    done = await live.once(command, Grants(limits=limits))
    assert named in done.limit
    assert "of your settings changes that" in done.limit
    assert done.exit_code is None
    assert not done.timed_out
    assert done.seconds < 30


async def test_what_was_refused_more_processes_is_told_though_nobody_looked(tmp_path: Path) -> None:
    group = [0]
    limits = RoomLimits(processes=50)
    processes = SystemProcesses(watch=RoomWatch(limits, [tmp_path], lambda: group[0]))

    async def run(command: str) -> ProcessResult:
        return await processes.run(command, cwd=tmp_path, environment=variables_of(tmp_path), token="")

    group[0] = 3
    refused = await run("exit 2")
    assert "50 processes and threads" in refused.limit
    assert refused.exit_code is None
    assert (await run("echo cannot fork; exit 2")).limit == ""  # of those before

    processes = SystemProcesses(watch=RoomWatch(limits, [tmp_path]))  # where the kernel doesn't count
    assert "50 processes and threads" in (await run("echo sh: 0: Cannot fork; exit 2")).limit
    assert (await run("echo sh: 0: Cannot fork")).exit_code == 0
    assert (await run("exit 2")).exit_code == 2


@pytest.mark.slow
@contained
async def test_what_others_start_is_not_counted(live: Live) -> None:
    """Half of a busy machine's tasks come and go while a command runs."""
    async with live.rooms.open(Grants(limits=RoomLimits(processes=20))) as room:
        running = asyncio.ensure_future(live.run(room, "touch started; while [ ! -e through ]; do sleep 0.05; done"))
        while not (live.root / "started").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        others = (
            "for i in $(seq 60); do (while [ ! -e through ]; do sleep 0.1; done) & done; sleep 1; touch through; wait"
        )
        await PlainRun(live)(others)
        done = await running
    assert (done.limit, done.exit_code) == ("", 0)


@contained
async def test_a_state_folder_behind_a_link_is_hidden(live: Live, tmp_path: Path) -> None:
    (live.state / "runs" / "record").write_text("secret")
    (tmp_path / "led").symlink_to(live.state)
    rooms = MountedLiveRooms(live.root, live.state / "rooms", lambda: live.variables, (tmp_path / "led",))
    async with rooms.open(Grants()) as room:
        done = await live.run(room, f"cat {live.state}/runs/record {tmp_path}/led/runs/record")
    assert "secret" not in done.output


@contained
async def test_a_file_that_names_a_repository_elsewhere_shows_nothing_but_repositories(live: Live) -> None:
    (live.root / "fake").mkdir()
    (live.root / "fake" / "HEAD").write_text("ref: refs/heads/main")
    (live.root / "fake" / "commondir").write_text(f"{live.home}/.ssh")
    for named in (live.home / ".ssh", live.root / "fake"):
        (live.root / ".git").write_text(f"gitdir: {named}\n")
        assert "secret" not in (await live.once(f"cat {live.home}/.ssh/key")).output


@contained
async def test_a_check_finds_its_program_where_rooms_hide_folders(live: Live, tmp_path: Path) -> None:
    for folder in (tmp_path / "environment", live.home / "environment", live.state / "environment"):
        (folder / "bin").mkdir(parents=True)
        (folder / "lib").write_text("library\n")
        program = folder / "bin" / "program"
        program.write_text('#!/bin/sh\ncat "$(dirname "$0")/../lib"\n')
        program.chmod(0o755)
        secret = folder / "secret"
        secret.write_text("secret\n")
        hidden = folder.is_relative_to(live.state)  # the record stays out of sight, whatever names it
        grants = Grants(commands=(f"{program} --with {live.home}/.ssh/key",))
        done = await live.once(f"{program}; cat {live.home}/.ssh/key; echo more >> {folder}/lib", grants)
        assert ("library" in done.output) != hidden
        assert "secret" not in done.output
        assert (folder / "lib").read_text() == "library\n"


@contained
async def test_a_link_in_place_of_an_environments_interpreter_shows_nothing(live: Live) -> None:
    """A worker can make it, and PATH leads there."""
    (live.root / ".venv" / "bin").mkdir(parents=True)
    for name in ("keys/private/key", "other/bin/run"):
        (live.home / name).parent.mkdir(parents=True)
        (live.home / name).write_text("secret")
        (live.root / ".venv" / "bin" / "python").unlink(missing_ok=True)
        (live.root / ".venv" / "bin" / "python").symlink_to(live.home / name)
        live.variables["PATH"] = f"{live.root}/.venv/bin:{live.variables['PATH']}"
        (live.home / name).chmod(0o755)
        named = Grants(commands=(f"{live.root}/.venv/bin/python -m pytest",))
        assert "secret" not in (await live.once(f"cat {live.home}/{name}", named)).output


@contained
async def test_links_in_place_of_an_interpreter_may_lead_in_a_circle(live: Live) -> None:
    (live.root / ".venv" / "bin").mkdir(parents=True)
    (live.root / ".venv" / "bin" / "python").symlink_to("python")
    live.variables["PATH"] = f"{live.root}/.venv/bin:{live.variables['PATH']}"
    named = Grants(commands=(f"{live.root}/.venv/bin/python -m pytest",))
    assert (await live.once("echo in", named)).output == "in\n"


@contained
async def test_what_a_command_makes_look_like_a_repository_shows_nothing(live: Live) -> None:
    data = live.home / "other" / ".git"
    data.mkdir(parents=True)
    for name in ("HEAD", "description"):
        (data / name).write_text("secret")
    await live.once(f"echo x > HEAD; echo {data} > commondir")
    assert "No such file" in (await live.once(f"cat {data}/description")).output


@contained
async def test_no_link_in_a_folder_of_the_room_leads_what_mounts_the_next_one_out(tmp_path: Path, kind: str) -> None:
    live = live_at(tmp_path, kind)
    root, victim = live.home / "projects" / "work", live.home / "victim"
    for folder in (root, victim, live.home / ".config" / "git"):
        folder.mkdir(parents=True)
    (live.home / ".config" / "git" / "config").write_text("")
    found = mounter(kind)
    rooms = MountedLiveRooms(root, live.state / "rooms", lambda: live.variables, programs=lambda _: [found])
    out = f"{'../' * len(live.home.parts)}oldroot{victim}"  # where bubblewrap has everything while it mounts
    async with rooms.open(Grants()) as room:
        for command in (f"for one in .config projects; do mv ~/$one ~/x; ln -s {out} ~/$one; done; pwd", "pwd"):
            done = await room.processes.run(command, cwd=root, environment=live.variables, token="t")
            assert done.output.endswith(f"{root}\n")
    assert list(victim.iterdir()) == []


@contained
async def test_a_workspace_that_holds_the_home_folder_is_no_room(live: Live, tmp_path: Path) -> None:
    rooms = MountedLiveRooms(tmp_path, live.state / "rooms", lambda: live.variables)
    assert "holds your home folder" in await rooms.hindrance()
    with pytest.raises(WorkspaceError, match="holds your home folder"):
        async with rooms.open(Grants()):
            pass


@contained
async def test_a_place_that_is_a_link_is_told(live: Live) -> None:
    (live.root / ".vscode").symlink_to("src")
    assert ".vscode is a link" in await live.rooms.hindrance()


@pytest.mark.slow
async def test_a_room_whose_trial_timed_out_is_tried_again(tmp_path: Path) -> None:
    bwrap = mounter("bubblewrap").words(Shape(tmp_path, (), False, {}), tmp_path, [])[0]
    live = live_at(tmp_path / "site", "plain")
    slow, program = tmp_path / "slow", tmp_path / "bwrap"
    slow.touch()
    program.write_text(f'#!/bin/sh\n[ -e {slow} ] && sleep 60\nexec {bwrap} "$@"\n')
    program.chmod(0o755)
    rooms = MountedLiveRooms(
        live.root, live.state / "rooms", lambda: live.variables, programs=lambda _: [Bubblewrap(program)], patience=1.0
    )
    assert "timed out" in await rooms.hindrance()
    slow.unlink()
    while why := await rooms.hindrance():
        assert "timed out" in why  # a machine under load: it is asked again


async def test_what_hinders_is_said(tmp_path: Path) -> None:
    live = live_at(tmp_path, "plain")
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied'; exit 1\n")
    broken.chmod(0o755)
    found: list[tuple[Callable[[object], list[Mounter]], str]] = [
        (lambda _: [Bubblewrap(broken)], "bubblewrap can't open one: bwrap: setting up uid map: Permission denied"),
        (lambda _: [], "bubblewrap is not installed"),
    ]
    for programs, said in found:
        rooms = MountedLiveRooms(live.root, live.state / "rooms", lambda: live.variables, programs=programs)
        if sys.platform == "linux":
            assert said in (why := await rooms.hindrance())
            assert "install " not in why  # editors show it: what to type is the terminal's


@contained
async def test_a_subfolder_of_a_repository_sees_the_rest_of_it(live: Live, kind: str) -> None:
    """Below HOME nothing else is seen."""
    top = live.home / "repository"
    (top / "packages" / "a").mkdir(parents=True)
    (top / ".git").mkdir()
    (top / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (top / "shared.txt").write_text("shared")
    found = mounter(kind)
    inner = MountedLiveRooms(
        top / "packages" / "a", live.state / "rooms", lambda: live.variables, programs=lambda _: [found]
    )
    async with inner.open(Grants()) as room:
        done = await room.processes.run(
            "cat ../../shared.txt; touch ../b; echo mine > own",
            cwd=top / "packages" / "a",
            environment=live.variables,
            token="",
        )
    assert done.output.startswith("shared")
    assert sorted(one.name for one in (top / "packages").rglob("*")) == ["a", "own"]


class PlainRun:
    """Runs a command outside of any room."""

    def __init__(self, live: Live) -> None:
        self._live = live

    async def __call__(self, command: str) -> ProcessResult:
        return await SystemProcesses().run(
            command, cwd=self._live.root, environment={**os.environ, **self._live.variables}, token="token"
        )


async def test_a_cancelled_command_leaves_nothing(live: Live) -> None:
    mark = f"donewhen-{time.time_ns()}"

    async def sleep() -> None:
        await live.once(f"touch started; sh -c 'sleep 300; : {mark}'")

    task = asyncio.ensure_future(sleep())
    while not (live.root / "started").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert running(mark) == []
    assert remains(live.state / "rooms") == []
