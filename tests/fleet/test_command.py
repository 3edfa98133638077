"""The command `fleet`, as a person types it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from donewhen.cli.completion import completed
from donewhen.extras.fleet.arguments import ACTIONS
from tests import forked
from tests.cli.fakes import desk
from tests.cli.test_start_up import loaded
from tests.fleet.places import COMMAND, goal, scripted, turns_of
from tests.fleet.test_local import ASKS


def typed(folder: Path, *words: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "donewhen", "fleet", *words, "--state-dir", str(folder / "state")]
    done = forked.run(command, cwd=folder, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_a_fleet_waits_for_an_answer_and_goes_on_with_it(tmp_path: Path) -> None:
    one = scripted(tmp_path, "w", ASKS)
    settings = "".join(f"{name} = '{value}'\n" for name, value in one.settings.items())
    (tmp_path / "few.toml").write_text(f"[settings]\n{settings}[[goal]]\nworkspace = 'w'\n", encoding="utf-8")
    code, printed, _ = typed(tmp_path, "run", "few.toml")
    assert code == 3
    assert "w  waiting  run " in printed
    assert "I1 Which colour?\n  donewhen fleet answer few w I1 TEXT|deny\n" in printed
    assert typed(tmp_path, "answer", "few", "w", "I1", "approve")[0] == 2
    assert typed(tmp_path, "answer", "few", "w", "I2", "text", "blue")[0] == 2
    assert typed(tmp_path, "answer", "few.toml", "w", "I1", "blue")[0] == 0
    code, printed, _ = typed(tmp_path, "run", "few.toml", "--json")
    assert (code, json.loads(printed)["goals"]["w"]["end"], turns_of(one)) == (0, "complete", 1)
    # As after a kill between the last entry and the last line.
    code, printed, said = typed(tmp_path, "run", "few.toml", "--json")
    assert (code, json.loads(printed)["goals"]["w"]["end"], "--new runs it" in said) == (0, "complete", True)
    assert turns_of(one) == 1
    assert typed(tmp_path, "run", "few.toml", "--new")[0] == 0
    code, printed, _ = typed(tmp_path, "status", "few")
    assert (code, "few: 1 complete" in printed) == (0, True)


@pytest.mark.slow
def test_a_fleet_whose_worker_is_not_here_is_refused_and_begins_once_it_is(tmp_path: Path) -> None:
    goal(tmp_path, "w")
    manifest = "[settings]\nworker = 'command'\nsandbox = 'off'\nworker_command = '{}'\n[[goal]]\nworkspace = 'w'\n"
    (tmp_path / "few.toml").write_text(manifest.format("not-here"), encoding="utf-8")
    code, printed, said = typed(tmp_path, "run", "few.toml")
    assert (code, printed, said.startswith("donewhen: error: w: `not-here` is not installed")) == (2, "", True), said
    assert "there is no fleet few here" in typed(tmp_path, "status", "few")[2]
    (tmp_path / "few.toml").write_text(manifest.format(COMMAND), encoding="utf-8")
    assert typed(tmp_path, "run", "few.toml")[0] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run"], "use: donewhen fleet run MANIFEST"),
        (["run", "none.toml"], "there is no manifest none.toml"),
        (["stop", "none"], "there is no fleet none here"),
        (["answer", "none", "w", "I1"], "use: donewhen fleet answer"),
        (["status", "../x"], "is not the name of a fleet"),
        (["worker"], "a worker joins a Temporal server"),
        (["run", "none.toml", "--parallel", "0"], "whole number of at least 1"),
        (["status", "f", "--temporal", "somewhere"], "give HOST:PORT"),
        (["status", "f", "--temporal", "127.0.0.1:1"], "no Temporal server answers at 127.0.0.1:1"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], says: str, tmp_path: Path) -> None:
    code, _, said = typed(tmp_path, *words)
    assert (code, says in " ".join(said.split())) == (2, True), said
    assert not [*tmp_path.rglob("fleet.sqlite")]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "say what to do with a fleet"),
        ([], "donewhen fleet run MANIFEST"),
        (["status"], "`donewhen fleet status` needs more than that; use: donewhen fleet status FLEET"),
    ],
)
def test_what_makes_no_sense_by_hand_says_what_to_do(words: list[str], says: str, tmp_path: Path) -> None:
    call = desk(tmp_path, interactive=True)
    assert call("fleet", *words) == 2
    assert says in " ".join(call.err.split())


def test_shells_complete_what_to_do_with_a_fleet_and_nothing_after_it() -> None:
    assert completed()["fleet"].words == (ACTIONS, ())


@pytest.mark.slow
def test_a_fleet_on_this_machine_loads_nothing_of_temporal(tmp_path: Path) -> None:
    modules, done = loaded(tmp_path, "--state-dir", str(tmp_path / "state"), "fleet", "status", "none")
    assert (done.returncode, "there is no fleet none here" in done.stderr) == (2, True)
    assert "donewhen.extras.fleet.local" in modules
    assert not {
        name for name in modules if name.split(".")[0] == "temporalio" or name == "donewhen.extras.fleet.temporal"
    }
