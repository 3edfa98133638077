"""The sample project of `donewhen demo`, and the recording that its worker plays."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

NAME = "csv_export"
WORKSPACE = "csv-export"
SCRIPT = "demo.yaml"

_LEFT_OUT = ("__pycache__", ".pytest_cache")


@dataclass(frozen=True, slots=True)
class DemoProject:
    """A copy of the sample that a run may work on. `script` lies outside of the workspace."""

    workspace: Path
    goal: Path
    script: Path


def prepare(folder: Path, *, pytest: bool) -> DemoProject:
    """Copies the sample into `folder`, which is made where it is missing.

    `pytest` says whether this interpreter can import it; without it, all checks of the goal use unittest. Raises
    FileExistsError if a copy is there already.
    """
    workspace = folder / WORKSPACE
    workspace.mkdir(parents=True)
    _copy(files(__name__) / NAME, workspace)
    goal = workspace / "GOAL.md"
    _write_file(goal, goal_text(goal.read_text(encoding="utf-8"), pytest=pytest, python=interpreter_name()))
    script = folder / SCRIPT
    _write_file(script, (files(__name__) / f"{NAME}.demo.yaml").read_text(encoding="utf-8"))
    return DemoProject(workspace, goal, script)


def interpreter_name(executable: str = sys.executable) -> str:
    """What the interpreter is called in commands once its folder comes first on PATH: `python`, else its own name."""
    path = Path(executable)
    return "python" if (path.parent / f"python{path.suffix}").exists() else path.name


def goal_text(template: str, *, pytest: bool, python: str) -> str:
    """The sample's goal file, which is written for pytest and `python`, for the tools that there are."""
    text = template if pytest else template.replace("python -m pytest -q`", "python -m unittest -q`")
    return text.replace("`python -m ", f"`{python} -m ")


def _copy(source: Traversable, target: Path) -> None:
    for entry in source.iterdir():
        if entry.name in _LEFT_OUT or entry.name.endswith(".pyc"):
            continue
        if entry.is_dir():
            (target / entry.name).mkdir()
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())


def _write_file(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
