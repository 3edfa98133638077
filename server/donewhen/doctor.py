"""What `donewhen doctor` finds out about a workspace: the interpreter, the path and the programs of its checks."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from donewhen.cli.services import CheckProgram, DoctorFacts
from donewhen.composition_plugins import plugins_there
from donewhen.config import Settings
from donewhen.core.errors import DoneWhenError
from donewhen.core.goal import Check
from donewhen.doctor_models import models_facts
from donewhen.doctor_plugins import plugins_facts
from donewhen.evidence.known_runners import read_line
from donewhen.evidence.runner import CommandChecker
from donewhen.goalfile.files import WorkspaceGoalFiles, find_goals
from donewhen.ports import Checker, Processes
from donewhen.store.folders import state_folder
from donewhen.workspace.processes import SystemProcesses
from donewhen.workspace.rooms.choosing import BestRooms
from donewhen.workspace.rooms.live import MountedLiveRooms
from donewhen.workspace.rooms.owners import others_files

SHELL_WORDS = frozenset((*":.[", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "test", "true"))


def doctor_facts(root: Path, settings: Settings) -> DoctorFacts:
    """Looks, and changes nothing but a scratch folder that is gone again afterwards."""
    with tempfile.TemporaryDirectory(prefix="donewhen-doctor-") as scratch:
        checker = CommandChecker(SystemProcesses(), root, Path(scratch), lambda: dict(os.environ))
        variables = checker.variables()
        path = variables.get("PATH", "")
        python = shutil.which("python3", path=path) or shutil.which("python", path=path)
        environment = variables.get("VIRTUAL_ENV") or variables.get("CONDA_PREFIX")
        own, others = _goals(root)
        checks, problems = _checks(root, own, checker)
        state = _state_folder(problems)
        rooms, hindrance, owners = asyncio.run(_rooms(root, Path(state or scratch), checker))
        return DoctorFacts(
            interpreter=python,
            why=f"from {environment}" if environment else "the first on PATH",
            path=tuple(path.split(os.pathsep)),
            checks=checks,
            watcher=_watcher(),
            state_folder=state,
            problems=tuple(problems),
            goals=own,
            goals_elsewhere=others,
            models=models_facts(settings, os.environ),
            plugins=plugins_facts(root, settings),
            rooms=rooms,
            rooms_hindrance=hindrance,
            rooms_owners=owners,
            contains=asyncio.run(_contains(root, Path(state or scratch), checker)),
        )


async def _rooms(root: Path, state: Path, checker: CommandChecker) -> tuple[str, str, str]:
    """What rooms are made of where runs are recorded, found out by making one; why they are no better, and what in the
    workspace they won't change."""

    def inside(processes: Processes, root: Path, writable: Path, written: Path | None) -> Checker:
        return checker

    with tempfile.TemporaryDirectory(prefix="doctor-", dir=state) as folder:
        best = BestRooms(Path(folder), SystemProcesses(), inside, checker.variables)
        chosen = await best.chosen()
        owners = others_files(root) if chosen.kind == "overlay" else ""
        return chosen.kind, best.why, owners


async def _contains(root: Path, state: Path, checker: CommandChecker) -> str:
    """Why commands can't be contained here, found out by opening a room."""
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=state) as folder:
        return await MountedLiveRooms(root, Path(folder), checker.variables).hindrance()


def _goals(root: Path) -> tuple[tuple[str, ...], int]:
    """The goal files that commands take by themselves, and how many there are in folders below."""
    found = find_goals(root)
    own = tuple(path for path in found if "/" not in path)
    return own, len(found) - len(own)


def _checks(root: Path, goals: Sequence[str], checker: CommandChecker) -> tuple[tuple[CheckProgram, ...], list[str]]:
    files = WorkspaceGoalFiles(root, plugins_there)
    found: dict[str, CheckProgram] = {}
    problems: list[str] = []
    for goal_path in goals:
        try:
            goal = files.load(goal_path)
        except DoneWhenError as error:
            problems.append(str(error))
            continue
        for check in goal.checks:
            found.setdefault(check.command, CheckProgram(check.command, _program(check, checker)))
    return tuple(found.values()), problems


def _program(check: Check, checker: CommandChecker) -> str | None:
    """What the shell starts; for a word of the shell's own, the shell."""
    words = {part.words[0] for part in read_line(check.command) if part.words}
    return checker.program(check) or ("the shell" if words and words <= SHELL_WORDS else None)


def _watcher() -> str:
    import watchfiles

    return f"watchfiles {watchfiles.__version__}"


def _state_folder(problems: list[str]) -> str:
    try:
        return str(state_folder())
    except DoneWhenError as error:
        problems.append(str(error))
        return ""
