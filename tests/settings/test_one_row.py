"""A setting is one row: every place where it is written or described takes it from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from donewhen.settings.table import SETTINGS

EXPECTED: dict[str, Any] = {
    "flag": 300,
    "help": "how long a nap takes (20m) [DONEWHEN_NAP]",
    "environment": 360,
    "your settings": 420,
    "a synonym in your settings": ["did you mean `nap`?"],
    "workspace": 7200,
    "ceiling": 7200,
    "only tightened": ["calm", ["ignored_setting", "ceiling"]],
    "editor": "calm",
    "goal file": 540,
    "a mistake in a goal file": ["write the unit, 9s or 9m"],
    "another word in a goal file": ["did you mean `nap`?"],
    "not of a goal file": ["`mood` can't be set in a goal file"],
    "keys completed": True,
    "values completed": ["20m", "1h", "unlimited"],
    "hover": "How long a nap takes; `20m` if absent.",
    "start": 5,
    "resume": True,
    "page": "How long a nap takes",
    "rows": len(SETTINGS) + 2,
}
GENERATOR = Path(__file__).parents[2] / "docs" / "scripts" / "generate_settings.py"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each place makes of a row that was added to the table, and to nothing else."""
    folder = tmp_path_factory.mktemp("places")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.settings.with_a_new_row", str(folder)], capture_output=True, text=True,
        cwd=Path(__file__).parents[2], env=environment, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("place", EXPECTED)
def test_a_new_row_reaches(place: str, places: dict[str, Any]) -> None:
    found, expected = places[place], EXPECTED[place]
    if place == "a synonym in your settings" or (place.endswith("goal file") and isinstance(found, list)):
        assert all(one in message for one, message in zip(expected, found, strict=True))
    elif isinstance(found, str):
        assert expected in found
    else:
        assert found == expected


def test_no_place_was_forgotten(places: dict[str, Any]) -> None:
    assert set(places) == set(EXPECTED)


def test_the_reference_is_as_fresh_as_the_table() -> None:
    done = subprocess.run([sys.executable, GENERATOR, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run {GENERATOR.name} with this Python\n{done.stderr}"
