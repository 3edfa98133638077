"""Halts, approvals that are kept and the start, in an editor: as it is shown, and by a whole server."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from donewhen.core.plugging import Halted
from donewhen.core.work import Interrupt
from donewhen.lsp.goal_diagnostics import DiagnosticContext, collect
from donewhen.lsp.host import Host
from donewhen.lsp.hover import goal_hover
from donewhen.lsp.interrupts import question_text
from donewhen.lsp.lenses import goal_lenses
from donewhen.lsp.server import Connect, serve_streams
from tests import forked
from tests.cli.plugged import plugged_services

from .editor import Editor, codes
from .goals import live, parsed, run_view, stands
from .rawclient import Message

PROGRAM = Path(__file__).parents[1] / "cli" / "plugged.py"
HALT = Halted("office", "it is closed", {"ticket": 7})
ON_RECORD = {"plugin": "office", "reason": "the office is closed", "data": {"ticket": 7}, "resumable": True}


# --------------------------------------------------------------------------------------------- what is shown


def test_a_halted_run_offers_to_go_on_and_keeps_its_marks() -> None:
    view = run_view({"R1": stands("R1", "unmet", ["E1"])}, halt=HALT, reason=HALT.reason)
    titles = [lens.command.title for lens in goal_lenses(live(view)) if lens.command and lens.range.start.line == 0]
    assert titles == ["Resume", "Check now", "Stop"]
    assert [
        one.code for one in collect("GOAL.md", parsed(), view, {}, DiagnosticContext()).diagnostics if one.info
    ] == ["R1"]


@pytest.mark.parametrize("resumable", [True, False])
def test_the_hover_on_the_title_says_who_halted_it_and_why(resumable: bool) -> None:
    halt = replace(HALT, resumable=resumable)
    end: Any = {} if resumable else {"ended": "blocked"}
    hover = goal_hover(live(run_view({}, halt=halt, reason=halt.reason, **end)), 0)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    word = "waits" if resumable else "stopped"
    assert f" · {word}: plugin office: it is closed" in hover.contents.value


def test_the_start_is_asked_with_its_summary() -> None:
    start = Interrupt("I1", "approval", "Start this run?", about="start", preview="Worker: agent\nAt most $5")
    assert question_text(start) == "Start this run?\nWorker: agent\nAt most $5"


# ------------------------------------------------------------------------------------------ by a whole server


async def plugged(connect: Connect) -> int:
    """The server with the plugin, in this process."""
    return await serve_streams(Host(plugged_services()), connect)


class Room:
    """A workspace, a state folder, and servers with the plugin `office` on them, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workspace"
        self.root.mkdir()
        self.goal = self.root / "GOAL.md"
        self._state = folder / "state"
        self._answers = folder / "answers.jsonl"
        self._editors: list[Editor] = []

    def command(self, *argv: str) -> list[str]:
        return [sys.executable, str(PROGRAM), "--state-dir", str(self._state), *argv]

    def editor(self, *, interrupts: bool = False, process: bool = False, **params: Any) -> Editor:
        """A new server with its client; `interrupts`: the client shows them by itself. Its own `process` it needs where
        it is killed, and where the command line answers it: a descendant of this one would be the worker."""
        command = self.command("serve") if process else None
        editor = Editor(self._state, command=command, serve=plugged)
        self._editors.append(editor)
        features = {"clientFeatures": {"interrupts": True}} if interrupts else {}
        settings = {"approve": "ask", "workerCommand": "touch done.txt", "worker": "command"}
        editor.start(root=self.root, options={"settings": settings, **features}, **params)
        return editor

    def start(self, editor: Editor, title: str) -> str:
        self.goal.write_text(f"# {title}\n\n- [ ] `test -f done.txt` passes\n", encoding="utf-8")
        uri = editor.open(self.goal)
        run_id: str = editor.execute("donewhen.run.start", {"goalUri": uri}, timeout=60)["runId"]
        return run_id

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._answers.read_text().splitlines()] if self._answers.exists() else []

    def answer(self, *argv: str) -> forked.Forked:
        """The command line, in another process."""
        return forked.start(
            self.command("--workspace", str(self.root), "answer", *argv), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def close(self) -> None:
        for editor in self._editors:
            editor.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.close()


WAYS = ("button", "command", "line")
"""Who may answer: the message with buttons, the editor's command, the command line in another process."""


def opened(snapshot: Message) -> bool:
    return bool(snapshot["interrupts"])


def complete(snapshot: Message) -> bool:
    return snapshot["status"] == "complete"


@pytest.mark.conformance("C23")
def test_a_halt_is_told_and_answered_from_the_editor(room: Room) -> None:
    editor = room.editor(capabilities={"window": {"workDoneProgress": True}})
    editor.ignored |= {"$/progress", "window/workDoneProgress/create"}
    run_id = room.start(editor, "Halt")
    editor.reply(editor.expect("window/workDoneProgress/create"), None)
    halted = editor.snapshot(run_id, lambda s: s["halt"] is not None)
    assert (halted["status"], halted["halt"], halted["phase"]) == ("waiting", ON_RECORD, None)
    shown = editor.expect("window/showMessage")["params"]["message"]
    assert shown == "“Halt” waits: plugin office: the office is closed"
    editor.diagnostics(room.goal, lambda all_: codes(all_) == ["R1"])  # they stay
    ended = editor.wait_for(lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == "end")
    assert "plugin office" in ended["params"]["value"]["message"]
    for refused in ({"plugin": "other", "data": {"open": True}}, {"data": "yes"}, {}):
        assert editor.execute_error("donewhen.run.resume", {"runId": run_id, **refused})["code"] == -32803
    editor.execute("donewhen.run.resume", {"runId": run_id, "plugin": "office", "data": {"open": True}})
    assert editor.snapshot(run_id, complete)["halt"] is None
    assert room.told() == [{"open": True}]
    editor.inbox[:] = [m for m in editor.inbox if m.get("method") not in editor.ignored]
    assert editor.goodbye() == 0


@pytest.mark.slow
@pytest.mark.conformance("C23")
def test_a_halted_run_is_as_it_was_for_the_next_server(room: Room) -> None:
    first = room.editor()
    run_id = room.start(first, "Halt")
    first.expect("window/showMessage")
    assert first.goodbye() == 0
    second = room.editor()
    shown = second.expect("window/showMessage")  # and nobody offers to resume an interrupted run: nothing was
    assert "the office is closed" in shown["params"]["message"]
    (found,) = second.execute("donewhen.run.status", {"runId": run_id})["snapshots"]
    assert (found["status"], found["halt"]) == ("waiting", ON_RECORD)
    second.execute("donewhen.run.resume", {"runId": run_id, "data": {"open": True}})
    second.snapshot(run_id, complete)
    assert second.goodbye() == 0


def test_a_client_with_its_own_interrupts_gets_the_halt_in_the_snapshot_alone(room: Room) -> None:
    editor = room.editor(interrupts=True)
    run_id = room.start(editor, "Stop")
    ended = editor.snapshot(run_id, lambda s: s["status"] == "blocked")
    assert (ended["halt"]["resumable"], ended["halt"]["data"]) == (False, {"ticket": 7})
    assert editor.goodbye() == 0


@pytest.mark.conformance("A2")
@pytest.mark.parametrize(
    ("button", "status"),
    [
        ("Start", "complete"),
        pytest.param("Don't start", "cancelled", marks=pytest.mark.slow),
        pytest.param(None, None, marks=pytest.mark.slow),
    ],
)
def test_a_run_starts_once_a_person_accepted_the_summary(button: str | None, status: str | None, room: Room) -> None:
    editor = room.editor()
    run_id = room.start(editor, "Start")
    request = editor.expect("window/showMessageRequest")
    assert request["params"]["message"].startswith("Start this run?\nThe worker is a command.\n")
    assert [one["title"] for one in request["params"]["actions"]] == ["Don't start", "Start"]
    assert not (room.root / "done.txt").exists()
    editor.reply(request, None if button is None else {"title": button})
    if status is None:  # closed without a choice: it stays open, for whoever answers by id
        (found,) = editor.execute("donewhen.run.status", {"runId": run_id})["snapshots"]
        assert [one["about"] for one in found["interrupts"]] == ["start"]
        editor.execute("donewhen.run.answer", {"runId": run_id, "interruptId": "I1", "response": "deny"})
        status = "cancelled"
    ended = editor.snapshot(run_id, lambda s: s["status"] == status)
    assert ended["start"]["acceptedBy"] == ("person" if button == "Start" else None)
    assert (room.root / "done.txt").exists() is (button == "Start")
    assert editor.goodbye() == 0


@pytest.mark.conformance("A3")
@pytest.mark.parametrize(
    ("title", "order"),
    [
        pytest.param(title, order, marks=() if order == quick else pytest.mark.slow, id=f"{title}: {' '.join(order)}")
        for title, quick in (("Approve", None), ("Start and Question", WAYS[::-1]))
        for order in itertools.permutations(WAYS)
    ],
)
def test_the_first_answer_counts_wherever_it_comes_from(title: str, order: Sequence[str], room: Room) -> None:
    """Three answers that differ, one after the other or at once: one is taken, and the others change nothing."""
    editor = room.editor(process=True)
    run_id = room.start(editor, title)
    request = editor.expect("window/showMessageRequest")
    asked = editor.snapshot(run_id, opened)["interrupts"][0]["id"]
    start = title.startswith("Start")
    button = "Start" if start else "Always in this workspace"
    about = {"runId": run_id, "interruptId": asked, "response": "approve", "reason": "command"}
    kept = [] if start else ["--for", "run"]
    ways: dict[str, Callable[[], Any]] = {
        "command": lambda: editor.begin(
            "workspace/executeCommand", {"command": "donewhen.run.answer", "arguments": [about]}
        ),
        "button": lambda: editor.reply(request, {"title": button}),
        "line": lambda: room.answer(run_id, asked, "approve", "line", *kept),
    }
    given = {name: ways[name]() for name in order}
    wins = ["error" not in editor.response(given["command"]), given["line"].wait(60) == 0]
    assert sum(wins) <= 1
    if start:
        answer_the_question(editor, run_id)
    editor.snapshot(run_id, complete)
    withdrawn(editor)
    (told,) = room.told()
    if start:
        assert (told["response"], told["text"]) == ("text", "0")
    else:
        expected = [("command", ""), ("line", "run"), ("", "workspace")][[*wins, True].index(True)]
        assert (told["reason"], told["remember"]) == expected
    assert editor.goodbye() == 0


def answer_the_question(editor: Editor, run_id: str) -> None:
    """What comes after the start: a text that is false-like is an answer (C23)."""
    (question,) = editor.snapshot(run_id, lambda s: [i["kind"] for i in s["interrupts"]] == ["question"])["interrupts"]
    editor.expect("window/showMessageRequest")
    answer = {"runId": run_id, "interruptId": question["id"], "response": "text", "text": "0"}
    editor.execute("donewhen.run.answer", answer)


def withdrawn(editor: Editor) -> None:
    """A message whose interrupt was answered elsewhere is taken back; one that was answered itself is not."""
    editor.unread()
    editor.inbox[:] = [m for m in editor.inbox if m.get("method") != "$/cancelRequest"]
    editor.ignored.add("$/cancelRequest")


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("Approve", {"interruptId": "I9", "response": "approve"}, "I9"),
    ("Approve", {"response": "deny", "remember": "run"}, "only `approve`"),
    ("Approve", {"response": "text", "text": "x", "remember": "workspace"}, "only `approve`"),
    ("Approve", {"response": "edit", "remember": "run", "input": {"command": "ls"}}, "only `approve`"),
    ("Approve", {"response": "edit"}, "new input"),
    ("Question", {"response": "approve"}, "answered with deny, text"),
    ("Question", {"response": "edit", "input": {}}, "edit"),
    ("Start", {"response": "approve", "remember": "workspace"}, "asked each time"),
    ("Start", {"response": "text", "text": "later"}, "approve, deny"),
]


@pytest.mark.parametrize("title", ["Approve", "Question", "Start"])
def test_what_an_interrupt_does_not_take_leaves_it_open(title: str, room: Room) -> None:
    editor = room.editor(interrupts=True)
    run_id = room.start(editor, title)
    editor.snapshot(run_id, opened)
    for _, wrong, named in [one for one in WRONG if one[0] == title]:
        error = editor.execute_error("donewhen.run.answer", {"runId": run_id, "interruptId": "I1", **wrong})
        assert (error["code"], named in error["message"]) == (-32602, True), error
    (found,) = editor.execute("donewhen.run.status", {"runId": run_id})["snapshots"]
    assert [one["id"] for one in found["interrupts"]] == ["I1"]
    editor.execute("donewhen.run.stop", {"runId": run_id})
    assert editor.goodbye() == 0
