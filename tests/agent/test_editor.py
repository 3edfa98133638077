"""The agent in an editor's language server: what it streams, asks, and leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from tests.agent.room import JUDGE_KEY, KEY, Room, tool_results
from tests.agent.site import judge_says
from tests.lsp.editor import SERVE, Editor, wait_until
from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, calls_all, fails, hangs, says, tool
from tests.tools import below, runs


def test_what_the_model_says_is_streamed_as_it_comes(room: Room) -> None:
    room.play(
        worker=[says("I look at the parser first, and then at the tests.", piece=6).paced(0.15), says("Done.")],
        judge=judge_says(),
    )
    room.write("parser.txt", "hello\n")
    run_id = room.start("stream", "# Parse\n\n- [ ] The parser says hello\n  - file: `parser.txt`\n")
    half = room.until(run_id, lambda s: "parser first" in (s["activity"] or ""))
    assert half["phase"] == "working"
    assert not room.models.requests[-1].ended
    last = room.end(run_id)
    assert (last["status"], last["iteration"]) == ("complete", 1)
    assert last["activity"] is None


@pytest.mark.slow
@pytest.mark.conformance("A2", "A20", "C13")
def test_a_person_approves_edits_and_denies_and_their_unsaved_text_stays(room: Room) -> None:
    room.configure(approve="ask", sandbox="off")
    held = room.write("held.txt", "saved\n")
    other = room.write("other.txt", "saved\n")
    room.play(
        worker=[
            calls("read_file", path="held.txt"),
            calls("write_file", path="held.txt", content="by the agent\n"),
            calls("read_file", path="other.txt"),
            calls("edit_file", path="other.txt", old="saved", new="edited"),
            calls("run_command", command="echo one > one.txt"),
            calls("run_command", command="echo two > two.txt"),
            calls("run_command", command="echo three > three.txt"),
            says("That is all."),
        ],
        judge=judge_says(),
    )
    for path, text in ((held, "typed, not saved\n"), (other, "typed too\n")):
        room.editor.open(path)
        room.editor.edit(path, text)
    run_id = room.start("ask", "# Notes\n\n- [ ] `test -f one.txt -a -f changed.txt` passes\n")
    room.accept(run_id)
    first = room.waiting(run_id)
    assert (first["kind"], first["tool"], first["input"]) == (
        "approval",
        "run_command",
        {"command": "echo one > one.txt"},
    )
    assert not (room.root / "one.txt").exists()
    room.answer(run_id, first, "approve")
    second = room.waiting(run_id)
    assert second["input"] == {"command": "echo two > two.txt"}
    room.answer(run_id, second, "edit", input={"command": "echo instead > changed.txt"})
    third = room.waiting(run_id)
    room.answer(run_id, third, "deny", reason="not now")
    last = room.end(run_id)
    assert last["status"] == "complete"
    room.sound()
    results = tool_results(room.asked("worker")[-1])
    assert "typed, not saved" in results[1]
    assert "typed too" in results[3]
    assert "echo instead > changed.txt" in results[5]
    assert "not now" in results[6]
    assert [(room.root / name).exists() for name in ("one.txt", "two.txt", "changed.txt", "three.txt")] == [
        True,
        False,
        True,
        False,
    ]
    assert (held.read_text(), other.read_text()) == ("saved\n", "saved\n")
    for path in (held, other):
        room.editor.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})


@pytest.mark.conformance("C13")
def test_keys_reach_their_own_model_and_nothing_else(room: Room) -> None:
    room.write("key.txt", "hello\n")
    room.play(
        worker=[
            calls("run_command", command="env"),
            calls("write_file", path="leak.txt", content=f"the key is {KEY}\n"),
            says(f"My key is {KEY}."),
        ],
        judge=judge_says(),
    )
    run_id = room.start("keys", "# Keys\n\n- [ ] The note says hello\n  - file: `key.txt`\n")
    shown: list[str] = []
    last = room.until(run_id, lambda s: not shown.append(json.dumps(s)) and s["status"] == "complete")
    assert last["cost"]["judge"]["inputTokens"] > 0
    keys = {exchange.model: exchange.key for exchange in room.models.requests[-4:]}
    assert keys == {"worker": KEY, "judge": JUDGE_KEY}
    report = room.editor.execute("donewhen.run.report", {"runId": run_id, "format": "json"})["text"]
    told = [*shown, report, room.editor.stderr, *(call.text for call in room.asked("worker")[1:2])]
    told += [call.text for call in room.asked("judge")]
    assert kept(room.state)
    for secret in (KEY, JUDGE_KEY):
        assert not [text for text in told if secret in text]
        assert not [path for path in kept(room.state) if secret.encode() in path.read_bytes()]


def kept(state: Path) -> list[Path]:
    """The ledger and all that stands beside it; checkpoints hold the workspace's files as they are."""
    return [path for path in state.rglob("*") if path.is_file() and "ledger" in path.name]


