"""What in the workspace no command changes, and where no link leads: every kind of path, in every kind of room."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Grants, Laid
from donewhen.workspace.rooms.live import MountedLiveRooms
from donewhen.workspace.rooms.mounting import Mounter, Shape
from donewhen.workspace.rooms.places import RoomFolder, sweep
from tests.rooms.conftest import Site, mounter, remains, variables_of
from tests.rooms.test_live import CONTAINED, SLICE, Live, live_at
from tests.rooms.test_overlay import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rooms for commands need Linux")

SECRET = "s3cret"
OUTSIDE = {
    "other/.git/HEAD": "ref: refs/heads/main\n",
    "other/file": SECRET,
    "other/deep/.git/HEAD": "ref: refs/heads/main\n",
    "other/deep/file": SECRET,
    "actions/workflows/file": SECRET,
    "actions/file": SECRET,
    "home/.git/HEAD": "ref: refs/heads/main\n",
    "home/.ssh/file": SECRET,
    "home/file": SECRET,
    "state/.git/HEAD": "ref: refs/heads/main\n",
    "state/file": SECRET,
    "hooks/file": SECRET,
    "work space/../file": SECRET,
    "work space/../.git/HEAD": "ref: refs/heads/main\n",
}
LINKS = {
    "to a repository": ("sub", "../other"),
    "to a link": ("first", "second"),
    "to a link to a repository": ("second", "sub"),
    "by an absolute path": ("absolute", "{}/other"),
    "two folders deep": ("a/sub", "../../other"),
    "three folders deep": ("a/b/c/sub", "../../../../other"),
    "to a folder of repositories": ("repositories", "../other/deep/.."),
    "to the home folder, a repository": ("home", "../home"),
    "to the folder above": ("above", ".."),
    "to the state folder, a repository": ("state", "../state"),
    "in place of what is guarded": (".github", "../actions"),
    "in place of what is guarded, deeper": ("a/.vscode", "../../actions"),
    "in place of hooks": ("hooks", "../hooks"),
    "to a file": ("a/.envrc", "../../other/file"),
    "to the root": ("root", "/"),
    "to itself": ("loop", "loop"),
    "to nothing": ("dangling", "../gone"),
}
"""A link's path in the workspace, and where it leads."""
SORTS = (
    "to a repository", "to a link", "by an absolute path", "in place of what is guarded", "to a file", "to the root",
    "to itself", "to nothing",
)  # fmt: skip
"""One of each sort, for the default suite."""


