"""Boxes that tick themselves: an edit in the editor, once a run is complete, by which nothing turns stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from .editor import GOAL, Editor


@pytest.mark.parametrize("wanted", [True, False])
def test_boxes_tick_themselves_once_a_run_is_complete_where_that_is_wanted(
    own_editor: Editor, tmp_path: Path, wanted: bool
) -> None:
    editor, root = own_editor, tmp_path / "workspace"
    root.mkdir()
    goal = root / "GOAL.md"
    goal.write_text(GOAL)
    settings = {"tickBoxes": wanted}
    editor.start(root=root, options={"settings": settings}, capabilities={"workspace": {"applyEdit": True}})
    uri = editor.open(goal)
    for name in ("done.txt", "words.txt"):
        (goal.parent / name).write_text("hi\n")
    run_id = editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
    editor.snapshot(run_id, lambda s: s["status"] == "complete" and (wanted or s["freshness"] is not None))
    if not wanted:
        assert not [one for one in editor.inbox if one.get("method") == "workspace/applyEdit"]
        return
    request = editor.expect("workspace/applyEdit")
    (edits,) = request["params"]["edit"]["changes"].values()
    assert [edit["newText"] for edit in edits] == ["[x]", "[x]"]
    lines = goal.read_text().splitlines()
    for edit in edits:
        at, to = edit["range"]["start"], edit["range"]["end"]
        line = lines[at["line"]]
        assert line[at["character"] : to["character"]] == "[ ]"
        lines[at["line"]] = line[: at["character"]] + "[x]" + line[to["character"] :]
    ticked = "\n".join(lines) + "\n"
    editor.reply(request, {"applied": True})
    editor.edit(goal, ticked)
    goal.write_text(ticked)
    # A tick is not an edit of the proof: nothing turns stale by it.
    assert editor.snapshot(run_id, lambda s: s["freshness"] is not None)["freshness"]["fresh"]
    assert editor.execute("donewhen.run.status", {"runId": run_id})["snapshots"][0]["complete"] is True
    assert editor.goodbye() == 0
