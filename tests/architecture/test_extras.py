"""An extra is a folder and a row: without both, everything else works as before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from donewhen.extras import EXTRAS, Extra
from tests.architecture.source_tree import ROOT

TESTS = {
    "adapters": "tests/adapters",
    "attempts": "tests/attempts",
    "fleet": "tests/fleet",
    "goalbench": "tests/goalbench",
    "lookalikes": "tests/lookalikes",
    "mcp": "tests/mcp",
    "tracing": "tests/tracing",
}
"""Where the tests of each lie, which go with it."""
KERNEL = (
    "tests/architecture/test_dependencies.py",
    "tests/cli/test_commands.py",
    "tests/cli/test_completion.py",
    "tests/cli/test_parser.py",
    "tests/engine/test_loop.py",
    "tests/library/test_public_names.py",
    "tests/library/test_run_goal.py",
    "tests/lsp/test_client_profile.py",
)
"""What asks the table for something: the command line and editors for commands, `run` for options, the engine for a
tracer, callables for agents of packages, the package itself for names. The rest of the default suite asks by these
alone, and would take minutes."""
LEFT_OUT = shutil.ignore_patterns("__pycache__", "benchmarks", "transcripts", "vscode")
"""None of it is of the default suite but transcripts, which hold the help with all commands."""


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The Python of these tests, with the sources of that folder."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DONEWHEN_"))}
    environment = {**mine, "PYTHONPATH": str(folder / "server"), "XDG_STATE_HOME": str(folder / "state")}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def without(folders: Iterable[str], copy: Path) -> None:
    """Makes a copy of the tree from which these extras are gone, with their rows and their tests."""
    for part in ("server", "tests"):
        shutil.copytree(ROOT / part, copy / part, ignore=LEFT_OUT)
    shutil.copy(ROOT / "pyproject.toml", copy)
    table = copy / "server" / "donewhen" / "extras" / "__init__.py"
    for folder in folders:
        shutil.rmtree(table.parent / folder)
        shutil.rmtree(copy / TESTS[folder])
        row = rf'^    Extra\(\s*"{folder}",.*\n(?: {{8}}.*\n)*(?:    \),\n)?'
        text, rows = re.subn(row, "", table.read_text(encoding="utf-8"), flags=re.M)
        assert rows == 1, "one row, and nothing else"
        table.write_text(text, encoding="utf-8")


def test_the_tests_of_each_extra_are_known() -> None:
    assert set(TESTS) == {one.folder for one in EXTRAS}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("extra", EXTRAS, ids=lambda one: one.folder)
def test_without_an_extra_everything_else_works(extra: Extra, tmp_path: Path) -> None:
    folder = extra.folder
    without([folder], tmp_path)
    needing = re.compile(rf"\b(?:donewhen\.extras|tests)\.{folder}\b")
    free = [tmp_path / place for place in TESTS.values()]  # tests of one may use another
    free.append(tmp_path / "server" / "donewhen" / "__init__.py")  # for type checkers alone
    others = [one for one in tmp_path.rglob("*.py") if not any(one.is_relative_to(place) for place in free)]
    assert not [one for one in others if needing.search(one.read_text(encoding="utf-8"))]
    asked = python(tmp_path, "-c", "import donewhen; print(donewhen.__file__)")
    assert asked.stdout.startswith(str(tmp_path)), asked.stderr
    goal = tmp_path / "GOAL.md"
    goal.write_text("# Nothing\n\n- [ ] `true` passes\n", encoding="utf-8")
    for words, code in ((["--help"], 0), (["check"], 0), (["completion", "bash"], 0), ([extra.command or "none"], 2)):
        done = python(tmp_path, "-m", "donewhen", *words)
        assert done.returncode == code, done.stderr
        assert not extra.command or f"  {extra.command} " not in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_without_any_extra_the_tests_of_everything_else_pass(tmp_path: Path) -> None:
    """Of all at once: no extra may import another, so that what needs one of them fails here, too."""
    without([one.folder for one in EXTRAS], tmp_path)
    done = python(tmp_path, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *KERNEL)
    assert done.returncode == 0, done.stdout + done.stderr
