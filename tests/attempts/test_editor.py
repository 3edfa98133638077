"""Attempts in an editor: made by the command line, compared, looked at, applied and dropped by the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_processes import Place
from tests.lsp.editor import Editor

GOAL = "`test -f done.txt` passes"
WORK = 'case "$PWD" in */1/*) echo one > a.txt;; *) echo two > a.txt; echo new > done.txt;; esac'
"""The second attempt reaches the goal, the first one doesn't."""


class Made:
    """A workspace with two attempts, of which the second is proven, and an editor that has the workspace open."""

    def __init__(self, folder: Path, keep: str = "ask", *, work: str = WORK, trusted: bool = True) -> None:
        self.place = Place(folder)
        self.root = self.place.root
        self.place.goal(GOAL)
        (self.root / "a.txt").write_text("as it was\n", "utf-8")
        self.keep(keep, work)
        self.editor = Editor(folder / "state")
        self.editor.start(root=self.root, trusted=trusted)
        self.id: str = self.listed()["groups"][0]["id"]

    def keep(self, rule: str, work: str) -> None:
        made = self.place.run(
            "run", "--attempts", "2", "--keep", rule, "--worker-command", work, "--max-iterations", "1"
        )
        assert made.returncode == 3, made.stderr

    def listed(self, **given: Any) -> Any:
        return self.editor.execute("donewhen.attempts.list", given)

    def text(self, number: int, name: str, side: str) -> str:
        given = {"runId": "1" * 8, "kind": "attempt", "attempts": self.id, "number": number, "side": side}
        uri = (self.root / name).as_uri()
        return self.editor.execute("donewhen.run.document", {**given, "uri": uri})["text"]

    def close(self) -> None:
        self.editor.close()
        self.place.close()


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    found = Made(tmp_path)
    yield found
    found.close()


@pytest.mark.slow
def test_attempts_are_compared_as_on_the_command_line_with_words_besides(made: Made) -> None:
    told = made.listed()
    [group] = told["groups"]
    assert (group["workspaceUri"], group["goal"], group["applied"]) == (made.root.as_uri(), "GOAL.md", None)
    assert group["view"] == {"label": "GOAL.md", "description": f"2 attempts · {made.id}"}
    views = [one.pop("view") for one in told["compared"]["attempts"]]
    shown = made.place.run("attempts", "show", "--json")
    assert {**told["compared"], "check": None} == json.loads(shown.stdout)
    assert [one["label"] for one in views] == ["1 · capped", "2 · proven"]
    assert "1 of 1 proven · 2 files · +2 -1 · " in views[1]["description"]
    assert views[1]["description"].endswith("with command")
    assert "R1: " in views[1]["detail"]
    assert "Written here: a.txt, done.txt." in views[1]["apply"]["detail"]
    assert made.listed(compare=False)["compared"] is None
    assert made.editor.goodbye() == 0


@pytest.mark.slow
def test_what_an_attempt_changed_is_read_on_both_sides(made: Made) -> None:
    told = made.editor.execute("donewhen.attempts.changes", {"id": made.id, "number": 2})
    assert told["title"] == "Changes of attempt 2: GOAL.md"
    assert told["files"] == [
        {"uri": (made.root / "a.txt").as_uri(), "before": True, "now": True},
        {"uri": (made.root / "done.txt").as_uri(), "before": False, "now": True},
    ]
    assert [made.text(2, "a.txt", side) for side in ("before", "after")] == ["as it was\n", "two\n"]
    assert [made.text(2, "done.txt", side) for side in ("before", "after")] == ["", "new\n"]
    assert made.text(1, "a.txt", "after") == "one\n"
    outside = {"runId": "", "kind": "attempt", "attempts": made.id, "number": 2, "uri": made.root.parent.as_uri()}
    assert "not in the workspace folder" in made.editor.execute_error("donewhen.run.document", outside)["message"]
    assert made.editor.goodbye() == 0


def test_one_is_applied_and_proven_here_and_the_others_stay_where_a_person_chose(made: Made) -> None:
    done = made.editor.execute("donewhen.attempts.apply", {"id": made.id, "number": 2})
    assert done["message"] == "Attempt 2 is applied; 2 files changed here. It is proven here: 1 of 1 met."
    assert done["changedFiles"] == [(made.root / name).as_uri() for name in ("a.txt", "done.txt")]
    assert done["check"]["complete"] is True
    assert (made.root / "a.txt").read_text("utf-8") == "two\n"
    told = made.listed()
    assert (told["compared"]["applied"], told["compared"]["proven"]) == (2, True)
    assert [one["view"]["label"] for one in told["compared"]["attempts"]] == ["1 · capped", "2 · proven · applied"]
    assert made.editor.goodbye() == 0


