"""Trust, interrupts, progress, and how runs fare when clients or folders go away; one server per test."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.tools import runs

from .editor import SERVE, Editor, codes, wait_until
from .rawclient import Message, read_message

CHECKED = "# G\n\n- [ ] `test -f done.txt` passes\n"
UNDECIDABLE = "# G\n\n- [ ] It feels right\n"


@pytest.fixture
def editor(own_editor: Editor) -> Editor:
    return own_editor


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "GOAL.md").write_text(CHECKED)
    return folder


def start(editor: Editor, root: Path, **params: Any) -> str:
    """Starts the goal with worker human, and returns the run's id."""
    uri = editor.open(root / "GOAL.md")
    return editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"} | params)["runId"]


# ---------------------------------------------------------------------------------------------- trust


def test_an_untrusted_workspace_executes_nothing_until_it_is_trusted(editor: Editor, root: Path) -> None:
    (root / "GOAL.md").write_text("---\nwroker: human\n---\n# G\n\n- [ ] `echo ran > ran.txt` passes\n")
    editor.start(trusted=False, root=root)
    uri = editor.open(root / "GOAL.md")
    assert codes(editor.diagnostics(root / "GOAL.md", bool))
    editor.save(root / "GOAL.md", "# G\n\n- [ ] `echo ran > ran.txt` passes\n")
    run = {"runId": "x"}
    for command, argument in (
        ("donewhen.run.start", {"goalUri": uri}),
        ("donewhen.goal.check", {"goalUri": uri}),
        ("donewhen.goal.set", {"objective": "x", "start": True}),
        ("donewhen.run.resume", run),
        ("donewhen.run.answer", run | {"interruptId": "I1", "response": "approve"}),
        ("donewhen.run.dispute", run | {"requirementId": "R1", "reason": "x"}),
        ("donewhen.run.revert", run | {"iteration": 1}),
        ("donewhen.attempts.apply", {"id": "x", "number": 1}),
    ):
        assert editor.execute_error(command, argument)["message"] == "the workspace is not trusted"
    assert sorted(path.name for path in root.iterdir()) == ["GOAL.md"]
    editor.notify("donewhen/didChangeTrust", {"trusted": "yes"})
    assert "not trusted" in editor.execute_error("donewhen.goal.check", {"goalUri": uri})["message"]
    editor.notify("donewhen/didChangeTrust", {"trusted": True})
    assert editor.execute("donewhen.goal.check", {"goalUri": uri})["counts"]["met"] == 1
    assert (root / "ran.txt").exists()
    assert editor.goodbye() == 0


def test_trust_that_is_absent_is_no_trust_and_one_taken_back_pauses(editor: Editor, root: Path) -> None:
    editor.initialize(rootUri=root.as_uri(), initializationOptions={"stateDir": str(editor.state)})
    uri = editor.open(root / "GOAL.md")
    assert "not trusted" in editor.execute_error("donewhen.run.start", {"goalUri": uri})["message"]
    editor.notify("donewhen/didChangeTrust", {"trusted": True})
    run_id = start(editor, root)
    editor.notify("donewhen/didChangeTrust", {"trusted": False})
    editor.snapshot(run_id, lambda s: (s["status"], s["pausedBy"]) == ("paused", "run"))
    assert editor.goodbye() == 0


# ----------------------------------------------------------------------------------------- interrupts


def test_a_question_is_asked_with_buttons_and_its_answer_counts(editor: Editor, root: Path) -> None:
    (root / "GOAL.md").write_text(UNDECIDABLE)
    editor.start(root=root)
    run_id = start(editor, root)
    question = editor.expect("window/showMessageRequest")
    assert [action["title"] for action in question["params"]["actions"]] == ["Leave it unproven", "Waive"]
    waiting = editor.snapshot(run_id, lambda s: bool(s["interrupts"]))
    assert waiting["status"] == "waiting"
    (asked,) = waiting["interrupts"]
    document = {"runId": run_id, "kind": "interrupt", "interruptId": asked["id"]}
    assert editor.execute("donewhen.run.document", document)["text"].startswith(asked["title"][:60])
    editor.reply(question, {"title": "Waive"})
    ended = editor.snapshot(run_id, lambda s: s["status"] == "complete")
    assert editor.execute("donewhen.run.document", document)["text"] is None
    assert ended["requirements"][0]["status"] == "waived"
    assert ended["requirements"][0]["decidedBy"] == "person"
    assert editor.goodbye() == 0