def built(folder: Path, kind: str) -> tuple[Live, dict[str, str]]:
    live = live_at(folder, kind)
    put_outside(folder)
    for top, hooks in (("", "githooks"), ("a", "../hooks")):
        (live.root / top / ".git").mkdir(parents=True)
        (live.root / top / ".git" / "config").write_text(f"[core]\n\thooksPath = {hooks}\n")
        (live.root / top / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    put_links(live.root)
    return live, outside(folder)


def put_outside(folder: Path) -> None:
    for name, text in OUTSIDE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def put_links(root: Path) -> None:
    for path, leads in LINKS.values():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(leads.format(root.parent))


def outside(folder: Path) -> dict[str, str]:
    skipped = (folder / "work space", folder / "state" / "rooms")
    return {
        str(file): f"{file.lstat().st_mode:o} {file.read_text(errors='replace') if file.is_file() else ''}"
        for file in folder.rglob("*")
        if not any(file.is_relative_to(one) for one in skipped)
    }


TRY = (
    'cd "$1" 2>/dev/null || { cat "$1"; echo x >> "$1"; exit; }; cat file */file .ssh/file; echo x > new; '
    "echo x >> file; mkdir made; rm -f file; for one in */; do echo x > $one/new; rm -rf $one/file; done"
)


@pytest.mark.parametrize("kind", SLICE)
async def test_no_link_leads_a_command_out(seen: Path, kind: str) -> None:
    live, before = built(seen, kind)
    async with live.rooms.open(Grants(guarded=("sub/file", "../file", "above/file"))) as room:
        for path, _ in LINKS.values():
            await live.run(room, f"set -- {path}; ({TRY}) 2>&1 | grep -v {SECRET}")
            assert outside(seen) == before, path
        for hidden in ("home/file", "home/.ssh/file", "state/file"):
            assert SECRET not in (await live.run(room, f"cat {hidden}")).output
    assert outside(seen) == before


async def test_no_link_leads_out_of_a_trial(site: Site, kind: str, tmp_path: Path) -> None:
    """What is laid may be a link to a folder outside, too: its mode stays as it is."""
    beside = tmp_path / "beside"
    beside.mkdir(mode=0o700)
    (beside / "file").write_text("file")
    (site.root / "link").symlink_to(beside)
    (site.root / "up").symlink_to("../beside")
    (site.root / ".venv").symlink_to("../beside")
    await site.workspace.confirm()
    kept = await site.workspace.checkpoint()
    for name in ("pyvenv.cfg", "bin/tool", "lib/python3/site-packages/product.pth"):
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).write_text(f"{site.root}/src\n")
    before = outside(beside)
    laid = [Laid("link", kept), Laid("up", kept)]
    async with site.rooms.open(site.workspace, laid) as room:
        await site.run(room, "true")
        if kind != "copy":
            await site.run(room, "cd link; echo x > new; echo x >> file; cd ../up; echo x > new; rm file")
    assert outside(beside) == before
    assert beside.stat().st_mode & 0o777 == 0o700
    with pytest.raises(WorkspaceError):
        async with site.rooms.open(site.workspace, [Laid("link", kept), Laid("link/new", content=b"x")]):
            pass
    assert outside(beside) == before


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=f"a link {name}", marks=[] if name in SORTS else [pytest.mark.slow])
     for name, (path, _) in LINKS.items()],
)  # fmt: skip
async def test_no_link_of_the_table_leads_out_of_a_trial(site: Site, kind: str, tmp_path: Path, path: str) -> None:
    """Neither what runs in a room where it is laid, nor what is laid below it."""
    put_outside(tmp_path)
    put_links(site.root)
    await site.workspace.confirm()
    kept = await site.workspace.checkpoint()
    before = beside(tmp_path)
    async with site.rooms.open(site.workspace, [Laid(each, kept) for each, _ in LINKS.values()]) as room:
        await site.run(room, "true" if kind == "copy" else f"set -- {path}; ({TRY})")
    assert beside(tmp_path) == before
    for below in ("new", "file", "file/../new"):
        with suppress(WorkspaceError):
            laid = [Laid(path, kept), Laid(f"{path}/{below}", content=b"x")]
            async with site.rooms.open(site.workspace, laid) as room:
                await site.run(room, "true")
        assert beside(tmp_path) == before, below


async def test_a_folder_that_becomes_a_link_is_followed_by_no_trial(site: Site, tmp_path: Path) -> None:
    put_outside(tmp_path)
    site.write("nested/file", "x")
    await site.workspace.confirm()
    kept = await site.workspace.checkpoint()
    shutil.rmtree(site.root / "nested")
    (site.root / "nested").symlink_to("../other")
    before = beside(tmp_path)
    for laid in ([], [Laid("nested/file", kept)], [Laid("nested/new", content=b"x")]):
        with suppress(WorkspaceError):
            async with site.rooms.open(site.workspace, laid) as room:
                await site.run(room, "true")
        assert beside(tmp_path) == before, laid


def beside(folder: Path) -> dict[str, str]:
    """What is outside, without what we ourselves keep in the state folder."""
    ours, put = folder / "state", [str(folder / name) for name in OUTSIDE if name.startswith("state/")]
    return {name: held for name, held in outside(folder).items() if not Path(name).is_relative_to(ours) or name in put}


