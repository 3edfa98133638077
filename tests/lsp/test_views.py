"""What a client that declares `clientFeatures.views` is given, and what errors say to clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from donewhen.lsp.positions import file_path

from .editor import Editor

TEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): self.assertEqual(NUMBER, 1)\n"
WORDS = "# Make it nice\n\n- [ ] The code is a pleasure to read\n"
WRONG = "---\nmax_iterations: none\n---\n# Ship it\n\n- [ ] `true` passes\n"


def started(editor: Editor, root: Path, **features: bool) -> str:
    root.mkdir()
    (root / "GOAL.md").write_text("# Ship it\n\n- [ ] `test -f done.txt` passes\n", encoding="utf-8")
    editor.start(root=root, options={"clientFeatures": {"interrupts": True, **features}})
    return (root / "GOAL.md").as_uri()


def test_a_client_that_declares_views_is_told_how_a_run_is_shown(own_editor: Editor, tmp_path: Path) -> None:
    uri = started(own_editor, tmp_path / "w", views=True)
    view = own_editor.execute("donewhen.goal.check", {"goalUri": uri})["view"]
    assert view["status"]["text"] == "Goal · 0 of 1 met"
    assert view["node"]["about"]["goalUri"] == uri
    assert view["node"]["context"] == "goal.checked"
    assert view["actions"][:2] == ["start", "checkNow"]
    assert [one["standing"] for one in view["requirements"]] == ["failed"]


def test_other_clients_get_the_snapshot_alone(own_editor: Editor, tmp_path: Path) -> None:
    uri = started(own_editor, tmp_path / "w")
    assert "view" not in own_editor.execute("donewhen.goal.check", {"goalUri": uri})


def test_a_chat_is_told_where_a_goal_stands(own_editor: Editor, tmp_path: Path) -> None:
    uri = started(own_editor, tmp_path / "w")
    run_id = own_editor.execute("donewhen.goal.check", {"goalUri": uri})["runId"]

    def told(form: str, **more: Any) -> str:
        return own_editor.execute("donewhen.run.tell", {"runId": run_id, "form": form, **more})["text"]

    assert told("model").startswith('Goal "Ship it": checked, not complete. 0 of 1 requirements proven.')
    assert "✗ R1" in told("status")
    assert "exit code 1" in told("why", requirement=1)


def test_all_iterations_of_a_run_can_be_asked_for(own_editor: Editor, tmp_path: Path) -> None:
    uri = started(own_editor, tmp_path / "w", views=True)
    run_id = own_editor.execute("donewhen.goal.check", {"goalUri": uri})["runId"]
    (whole,) = own_editor.execute("donewhen.run.status", {"runId": run_id, "allIterations": True})["snapshots"]
    assert whole["runId"] == run_id


def test_the_documents_of_a_run_are_asked_for_by_what_they_show(own_editor: Editor, tmp_path: Path) -> None:
    uri = started(own_editor, tmp_path / "w")
    run = own_editor.execute("donewhen.goal.check", {"goalUri": uri})
    (evidence,) = run["requirements"][0]["evidenceIds"]

    def document(kind: str, **more: Any) -> Any:
        return own_editor.execute("donewhen.run.document", {"runId": run["runId"], "kind": kind, **more})["text"]

    named = {"runId": run["runId"], "evidenceId": evidence}
    file = file_path(own_editor.execute("donewhen.run.evidence", named)["uri"])
    assert file is not None
    assert document("evidence", evidenceId=evidence) == Path(file).read_text(encoding="utf-8")
    assert document("report") == own_editor.execute("donewhen.run.report", {"runId": run["runId"]})["text"]
    assert document("interrupt", interruptId="I9") is None
    assert document("proposed", interruptId="I9", side="before") is None
    wrong = {"runId": run["runId"], "kind": "proposed", "side": "left"}
    assert "side" in own_editor.execute_error("donewhen.run.document", wrong)["message"]
    assert (
        "E99"
        in own_editor.execute_error("donewhen.run.document", {**named, "kind": "evidence", "evidenceId": "E99"})[
            "message"
        ]
    )


def test_an_error_says_which_line_of_the_goal_file_is_wrong_and_what_is_lacking(
    own_editor: Editor, tmp_path: Path
) -> None:
    uri = started(own_editor, tmp_path / "w")
    lacking = own_editor.execute_error("donewhen.run.start", {"goalUri": uri, "worker": "agent"})
    assert lacking["data"] == {"lacks": "model"}
    (tmp_path / "w" / "GOAL.md").write_text(WRONG, encoding="utf-8")
    for command in ("donewhen.run.start", "donewhen.goal.check"):
        wrong = own_editor.execute_error(command, {"goalUri": uri})
        assert wrong["data"] == {"line": 1}
        assert wrong["message"].startswith("GOAL.md, line 2: max_iterations")


def test_an_error_names_the_run_that_stands_in_the_way(own_editor: Editor, tmp_path: Path) -> None:
    uri = started(own_editor, tmp_path / "w")
    run_id = own_editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
    second = own_editor.execute_error("donewhen.run.start", {"goalUri": uri, "worker": "human"})
    assert second["data"] == {"activeRunId": run_id}


def test_what_is_before_a_person_says_what_they_want(own_editor: Editor, tmp_path: Path) -> None:
    started(own_editor, tmp_path / "w")
    seen = {"line": "# TODO: quote fields", "problems": [{"path": "a.py", "line": 2, "message": "x is unknown"}]}
    proposals = own_editor.execute("donewhen.goal.propose", seen)["proposals"]
    assert [one["objective"] for one in proposals] == ["Quote fields", "Fix a.py:3: x is unknown"]
    test = {"name": "test_add", "id": "/w/test_a.py::test_add", "path": "test_a.py"}
    (one,) = own_editor.execute("donewhen.goal.propose", {"test": test})["proposals"]
    assert one["checks"] == ["python -m pytest -q test_a.py::test_add"]
    problem = {"path": "data.json", "line": 2, "message": "Expected comma"}
    (one,) = own_editor.execute("donewhen.goal.propose", {"problem": problem})["proposals"]
    assert one["objective"] == "Fix in data.json: Expected comma"
    assert one["requirements"] == ["No errors in Problems for `data.json`"]


@pytest.mark.parametrize(
    ("number", "state"),
    [pytest.param(1, "passes now", marks=pytest.mark.slow), (2, "fails now: 1 of 1 test failed")],
)
def test_a_check_that_is_offered_says_how_it_stands_once_it_was_tried(
    own_editor: Editor, tmp_path: Path, number: int, state: str
) -> None:
    started(own_editor, tmp_path / "w")
    (tmp_path / "w" / "test_it.py").write_text(TEST.replace("NUMBER", str(number)), encoding="utf-8")
    (untried,) = own_editor.execute("donewhen.goal.detect", {})["checks"]
    assert (untried["standing"], untried["state"]) == (None, untried["why"])
    (tried,) = own_editor.execute("donewhen.goal.detect", {"tryChecks": True})["checks"]
    assert tried["command"] == untried["command"] == "python -m unittest"
    assert tried["state"].startswith(state)
    set_goal = {"objective": "Make it right", "checks": [tried["command"]], "worker": "human", "tryChecks": False}
    made = own_editor.execute("donewhen.goal.set", set_goal)
    drafted = file_path(made["goalUri"])
    assert drafted is not None
    text = Path(drafted).read_text(encoding="utf-8")
    assert text.startswith("---\nworker: human\n---\n# Make it right\n\n- [ ] `python -m unittest` passes\n")


def test_a_check_that_a_button_asks_for_decides_what_the_run_asked_about(own_editor: Editor, tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    goal = root / "GOAL.md"
    goal.write_text(WORDS, encoding="utf-8")
    options = {"clientFeatures": {"interrupts": True, "views": True}}
    own_editor.start(root=root, options=options, capabilities={"workspace": {"applyEdit": True}})
    uri = own_editor.open(goal)
    run_id = own_editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
    (asked,) = own_editor.snapshot(run_id, lambda s: bool(s["interrupts"]))["interrupts"]
    assert asked["title"].startswith("Nothing can decide R1: The code is a pleasure to read")
    lines = WORDS.splitlines(keepends=True)
    for more, wanted in (
        ({"judgeModel": "openai/judge"}, "---\njudge_model: openai/judge\n---\n"),
        ({"requirementId": "R1", "check": "test -f STYLE.md"}, "  - check: `test -f STYLE.md`\n"),
    ):
        command = {"command": "donewhen.goal.amend", "arguments": [{"goalUri": uri, **more}]}
        number = own_editor.begin("workspace/executeCommand", command)
        request = own_editor.expect("workspace/applyEdit")
        ((edit,),) = request["params"]["edit"]["changes"].values()
        assert edit["newText"] == wanted
        own_editor.reply(request, {"applied": True})
        assert own_editor.response(number)["result"] == {"goalUri": uri}
    at = edit["range"]["start"]["line"]
    own_editor.save(goal, "".join([*lines[:at], edit["newText"], *lines[at:]]))
    now = own_editor.snapshot(run_id, lambda s: not s["interrupts"] and s["requirements"][0]["status"] == "unmet")
    assert now["status"] == "running"
    (root / "STYLE.md").touch()
    own_editor.snapshot(run_id, lambda s: s["status"] == "complete")
