"""What `donewhen doctor` finds out about a workspace: the interpreter, the path and the programs of its checks."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from donewhen.cli.services import CheckProgram, DoctorFacts
from donewhen.core.errors import DoneWhenError
from donewhen.evidence.runner import CommandChecker
from donewhen.goalfile.files import WorkspaceGoalFiles, find_goals
from donewhen.store.folders import state_folder
from donewhen.workspace.processes import SystemProcesses


def doctor_facts(root: Path) -> DoctorFacts:
    """Looks, and changes nothing but a scratch folder that is gone again afterwards."""
    with tempfile.TemporaryDirectory(prefix="donewhen-doctor-") as scratch:
        checker = CommandChecker(SystemProcesses(), root, Path(scratch), lambda: dict(os.environ))
        variables = checker.variables()
        path = variables.get("PATH", "")
        python = shutil.which("python3", path=path) or shutil.which("python", path=path)
        environment = variables.get("VIRTUAL_ENV") or variables.get("CONDA_PREFIX")
        checks, problems = _checks(root, path)
        return DoctorFacts(
            interpreter=python,
            why=f"from {environment}" if environment else "the first on PATH",
            path=tuple(path.split(os.pathsep)),
            checks=checks,
            watcher=_watcher(),
            state_folder=_state_folder(problems),
            problems=tuple(problems),
        )


def _checks(root: Path, path: str) -> tuple[tuple[CheckProgram, ...], list[str]]:
    files = WorkspaceGoalFiles(root)
    found: dict[str, CheckProgram] = {}
    problems: list[str] = []
    for goal_path in find_goals(root):
        try:
            goal = files.load(goal_path)
        except DoneWhenError as error:
            problems.append(f"{goal_path}: {error}")
            continue
        for check in goal.checks:
            word = check.command.split()[0] if check.command.split() else ""
            found.setdefault(check.command, CheckProgram(check.command, shutil.which(word, path=path)))
    return tuple(found.values()), problems


def _watcher() -> str:
    import watchfiles

    return f"watchfiles {watchfiles.__version__}"


def _state_folder(problems: list[str]) -> str:
    try:
        return str(state_folder())
    except DoneWhenError as error:
        problems.append(str(error))
        return ""