class Changing:
    """A mounter before whose programs somebody changes the workspace: after it was looked at, before it is mounted."""

    def __init__(self, mounter: Mounter) -> None:
        self._mounter = mounter
        self.name = mounter.name
        self.change: Callable[[], object] = lambda: None

    def words(self, shape: Shape, cwd: Path, command: Sequence[str]) -> list[str]:
        self.change()
        return self._mounter.words(shape, cwd, command)


CHANGES = {
    "a repository becomes a link": ("nested", "../other"),
    "a folder above becomes a link": ("deep/er", "../../other"),
    "a folder of an editor becomes a link": ("ed", "../actions"),
    "a guarded file becomes a link": ("ed/.envrc", "../../other/file"),
}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        pytest.param(kind, change, marks=[pytest.mark.slow] if kind == "unshare" and number else [])
        for kind in ("bubblewrap", "unshare")
        for number, change in enumerate(CHANGES)
    ],
)
async def test_a_link_that_comes_between_look_and_mount_opens_no_room(seen: Path, kind: str, change: str) -> None:
    live, before = built(seen, kind)
    for name in ("nested/.git/HEAD", "deep/er/nested/.git/HEAD", "ed/.vscode/tasks.json", "ed/.envrc"):
        (live.root / name).parent.mkdir(parents=True, exist_ok=True)
        (live.root / name).write_text("x")
    found = Changing(mounter(kind))
    rooms = MountedLiveRooms(
        live.root,
        live.state / "rooms",
        lambda: live.variables,
        (live.state,),
        programs=lambda _: [found],
    )
    assert await rooms.hindrance() == ""
    path, leads = CHANGES[change]

    def swap() -> None:
        (live.root / path).rename(live.root / "moved")
        (live.root / path).symlink_to(leads)

    found.change = swap
    async with rooms.open(Grants()) as room:
        done = await live.run(room, f"echo RAN; echo x > {path}/new; echo x > ../other/new; echo x > ../other/.git/new")
    assert done.exit_code != 0
    assert "RAN" not in done.output
    assert outside(seen) == before


@pytest.mark.parametrize("kind", CONTAINED[:1])
async def test_a_folder_that_has_become_a_link_is_followed_by_no_later_room(tmp_path: Path, kind: str) -> None:
    live, before = built(tmp_path, kind)
    (live.root / "nested" / ".git").mkdir(parents=True)
    assert (await live.once("echo x > nested/.git/HEAD")).exit_code != 0
    shutil.rmtree(live.root / "nested")
    (live.root / "nested").symlink_to("../other")
    assert (await live.once("echo x > nested/new || echo x > nested/.git/HEAD")).exit_code != 0
    assert outside(tmp_path) == before
    (live.root / ".vscode").symlink_to("src")
    with pytest.raises(WorkspaceError, match=r"\.vscode is a link"):
        await live.once("true")


DEEPER = (
    "a/b/c/repository/.git/hooks/pre-commit",
    "a/b/c/repository/.git/config",
    "a/b/c/repository/.husky/pre-commit",
    "a/b/c/repository/own-hooks/pre-commit",
    "a/b/c/repository/.github/hooks/agent.json",
    ".github/hooks/agent.json",
    "packages/one/.vscode/tasks.json",
    "packages/one/.envrc",
    "packages/one/one.code-workspace",
    "packages/one/.claude/settings.json",
    "packages/one/.openhands/hooks.json",
    "packages/one/opencode.json",
    "githooks/pre-commit",
)


