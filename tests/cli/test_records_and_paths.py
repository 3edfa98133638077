"""Runs of a folder that is gone, paths as they are printed, and mistakes told once."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from donewhen.app.doctor import containment_lines, goal_lines, rooms_line
from donewhen.cli.formatting import shown_path
from donewhen.core.errors import LedgerUnavailable
from donewhen.core.state import IterationRecord
from donewhen.engine.api import RunView
from donewhen.evidence.runner import CommandChecker
from donewhen.settings.loading import Settings
from donewhen.settings.table import Choices
from donewhen.store.folders import has_record, state_folder
from donewhen.workspace.processes.running import SystemProcesses
from tests.cli.fakes import RUN, complete, desk, question, view
from tests.tools import each_row

# ------------------------------------------------------------------------------------------ what is on record


def test_a_run_that_goes_on_elsewhere_is_steered_not_resumed(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)))
    assert call("status", RUN) == 0
    for command in (f"answer {RUN} I1", f"pause {RUN}", f"stop {RUN}", f"status {RUN} --follow"):
        assert f"donewhen {command}" in call.err
    assert "resume" not in call.err
    assert call.out.count("waiting") == 1


@pytest.mark.parametrize("shown", [view(paused="Ctrl-C"), view(interrupted="its process ended")])
def test_a_run_that_stands_still_is_resumed(shown: RunView, tmp_path: Path) -> None:
    call = desk(tmp_path, shown)
    assert call("status", RUN) == 0
    assert f"donewhen resume {RUN}" in call.err
    assert "pause" not in call.err


@pytest.mark.parametrize("argv", [["status"], ["list"], ["report", RUN]])
def test_the_record_outlives_its_folder(argv: list[str], tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    call = desk(root, complete(), recorded=True)
    shutil.rmtree(root)
    assert call(*argv) == 0, call.err
    assert RUN in call.out
    call.recorded = False
    assert call(*argv) == 2
    assert "not a folder" in call.err


@each_row("argv", [["run"], ["check"], ["resume"], ["revert", RUN, "1"]])
def test_nothing_is_done_in_a_folder_that_is_gone(argv: list[str], tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    call = desk(root, complete(), recorded=True)
    shutil.rmtree(root)
    assert call(*argv) == 2
    assert "is gone" in call.err
    assert call.runs.calls == []
    assert not root.exists()


def test_looking_for_a_record_makes_nothing(tmp_path: Path) -> None:
    assert not has_record(tmp_path / "w", tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("inside", ["x", "x/y"])
def test_a_state_folder_that_can_not_be_made_names_what_is_in_the_way(inside: str, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    with pytest.raises(LedgerUnavailable) as told:
        state_folder(tmp_path / "notes" / inside)
    assert f"{tmp_path / 'notes'} is a file" in str(told.value)
    assert "--state-dir" in str(told.value)
    assert "exists" not in str(told.value)


# ------------------------------------------------------------------------------------------------ paths


@each_row(
    "path, shown",
    [
        ("src/größe a.py", "src/größe a.py"),
        ("a\nput back: b", "a\\nput back: b"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\udcffb", "a\\xffb"),
        ("a\ud800b", "a\\ud800b"),
    ],
)
def test_a_path_is_shown_whole_on_one_line(path: str, shown: str) -> None:
    assert shown_path(path) == shown


def test_listed_paths_are_escaped(tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    call.runs.edited = ("b\x1b[0m",)
    assert call("revert", RUN, "1", "a\nput back: c", "b\x1b[0m") == 3
    assert "put back: a\\nput back: c\n" in call.out
    assert "kept: b\\x1b[0m (" in call.out
    record = IterationRecord(1, 0.0, 1.0, 0, 2, changed=("a\nb\udcff",))
    call = desk(tmp_path, view(iterations=(record,), turns_ended=1, iteration=1, ended=True, end_status="capped"))
    call("run")
    assert "changed: a\\nb\\xff\n" in call.out


# ---------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_mistake_in_a_goal_file_is_told_once(command: str, tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    (tmp_path / "GOAL.md").write_text("---\nworker: nobody\n---\n# Ship it\n\n- [ ] `true` passes\n")
    assert call(command) == 2
    assert call.err.count("can't be 'nobody'") == 1
    assert "GOAL.md:2: error: worker can't be 'nobody'" in call.err
    assert "has 1 error, shown above" in call.err
    assert call.runs.calls == []


@pytest.mark.parametrize("argv", [["run", "--frob"], ["list", "--max-iterations"], ["list", "--vesion"]])
def test_only_an_option_of_the_command_that_is_near_is_suggested(argv: list[str], tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call(*argv) == 2
    assert f"there is no option '{argv[1]}'; see `donewhen {argv[0]} --help`" in call.err


# ------------------------------------------------------------------------------------------------ doctor


def checker(root: Path) -> CommandChecker:
    return CommandChecker(SystemProcesses(), root, root, lambda: dict(os.environ))


def test_doctor_looks_at_the_goals_of_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text("# G\n\n- [ ] `cd . && cat GOAL.md` passes\n- [ ] `exit 0` passes\n")
    (tmp_path / "b.goal.md").write_text("# G\n\n- [ ] `no-such-program --all` passes\n")
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "GOAL.md").write_text("# G\n\n- [ ] `elsewhere` passes\n")
    (goals,), checks = goal_lines(tmp_path, checker(tmp_path))
    assert goals.detail == "GOAL.md, b.goal.md (1 more in folders below)"
    found = {one.name: one for one in checks}
    assert found.keys() == {"`cd . && cat GOAL.md`", "`exit 0`", "`no-such-program --all`"}
    lacking = found["`no-such-program --all`"]
    assert (lacking.state, lacking.detail) == ("missing", "no program")
    assert "not installed here" in lacking.how
    if os.name == "posix":
        assert found["`cd . && cat GOAL.md`"].detail.endswith("/cat")
        assert found["`exit 0`"].detail == "the shell"


def test_doctor_says_what_is_wrong_with_a_goal(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text("- [ ]\n")
    (_, problem), checks = goal_lines(tmp_path, checker(tmp_path))
    assert problem.state == "problem"
    assert not checks


AS_YOU = "missing rooms: commands run as you, and need approval: {}"


@each_row(
    "hindrance, said, how",
    [
        ("", "ok rooms: they can change the workspace, and nothing else", ""),
        ("bubblewrap can't open one: bwrap: setting up uid map: Permission denied", AS_YOU, "bwrap"),
        ("bubblewrap is not installed", AS_YOU, "[rooms]"),
        ("this system has no namespaces", AS_YOU, "work on Linux"),
    ],
)
def test_doctor_says_whether_commands_are_contained(hindrance: str, said: str, how: str) -> None:
    rooms, *_ = containment_lines(Settings(), hindrance)
    assert f"{rooms.state} {rooms.name}: {rooms.detail}" == said.format(hindrance)
    assert how in rooms.how


@each_row("checks", ["off", "on"])
@each_row("sandbox", ["off", "auto", "on"])
def test_doctor_calls_nothing_contained_where_no_room_opens(sandbox: Any, checks: Any) -> None:
    settings = Settings(given=Choices(sandbox=sandbox, sandbox_checks=checks))
    lines = containment_lines(settings, "bubblewrap is not installed")
    below = "\n".join(f"{one.state} {one.name}: {one.detail}" for one in lines)
    assert not re.search(r"(?<!nothing that workers run) (is|are) contained|run in rooms", below)
    assert ("no worker starts" in below) is (sandbox == "on")
    assert ("commands run as you" in below) is (sandbox != "on")
    assert ("missing checks: none can run" in below) is (checks == "on")


@pytest.mark.parametrize(
    ("hindrance", "said", "how"),
    [
        ("", "ok: overlays at the workspace's own path", ""),
        ("bubblewrap is not installed", "missing: copies of the workspace", "[rooms]"),
        ("bubblewrap can't mount an overlay in /x: bwrap: Unknown option --overlay", "missing: copies", "[rooms]"),
        ("bubblewrap can't mount an overlay in /x: bwrap: setting up uid map: Permission denied", "missing", "sysctl"),
        ("bubblewrap can't mount an overlay in /x: bwrap: No permissions to create a namespace", "missing", "sysctl"),
        ("bubblewrap can't mount an overlay in /x: Invalid argument", "missing: copies of the workspace", ""),
    ],
)
def test_doctor_says_what_checks_are_tried_in(hindrance: str, said: str, how: str) -> None:
    line = rooms_line(hindrance)
    assert f"{line.state}: {line.detail}".startswith(said)
    assert how in line.how
    assert ("[rooms]" in line.how) is (how == "[rooms]")
    assert ("hide nothing of yours" in line.detail) is bool(hindrance)
    assert hindrance in line.detail
