"""Several folders in one window, each with a run of its own: none learns anything of another."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools import examples

from .editor import Editor
from .rawclient import Message

NAMES = ("apple", "birch", "cedar", "dogwood")
"""A folder's, its goal's and its file's, so that whatever is said of one can be told from what is said of another."""
ACTS = ("start", "check", "pause", "resume", "stop", "save", "remove", "note")


class Listening(Editor):
    """Remembers all that it was ever told."""

    def __init__(self, state: Path) -> None:
        self.told: list[Message] = []
        super().__init__(state)

    def _receive(self, deadline: float) -> None:
        super()._receive(deadline)
        self.told.append(self.inbox[-1])


@pytest.mark.slow
@given(acts=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(ACTS)), max_size=24))
@examples(10, deadline=None)
def test_no_message_about_one_folder_names_another(acts: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        editor = _opened(Path(place))
        try:
            runs: dict[str, str] = {}
            for name, act in acts:
                _do(editor, Path(place) / name, act, runs)
            for name in NAMES:
                _do(editor, Path(place) / name, "save", runs)
                _do(editor, Path(place) / name, "stop", runs)
                _do(editor, Path(place) / name, "start", runs)
            for name in NAMES:
                ended = editor.snapshot(runs[name], lambda one: one["status"] == "complete")
                assert ended["title"] == f"The {name}"
            editor.unread()
            editor.inbox.clear()
            assert editor.goodbye() == 0
        finally:
            editor.close()
        for message in editor.told:
            named = [name for name in NAMES if name in json.dumps(message)]
            assert len(named) <= 1, message
        assert {name for name in NAMES for message in editor.told if name in json.dumps(message)} == set(NAMES)


def _opened(place: Path) -> Editor:
    editor = Listening(place / "state")
    for name in NAMES:
        (place / name).mkdir()
        (place / name / "GOAL.md").write_text(f"# The {name}\n\n- [ ] `test -e {name}.txt` passes\n", encoding="utf-8")
    editor.start(workspaceFolders=[{"uri": (place / name).as_uri(), "name": name} for name in NAMES])
    for name in NAMES:
        editor.open(place / name / "GOAL.md")
    return editor


def _do(editor: Editor, folder: Path, act: str, runs: dict[str, str]) -> None:
    """What a person may do at any time; where it can't be done, the server's answer says so."""
    goal = (folder / "GOAL.md").as_uri()
    match act:
        case "save":
            (folder / f"{folder.name}.txt").touch()
        case "remove":
            (folder / f"{folder.name}.txt").unlink(missing_ok=True)
        case "note":
            (folder / "notes.md").write_text(f"About the {folder.name}.\n", encoding="utf-8")
        case "check":
            _execute(editor, "donewhen.goal.check", {"goalUri": goal})
        case "start":
            started = _execute(editor, "donewhen.run.start", {"goalUri": goal, "worker": "human"})
            runs[folder.name] = started.get("runId", runs.get(folder.name))
        case _:
            if folder.name in runs:
                _execute(editor, f"donewhen.run.{act}", {"runId": runs[folder.name]})


def _execute(editor: Editor, command: str, argument: dict[str, Any]) -> dict[str, Any]:
    answer = editor.request("workspace/executeCommand", {"command": command, "arguments": [argument]})
    return answer.get("result") or {}
