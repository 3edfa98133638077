"""Runs of a folder that is gone, paths as they are printed, and mistakes told once."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from donewhen.app.doctor import DoctorFacts, doctor_facts
from donewhen.cli.formatting import shown_path
from donewhen.core.errors import LedgerUnavailable
from donewhen.core.state import IterationRecord
from donewhen.engine.api import RunView
from donewhen.settings.loading import Settings
from donewhen.store.folders import has_record, state_folder
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


def test_doctor_looks_at_the_goals_of_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "GOAL.md").write_text("# G\n\n- [ ] `cd . && cat GOAL.md` passes\n- [ ] `exit 0` passes\n")
    (tmp_path / "b.goal.md").write_text("# G\n\n- [ ] `no-such-program --all` passes\n")
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "GOAL.md").write_text("# G\n\n- [ ] `elsewhere` passes\n")
    facts = doctor_facts(tmp_path, Settings())
    assert (facts.goals, facts.goals_elsewhere) == (("GOAL.md", "b.goal.md"), 1)
    found = {one.command: one.program for one in facts.checks}
    assert found.keys() == {"cd . && cat GOAL.md", "exit 0", "no-such-program --all"}
    assert found["no-such-program --all"] is None
    if os.name == "posix":
        assert (found["cd . && cat GOAL.md"] or "").endswith("/cat")
        assert found["exit 0"] == "the shell"


def test_doctor_counts_the_goals_below(tmp_path: Path) -> None:
    call = desk(tmp_path, facts=DoctorFacts(goals=("GOAL.md",), goals_elsewhere=4))
    assert call("doctor") == 0
    assert "goal files: GOAL.md (4 more in folders below)" in call.out


@each_row(
    "hindrance, said, how",
    [
        ("", "✓ rooms: they can change the workspace, and nothing else", ""),
        (
            "bubblewrap can't open one: bwrap: setting up uid map: Permission denied",
            "- rooms: commands run as you",
            "bwrap",
        ),
        ("bubblewrap is not installed", "- rooms: commands run as you", "[rooms]"),
        ("this system has no namespaces", "- rooms: commands run as you", "work on Linux"),
    ],
)
def test_doctor_says_whether_commands_are_contained(tmp_path: Path, hindrance: str, said: str, how: str) -> None:
    call = desk(tmp_path, facts=DoctorFacts(containment_hindrance=hindrance))
    call("doctor")
    assert said in call.out
    assert hindrance in call.out
    assert how in call.out


@each_row("checks", ["off", "on"])
@each_row("sandbox", ["off", "auto", "on"])
def test_doctor_calls_nothing_contained_where_no_room_opens(tmp_path: Path, sandbox: str, checks: str) -> None:
    environ = {"DONEWHEN_SANDBOX": sandbox, "DONEWHEN_SANDBOX_CHECKS": checks}
    call = desk(tmp_path, facts=DoctorFacts(containment_hindrance="bubblewrap is not installed"), environ=environ)
    call("doctor")
    below = call.out.partition("rooms for commands\n")[2]
    assert not re.search(r"(?<!nothing that workers run) (is|are) contained|run in rooms", below)
    assert ("no worker starts" in below) is (sandbox == "on")
    assert ("commands run as you" in below) is (sandbox != "on")
    assert ("- checks: none can run" in below) is (checks == "on")


@pytest.mark.parametrize(
    ("hindrance", "said", "how"),
    [
        ("", "✓ rooms: overlays at the workspace's own path", ""),
        ("bubblewrap is not installed", "- rooms: copies of the workspace", "[rooms]"),
        ("bubblewrap can't mount an overlay in /x: bwrap: Unknown option --overlay", "- rooms: copies", "[rooms]"),
        ("bubblewrap can't mount an overlay in /x: bwrap: setting up uid map: Permission denied", "- rooms", "sysctl"),
        ("bubblewrap can't mount an overlay in /x: bwrap: No permissions to create a namespace", "- rooms", "sysctl"),
        ("bubblewrap can't mount an overlay in /x: Invalid argument", "- rooms: copies of the workspace", ""),
    ],
)
def test_doctor_says_what_checks_are_tried_in(tmp_path: Path, hindrance: str, said: str, how: str) -> None:
    call = desk(tmp_path, facts=DoctorFacts(rooms="overlay", rooms_hindrance=hindrance))
    call("doctor")
    assert said in call.out
    assert how in call.out
    assert ("[rooms]" in call.out) is (how == "[rooms]")
    assert ("hide nothing of yours" in call.out) is bool(hindrance)
    assert hindrance in call.out