@pytest.mark.slow
def test_an_untrusted_workspace_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text("# A note\n\n- [ ] `true` passes\n")
    editor = Editor(tmp_path / "state", command=SERVE)
    settings = {"worker": "agent", "model": "openai/worker", "apiBase": "http://127.0.0.1:9/v1"}
    try:
        editor.start(root=tmp_path, trusted=False, options={"settings": settings})
        uri = editor.open(tmp_path / "GOAL.md")
        refused = editor.execute_error("donewhen.run.start", {"goalUri": uri})
        assert "not trusted" in refused["message"]
        assert not below(editor.process.pid)
        assert editor.goodbye() == 0
    finally:
        editor.close()


@pytest.mark.conformance("A3", "C19")
def test_stop_takes_effect_in_the_middle_of_a_reply_and_ends_what_a_command_started(room: Room) -> None:
    room.play(worker=[hangs(2, text="I think about it, and think, and think.")], judge=judge_says())
    run_id = room.start("stopped", "# Stop\n\n- [ ] `test -f never.txt` passes\n")
    room.wait_asked("worker")
    exchange = room.models.requests[-1]
    wait_until(lambda: exchange.sent > 0)
    room.stop(run_id)
    wait_until(lambda: exchange.ended, 60)
    assert exchange.disconnected
    assert room.end(run_id)["status"] == "cancelled"
    assert len(room.asked("worker")) == 1
    assert not room.asked("judge")

    command = "touch begun; sleep 300.713 & wait"
    room.play(worker=[calls("run_command", command=command)], judge=judge_says())
    run_id = room.start("stopped-too", "# Stop\n\n- [ ] `test -f never.txt` passes\n")
    wait_until(lambda: (room.root / "begun").exists())
    family = [one for one in psutil.process_iter(["cmdline"]) if "300.713" in " ".join(one.info["cmdline"] or ())]
    assert family
    room.stop(run_id)
    wait_until(lambda: not any(runs(one) for one in family), 60)
    assert room.end(run_id)["status"] == "cancelled"
    assert len(room.asked("worker")) == 1


@pytest.mark.slow
@pytest.mark.conformance("C19")
@pytest.mark.parametrize("way", ["shutdown", "end of input"])
def test_a_server_that_ends_in_the_middle_of_a_call_leaves_no_model_host(
    tmp_path_factory: pytest.TempPathFactory, way: str
) -> None:
    room = Room(tmp_path_factory.mktemp("ended"))
    try:
        room.configure(modelClient="litellm")
        room.play(worker=[hangs(2)])
        room.start("GOAL", "# Stop\n\n- [ ] `test -f never.txt` passes\n")
        room.wait_asked("worker")
        hosts = room.hosts()
        assert len(hosts) == 1
        if way == "shutdown":
            assert room.editor.result("shutdown") is None
            room.editor.notify("exit")
        else:
            assert room.editor.process.stdin is not None
            room.editor.process.stdin.close()
        wait_until(lambda: not any(runs(one) for one in hosts), 60)
        wait_until(lambda: room.editor.process.poll() is not None, 60)
        exchange = room.models.requests[-1]
        wait_until(lambda: exchange.disconnected)
    finally:
        room.close()


