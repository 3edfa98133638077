"""A client of sparse snapshots knows what one of whole snapshots knows, and is sent less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor

MANY = 60
FEATURES = {"views": True, "interrupts": True}
SPARSE = {**FEATURES, "sparseSnapshots": True}


def opened(editor: Editor, root: Path, features: dict[str, bool], count: int) -> str:
    """The run of a goal of so many requirements, of which all but the first ten are met."""
    root.mkdir()
    for one in range(10, count):
        (root / f"f{one}").touch()
    lines = (f"- [ ] File {one} is there\n  - check: `test -e f{one}`\n" for one in range(count))
    (root / "GOAL.md").write_text("# Many\n\n" + "".join(lines), encoding="utf-8")
    editor.start(root=root, options={"clientFeatures": features})
    uri = editor.open(root / "GOAL.md")
    return editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]


class Followed:
    """What a client makes of the snapshots that it is sent of one run."""

    def __init__(self, editor: Editor, run_id: str) -> None:
        self._editor, self._run_id = editor, run_id
        self._rows: list[list[Any]] = [[], []]
        self.last: dict[str, Any] = {}
        """As it was sent."""

    def until(self, **wanted: int) -> dict[str, Any]:
        """The whole snapshot, once so many requirements are met, waived and so on."""
        while not self.last or not wanted.items() <= self.last["counts"].items():
            self.last = self._editor.wait_for(
                lambda one: one.get("method") == "donewhen/snapshot" and one["params"]["runId"] == self._run_id
            )["params"]
            now = [self.last["requirements"], self.last["view"]["requirements"]]
            self._rows = [
                [then[at] if one is None else one for at, one in enumerate(rows)]
                for rows, then in zip(now, self._rows, strict=True)
            ]
        view = {**self.last["view"], "requirements": self._rows[1]}
        return {**self.last, "requirements": self._rows[0], "view": view}


@pytest.mark.slow
def test_a_change_of_one_requirement_among_many_is_a_small_message(own_editor: Editor, tmp_path: Path) -> None:
    editor, root = own_editor, tmp_path / "w"
    run_id = opened(editor, root, SPARSE, MANY)
    followed = Followed(editor, run_id)
    first = followed.until(met=MANY - 10, unmet=10)["requirements"][0]
    waiver = {"runId": run_id, "requirementId": first["id"], "reason": "not needed"}
    whole = editor.execute("donewhen.run.override", waiver)
    shown = followed.until(waived=1)
    assert len([one for one in followed.last["requirements"] if one is not None]) == 1
    assert len(json.dumps(followed.last)) < len(json.dumps(whole)) / 4
    assert shown["requirements"] == whole["requirements"]
    assert shown["view"]["requirements"] == whole["view"]["requirements"]
    row = whole["view"]["requirements"][1]["node"]
    assert (row["later"], row["children"]) == (2, [])
    asked = editor.execute("donewhen.run.children", {"runId": run_id, "node": row["id"]})
    assert [one["click"] for one in asked["children"]] == [None, "evidence"]
    assert editor.execute("donewhen.run.children", {"runId": run_id, "node": "none"}) == {"children": []}
    assert editor.goodbye() == 0


@pytest.mark.slow
def test_other_clients_get_whole_snapshots(own_editor: Editor, tmp_path: Path) -> None:
    editor, root = own_editor, tmp_path / "w"
    run_id = opened(editor, root, {**FEATURES, "snapshotChanges": True}, 20)
    editor.snapshot(run_id, lambda one: one["counts"]["met"] == 10)
    (root / "f0").touch()
    shown = editor.snapshot(run_id, lambda one: one["counts"]["met"] == 11)
    assert all(shown["requirements"])
    assert len(shown["view"]["node"]["children"]) >= 20
    assert editor.goodbye() == 0
