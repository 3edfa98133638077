"""A disk that fills up during a run: the server stays, and says what is wrong."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .editor import SERVE, Editor


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    mounted = shutil.which("mount") and subprocess.run(command, capture_output=True)
    if not mounted or mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(filler: Path) -> None:
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


@pytest.mark.slow
def test_a_full_disk_interrupts_the_run_and_leaves_the_server_up(small_disk: Path, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    goal = root / "GOAL.md"
    goal.write_text("# G\n\n- [ ] `test -f done.txt` passes\n")
    editor = Editor(small_disk / "state", command=SERVE)
    try:
        editor.start(root=root)
        uri = editor.open(goal)
        run_id = editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
        editor.snapshot(run_id, lambda s: s["phase"] == "working")
        fill(small_disk / "filler")
        (root / "notes.txt").write_text("an edit")
        told = editor.snapshot(run_id, lambda s: s["status"] == "interrupted")
        assert "is full: make room" in told["reason"]
        for argument in ({"goalUri": uri}, {"runId": run_id}):
            (asked,) = editor.execute("donewhen.run.status", argument)["snapshots"]
            assert (asked["status"], asked["reason"]) == ("interrupted", told["reason"])
        refused = editor.execute_error("donewhen.run.resume", {"runId": run_id})
        assert (refused["code"], "make room" in refused["message"]) == (-32803, True), refused
        (small_disk / "filler").unlink()
        assert editor.execute("donewhen.run.resume", {"runId": run_id})["status"] == "running"
        (root / "done.txt").write_text("")
        assert editor.snapshot(run_id, lambda s: s["status"] == "complete")["complete"]
        editor.ignored.add("window/showMessageRequest")
        assert editor.goodbye() == 0
        assert "Traceback" not in editor.stderr
    finally:
        editor.close()
