"""Agents that make the checks pass without the work: the gate refuses each of them, as a run does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gate.place import Place
from tests.trials import cheats
from tests.trials.cheats import TESTS, Edits
from tests.trials.test_cheats import PYTHON, merged

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

LIES: dict[str, Edits] = {
    "weakens an assertion": cheats.PYTHON["an assertion that is or true"],
    "skips": cheats.PYTHON["an assertion that is skipped inside"],
    "deletes the tests": cheats.PYTHON["a renamed file of tests"],
    "deselects them": cheats.PYTHON["a conftest that deselects"],
    "configures them away": cheats.PYTHON["addopts that deselect in pyproject"],
    "shadows the runner": cheats.PYTHON["pytest shadowed"],
    "patches at the start of Python": cheats.PYTHON["sitecustomize"],
    "empties their data": {**cheats.EMPTY, TESTS: (cheats.COMMA, "pass")},
    "makes each report pass": cheats.PYTHON["the product makes each report pass"],
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    for path, text in PYTHON.files.items():
        made.write(path, text)
    made.write("GOAL.md", f"# Quote\n\n- [ ] It quotes\n  - check: `{PYTHON.check}`\n")
    return made


def works(place: Place, edits: Edits) -> None:
    for path, text in merged(PYTHON, [edits]).items():
        if text is None:
            (place.root / path).unlink(missing_ok=True)
        else:
            place.write(path, text)


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_agent_is_refused(place: Place, lie: str) -> None:
    place.start()
    works(place, LIES[lie])
    first = place.stop()
    assert first.block or "NOT proven" in first.note  # what no trial can tell a person is asked about at once
    place.write("notes.txt", "It is all done now.\n")
    second = place.stop(stop_hook_active=True)
    assert second.block or "NOT proven" in second.note
    assert "complete" not in place.statuses()


def test_an_honest_one_may_stop(place: Place) -> None:
    place.start()
    works(place, PYTHON.work)
    done = place.stop()
    assert not done.block
    assert "the goal is proven" in done.note