def test_an_answer_by_command_withdraws_the_message_and_a_late_reply_is_ignored(editor: Editor, root: Path) -> None:
    (root / "GOAL.md").write_text(UNDECIDABLE)
    editor.start(root=root)
    run_id = start(editor, root)
    question = editor.expect("window/showMessageRequest")
    answer = {"runId": run_id, "interruptId": "I1", "response": "approve", "reason": "seen"}
    editor.execute("donewhen.run.answer", answer)
    editor.snapshot(run_id, lambda s: s["status"] == "complete")
    assert editor.expect("$/cancelRequest")["params"]["id"] == question["id"]
    editor.reply(question, {"title": "Leave it unproven"})
    assert "I1" in editor.execute_error("donewhen.run.answer", answer)["message"]
    assert editor.goodbye() == 0


def test_a_client_with_interrupts_of_its_own_is_not_asked(editor: Editor, root: Path) -> None:
    (root / "GOAL.md").write_text(UNDECIDABLE)
    editor.start(root=root, options={"clientFeatures": {"interrupts": True}})
    run_id = start(editor, root)
    editor.snapshot(run_id, lambda s: bool(s["interrupts"]))
    editor.execute("donewhen.run.stop", {"runId": run_id})
    assert editor.goodbye() == 0


# ------------------------------------------------------------------------------------------- progress


def test_progress_follows_the_run_and_cancelling_it_pauses(editor: Editor, root: Path) -> None:
    editor.start(root=root, capabilities={"window": {"workDoneProgress": True}})
    run_id = start(editor, root)
    create = editor.expect("window/workDoneProgress/create")
    token = create["params"]["token"]
    editor.reply(create, None)
    begun = editor.expect("$/progress")["params"]
    assert begun["token"] == token
    assert (begun["value"]["kind"], begun["value"]["title"], begun["value"]["cancellable"]) == ("begin", "G", True)
    editor.notify("window/workDoneProgress/cancel", {"token": token})
    assert editor.snapshot(run_id, lambda s: s["pausedBy"] == "person")["complete"] is False
    while (value := editor.expect("$/progress")["params"]["value"])["kind"] != "end":
        assert re.fullmatch(r"iteration \d+( · \w+)? · 0 of 1 met", value["message"])
        assert value["percentage"] == 0
    editor.notify("window/workDoneProgress/cancel", {"token": token})
    editor.notify("window/workDoneProgress/cancel", {"token": 3})
    assert editor.goodbye() == 0


def test_a_client_that_never_answers_anything_is_served(editor: Editor, root: Path) -> None:
    refreshes = {"codeLens": {"refreshSupport": True}, "inlayHint": {"refreshSupport": True}}
    watched = {"didChangeWatchedFiles": {"dynamicRegistration": True}, "configuration": True}
    editor.start(root=root, capabilities={"window": {"workDoneProgress": True}, "workspace": refreshes | watched})
    run_id = start(editor, root)
    (root / "done.txt").write_text("")
    editor.snapshot(run_id, lambda s: s["complete"])
    editor.expect("client/registerCapability")
    editor.expect("workspace/configuration")
    editor.expect("window/workDoneProgress/create")
    editor.expect("workspace/codeLens/refresh")
    editor.ignored |= {"workspace/codeLens/refresh", "workspace/inlayHint/refresh", "$/cancelRequest"}
    assert editor.goodbye() == 0


