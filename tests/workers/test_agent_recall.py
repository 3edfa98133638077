"""What a turn that goes on takes for seen: never less safe than what it had seen, and no change where there is none."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.calls import Message
from donewhen.ports import ModelReply
from donewhen.workers.agent.seen_files import ANOTHER, restore_seen_files, seen_in
from donewhen.workers.prompt import agent_task
from donewhen.workers.tools.tool import ToolContext
from donewhen.workspace.guarded import GuardedFolder
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.plain import plain_room
from tests.tools import examples

from .agent_models import call, says, use
from .agent_turns import Agent, agent_in
from .turns import environment, turn

NAMES = ("a.txt", "sub/b, lines 1-2 of 3.txt")
PIECES = ("one", "two", "", "ünï", "\r", "\u2028", "x" * 50)


@st.composite
def texts(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.sampled_from(PIECES), max_size=6))
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["", "\n"]))


@st.composite
def operations(draw: st.DrawFn) -> ModelReply:
    name = draw(st.sampled_from(NAMES))
    match draw(st.sampled_from(["all", "part", "write", "edit"])):
        case "all":
            return use("read_file", path=name)
        case "part":
            first = draw(st.integers(1, 6))
            return use("read_file", path=name, start_line=first, end_line=first + draw(st.integers(0, 6)))
        case "write":
            return use("write_file", path=name, content=draw(texts()))
        case _:
            old = draw(st.sampled_from(["one", "two\n", "one\ntwo", "ünï"]))
            return use("edit_file", path=name, old=old, new=draw(texts()))


async def recalled(agent: Agent) -> dict[str, str]:
    """What a new desk knows, by the digests of the files."""
    given = turn()
    processes = SystemProcesses()
    files = GuardedFolder(agent.context.workspace, processes, environment, "t")
    desk = ToolContext(given, agent.context, files, plain_room(processes), environment)
    await restore_seen_files(desk)
    return desk.known


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.conformance("C23", "A20")
@examples(80)
@given(st.lists(operations(), min_size=1, max_size=8), texts(), st.sampled_from(["", *NAMES]))
def test_only_what_stands_there_now_is_known(script: list[ModelReply], text: str, changed: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        agent = agent_in(Path(folder))
        for name in NAMES:
            agent.write(name, text)
        asyncio.run(agent.plays([*script, says("Done.")]))
        if changed:
            agent.write(changed, agent.text(changed) + "\nby a person\n")
        known = asyncio.run(recalled(agent))
        for name in known:
            if name == changed:
                assert known[name] == ANOTHER
            else:
                assert known[name] == digest(agent.root / name)


async def test_what_was_seen_in_an_earlier_turn_is_not_known(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    agent.write("a.txt", "one\n")
    await agent.plays([use("read_file", path="a.txt"), says("Done.")])
    assert await recalled(agent) == {"a.txt": digest(tmp_path / "a.txt")}
    await agent.context.keep(agent_task(turn(2)))
    assert await recalled(agent) == {}


async def test_what_an_editor_held_or_a_compaction_cut_is_not_taken_for_the_file(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    agent.write("a.txt", "on disk\n")
    agent.write("b.txt", "x" * 400_000 + "\n")
    agent.context.held["a.txt"] = "on disk\n"
    await agent.plays([use("read_file", path="a.txt"), use("read_file", path="b.txt"), says("Done.")])
    assert await recalled(agent) == {}
    cut = Message("tool", "c.txt, lines 1-3 of 3:\none\n[... 20 characters cut ...]\nthree", answers="c")
    assert seen_in([Message("assistant", "", (call("read_file", id="c", path="c.txt"),)), cut]) == {}


async def test_a_file_with_secrets_is_known_by_what_was_shown_of_it(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    agent.write("a.txt", "key = hunter2\n")
    shown = "a.txt, lines 1-1 of 1:\nkey = [masked]"
    asked = Message("assistant", "", (call("read_file", id="c", path="a.txt"),))
    agent.context.said = [asked, Message("tool", shown, answers="c")]
    assert await recalled(agent) == {"a.txt": ANOTHER}
    given = turn()
    processes = SystemProcesses()
    files = GuardedFolder(agent.context.workspace, processes, environment, "t")
    mask = lambda text: text.replace("hunter2", "[masked]")  # noqa: E731
    desk = ToolContext(given, agent.context, files, processes, environment, mask=mask)
    await restore_seen_files(desk)
    assert desk.known == {"a.txt": digest(tmp_path / "a.txt")}
