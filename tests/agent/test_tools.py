"""The agent's tools in real runs: what they refuse, what they keep, and when they ask."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.agent.room import Room, tool_results
from tests.scripted_models import ModelCall, Reply, calls, raw_tool, says
from tests.scripted_models import calls_all as several

GOAL = "# Tools\n\n- [ ] `test -f tools/done.txt` passes\n"
FINISH = [calls("write_file", path="tools/done.txt", content="done\n"), says("Done.")]


def results(room: Room, name: str, worker: list[Reply]) -> list[str]:
    """What the tools answered in a run of one turn that plays this."""
    done = room.root / "tools/done.txt"
    done.unlink(missing_ok=True)
    room.play(worker=[*worker, *FINISH])
    last = room.pursue(name, GOAL)
    assert last["status"] == "complete", last
    room.sound()
    return tool_results(room.asked("worker")[-1])


@pytest.mark.slow
def test_an_edit_must_fit_exactly_once_and_keeps_how_a_file_is_written(room: Room) -> None:
    dos = "\ufefffirst\r\nsecond\r\nthird\r\n".encode()
    room.write("tools/dos.txt", dos)
    room.write("tools/twice.txt", "same\nother\nsame\n")
    script = room.write("tools/script.sh", "#!/bin/sh\necho old\n")
    script.chmod(0o755)
    found = results(
        room,
        "edits",
        [
            calls("edit_file", path="tools/twice.txt", old="same", new="new"),
            calls("edit_file", path="tools/twice.txt", old="othr", new="new"),
            calls("edit_file", path="tools/twice.txt", old="same\nother", new="new\nother"),
            calls("edit_file", path="tools/dos.txt", old="first\nsecond", new="first\nmiddle\nsecond"),
            calls("edit_file", path="tools/script.sh", old="old", new="new"),
            calls("write_file", path="tools/dos2.txt", content="a\n"),
        ],
    )
    assert "2 times, at the lines 1, 3" in found[0]
    assert "2: other" in found[1]
    assert (room.root / "tools/twice.txt").read_bytes() == b"new\nother\nsame\n"
    assert (room.root / "tools/dos.txt").read_bytes() == "\ufefffirst\r\nmiddle\r\nsecond\r\nthird\r\n".encode()
    assert script.read_bytes() == b"#!/bin/sh\necho new\n"
    assert os.access(script, os.X_OK)
    assert (room.root / "tools/dos2.txt").read_bytes() == b"a\n"


@pytest.mark.slow
@pytest.mark.conformance("C9")
def test_what_lies_outside_or_in_git_is_not_touched(room: Room) -> None:
    outside = room.root.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret.txt").write_text("not yours\n")
    room.write("tools/here.txt", "here\n")
    (room.root / "tools/away").symlink_to(outside)
    (room.root / "tools/away.txt").symlink_to(outside / "secret.txt")
    subprocess.run(["git", "init", "-q", str(room.root / "tools/nested")], check=True)
    config = room.root / "tools/nested/.git/config"
    before = config.read_bytes()
    attempts = [
        ("read_file", {"path": "../outside/secret.txt"}),
        ("read_file", {"path": str(outside / "secret.txt")}),
        ("read_file", {"path": "tools/away.txt"}),
        ("read_file", {"path": "tools/away/secret.txt"}),
        ("write_file", {"path": "../outside/new.txt", "content": "mine\n"}),
        ("write_file", {"path": "tools/away/new.txt", "content": "mine\n"}),
        ("write_file", {"path": "tools/away.txt", "content": "mine\n"}),
        ("edit_file", {"path": "tools/away.txt", "old": "not", "new": "all"}),
        ("list_files", {"path": "tools/away"}),
        ("search", {"text": "yours", "path": "../outside"}),
        ("write_file", {"path": "tools/nested/.git/config", "content": "[core]\nfsmonitor = evil\n"}),
        ("edit_file", {"path": "tools/nested/.GIT/config", "old": "[core]", "new": "[evil]"}),
        ("write_file", {"path": ".git/hooks/pre-commit", "content": "evil\n"}),
    ]
    found = results(room, "paths", [calls(name, **arguments) for name, arguments in attempts])
    for (name, arguments), text in zip(attempts, found, strict=False):
        assert text.startswith(("error:", "not written:")), (name, arguments, text)
        assert "not yours" not in text
    assert [one.name for one in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "not yours\n"
    assert config.read_bytes() == before
    assert not (room.root / ".git").exists()


@pytest.mark.slow
def test_bad_calls_are_answered_with_what_to_send(room: Room) -> None:
    binary = bytes(range(256)) * 8
    room.write("tools/picture.bin", binary)
    room.write("tools/known.txt", "known\n")
    found = results(
        room,
        "calls",
        [
            calls("read_file", path="tools/picture.bin"),
            calls("edit_file", path="tools/picture.bin", old="a", new="b"),
            calls("write_file", path="tools/picture.bin", content="text\n"),
            calls("write_file", path="tools/known.txt", content="unread\n"),
            calls("delete_everything", path="."),
            several(raw_tool("write_file", '{"path": "tools/half.txt", "content": "x')),
            calls("write_file", path="tools/half.txt"),
            calls("read_file", path="tools/absent.txt"),
            several(raw_tool("read_file", '{"path": "tools/known.txt"}'), raw_tool("read_file", "[]")),
        ],
    )
    assert [text.startswith(("error:", "not written:")) for text in found[:8]] == [True] * 8, found
    assert "read it first" in found[3]
    assert "run_command" in found[4]
    assert "known" in found[8]
    assert found[9].startswith("error:")
    assert (room.root / "tools/picture.bin").read_bytes() == binary
    assert (room.root / "tools/known.txt").read_text() == "known\n"
    assert not (room.root / "tools/half.txt").exists()


@pytest.mark.slow
@pytest.mark.conformance("A2", "A10")
def test_the_goal_and_what_runs_by_itself_ask_even_where_commands_need_not(room: Room) -> None:
    room.configure(approve="ask")
    room.write("tools/.envrc", "export A=1\n")
    weaker = GOAL.replace("tools/done.txt", "tools/.envrc")
    room.play(
        worker=[
            calls("read_file", path="asks.goal.md"),
            calls("write_file", path="asks.goal.md", content=weaker),
            calls("read_file", path="tools/.envrc"),
            calls("edit_file", path="tools/.envrc", old="A=1", new="A=2"),
            *FINISH,
        ]
    )
    (room.root / "tools/done.txt").unlink(missing_ok=True)
    run_id = room.start("asks", GOAL)
    room.accept(run_id)
    first = room.waiting(run_id)
    assert (first["kind"], first["tool"]) == ("approval", "write_file")
    assert "+- [ ] `test -f tools/.envrc` passes" in first["preview"]
    room.answer(run_id, first, "deny")
    second = room.waiting(run_id)
    assert second["tool"] == "edit_file"
    room.answer(run_id, second, "approve")
    last = room.end(run_id)
    assert last["status"] == "complete"
    room.sound()
    assert (room.root / "asks.goal.md").read_text() == GOAL
    assert (room.root / "tools/.envrc").read_text() == "export A=2\n"


@pytest.mark.slow
@pytest.mark.conformance("A20")
def test_what_a_person_saves_between_reading_and_writing_is_kept(room: Room) -> None:
    path = room.write("tools/both.txt", "old\n")

    def worker(call: ModelCall) -> Reply:
        found = tool_results(call)
        if not found:
            return calls("read_file", path="tools/both.txt")
        if len(found) == 1:
            path.write_text("by a person\n")
            return calls("write_file", path="tools/both.txt", content="by the agent\n")
        return calls("run_command", command="touch tools/done.txt") if len(found) == 2 else says("Done.")

    (room.root / "tools/done.txt").unlink(missing_ok=True)
    room.play(worker=worker)
    assert room.pursue("both", GOAL)["status"] == "complete"
    refused = tool_results(room.asked("worker")[-1])[1]
    assert "changed since you read it" in refused
    assert "by a person" in refused
    assert path.read_text() == "by a person\n"