def test_a_client_that_declares_nothing_gets_plain_text_and_no_related_information(editor: Editor, root: Path) -> None:
    editor.start(root=root)
    uri = editor.open(root / "GOAL.md")
    editor.execute("donewhen.goal.check", {"goalUri": uri})
    (mark,) = editor.diagnostics(root / "GOAL.md", lambda all_: [one["severity"] for one in all_] == [1])
    assert "relatedInformation" not in mark
    where = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 8}}
    contents = editor.result("textDocument/hover", where)["contents"]
    assert contents["kind"] == "plaintext"
    assert contents["value"].startswith("Unmet · ")
    assert editor.goodbye() == 0


# ------------------------------------------------------------------------------- those who go away

SLOW = "# G\n\n- [ ] `echo $$ > {0}.new; mv {0}.new {0}; sleep 100` passes\n"


SELDOM = [pytest.param(way, marks=pytest.mark.slow) for way in ("shutdown", "exit", "terminate", "killed")]


@pytest.mark.parametrize("way", ["end of input", *SELDOM])
def test_when_the_client_is_gone_children_end_and_the_run_is_interrupted(tmp_path: Path, root: Path, way: str) -> None:
    started = tmp_path / "pid"
    (root / "GOAL.md").write_text(SLOW.format(started))
    editor = Editor(tmp_path / "state", command=SERVE)
    try:
        editor.start(root=root)
        run_id = start(editor, root)
        wait_until(started.exists)
        pid = int(started.read_text())
        _leave(editor, way)
        editor.wait_exit(30)
        wait_until(lambda: not runs(pid))
        assert len(editor.stderr) < 3000
    finally:
        editor.close()
    _resumed_by_the_next_server(tmp_path, root, run_id)


def _leave(editor: Editor, way: str) -> None:
    assert editor.process.stdin is not None
    assert editor.process.stdout is not None
    if way == "end of input":
        editor.process.stdin.close()
    elif way == "exit":
        editor.notify("exit")
    elif way == "shutdown":
        assert editor.result("shutdown") is None
        editor.notify("exit")
    elif way == "terminate":
        editor.process.send_signal(signal.SIGTERM)
    else:
        # What is left of a client that was killed: both pipes are closed.
        editor.process.stdin.close()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, editor.process.stdout.fileno())
        os.close(null)


def _resumed_by_the_next_server(tmp_path: Path, root: Path, run_id: str) -> None:
    """It lists the run as interrupted, and offers to let it go on."""
    (tmp_path / "pid").unlink()
    editor = Editor(tmp_path / "state")
    try:
        editor.start(root=root)
        offer = editor.expect("window/showMessageRequest")
        assert [action["title"] for action in offer["params"]["actions"]] == ["Not now", "Resume"]
        (snapshot,) = editor.execute("donewhen.run.status", {})["snapshots"]
        assert (snapshot["runId"], snapshot["status"]) == (run_id, "interrupted")
        editor.reply(offer, {"title": "Resume"})
        wait_until((tmp_path / "pid").exists)
        assert editor.execute("donewhen.run.stop", {"runId": run_id})["status"] == "cancelled"
        assert editor.goodbye() == 0
    finally:
        editor.close()


def test_stop_ends_what_a_check_has_started(editor: Editor, tmp_path: Path, root: Path) -> None:
    started = tmp_path / "pid"
    (root / "GOAL.md").write_text(SLOW.format(started))
    editor.start(root=root)
    run_id = start(editor, root)
    wait_until(started.exists)
    assert editor.execute("donewhen.run.stop", {"runId": run_id})["status"] == "cancelled"
    wait_until(lambda: not runs(int(started.read_text())))
    assert editor.goodbye() == 0


def test_a_folder_that_disappears_breaks_nothing(editor: Editor, root: Path) -> None:
    editor.start(root=root)
    run_id = start(editor, root)
    editor.snapshot(run_id, lambda s: s["counts"]["unmet"] == 1)
    shutil.rmtree(root)
    uri = (root / "GOAL.md").as_uri()
    editor.result("textDocument/codeLens", {"textDocument": {"uri": uri}})
    editor.result("textDocument/documentLink", {"textDocument": {"uri": uri}})
    assert editor.execute("donewhen.run.status", {"goalUri": uri})["snapshots"]
    wait_until(lambda: _has_ended(editor, run_id))
    error = editor.execute_error("donewhen.goal.check", {"goalUri": uri})
    assert error["code"] == -32803, error
    assert editor.goodbye() == 0


