"""The editor as evidence, over a real session: its diagnostics, its open files, its unsaved text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor
from .rawclient import Message

GOAL = "# G\n\n- [ ] No errors in Problems for `*.json`\n"
SPOT = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
ERROR = {"range": SPOT, "message": "a comma is missing", "severity": 1, "source": "json"}


class Forwarder:
    """A goal, a file of its kind, and what the client says about it."""

    def __init__(self, editor: Editor, folder: Path) -> None:
        self.editor = editor
        self.code = folder / "a.json"
        self.code.write_text('{"a": 1 "b": 2}\n', encoding="utf-8")
        self.goal = folder / "GOAL.md"
        self.goal.write_text(GOAL, encoding="utf-8")
        self.uri = editor.open(self.goal)
        self.run_id = ""

    def say(self, *diagnostics: Any, **more: Any) -> None:
        given = {"uri": self.code.as_uri(), "diagnostics": list(diagnostics), **more}
        self.editor.notify("donewhen/editorDiagnostics", given)

    def check(self) -> Message:
        return self.editor.execute("donewhen.goal.check", {"goalUri": self.uri})["requirements"][0]

    def start(self) -> None:
        self.run_id = self.editor.execute("donewhen.run.start", {"goalUri": self.uri, "worker": "human"})["runId"]

    def wait(self, status: str) -> Message:
        return self.editor.snapshot(self.run_id, lambda s: s["requirements"][0]["status"] == status)

    def ended(self) -> Message:
        return self.editor.snapshot(self.run_id, lambda s: s["status"] not in ("running", "waiting"))


@pytest.fixture
def editor(own_editor: Editor) -> Iterator[Editor]:
    own_editor.start(options={"clientFeatures": {"editorDiagnostics": True, "interrupts": True}})
    yield own_editor
    assert own_editor.goodbye() == 0


@pytest.fixture
def given(editor: Editor, tmp_path: Path) -> Forwarder:
    folder = tmp_path / "project"
    folder.mkdir()
    return Forwarder(editor, folder)


def test_what_was_forwarded_before_anything_was_opened_counts(given: Forwarder) -> None:
    given.say(ERROR)
    for bad in ({}, {"uri": given.code.as_uri(), "diagnostics": [{}]}, {"uri": "untitled:1", "diagnostics": []}):
        given.editor.notify("donewhen/editorDiagnostics", bad)
    given.editor.open(given.code)
    found = given.check()
    assert (found["status"], found["decidedBy"]) == ("unmet", "check")
    assert found["reason"] == "the editor reports 1 error: a.json:1: a comma is missing"
    assert found["locations"][0]["uri"] == given.code.as_uri()
    given.editor.diagnostics(given.goal, lambda marks: [mark["code"] for mark in marks] == ["R1"])
    published = [message["params"] for message in given.editor.inbox if "diagnostics" in message.get("params", {})]
    assert [one for one in published if one["uri"] == given.code.as_uri() and one["diagnostics"]] == []


def test_a_diagnostic_is_recorded_where_the_client_counts_it_and_may_have_fields_that_nobody_knows(
    given: Forwarder,
) -> None:
    given.code.write_text('["🎯" 1]\n', encoding="utf-8")
    given.editor.open(given.code)
    start = {"line": 0, "character": 6}  # in UTF-16, where an emoji is two
    given.say(ERROR | {"range": {"start": start, "end": {"line": 0, "character": 7}}, "tags": [1]})
    (place,) = given.check()["locations"]
    assert (place["uri"], place["range"]["start"]) == (given.code.as_uri(), start)


@pytest.mark.slow
def test_files_that_the_editor_never_looked_at_are_unverified(given: Forwarder) -> None:
    found = given.check()
    assert (found["status"], "open one" in found["reason"]) == ("unverified", True)
    given.editor.open(given.code)
    assert given.check()["status"] == "met"


def test_a_run_notices_what_the_editor_says_later(given: Forwarder) -> None:
    given.editor.open(given.code)
    given.say(ERROR)
    given.start()
    given.wait("unmet")
    given.say()
    last = given.ended()
    assert (last["status"], last["complete"], last["iteration"]) == ("complete", True, 1)


@pytest.mark.slow
def test_our_own_marks_and_repeated_reports_are_no_news(given: Forwarder) -> None:
    given.editor.open(given.code)
    given.say(ERROR)
    given.start()
    shown = given.wait("unmet")
    shown = given.editor.snapshot(given.run_id, lambda s: s["phase"] == "working") if not shown["phase"] else shown
    for _ in range(20):
        given.say(ERROR, ERROR | {"source": "donewhen", "message": "R1"})
    given.say(ERROR | {"message": "another one"})
    after = given.editor.snapshot(given.run_id, lambda s: "another one" in s["requirements"][0]["reason"])
    assert after["sequence"] <= shown["sequence"] + 4
    given.editor.execute("donewhen.run.stop", {"runId": given.run_id})


def test_unsaved_text_proves_nothing_until_it_is_saved(given: Forwarder) -> None:
    given.editor.open(given.code)
    given.editor.edit(given.code, '{"a": 1}\n')
    given.say()
    found = given.check()
    assert (found["status"], "unsaved text in `a.json`" in found["reason"]) == ("unverified", True)
    given.start()
    given.wait("unverified")
    given.editor.save(given.code, '{"a": 1}\n')
    assert given.ended()["status"] == "complete"


@pytest.mark.slow
def test_unsaved_text_that_is_given_up_is_noticed_too(given: Forwarder) -> None:
    given.editor.open(given.code)
    given.editor.edit(given.code, '{"a": 1}\n')
    given.say()
    given.start()
    given.wait("unverified")
    given.editor.notify("textDocument/didClose", {"textDocument": {"uri": given.code.as_uri()}})
    given.say(ERROR)
    given.wait("unmet")
    given.editor.execute("donewhen.run.stop", {"runId": given.run_id})


@pytest.mark.slow
def test_versions_tell_late_reports_and_those_of_an_older_text(given: Forwarder) -> None:
    given.editor.open(given.code)
    given.say(version=1)
    given.editor.save(given.code, '{"a": 2}\n')
    found = given.check()
    assert (found["status"], "current text of `a.json`" in found["reason"]) == ("unverified", True)
    given.say(version=2)
    given.say(ERROR, version=1)
    assert given.check()["status"] == "met"


def test_versions_start_anew_where_a_file_is_opened_again(given: Forwarder) -> None:
    given.editor.open(given.code)
    given.editor.edit(given.code, "{}\n")
    given.say(version=2)
    given.editor.notify("textDocument/didClose", {"textDocument": {"uri": given.code.as_uri()}})
    given.editor.open(given.code)
    given.say(ERROR, version=1)
    assert given.check()["status"] == "unmet"


@pytest.mark.slow
def test_what_the_client_left_out_is_told(given: Forwarder) -> None:
    given.say(ERROR, omitted=700)
    found = given.check()
    assert "2 errors" in found["reason"]
    assert "and 700 more" in found["locations"][1]["message"]
    given.say(ERROR | {"severity": 2}, omitted=7)
    assert given.check()["status"] == "met"


def test_a_client_that_comes_later_starts_without_the_word_of_the_one_before(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", tmp_path / "project"
    folder.mkdir()
    for features, reason in (({"editorDiagnostics": True}, "a comma"), ({}, "no editor forwards")):
        client = Editor(state)
        client.start(options={"clientFeatures": features})
        given = Forwarder(client, folder)
        if features:
            given.say(ERROR)
        assert reason in given.check()["reason"]
        assert client.goodbye() == 0
        client.close()


def test_a_run_that_goes_on_in_a_new_session_asks_the_editor_again(given: Forwarder, tmp_path: Path) -> None:
    given.editor.open(given.code)
    given.say(ERROR)
    given.start()
    given.wait("unmet")
    other = Editor(tmp_path / "state")
    other.start(root=given.code.parent, options={"clientFeatures": {"editorDiagnostics": True, "interrupts": True}})
    other.open(given.code)
    paused = given.editor.execute("donewhen.run.pause", {"runId": given.run_id})
    assert paused["requirements"][0]["status"] == "unmet"
    other.execute("donewhen.run.resume", {"runId": given.run_id})
    last = other.snapshot(given.run_id, lambda s: s["status"] not in ("running", "waiting", "paused"))
    assert last["status"] == "complete"
    assert other.goodbye() == 0
    other.close()
