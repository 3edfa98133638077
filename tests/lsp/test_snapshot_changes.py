"""A client that takes changes of snapshots knows what one that takes them whole knows, and is sent less."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.wire.patch import applied

from .editor import Editor
from .rawclient import Message

MANY = 20
FEATURES = {"views": True, "interrupts": True, "snapshotChanges": True}


def opened(editor: Editor, root: Path, features: dict[str, bool]) -> str:
    root.mkdir()
    lines = (f"- [ ] File {one} is there\n  - check: `test -e f{one}`\n" for one in range(MANY))
    (root / "GOAL.md").write_text("# Many\n\n" + "".join(lines), encoding="utf-8")
    editor.start(root=root, options={"clientFeatures": features})
    uri = editor.open(root / "GOAL.md")
    return editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]


class Followed:
    """What a client makes of what it is sent of one run."""

    def __init__(self, editor: Editor, run_id: str) -> None:
        self._editor, self._run_id = editor, run_id
        self.document: dict[str, Any] = {}
        self.wholes = self.changes = self.bytes = 0

    def until(self, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first snapshot that is as wanted."""
        while not self.document or not reached(self.document):
            self._take(self._editor.wait_for(self._is_of_it))
        return self.document

    def _is_of_it(self, message: Message) -> bool:
        sent = message.get("method") in ("donewhen/snapshot", "donewhen/snapshotChanged")
        return sent and message["params"]["runId"] == self._run_id

    def _take(self, message: Message) -> None:
        params = message["params"]
        if message["method"] == "donewhen/snapshot":
            self.document, self.wholes = params, self.wholes + 1
            return
        assert params["base"] == self.document["version"], "each change is of the snapshot before"
        self.document = {**applied(self.document, params["changes"]), "version": params["version"]}
        assert params["sequence"] == self.document["sequence"]
        self.changes += 1
        self.bytes += len(json.dumps(params))


def test_all_changes_in_their_order_are_the_whole_snapshot(own_editor: Editor, tmp_path: Path) -> None:
    editor, root = own_editor, tmp_path / "w"
    run_id = opened(editor, root, FEATURES)
    followed = Followed(editor, run_id)
    followed.until(lambda one: one["counts"]["unmet"] == MANY)
    for number in range(0, MANY, 5):
        for one in range(number, number + 5):
            (root / f"f{one}").touch()
        followed.until(lambda one, met=number + 5: one["counts"]["met"] == met)
    followed.until(lambda one: one["status"] == "complete")
    assert followed.wholes == 1
    assert followed.changes >= 5
    (whole,) = editor.execute("donewhen.run.status", {"runId": run_id})["snapshots"]
    followed.until(lambda one: one["sequence"] >= whole["sequence"])
    assert {**followed.document, "version": 0} == {**whole, "version": 0}
    assert followed.bytes < followed.changes * len(json.dumps(whole)) / 3
    # Whoever asks for it may have lost track: what comes next is whole.
    (root / "f0").unlink()
    followed.until(lambda one: one["counts"]["stale"] > 0)
    assert followed.wholes == 2
    assert editor.goodbye() == 0


def test_other_clients_get_whole_snapshots_alone(own_editor: Editor, tmp_path: Path) -> None:
    editor, root = own_editor, tmp_path / "w"
    run_id = opened(editor, root, {"views": True, "interrupts": True})
    first = editor.snapshot(run_id, lambda one: one["counts"]["unmet"] == MANY)
    assert "version" not in first
    (root / "f0").touch()
    assert len(editor.snapshot(run_id, lambda one: one["counts"]["met"] == 1)["requirements"]) == MANY
    assert not [one for one in editor.unread() if one["method"] == "donewhen/snapshotChanged"]
    assert editor.goodbye() == 0
