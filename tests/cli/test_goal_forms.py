"""`/goal` forms with the real engine (C22)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.test_processes import DEADLINE, Place, first, place, working

__all__ = ["place"]

posix = pytest.mark.skipif(os.name != "posix", reason="the shell's commands are POSIX's here")


@pytest.mark.slow
@posix
@pytest.mark.conformance("C22")
def test_the_newest_run_is_paused_resumed_stopped_and_cleared(place: Place) -> None:
    place.goal("`test -f done.txt` passes")
    process = place.start("run", "--json")
    run_id = first(process, working)["runId"]
    assert run_id in place.run("run", "/goal status").stdout
    assert place.run("run", "/goal pause").returncode == 0
    process.communicate(timeout=DEADLINE)
    assert (process.returncode, place.newest()["status"]) == (3, "paused")

    again = place.start("run", "/goal", "resume", "--json")
    assert first(again, working)["runId"] == run_id
    assert place.run("run", "/goal stop").returncode == 0
    again.communicate(timeout=DEADLINE)
    assert (again.returncode, place.newest()["status"]) == (1, "cancelled")

    assert place.run("run", "/goal clear").returncode == 0
    refused = place.run("run", "/goal stop")
    assert refused.returncode == 2
    assert "donewhen: error: " in refused.stderr
    assert [path.name for path in place.root.iterdir()] == ["GOAL.md"]


@pytest.mark.slow
@pytest.mark.conformance("C22")
def test_an_objective_loses_the_prefix_and_other_text_nothing(place: Place) -> None:
    # Something has to prove them.
    test = "import unittest\n\n\nclass Quoting(unittest.TestCase):\n    def test_it(self):\n        self.fail()\n"
    (place.root / "test_it.py").write_text(test, encoding="utf-8")
    drafted = place.run("run", "/goal Quote all fields", "--worker-command", "echo", "--max-iterations", "1")
    assert drafted.returncode in (1, 3), drafted.stderr
    assert _heading(place.root / "GOAL.md") == "# Quote all fields"
    place.run("run", "Parse /goal and /goals", "--worker-command", "echo", "--max-iterations", "1")
    (other,) = place.root.glob("*.goal.md")
    assert _heading(other) == "# Parse /goal and /goals"
    titles = [one["title"] for one in json.loads(place.run("list", "--json").stdout)]
    assert "Quote all fields" in titles


def _heading(path: Path) -> str:
    return next(line for line in path.read_text("utf-8").splitlines() if line.startswith("# "))
