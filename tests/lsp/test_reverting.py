"""Reverting an integrity finding from an editor: what a person edited since is kept, and asked about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor, wait_until

GOAL = "---\nprotect: [agreed.txt]\nmax_iterations: 1\n---\n# Ship it\n\n- [ ] `test -f done.txt` passes\n"


class Cheated:
    """A run that was capped after its worker changed a protected file."""

    def __init__(self, root: Path, state: Path, *, interrupts: bool) -> None:
        self.file = root / "agreed.txt"
        self.file.write_text("agreed\n")
        (root / "GOAL.md").write_text(GOAL)
        self.editor = Editor(state)
        settings = {"worker": "command", "workerCommand": "sh -c 'echo cheat > agreed.txt'"}
        features = {"interrupts": interrupts}
        self.editor.start(root=root, options={"settings": settings, "clientFeatures": features})
        given = {"goalUri": (root / "GOAL.md").as_uri()}
        self.run_id: str = self.editor.execute("donewhen.run.start", given)["runId"]
        ended = self.editor.snapshot(self.run_id, lambda s: s["status"] == "capped")
        assert [one["id"] for one in ended["integrity"]] == ["F1"]

    def revert(self, **more: Any) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self.editor.execute(
            "donewhen.run.revert", {"runId": self.run_id, "findingId": "F1", **more}
        )
        return found


@pytest.fixture
def cheated(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cheated]:
    root = tmp_path / "project"
    root.mkdir()
    made = Cheated(root, tmp_path / "state", interrupts=request.param)
    yield made
    made.editor.close()


@pytest.mark.parametrize("cheated", [False], indirect=True)
def test_an_edit_since_the_finding_is_kept_and_asked_about(cheated: Cheated) -> None:
    cheated.file.write_text("mine\n")
    for pressed in ("Keep it", "Overwrite it"):
        assert cheated.revert() == {"changedFiles": [], "kept": [cheated.file.as_uri()]}
        assert cheated.file.read_text() == "mine\n"
        question = cheated.editor.expect("window/showMessageRequest")
        assert "agreed.txt was edited since" in question["params"]["message"]
        assert "What is there now is set aside" in question["params"]["message"]
        cheated.editor.reply(question, {"title": pressed})
    wait_until(lambda: cheated.file.read_text() == "agreed\n")
    assert cheated.editor.goodbye() == 0


@pytest.mark.parametrize("cheated", [False], indirect=True)
def test_all_that_a_run_changed_is_listed_and_gone_once_it_is_put_back(cheated: Cheated) -> None:
    told = cheated.editor.execute("donewhen.run.changes", {"runId": cheated.run_id})
    assert told == {"files": [{"uri": cheated.file.as_uri(), "before": True, "now": True}]}
    named = {"runId": cheated.run_id, "iteration": 0, "uris": [cheated.file.as_uri()]}
    assert cheated.editor.execute("donewhen.run.revert", named)["changedFiles"] == [cheated.file.as_uri()]
    assert cheated.editor.execute("donewhen.run.changes", {"runId": cheated.run_id}) == {"files": []}
    assert cheated.editor.goodbye() == 0


@pytest.mark.parametrize("cheated", [True], indirect=True)
def test_a_client_that_asks_by_itself_forces_it_by_argument(cheated: Cheated) -> None:
    cheated.file.write_text("mine\n")
    assert cheated.revert()["kept"] == [cheated.file.as_uri()]
    assert cheated.revert(force=True) == {"changedFiles": [cheated.file.as_uri()], "kept": []}
    assert cheated.file.read_text() == "agreed\n"
    argument = {"runId": cheated.run_id, "findingId": "F1", "uris": []}
    assert "findingId" in cheated.editor.execute_error("donewhen.run.revert", argument)["message"]
    assert cheated.editor.goodbye() == 0
