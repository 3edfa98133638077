"""What a client that declares `clientFeatures.views` is given, and what errors say to clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from donewhen.lsp.positions import file_path

from .editor import Editor

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
    wrong = own_editor.execute_error("donewhen.run.start", {"goalUri": uri})
    assert wrong["data"] == {"line": 1}
    assert "line 2" in wrong["message"]


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
