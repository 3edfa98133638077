"""What a model says about a goal before a run: proposals and hints, over a real process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .advice_server import advised
from .editor import Editor
from .rawclient import Message

PROGRESS = {"window": {"workDoneProgress": True}}
COST = {"inputTokens": 1_200, "outputTokens": 34, "cachedTokens": 100, "usd": None}
SET = {"command": "donewhen.goal.set", "arguments": [{"objective": "Ship it"}]}


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    client = Editor(tmp_path / "state", serve=advised)
    yield client
    client.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def start(editor: Editor, root: Path, model: str | None, *, trusted: bool = True, **params: Any) -> None:
    options: Message = {"settings": {"model": model, "judgeModel": "openai/judge"} if model else {}}
    editor.start(root=root, trusted=trusted, options=options, **params)


def test_a_goal_that_is_set_holds_what_the_model_proposes(editor: Editor, root: Path) -> None:
    start(editor, root, "willing")
    result = editor.execute("donewhen.goal.set", {"objective": "Ship it"})
    assert result["cost"] == COST
    uri = result["goalUri"]
    assert uri == (root / "GOAL.md").as_uri()
    text = (root / "GOAL.md").read_text()
    assert "proposed by willing: Ship it is documented" in result["notes"]
    assert "<!--" not in text
    assert "- [ ] Ship it is documented\n" in text
    assert "adviser closed" in editor.stderr
    assert editor.goodbye() == 0


@pytest.mark.parametrize(
    ("model", "trusted", "argument"),
    [
        (None, True, {}),
        ("willing", False, {}),
        ("willing", True, {"requirements": ["Mine alone"]}),
        ("willing", True, {"requirements": []}),
    ],
    ids=["no model", "not trusted", "given", "none wanted"],
)
def test_nobody_is_asked_where_it_isnt_wanted(
    editor: Editor, root: Path, model: str | None, trusted: bool, argument: Message
) -> None:
    start(editor, root, model, trusted=trusted)
    result = editor.execute("donewhen.goal.set", {"objective": "Ship it"} | argument)
    text = (root / "GOAL.md").read_text()
    assert not any("proposed by" in note for note in result["notes"])
    assert all(f"- [ ] {one}\n" in text for one in argument.get("requirements", ()))
    assert editor.goodbye() == 0


def test_a_model_that_is_down_keeps_nobody_from_a_goal(editor: Editor, root: Path) -> None:
    start(editor, root, "down")
    assert editor.execute("donewhen.goal.set", {"objective": "Ship it"})["cost"] == COST
    assert "the model can't be asked" in editor.expect("window/showMessage")["params"]["message"]
    assert "- [ ] Ship it\n" in (root / "GOAL.md").read_text()
    assert editor.goodbye() == 0


def test_asking_shows_progress_that_a_person_can_cancel(editor: Editor, root: Path) -> None:
    start(editor, root, "silent", capabilities=PROGRESS)
    number = editor.begin("workspace/executeCommand", SET)
    create = editor.expect("window/workDoneProgress/create")
    editor.reply(create, None)
    begin = editor.expect("$/progress")["params"]
    assert begin["value"] == {"kind": "begin", "title": "Asking silent for requirements", "cancellable": True}
    # The server answers others meanwhile.
    assert editor.execute("donewhen.goal.detect", {})["checks"] == []
    editor.notify("window/workDoneProgress/cancel", {"token": begin["token"]})
    assert editor.response(number)["result"] == {"goalUri": (root / "GOAL.md").as_uri(), "notes": [], "cost": COST}
    assert editor.expect("$/progress")["params"]["value"]["kind"] == "end"
    assert "- [ ] Ship it is documented" not in (root / "GOAL.md").read_text()
    assert editor.goodbye() == 0


def test_a_cancelled_request_drafts_nothing(editor: Editor, root: Path) -> None:
    start(editor, root, "silent", capabilities=PROGRESS)
    number = editor.begin("workspace/executeCommand", SET)
    create = editor.expect("window/workDoneProgress/create")
    editor.notify("$/cancelRequest", {"id": number})
    assert editor.response(number)["error"]["code"] == -32800
    editor.wait_for_stderr("adviser closed")
    editor.reply(create, None)
    assert not (root / "GOAL.md").exists()
    assert editor.goodbye() == 0


def test_hints_come_from_the_text_that_the_editor_shows(editor: Editor, root: Path) -> None:
    goal = root / "GOAL.md"
    goal.write_text("# G\n\n- [ ] `make` passes\n")
    start(editor, root, "willing")
    uri = editor.open(goal)
    editor.edit(goal, "# G\n\n- [ ] It works well\n- [ ] `make` passes\n")
    result = editor.execute("donewhen.goal.preflight", {"goalUri": uri})
    assert result["cost"] == COST
    hints = result["hints"]
    assert [hint["number"] for hint in hints] == [1, 1]
    assert "“works well” is hard to prove" in hints[0]["message"]
    assert hints[0]["requirementId"].startswith("r-")
    assert hints[1] == {"requirementId": "r-1", "number": 1, "message": "the text has 4 lines"}
    editor.edit(goal, "---\nmax_iterations: 0\n---\n# G\n\n- [ ] x\n")
    assert editor.execute_error("donewhen.goal.preflight", {"goalUri": uri})["code"] == -32803
    assert editor.execute_error("donewhen.goal.preflight", {"goalUri": "file:///x.txt"})["code"] == -32602
    assert editor.goodbye() == 0


@pytest.mark.parametrize(("model", "trusted"), [(None, True), ("willing", False), ("down", True)])
def test_hints_need_no_model(editor: Editor, root: Path, model: str | None, trusted: bool) -> None:
    (root / "GOAL.md").write_text("# G\n\n- [ ] It works well\n")
    start(editor, root, model, trusted=trusted)
    editor.ignored.add("window/showMessage")
    result = editor.execute("donewhen.goal.preflight", {"goalUri": (root / "GOAL.md").as_uri()})
    assert [hint["number"] for hint in result["hints"]] == [1]
    assert ("cost" in result) is (model == "down")
    assert editor.goodbye() == 0