@pytest.mark.parametrize("kind", SLICE)
async def test_what_git_and_editors_keep_further_down_stays_too(tmp_path: Path, kind: str) -> None:
    live = live_at(tmp_path, kind)
    files = dict.fromkeys(DEEPER, "x") | {
        ".git/config": "[core]\n\thooksPath = githooks ; ours\n[user]\n",
        ".git/HEAD": "ref: refs/heads/main\n",
        "a/b/c/repository/.git/config": '[core]\n\tbare = false\n\thooksPath = "own-hooks"\n',
        "a/b/c/repository/.git/HEAD": "ref: refs/heads/main\n",
        "packages/one/src": "x",
    }
    for name, text in files.items():
        (live.root / name).parent.mkdir(parents=True, exist_ok=True)
        (live.root / name).write_text(text)
    (live.home / ".gitconfig").write_text("[Core]\n  HooksPath = of-the-person\n")
    tried = [f"echo y > {name}" for name in DEEPER]
    tried += [f"rm -rf {name}" for name in DEEPER]
    renamed = ("a", "a/b/c/repository", "packages/one", ".git")
    tried += [f'{sys.executable} -c \'import os; os.rename("{name}", "moved")\'' for name in renamed]
    tried += ["mkdir of-the-person && echo x > of-the-person/pre-commit"]
    script = "".join(f"({one}) 2>/dev/null && echo did {one}\n" for one in tried)
    async with live.rooms.open(Grants()) as room:
        done = await live.run(room, f"echo y > packages/one/src && echo y > a/b/c/repository/src && (:\n{script}:)")
    assert done.output == ""
    assert done.exit_code == 0
    assert {name: (live.root / name).read_text() for name in DEEPER} == {name: files[name] for name in DEEPER}
    assert (live.root / "a/b/c/repository/src").read_text() == "y\n"
    assert not (live.root / "of-the-person").exists()


DATA = ("HEAD", "config", "hooks/pre-push", "objects/one", "refs/heads/main")
ELSEWHERE = {
    "a bare repository": "a/mirror.git/hooks/pre-push",
    "its configuration": "a/mirror.git/config",
    "data beside the working tree": "store/hooks/pre-push",
    "named by the home folder": "dotfiles/pre-commit",
    "named by a link": "real/pre-commit",
    "named by XDG_CONFIG_HOME": "by-xdg/pre-commit",
    "named by GIT_CONFIG_GLOBAL": "by-global/pre-commit",
}
"""Where git finds hooks besides `.git`."""


@pytest.mark.parametrize("kind", CONTAINED[:1])
async def test_hooks_are_found_wherever_git_finds_them(tmp_path: Path, kind: str) -> None:
    live = live_at(tmp_path, kind)
    work, xdg, named = live.root, live.home / "xdg", live.home / "global"
    for folder in ("a/mirror.git", "store"):
        for name in DATA:
            (work / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (work / folder / name).write_text("x")
    for file in ELSEWHERE.values():
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        (work / file).write_text("x")
    (live.home / "own").symlink_to(work / "dotfiles")
    (live.home / "hooks").symlink_to(work / "real")
    configs = {
        live.home / ".gitconfig": "~/own",
        work / ".git" / "config": f"{live.home}/hooks",
        xdg / "git" / "config": "by-xdg",
        named: "by-global",
    }
    for config, hooks in configs.items():
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f"[core]\n\thooksPath = {hooks}\n")
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    live.variables.update(XDG_CONFIG_HOME=str(xdg), GIT_CONFIG_GLOBAL=str(named))
    bare = work / "bare.git"
    for name in ("HEAD", "objects/x", "refs/x"):
        (bare / name).parent.mkdir(parents=True, exist_ok=True)
        (bare / name).write_text("x")
    (bare / "config").write_text("[core]\n\thooksPath = ../of-bare\n")
    (work / "of-bare").mkdir()
    places = [*ELSEWHERE.values(), "bare.git/hooks/pre-push", "bare.git/config", "of-bare/pre-push"]
    script = "mkdir bare.git/hooks 2>/dev/null\n"
    script += "".join(f"(echo y > {file}) 2>/dev/null && echo wrote {file}\n" for file in places)
    async with live.rooms.open(Grants()) as room:
        done = await live.run(room, f"echo y > a/mirror.git/objects/one && echo y > store/HEAD && (:\n{script}:)")
    assert done.output == ""
    assert done.exit_code == 0