def _has_ended(editor: Editor, run_id: str) -> bool:
    """Stopped by us, or crashed with a reason that names the trouble."""
    editor.request("workspace/executeCommand", {"command": "donewhen.run.stop", "arguments": [{"runId": run_id}]})
    (snapshot,) = editor.execute("donewhen.run.status", {"runId": run_id})["snapshots"]
    return snapshot["status"] in ("cancelled", "crashed") and bool(snapshot["reason"])


def test_a_state_folder_that_can_not_be_written_is_said_and_the_file_stays_live(tmp_path: Path, root: Path) -> None:
    (tmp_path / "file").write_text("")
    (root / "GOAL.md").write_text("")
    editor = Editor(tmp_path / "file" / "state")
    try:
        editor.start(root=root)
        uri = editor.open(root / "GOAL.md")
        said = editor.expect("window/showMessage")["params"]["message"]
        assert "can't keep runs" in said
        assert codes(editor.diagnostics(root / "GOAL.md", bool)) == ["empty"]
        editor.save(root / "GOAL.md", CHECKED)
        assert editor.execute_error("donewhen.run.start", {"goalUri": uri})["code"] == -32803
        editor.ignored.add("window/showMessage")
        assert editor.goodbye() == 0
    finally:
        editor.close()


def test_a_draft_goes_through_an_editor_that_can_create_files(editor: Editor, root: Path) -> None:
    edits = {"workspace": {"applyEdit": True, "workspaceEdit": {"resourceOperations": ["create"]}}}
    editor.start(root=root, capabilities=edits)
    params = {"command": "donewhen.goal.set", "arguments": [{"objective": "Say hi"}]}
    number = editor.begin("workspace/executeCommand", params)
    request = editor.expect("workspace/applyEdit")
    create, insert = request["params"]["edit"]["documentChanges"]
    assert create["uri"] == (root / "say-hi.goal.md").as_uri()
    assert "# Say hi" in insert["edits"][0]["newText"]
    editor.reply(request, {"applied": True})
    assert editor.response(number)["result"]["goalUri"] == create["uri"]
    assert not (root / "say-hi.goal.md").exists()
    number = editor.begin("workspace/executeCommand", params)
    editor.reply(editor.expect("workspace/applyEdit"), {"applied": False})
    assert editor.response(number)["result"]["goalUri"] == create["uri"]
    assert (root / "say-hi.goal.md").exists()
    started = editor.execute(
        "donewhen.goal.set", {"objective": "Start this", "checks": ["test -f DONE"], "start": True}
    )
    assert started["goalUri"].endswith("/start-this.goal.md")
    editor.snapshot(started["runId"], lambda s: s["counts"]["unmet"] == 1)
    editor.ignored.add("window/showMessageRequest")
    assert editor.goodbye() == 0


@pytest.mark.parametrize("given", ["rootUri", pytest.param("rootPath", marks=pytest.mark.slow)])
def test_the_workspace_is_found_however_the_client_names_it(editor: Editor, root: Path, given: str) -> None:
    values: Message = {"rootUri": root.as_uri(), "rootPath": str(root)}
    options = {"trusted": True, "stateDir": str(editor.state)}
    editor.initialize(**{given: values[given]}, initializationOptions=options)
    assert editor.execute("donewhen.goal.set", {"objective": "x y"})["goalUri"] == (root / "x-y.goal.md").as_uri()
    assert editor.goodbye() == 0