@pytest.mark.slow
def test_an_attempt_that_proves_nothing_is_applied_and_said_to_prove_nothing(made: Made) -> None:
    done = made.editor.execute("donewhen.attempts.apply", {"id": made.id, "number": 1})
    assert done["message"] == "Attempt 1 is applied; 1 file changed here. It isn't proven here: 0 of 1 met."
    assert (made.listed()["compared"]["proven"], done["check"]["complete"]) == (False, False)
    assert made.editor.goodbye() == 0


@pytest.mark.slow
def test_files_in_the_way_are_named_and_nothing_is_changed(made: Made) -> None:
    file = made.root / "a.txt"
    file.write_text("a person's\n", "utf-8")
    argument = {"id": made.id, "number": 2}
    refused = made.editor.execute_error("donewhen.attempts.apply", argument)["message"]
    assert "changed here since the attempt began: a.txt" in refused
    assert (file.read_text("utf-8"), (made.root / "done.txt").exists()) == ("a person's\n", False)
    # What an editor holds unsaved is in the way as well, though the disk is as it was.
    file.write_text("as it was\n", "utf-8")
    made.editor.open(file)
    made.editor.edit(file, "typed\n")
    refused = made.editor.execute_error("donewhen.attempts.apply", argument)["message"]
    assert "a.txt has changes that aren't saved" in refused
    assert (file.read_text("utf-8"), (made.root / "done.txt").exists()) == ("as it was\n", False)
    made.editor.save(file, "as it was\n")
    assert made.editor.execute("donewhen.attempts.apply", argument)["check"]["complete"] is True
    assert made.editor.goodbye() == 0


@pytest.mark.slow
def test_the_others_go_once_it_is_proven_where_nobody_was_to_choose(tmp_path: Path) -> None:
    # By its own rule the group would have been applied: a person's edit was in the way.
    edited = f"echo edited > {tmp_path / 'workspace' / 'a.txt'}"
    made = Made(tmp_path, "cheapest", work=f"{WORK}; {edited}")
    (made.root / "a.txt").write_text("as it was\n", "utf-8")
    asked = made.listed()["compared"]["attempts"][1]["view"]["apply"]
    assert asked["message"] == "Apply the changes of attempt 2 to the workspace?"
    assert asked["detail"].endswith("Then the goal is checked here. Once it is proven, the other attempts are removed.")
    assert made.editor.execute("donewhen.attempts.apply", {"id": made.id, "number": 2})["check"]["complete"] is True
    assert [one["number"] for one in made.listed()["compared"]["attempts"]] == [2]
    assert made.editor.goodbye() == 0
    made.close()


@pytest.mark.slow
def test_attempts_are_dropped_one_by_one_and_wholly(made: Made) -> None:
    made.keep("ask", WORK)
    newest, older = (one["id"] for one in made.listed(compare=False)["groups"])
    assert (older, made.listed()["compared"]["id"]) == (made.id, newest)
    assert made.listed(id=older)["compared"]["id"] == older
    drop = "donewhen.attempts.drop"
    assert "no attempt 7" in made.editor.execute_error(drop, {"id": older, "number": 7})["message"]
    assert made.editor.execute(drop, {"id": older, "number": 1}) == {"left": 1}
    assert [one["number"] for one in made.listed(id=older)["compared"]["attempts"]] == [2]
    assert made.editor.execute(drop, {"id": older}) == {"left": 0}
    assert older in made.editor.execute_error(drop, {"id": older})["message"]
    assert [one["id"] for one in made.listed(compare=False)["groups"]] == [newest]
    assert made.editor.goodbye() == 0


@pytest.mark.slow
def test_nothing_is_applied_in_a_workspace_that_is_not_trusted(tmp_path: Path) -> None:
    made = Made(tmp_path, trusted=False)
    refused = made.editor.execute_error("donewhen.attempts.apply", {"id": made.id, "number": 2})["message"]
    assert "trust" in refused
    assert not (made.root / "done.txt").exists()
    made.close()


def test_there_may_be_none(tmp_path: Path) -> None:
    editor = Editor(tmp_path / "state")
    editor.start(root=tmp_path)
    assert editor.execute("donewhen.attempts.list", {}) == {"groups": [], "compared": None}
    error = editor.execute_error("donewhen.attempts.changes", {"id": "abcdef", "number": 1})
    assert "there are no attempts 'abcdef'" in error["message"]
    assert editor.goodbye() == 0
    editor.close()
