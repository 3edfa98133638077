"""What a draft holds once its checks were tried: on real files, with real programs of no weight."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.app.drafts import CheckPlace, standing_of, survey
from donewhen.core.evidence import CheckResult, Outcome, TestTotals
from donewhen.goalfile.draft import draft
from donewhen.goalfile.parse import parse
from donewhen.goalfile.survey import Survey

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
TEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): self.assertTrue(RESULT)\n"


class Bench:
    """A workspace whose PATH holds the system's shell, this Python, and the programs that a test writes."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workspace"
        self._programs = folder / "bin"
        for path in (self.root, self._programs):
            path.mkdir()
        self.program("python", f'exec "{sys.executable}" "$@"')

    def program(self, name: str, script: str) -> None:
        file = self._programs / name
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def environment(self) -> Mapping[str, str]:
        return {"PATH": f"{self._programs}:/usr/bin:/bin", "HOME": str(self.root.parent)}

    def survey(self, *, execute: bool = True, tries: bool = True, patience: float = 30.0) -> Survey:
        place = CheckPlace(self.root, self.environment)
        return asyncio.run(survey(place, execute=execute, tries=tries, patience=patience))

    def drafted(self, **how: bool) -> dict[str, str | None]:
        """The commands of a draft, and how they stand."""
        return {one.command: one.standing for one in self.survey(**how).checks if one.drafted}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(("result", "standing"), [("True", "green"), ("False", "red")])
def test_a_draft_says_how_its_checks_stand(result: str, standing: str, bench: Bench) -> None:
    bench.write("test_it.py", TEST.replace("RESULT", result))
    found = bench.survey()
    (check,) = found.checks
    assert (check.command, check.drafted, check.standing) == ("python -m unittest", True, standing)
    (note,) = found.notes()
    assert note.startswith(f"{standing}: `python -m unittest`: 1 ")
    text = draft("Ship it", found.commands)
    goal = parse(text).goal
    assert goal is not None
    assert [(one.text, one.sole_check) for one in goal.requirements] == [
        ("`python -m unittest` passes", True),
        ("Ship it", False),
    ]
    assert "<!--" not in text


def test_what_runs_on_is_slow_and_is_ended(bench: Bench) -> None:
    bench.write("ruff.toml", "")
    bench.program("ruff", "sleep 60")
    (check,) = bench.survey(patience=1.0).checks
    assert (check.drafted, check.standing) == (True, "slow")
    assert "still running" in check.reason


def test_every_command_that_tox_runs_is_drafted_or_named(bench: Bench) -> None:
    bench.write(
        "tox.ini",
        "[tox]\nenvlist = py{311,312}, style\n[testenv]\ncommands =\n  # all of them\n  pytest tests\n  pytest more\n"
        "[testenv:style]\ncommands =\n  ruff check a\n  ruff check b\n  own-check --all\n"
        "[testenv:slow]\ncommands =\n  pytest slow\n  ruff check c\n[testenv:release]\ncommands = own-upload\n",
    )
    for program in ("pytest", "ruff"):
        bench.program(program, "exit 0")
    found, another = bench.survey(tries=False), "another tox command is drafted in its place"
    assert found.commands == ("pytest tests", "pytest more", "ruff check a", "ruff check b")
    told = (
        f"not drafted: `pytest slow` ([testenv:slow] in tox.ini): {another}",
        f"not drafted: `ruff check c` ([testenv:slow] in tox.ini): {another}",
        "not drafted: `own-check --all` ([testenv:style] in tox.ini): what it checks is not known",
        "not drafted: `own-upload` ([testenv:release] in tox.ini): tox runs it only by its environment's name",
    )
    assert [note.startswith(said) for note, said in zip(found.notes(), told, strict=True)] == [True] * 4
    bench.write("tox.ini", "")
    bench.write(
        "tox.toml",
        'env_list = ["3.12"]\n[env_run_base]\ncommands = [["pytest", "tests"], ["own-check", "x y"]]\n'
        '[env.release]\ncommands = [["own-upload"]]\n',
    )
    found = bench.survey(tries=False)
    assert found.commands == ("pytest tests",)
    assert [one.partition(": ")[0] for one in found.unknown] == [
        "`own-check 'x y'` (env_run_base in tox.toml)",
        "`own-upload` (env.release in tox.toml)",
    ]


def test_what_is_missing_is_named_and_not_drafted(bench: Bench) -> None:
    bench.write("ruff.toml", "")
    bench.program("python", f'exec "{sys.executable}" -S "$@"')
    bench.write("package.json", '{"scripts": {"test": "no-such-runner"}}')
    found = bench.survey()
    assert found.commands == ()
    left_out = {one.command: one.left_out for one in found.checks}
    assert left_out["ruff check ."] is not None
    assert "`ruff` is not installed here: `python -m pip install ruff`" in left_out["ruff check ."]
    assert all(one.startswith("not drafted: ") for one in found.notes())
    goal = parse(draft("Ship it", found.commands)).goal
    assert goal is not None
    assert [one.text for one in goal.requirements] == ["Ship it"]


