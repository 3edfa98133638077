"""Two windows on one workspace follow one run; when the one that pursues it dies, the other offers to take it over."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forked

from .editor import SERVE, Editor
from .rawclient import Message

CHECKED = "# G\n\n- [ ] `test -f done.txt` passes\n"
UNDECIDABLE = "# G\n\n- [ ] It feels right\n"
VIEWS: dict[str, Any] = {"options": {"clientFeatures": {"views": True, "interrupts": True}}}


class Windows:
    """Windows on one workspace folder, each with a server of its own."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root, self._state = root, state
        self._open: list[Editor] = []

    def window(self, *, killable: bool = False, trusted: bool = True, **params: Any) -> Editor:
        editor = Editor(self._state, command=SERVE if killable else None)
        self._open.append(editor)
        editor.start(root=self.root, trusted=trusted, **params)
        # The answer comes once the folder is open.
        editor.execute("donewhen.run.status", {})
        return editor

    def first(self) -> tuple[Editor, str]:
        """A window whose run, of worker human, other windows will follow."""
        editor = self.window(killable=True)
        uri = editor.open(self.root / "GOAL.md")
        return editor, editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]

    def close(self) -> None:
        for editor in self._open:
            editor.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "GOAL.md").write_text(CHECKED)
    return folder


@pytest.fixture
def windows(root: Path, tmp_path: Path) -> Iterator[Windows]:
    opened = Windows(root, tmp_path / "state")
    yield opened
    opened.close()


def seen_running(editor: Editor, run_id: str) -> None:
    """The window follows the run of another one."""
    known = editor.execute("donewhen.run.status", {"runId": run_id})["snapshots"]
    if not known or known[0]["status"] not in ("running", "waiting"):
        editor.snapshot(run_id, lambda s: s["status"] in ("running", "waiting"))


def offered(editor: Editor, run_id: str) -> Message:
    """The message in which the window offers to take the run over."""
    snapshot = editor.snapshot(run_id, lambda s: s["status"] == "interrupted")
    assert snapshot["takeOver"]
    return offer(editor)


def offer(editor: Editor) -> Message:
    message = editor.expect("window/showMessageRequest")
    assert [action["title"] for action in message["params"]["actions"]] == ["Not now", "Take over"]
    return message


def die(editor: Editor) -> None:
    editor.process.kill()
    editor.process.wait()


def asked(editor: Editor, run_id: str) -> list[Message]:
    return editor.execute("donewhen.run.status", {"runId": run_id})["snapshots"][0]["interrupts"]


@pytest.mark.process
def test_the_second_window_goes_on_with_the_run_of_one_that_was_killed(windows: Windows, root: Path) -> None:
    first, run_id = windows.first()
    second = windows.window()
    seen_running(second, run_id)
    die(first)
    message = offered(second, run_id)
    lenses = second.result("textDocument/codeLens", {"textDocument": {"uri": (root / "GOAL.md").as_uri()}})
    assert "Take over" in [lens["command"]["title"] for lens in lenses]
    second.reply(message, {"title": "Take over"})
    assert not second.snapshot(run_id, lambda s: s["status"] == "running")["takeOver"]
    (root / "done.txt").touch()
    second.snapshot(run_id, lambda s: s["status"] == "complete")
    assert second.goodbye() == 0