HOOKS = {
    "missing/deeper/hooks": "missing/deeper/hooks",
    "{}/by-absolute-path/hooks": "by-absolute-path/hooks",
    '"semi;colon"': "semi;colon",
    '"num#ber" ; a comment': "num#ber",
    r"quo\"te": 'quo"te',
    r'"back\\slash "/hooks': "back\\slash /hooks",
    "con\\\ntinued": "continued",
    "away/../up/hooks": "up/hooks",
    "link/hooks": "real/hooks",
}
"""How `core.hooksPath` is written, and where git then looks for hooks."""
THERE = ("semi;colon", "num#ber", 'quo"te', "continued", "real")


@pytest.mark.parametrize("kind", SLICE)
async def test_hooks_that_are_not_there_yet_are_made_by_nobody(tmp_path: Path, kind: str) -> None:
    live = live_at(tmp_path, kind)
    places: list[str] = []
    for top in ("", "nested/"):
        git = live.root / top / ".git"
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        ways = HOOKS if top else {way: place for way, place in HOOKS.items() if place != "real/hooks"}
        lines = [f"\thooksPath = {way.format(live.root / top)}\n" for way in ways]
        (git / "config").write_text(f"[core]\n{''.join(lines)}")
        for folder in THERE:
            (live.root / top / folder).mkdir()
        places += [top + place for place in ways.values()]
    (live.root / "nested" / "link").symlink_to("real")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "config").write_text(f"[core] hooksPath = {live.root.name}/around/hooks\n")
    places.append("around/hooks")
    before = sorted(live.root.rglob("*"))
    tried = [f"mkdir -p '{place}'; echo x > '{place}/pre-commit'" for place in places]
    renamed = (*THERE, "missing", "missing/deeper", "up", "away")
    tried += [f'cd nested && {sys.executable} -c \'import os; os.rename(r"""{one}""", "moved")\'' for one in renamed]
    script = "".join(f"({one}) 2>/dev/null && echo did {number}\n" for number, one in enumerate(tried))
    async with live.rooms.open(Grants()) as room:
        done = await live.run(room, f"{script}mkdir -p missing/deeper && echo x > missing/deeper/work")
    assert (done.output, done.exit_code) == ("", 0)
    work = live.root / "missing" / "deeper" / "work"
    assert sorted(live.root.rglob("*")) == sorted([*before, work, *work.parents[:2]])
    assert remains(live.state / "rooms") == []


