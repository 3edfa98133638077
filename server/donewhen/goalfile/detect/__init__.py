"""Finds the checks that a workspace already has, as its people would type them.

First what the project runs itself (`own`), then guesses from its files: `python` and `node` have their own rules,
everything else is a sign in a tool's row (`core/ecosystems/`). `checks` decides which of them a draft contains.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.ecosystems.javascript import JAVASCRIPT
from donewhen.core.ecosystems.python import PYTHON
from donewhen.goalfile.detect.checks import DetectedCheck, slots, suggested
from donewhen.goalfile.detect.folder import Folder, shown_by
from donewhen.goalfile.detect.node import node_checks
from donewhen.goalfile.detect.own import left_of_tox, own_checks, recipes
from donewhen.goalfile.detect.python import python_tests, python_tools


def detect(root: Path) -> tuple[DetectedCheck, ...]:
    """The checks of the workspace at `root`, each once, tests first. Nothing is executed."""
    folder = Folder(root)
    unique: dict[str, DetectedCheck] = {}
    for source in SOURCES:
        for check in source(folder):
            unique.setdefault(check.decides, check)
    return tuple(sorted(unique.values(), key=lambda check: check.purpose != "test"))


def left(root: Path) -> tuple[str, ...]:
    """What the project runs to check itself and nothing here knows, each with where it stands and why."""
    return tuple(dict.fromkeys(left_of_tox(Folder(root))))


def _from_signs(folder: Folder) -> Iterator[DetectedCheck]:
    """The guesses from tools' rows, except those that `python` and `node` know how to run."""
    for ecosystem in ECOSYSTEMS:
        for tool in ecosystem.tools:
            for sign in tool.signs:
                if ecosystem in (PYTHON, JAVASCRIPT) and not sign.group:
                    continue
                if shown := shown_by(sign, folder, ecosystem.tests):
                    command = sign.windows if sign.windows and os.name == "nt" else sign.command
                    program = command.split(" ")[0]
                    group = sign.group or ecosystem.group or ecosystem.name
                    purpose = sign.purpose or tool.purpose
                    yield DetectedCheck(command, shown[0], purpose, group, tool=program, programs=(program,))


SOURCES: tuple[Callable[[Folder], Iterator[DetectedCheck]], ...] = (
    own_checks, python_tests, node_checks, python_tools, recipes, _from_signs,
)  # fmt: skip
"""Where checks come from, in the order in which they are offered."""

__all__ = ["DetectedCheck", "detect", "left", "slots", "suggested"]