def test_a_module_that_the_interpreter_does_not_know_is_missing(bench: Bench) -> None:
    bench.write("pytest.ini", "[pytest]\n")
    bench.write("test_it.py", TEST.replace("RESULT", "True"))
    bench.program("python", f'exec "{sys.executable}" -I -S "$@"')
    assert bench.drafted() == {"python -m unittest": "green"}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_recipes_are_tried_one_after_another(bench: Bench) -> None:
    """They may share what they make on their way: whoever finds the other at work says so."""
    bench.write("busy.py", "import os, time\nos.mkdir('busy')\ntime.sleep(0.2)\nos.rmdir('busy')\n")
    recipe = "\t@python busy.py\n"
    bench.write("Makefile", f"test:\n{recipe}lint:\n{recipe}types:\n{recipe}")
    assert bench.drafted() == {"make test": "green", "make lint": "green", "make types": "green"}


def test_a_way_that_can_not_be_run_gives_way_to_the_next(bench: Bench) -> None:
    bench.write("tox.ini", "[testenv]\ncommands =\n  ruff check --no-such\n[testenv:b]\ncommands = ruff check src\n")
    bench.program("ruff", '[ "$2" = src ] || { echo "error: unexpected argument \'--no-such\' found"; exit 2; }')
    assert bench.drafted() == {"ruff check src": "green"}
    bench.write("tox.ini", "[testenv]\ncommands =\n  ruff check --no-such\n")
    found = bench.survey()
    assert found.commands == ()
    (note,) = [one for one in found.notes() if "ruff" in one]
    assert note.endswith("it can't be run here: error: unexpected argument '--no-such' found")


def test_a_check_that_says_no_never_gives_way(bench: Bench) -> None:
    bench.write("tox.ini", "[testenv]\ncommands =\n  ruff check a\n  ruff check b\n")
    bench.program("ruff", '[ "$2" = b ] || { echo "a.py:1:1: F401 unused"; exit 1; }')
    assert bench.drafted() == {"ruff check a": "red", "ruff check b": "green"}


def test_untried_nothing_but_the_interpreter_runs_and_untrusted_nothing_at_all(bench: Bench) -> None:
    bench.write("ruff.toml", "")
    bench.write("pytest.ini", "[pytest]\n")
    bench.write("test_it.py", "def test_it(): ...\n")
    bench.program("ruff", f"touch {bench.root}/ruff-ran")
    bench.program("python", f'touch {bench.root}/python-ran; exec "{sys.executable}" "$@"')
    assert bench.drafted(execute=False, tries=True) == {"python -m pytest -q": None, "ruff check .": None}
    assert not (bench.root / "python-ran").exists()
    assert bench.drafted(tries=False) == {"python -m pytest -q": None, "ruff check .": None}
    assert not (bench.root / "ruff-ran").exists()


def test_where_python_has_another_name_that_one_is_drafted(bench: Bench, tmp_path: Path) -> None:
    bench.write("test_it.py", TEST.replace("RESULT", "True"))
    (tmp_path / "bin" / "python").rename(tmp_path / "bin" / "python3")
    place = CheckPlace(bench.root, lambda: {"PATH": str(tmp_path / "bin")})
    found = asyncio.run(survey(place, execute=False, tries=False, patience=30.0))
    assert found.commands == ("python3 -m unittest",)


@pytest.mark.parametrize(
    ("outcome", "output", "standing"),
    [
        (Outcome.PASSED, "", "green"),
        (Outcome.FAILED, "a.py:1: error: unexpected indent", "red"),
        (Outcome.FAILED, "usage: mypy [-h]\nmypy: error: unrecognized arguments: -x", None),
        (Outcome.FAILED, "ERROR: file or directory not found: tests", None),
        (Outcome.FAILED, "npm error Missing script: \"test\"", None),
        (Outcome.FAILED, "Warning: Could not find any test files matching pattern: test", None),
        (Outcome.FAILED, "No tests found, exiting with code 1", None),
        (Outcome.KILLED, "", "red"),
        (Outcome.NO_TESTS, "", None),
        (Outcome.NO_REPORT, "", None),
        (Outcome.NOT_INSTALLED, "", None),
        (Outcome.TIMED_OUT, "", "slow"),
    ],
)  # fmt: skip
def test_how_a_trial_is_read(outcome: Outcome, output: str, standing: str | None) -> None:
    assert standing_of(CheckResult("c", "x", outcome, "why", output=output)) == standing


def test_a_runner_that_found_no_test_is_no_red_check() -> None:
    result = CheckResult("c", "npm test", Outcome.FAILED, "exit code 1", output="No test files found")
    assert standing_of(replace(result, totals=TestTotals(0, 0))) is None
    assert standing_of(replace(result, totals=TestTotals(3, 1))) == "red"
