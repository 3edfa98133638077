"""A small project with a mistake in it, for goals of all kinds."""

from __future__ import annotations

from pathlib import Path

BAR = "donewhen.goal"
"""What the id of the item in the status bar ends with."""

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT_LINE = "return a + b"
RIGHT = f"def add(a, b):\n    {RIGHT_LINE}\n"
ASSERTION = "assert add(2, 3) == 5"
TEST = f"from calc import add\n\n\ndef test_add():\n    {ASSERTION}\n"
OBJECTIVE = "Make add right"
HUMAN = """\
---
worker: human
---
# Make add right

- [ ] `python -m pytest -q` passes
- [ ] `test -f NOTES.md` passes
"""


def project(folder: Path, goal: str | None = None) -> Path:
    """`calc.py` subtracts where it should add, and `test_calc.py` finds that out."""
    folder.mkdir(parents=True)
    (folder / "calc.py").write_text(WRONG, encoding="utf-8")
    (folder / "test_calc.py").write_text(TEST, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider -p no:asyncio\n", encoding="utf-8")
    if goal is not None:
        (folder / "GOAL.md").write_text(goal, encoding="utf-8")
    return folder


PYTEST = """\
# Make add right

- [ ] `python -m pytest -q` passes
"""
