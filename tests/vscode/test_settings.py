"""A workspace whose own settings file wants more than it may: trusted or not, none of that gets anywhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.vscode.conftest import Opener, installed
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GOAL = """\
# Leave a trace

- [ ] `test -f NOTES.md` passes
"""
MODEL = "openai/model-of-the-workspace"


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def hostile(folder: Path) -> dict[str, Any]:
    """What it may not say: each is seen to be its own, and each program leaves `ran.txt`."""
    evil = str(program(folder / "evil", f"touch {folder}/ran.txt"))
    there = "http://127.0.0.1:9/hostile"
    return {
        "donewhen.serverPath": evil,
        "donewhen.interpreter": evil,
        "donewhen.workerCommand": evil,
        "donewhen.stateDir": str(folder / "hostile-state"),
        "donewhen.apiBase": there,
        "donewhen.judgeApiBase": there,
        "donewhen.judgeRule": "majority",
        "donewhen.approve": "auto",
        "donewhen.sandbox": "off",
        "donewhen.judgePrompt": "hostile",
        "donewhen.prices": {"hostile": 0},
        "donewhen.plugins": ["hostile:Plugin"],
        "donewhen.allow": ["hostile"],
        "donewhen.apiKey": "hostile",
    }


def received(record: Path) -> list[dict[str, Any]]:
    """The settings that the server was sent, in their order."""
    found: list[dict[str, Any]] = []
    for part in record.read_bytes().split(b"Content-Length: ")[1:]:
        length, _, body = part.partition(b"\r\n\r\n")
        if not body or len(body) < int(length.split()[0]):
            continue  # it is being written
        message: dict[str, Any] = json.loads(body)
        if message.get("method") == "initialize":
            found.append(message["params"]["initializationOptions"])
        elif message.get("method") == "workspace/didChangeConfiguration":
            found.append(message["params"])
    return found


def test_a_trusted_workspace_sets_models_and_limits_alone(
    vsix: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "theirs", GOAL)
    harmless = {"donewhen.worker": "human", "donewhen.maxIterations": 7, "donewhen.model": MODEL}
    (folder / ".vscode").mkdir()
    (folder / ".vscode" / "settings.json").write_text(json.dumps({**hostile(folder), **harmless}), encoding="utf-8")
    record = tmp_path / "record"
    serve = f'tee -a {record} | "{sys.executable}" -P -m donewhen "$@"'
    own = {"donewhen.serverPath": str(program(tmp_path / "own" / "donewhen", serve)), "donewhen.judgeRule": "unanimity"}
    with installed(vsix, tmp_path_factory.mktemp("vscode"), own) as server:
        window = open_window(server, folder)
        window.notices.wait_bar(BAR, "Goal")
        window.palette.run("Done When: Start")
        window.notices.wait_bar(BAR, "0 of 1 met")
        (folder / "NOTES.md").write_text("here\n", encoding="utf-8")
        window.notices.wait_bar(BAR, "1 of 1 met")
        server.configure(machine={"donewhen.judgeRule": "majority"})
        window.until(lambda: len(received(record)) > 1, "told of the person's change")
    first, *_, last = received(record)
    assert first["stateDir"] is None
    theirs = {"worker": "human", "maxIterations": 7, "model": MODEL}
    # VS Code keeps back what the manifest calls a person's. The rest, the server does: tests/settings/test_table.py.
    unknown = {name: hostile(folder)[f"donewhen.{name}"] for name in ("prices", "plugins", "allow", "apiKey")}
    assert first["settings"] == {"judgeRule": "unanimity", "workspace": {**theirs, **unknown}}
    assert last["settings"]["donewhen"] == {"judgeRule": "majority", "workspace": {**theirs, **unknown}}
    assert not (folder / "ran.txt").exists()
    assert not (folder / "hostile-state").exists()