@pytest.mark.slow
def test_over_tcp_runs_outlive_the_client(tmp_path: Path, root: Path) -> None:
    command = [sys.executable, "-m", "donewhen", "serve", "--tcp", "0", "--state-dir", str(tmp_path / "state")]
    server = forked.start(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert server.stderr is not None
        found = re.search(r":(\d+) token (\S+)", server.stderr.readline().decode())
        assert found
        address = ("127.0.0.1", int(found[1]))
        start_it = {"goalUri": (root / "GOAL.md").as_uri(), "worker": "human"}
        run_id = _conversation(address, found[2], "donewhen.run.start", start_it)["runId"]
        (snapshot,) = _conversation(address, found[2], "donewhen.run.status", {"runId": run_id})["snapshots"]
        assert snapshot["status"] == "running"
        assert server.poll() is None
    finally:
        server.terminate()
        assert server.wait(60) == 0
        assert server.stderr is not None
        server.stderr.close()


def _conversation(address: tuple[str, int], token: str, command: str, argument: object) -> Any:
    """Connects, calls one command, and hangs up."""
    with socket.create_connection(address, timeout=60) as connection, connection.makefile("rb") as stream:

        def call(number: int, method: str, params: object) -> Any:
            body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
            connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            while (message := read_message(stream.readline, stream.read)) is not None:
                if message.get("id") == number:
                    return message["result"]
            raise AssertionError("the server hung up")

        call(1, "initialize", {"capabilities": {}, "initializationOptions": {"token": token, "trusted": True}})
        return call(2, "workspace/executeCommand", {"command": command, "arguments": [argument]})


def test_what_is_sent_in_one_breath_is_handled_in_its_order(editor: Editor, root: Path) -> None:
    """The first messages wait for LSP's types to be imported: none may overtake another."""
    uri = (root / "GOAL.md").as_uri()
    tree = {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}
    first = editor.begin("initialize", {"processId": None, "capabilities": {"textDocument": tree}})
    editor.notify("initialized", {})
    editor.open(root / "GOAL.md")
    letter = {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 3}}
    for number in range(30):
        versioned = {"uri": uri, "version": 2 + number}
        change = {"range": letter, "text": chr(ord("A") + number % 26)}
        editor.notify("textDocument/didChange", {"textDocument": versioned, "contentChanges": [change]})
    symbols = editor.begin("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert "result" in editor.response(first)
    (goal,) = editor.response(symbols)["result"]
    assert goal["name"] == "D"
    assert [one["name"] for one in goal["children"]] == ["R1 `test -f done.txt` passes"]
    assert editor.goodbye() == 0


def test_what_comes_at_the_heels_of_a_refused_initialize_changes_nothing(editor: Editor, root: Path) -> None:
    refused = editor.begin("initialize", {"capabilities": {}, "initializationOptions": {"stateDir": 5}})
    heels = editor.begin("shutdown", None)
    assert "stateDir" in editor.response(refused)["error"]["message"]
    assert editor.response(heels)["error"]["code"] == -32002
    editor.start(root=root)
    assert editor.goodbye() == 0


def test_a_client_that_pulls_and_can_be_refreshed_is_not_also_pushed_to(editor: Editor, root: Path) -> None:
    """No diagnostic is shown twice, and none is missed."""
    (root / "GOAL.md").write_text("")
    refreshes = {"workspace": {"diagnostics": {"refreshSupport": True}}, "textDocument": {"diagnostic": {}}}
    editor.start(root=root, capabilities=refreshes)
    uri = editor.open(root / "GOAL.md")
    editor.diagnostics(root / "GOAL.md", lambda all_: codes(all_) == ["empty"])
    document = {"textDocument": {"uri": uri}}
    assert codes(editor.result("textDocument/diagnostic", document)["items"]) == ["empty"]
    editor.diagnostics(root / "GOAL.md", lambda all_: not all_)
    editor.edit(root / "GOAL.md", CHECKED)
    editor.reply(editor.expect("workspace/diagnostic/refresh"), None)
    assert editor.result("textDocument/diagnostic", document)["items"] == []
    editor.edit(root / "GOAL.md", "")
    editor.reply(editor.expect("workspace/diagnostic/refresh"), None)
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    pushed = editor.diagnostics(root / "GOAL.md", lambda _: True)
    assert codes(pushed) in (["empty"], [])
    assert editor.goodbye() == 0