@pytest.mark.slow
@pytest.mark.process
def test_nobody_takes_over_unasked_and_the_offer_goes_when_another_one_does(windows: Windows, root: Path) -> None:
    first, run_id = windows.first()
    second = windows.window()
    seen_running(second, run_id)
    die(first)
    message = offered(second, run_id)
    terminal = forked.start(
        [
            sys.executable,
            "-m",
            "donewhen",
            "resume",
            run_id,
            "--state-dir",
            str(second.state),
            "--workspace",
            str(root),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    try:
        assert not second.snapshot(run_id, lambda s: s["status"] == "running")["takeOver"]
        assert second.expect("$/cancelRequest")["params"]["id"] == message["id"]
        (root / "done.txt").touch()
        assert not second.snapshot(run_id, lambda s: s["status"] == "complete")["takeOver"]
        assert terminal.wait(60) == 0
    finally:
        terminal.kill()
        terminal.wait()
    assert second.goodbye() == 0


@pytest.mark.slow
@pytest.mark.process
def test_of_two_windows_that_take_it_over_one_does_and_the_other_follows(windows: Windows, root: Path) -> None:
    first, run_id = windows.first()
    others = [windows.window(killable=True), windows.window(killable=True)]
    for other in others:
        seen_running(other, run_id)
    die(first)
    messages = [offered(other, run_id) for other in others]
    for other, message in zip(others, messages, strict=True):
        other.reply(message, {"title": "Take over"})
    for other in others:
        other.snapshot(run_id, lambda s: s["status"] == "running")
    (root / "done.txt").touch()
    for other in others:
        other.snapshot(run_id, lambda s: s["status"] == "complete")
        # No window is told of an error: whoever came second has what it asked for.
        other.ignored |= {"$/cancelRequest"}
        assert other.goodbye() == 0


@pytest.mark.slow
@pytest.mark.process
def test_a_question_is_answered_in_the_second_window_before_it_takes_over(windows: Windows, root: Path) -> None:
    (root / "GOAL.md").write_text(UNDECIDABLE)
    first, run_id = windows.first()
    first.expect("window/showMessageRequest")
    second = windows.window()
    seen_running(second, run_id)
    question = second.expect("window/showMessageRequest")
    die(first)
    message = offered(second, run_id)
    assert second.expect("$/cancelRequest")["params"]["id"] == question["id"]
    (one,) = asked(second, run_id)
    second.execute("donewhen.run.answer", {"runId": run_id, "interruptId": one["id"], "response": "approve"})
    second.reply(message, {"title": "Take over"})
    second.snapshot(run_id, lambda s: s["status"] == "complete")
    assert second.goodbye() == 0


@pytest.mark.slow
@pytest.mark.process
def test_what_was_asked_is_asked_again_by_the_window_that_took_over(windows: Windows, root: Path) -> None:
    (root / "GOAL.md").write_text(UNDECIDABLE)
    first, run_id = windows.first()
    first.expect("window/showMessageRequest")
    second = windows.window()
    seen_running(second, run_id)
    question = second.expect("window/showMessageRequest")
    die(first)
    message = offered(second, run_id)
    assert second.expect("$/cancelRequest")["params"]["id"] == question["id"]
    second.reply(message, {"title": "Take over"})
    again = second.expect("window/showMessageRequest")
    assert [action["title"] for action in again["params"]["actions"]] == ["Leave it unproven", "Waive"]
    second.reply(again, {"title": "Waive"})
    second.snapshot(run_id, lambda s: s["status"] == "complete")
    assert second.goodbye() == 0


@pytest.mark.slow
@pytest.mark.process
def test_a_window_that_shows_it_in_its_own_way_is_told_in_the_view(windows: Windows, root: Path) -> None:
    first, run_id = windows.first()
    second = windows.window(**VIEWS)
    seen_running(second, run_id)
    die(first)
    snapshot = second.snapshot(run_id, lambda s: s["takeOver"])
    view = snapshot["view"]
    assert "takeOver" in view["actions"]
    assert "resume" not in view["actions"]
    assert "take over?" in view["status"]["text"]
    assert view["goesOn"]
    assert view["node"]["context"].endswith(".takeOver")
    resumed = second.execute("donewhen.run.resume", {"runId": run_id})
    assert (resumed["status"], resumed["takeOver"]) == ("running", False)
    assert "takeOver" not in resumed["view"]["actions"]
    assert second.goodbye() == 0


@pytest.mark.process
def test_a_run_is_not_taken_over_where_nobody_trusts_the_workspace(windows: Windows, root: Path) -> None:
    first, run_id = windows.first()
    second = windows.window(trusted=False)
    seen_running(second, run_id)
    die(first)
    second.snapshot(run_id, lambda s: s["takeOver"])
    assert "not trusted" in second.execute_error("donewhen.run.resume", {"runId": run_id})["message"]
    assert not [m for m in second.inbox if m.get("method") == "window/showMessageRequest"]
    second.notify("donewhen/didChangeTrust", {"trusted": True})
    second.reply(offer(second), {"title": "Take over"})
    second.snapshot(run_id, lambda s: s["status"] == "running")
    assert second.goodbye() == 0


def test_a_window_that_is_closed_leaves_its_run_to_the_other_one(windows: Windows, root: Path) -> None:
    first, second = windows.window(), windows.window()
    uri = first.open(root / "GOAL.md")
    run_id = first.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
    seen_running(second, run_id)
    assert first.goodbye() == 0
    second.reply(offered(second, run_id), {"title": "Not now"})
    # It is offered once; the lens, and the command, stay.
    assert second.execute("donewhen.run.stop", {"runId": run_id})["status"] == "cancelled"
    assert not second.snapshot(run_id, lambda s: s["status"] == "cancelled")["takeOver"]
    assert second.goodbye() == 0


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pause", "stop"])
def test_what_a_person_ends_is_not_offered(windows: Windows, root: Path, way: str) -> None:
    first, second = windows.window(), windows.window()
    uri = first.open(root / "GOAL.md")
    run_id = first.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
    seen_running(second, run_id)
    first.execute(f"donewhen.run.{way}", {"runId": run_id})
    ended = second.snapshot(run_id, lambda s: s["status"] in ("paused", "cancelled"))
    assert not ended["takeOver"]
    assert first.goodbye() == 0
    assert not second.execute("donewhen.run.status", {"runId": run_id})["snapshots"][0]["takeOver"]
    assert not second.unread()
    assert second.goodbye() == 0