@pytest.mark.parametrize("kind", CONTAINED[:1])
@pytest.mark.parametrize(("hooks", "link"), [("tools/hooks", "tools"), ("src/../hooks", "hooks")])
async def test_no_room_opens_where_a_link_leads_to_hooks(tmp_path: Path, kind: str, hooks: str, link: str) -> None:
    live = live_at(tmp_path, kind)
    (live.home / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n")
    (live.root / link).symlink_to("src")
    with pytest.raises(WorkspaceError, match=f"{link} is a link"):
        await live.once("true")


# Folders of ours in place of what is missing.


async def test_what_one_room_made_stays_as_long_as_another_needs_it(tmp_path: Path) -> None:
    live, (one, other) = live_at(tmp_path, "bubblewrap"), (live_at_again(tmp_path), live_at_again(tmp_path))
    async with one.open(Grants()):
        made = live.root / ".vscode"
        assert made.is_dir()
        async with other.open(Grants()) as room:
            await one_room_and_out(other)
            assert made.is_dir()
            assert (await live.run(room, "echo x > .vscode/tasks.json")).exit_code != 0
        assert made.is_dir()
    assert not made.exists()
    assert remains(live.state / "rooms") == []


def live_at_again(folder: Path) -> MountedLiveRooms:
    """As another process has it."""
    variables = variables_of(folder / "home")
    state = folder / "state"
    return MountedLiveRooms(folder / "work space", state / "rooms", lambda: variables, (state,))


async def one_room_and_out(rooms: MountedLiveRooms) -> None:
    async with rooms.open(Grants()):
        pass


async def test_what_a_person_puts_there_meanwhile_stays(tmp_path: Path) -> None:
    live = live_at(tmp_path, "bubblewrap")
    async with live.rooms.open(Grants()):
        (live.root / ".vscode" / "settings.json").write_text("{}")
    await live.once("true")
    assert (live.root / ".vscode" / "settings.json").read_text() == "{}"
    assert not (live.root / ".git").exists()
    assert remains(live.state / "rooms") == []


def test_what_the_person_has_there_is_never_ours(tmp_path: Path) -> None:
    root, records = tmp_path / "root", tmp_path / "records"
    for folder in (root, records, root / ".vscode", tmp_path / "other" / "empty"):
        folder.mkdir(parents=True)
    held, again = RoomFolder(records), RoomFolder(records)
    assert not held.hold(root, ".vscode")
    assert held.hold(root, ".git")
    assert again.hold(root, ".git")
    held.close()
    sweep(records)
    assert (root / ".git").is_dir()
    (root / ".git").rmdir()
    (root / ".git").symlink_to("../other/empty")
    again.close()
    assert (tmp_path / "other" / "empty").is_dir()
    assert remains(records) == []


def test_what_a_full_disk_left_half_written_takes_nothing_else_along(tmp_path: Path) -> None:
    root, records = tmp_path / "root", tmp_path / "records"
    root.mkdir()
    room = RoomFolder(records)
    assert room.hold(root, ".git")
    with next(records.glob("*.lock")).open("a") as file:
        file.write('["/so')
    other = RoomFolder(records)
    assert other.hold(root, ".git")
    other.close()
    room.close()
    assert list(root.iterdir()) == []


def test_no_path_is_too_long_to_be_held(tmp_path: Path) -> None:
    root, records = tmp_path / "root", tmp_path / "records"
    deep = "x/" * 100 + "é" * 60
    for folder in (root / deep, records):
        folder.mkdir(parents=True)
    room = RoomFolder(records)
    assert room.hold(root, f"{deep}/hooks")
    assert (root / deep / "hooks").is_dir()
    assert not room.hold(root, "x" * 300), "nobody else can make it either"
    room.close()
    assert not (root / deep / "hooks").exists()
    assert remains(records) == []


def test_what_no_command_of_this_user_can_make_is_not_held(tmp_path: Path) -> None:
    me, room = os.geteuid(), RoomFolder(tmp_path)
    if me == 0:
        os.seteuid(65534)
    try:
        held = [room.hold(Path("/"), f"etc/{path}") for path in ("hooks.of.no.one", "missing.folder/hooks")]
    finally:
        os.seteuid(me)
    room.close()
    assert held == [False, False]


KILLED = """
import asyncio, sys
from pathlib import Path
from donewhen.ports import Grants
from tests.rooms.test_live import live_at
live = live_at(Path(sys.argv[1]), sys.argv[2])
(live.home / ".gitconfig").write_text("[core]\\n\\thooksPath = tools/git/hooks\\n")
async def main():
    async with live.rooms.open(Grants()) as room:
        await live.run(room, "touch started; sleep 300")
asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["bubblewrap", pytest.param("unshare", marks=pytest.mark.slow)])
async def test_kill_9_leaves_nothing_for_the_next_one_who_opens_the_folder(tmp_path: Path, kind: str) -> None:
    mounter(kind)
    repository = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path, kind], cwd=repository)  # noqa: ASYNC220  # it is to be killed
    root, rooms = tmp_path / "work space", tmp_path / "state" / "rooms"
    until((root / "started").exists)
    sweep(rooms)
    assert (root / ".vscode").is_dir(), "a room that is open is no leftover"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert sorted(one.name for one in root.iterdir()) == [".git", ".vscode", "src", "started", "tools"]
    until(lambda: not sweep(rooms) and sorted(one.name for one in root.iterdir()) == ["src", "started"])
    assert remains(rooms) == []