@pytest.mark.slow
@pytest.mark.conformance("A6")
def test_a_model_host_that_dies_is_started_again(room: Room) -> None:
    """For the worker it costs the turn at most; for the judge nothing but the wait."""
    room.configure(modelClient="litellm")
    room.play(
        worker=[hangs(2), calls_all(tool("write_file", path="again.txt", content="hello\n")), says("Done.")],
        judge=judge_says(),
    )
    run_id = room.start("again", "# Again\n\n- [ ] The note says hello\n  - file: `again.txt`\n")
    room.wait_asked("worker")
    (host,) = room.hosts()
    host.kill()
    last = room.end(run_id)
    assert last["status"] == "complete", json.dumps(last)
    room.sound()
    assert [one.pid for one in room.hosts()] != [host.pid]


@pytest.mark.slow
@pytest.mark.conformance("A20", "A10")
def test_what_a_person_types_and_saves_during_a_turn_is_theirs(room: Room) -> None:
    """A goal that is saved in the middle of a turn is amended; the agent goes on with the new one."""
    path = room.write("amended.goal.md", "# Amended\n\n- [ ] `test -f first.txt` passes\n")
    room.editor.open(path)
    wanted = "# Amended\n\n- [ ] `test -f first.txt` passes\n- [ ] `test -f second.txt` passes\n"

    def worker(call: ModelCall) -> Reply:
        number = len(room.asked("worker"))
        if number == 1:
            room.editor.save(path, wanted)
            return calls("write_file", path="first.txt", content="1\n")
        if number == 2:
            return says("Done.")
        return calls("write_file", path="second.txt", content="2\n") if number == 3 else says("Done now.")

    room.play(worker=worker)
    run_id = room.start("amended", path.read_text())
    last = room.end(run_id)
    assert (last["status"], last["iteration"]) == ("complete", 2), last
    assert last["counts"]["total"] == 2
    assert last["integrity"] == []
    assert "second.txt" in room.asked("worker")[2].text
    assert path.read_text() == wanted
    room.editor.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})


@pytest.mark.slow
@pytest.mark.conformance("A5", "C7")
def test_runs_in_two_folders_at_once_are_kept_apart(tmp_path: Path) -> None:
    """One server, two workspace folders, one model: neither run sees anything of the other."""
    roots = [tmp_path / name for name in ("red", "blue")]

    def worker(call: ModelCall) -> Reply:
        mine, other = ("red", "blue") if "find red" in call.text else ("blue", "red")
        if f"find {other}" in call.text:
            return fails(400, "mixed")
        done = tool_results(call)
        if len(done) < 3:
            return calls("write_file", path=f"{len(done)}.txt", content=f"{mine}\n")
        return says(f"I found {mine}.")

    with ScriptedModels({"worker": worker, "judge": judge_says()}) as models:
        settings = {"worker": "agent", "model": "openai/worker", "apiBase": models.base_url, "approve": "auto"}
        editor = Editor(tmp_path / "state", command=SERVE)
        try:
            folders: list[dict[str, str]] = []
            for root in roots:
                root.mkdir()
                (root / "GOAL.md").write_text(
                    f"# Please find {root.name}\n\n- [ ] `grep -q {root.name} 2.txt` passes\n"
                )
                folders.append({"uri": root.as_uri(), "name": root.name})
            options = {"settings": settings, "clientFeatures": {"interrupts": True}}
            editor.start(workspaceFolders=folders, options=options)
            uris = [{"goalUri": (root / "GOAL.md").as_uri()} for root in roots]
            ids = [editor.execute("donewhen.run.start", uri, 60)["runId"] for uri in uris]
            for run_id in ids:
                last = editor.snapshot(run_id, lambda s: s["status"] in ("complete", "capped", "crashed"), 60)
                assert last["status"] == "complete", last
            assert not models.failures
            assert editor.goodbye() == 0
        finally:
            editor.close()
    for root in roots:
        assert {(root / f"{number}.txt").read_text() for number in range(3)} == {f"{root.name}\n"}
