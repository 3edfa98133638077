"""A state folder that can't be written: what is on record is still shown, and what would write says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_processes import Place
from tests.lsp.editor import Editor

RUN = [sys.executable, "-m", "donewhen"]


def unprivileged() -> list[str]:
    """What starts a program that may do no more than the modes of files let it: root may write everywhere."""
    if os.name != "posix" or os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root can't give up its rights here")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Path]:
    """The state folder, and beside it a workspace with a run on record."""
    if os.name != "posix":
        pytest.skip("modes are POSIX's here")
    place, state = Place(tmp_path), tmp_path / "state"
    place.goal("`true` passes")
    assert place.run("run", "--worker-command", "true").returncode == 0
    for path in (state, *state.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield state
    for path in (state, *state.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def listing(state: Path) -> dict[str, int]:
    return {str(place): place.stat().st_mtime_ns for place in (state, *state.rglob("*"))}


def called(state: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [*unprivileged(), *RUN, "--state-dir", str(state), *argv]
    return subprocess.run(
        command, cwd=state.parent / "workspace", capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
def test_the_command_line_reads_and_refuses_to_write(kept: Path) -> None:
    before = listing(kept)
    shown = called(kept, "status", "--json")
    assert shown.returncode == 0, shown.stderr
    snapshot = json.loads(shown.stdout)
    assert (snapshot["status"], snapshot["freshness"]["fresh"]) == ("complete", True)
    run_id = snapshot["runId"]
    assert "**complete**" in called(kept, "report", run_id).stdout
    for argv in (["check"], ["dispute", run_id, "R1", "--reason", "no"]):
        refused = called(kept, *argv)
        assert refused.returncode == 2, refused.stderr
        assert f"the state folder {kept} can't be used: you may not write to {kept}" in refused.stderr
        assert "--state-dir" in refused.stderr
    assert listing(kept) == before
    kept.chmod(0)
    hidden = called(kept, "list")
    assert (hidden.returncode, "--state-dir" in hidden.stderr) == (2, True), hidden.stderr
    kept.chmod(0o555)


@pytest.mark.slow
def test_the_language_server_reads_and_refuses_to_write(kept: Path) -> None:
    root = kept.parent / "workspace"
    before = listing(kept)
    editor = Editor(kept, command=[*unprivileged(), *RUN, "serve", "--stdio"])
    try:
        editor.start(root=root)
        uri = editor.open(root / "GOAL.md")
        (shown,) = editor.execute("donewhen.run.status", {"goalUri": uri})["snapshots"]
        assert (shown["status"], shown["freshness"]["fresh"]) == ("complete", True)
        refused = editor.execute_error("donewhen.run.start", {"goalUri": uri, "worker": "human"})
        assert (refused["code"], "choose another state folder" in refused["message"]) == (-32803, True), refused
        assert editor.goodbye() == 0
        assert "Traceback" not in editor.stderr
    finally:
        editor.close()
    assert listing(kept) == before
