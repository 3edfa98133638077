"""A record with a run that can't be read: the editor is told which, and goes on with everything else."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from .editor import Editor


def test_an_unreadable_run_is_named_and_stops_nothing(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    goal = root / "GOAL.md"
    goal.write_text("# G\n\n- [ ] `test -f done.txt` passes\n")
    editor = Editor(tmp_path / "state")
    try:
        editor.start(root=root)
        uri = editor.open(goal)
        bad = editor.execute("donewhen.goal.check", {"goalUri": uri})["runId"]
        (ledger,) = (tmp_path / "state").rglob("*.sqlite")
        editor.goodbye()
    finally:
        editor.close()
    with contextlib.closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        connection.execute("UPDATE entries SET body = '{}' WHERE run_id = ? AND sequence = 1", (bad,))
    editor = Editor(tmp_path / "state")
    try:
        editor.start(root=root)
        told = editor.wait_for(lambda m: m.get("method") == "window/showMessage")["params"]["message"]
        assert f"can't read run {bad} of workspace: entry 1 is not as it was written" in told
        assert "start a new run" in told
        uri = editor.open(goal)
        asked = editor.execute("donewhen.run.status", {})
        assert asked["snapshots"] == []
        (listed,) = asked["unreadable"]
        assert (listed["runId"], listed["goalUri"]) == (bad, uri)
        assert f": {listed['reason']}" in told
        refused = editor.execute_error("donewhen.run.status", {"runId": bad})
        assert (refused["code"], f"run {bad} can't be read" in refused["message"]) == (-32803, True)
        run_id = editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
        (root / "done.txt").write_text("")
        assert editor.snapshot(run_id, lambda s: s["status"] == "complete")["complete"]
        editor.ignored.add("window/showMessageRequest")
        assert editor.goodbye() == 0
    finally:
        editor.close()
