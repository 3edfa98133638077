"""What `donewhen doctor` finds out about a workspace: the interpreter, the path and the programs of its checks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from donewhen.cli.services import CheckProgram, DoctorFacts
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
from donewhen.workspace.watching import watcher_for

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
        watcher, unwatched = asyncio.run(_watcher(root, Path(scratch)))
        rooms, hindrance, owners = asyncio.run(_rooms(root, Path(state or scratch), checker))
        return DoctorFacts(
            interpreter=python,
            why=f"from {environment}" if environment else "the first on PATH",
            path=tuple(path.split(os.pathsep)),
            checks=checks,
            watcher=watcher,
            watcher_hindrance=unwatched,
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
    files = WorkspaceGoalFiles(root)
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


WATCHED_BY = {"linux": "inotify", "darwin": "FSEvents", "win32": "ReadDirectoryChangesW"}
_WATCHED_WITHIN = 5.0


async def _watcher(root: Path, scratch: Path) -> tuple[str, str]:
    """What watches the folder, found out by watching it, and why nothing does."""
    watcher = watcher_for(root, scratch)
    watcher.start(lambda: None)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WATCHED_WITHIN):
                while await watcher.drain() and not watcher.polls:
                    watcher.take()
                    await asyncio.sleep(0.01)
                if watcher.warning is None:
                    begun = time.monotonic()
                    await watcher.drain()
                    heard = 1000 * (time.monotonic() - begun)
                    system = WATCHED_BY.get(sys.platform, sys.platform)
                    return f"{system}, through watchfiles {version('watchfiles')}: heard after {heard:.0f} ms", ""
    finally:
        watcher.close()
    return "", watcher.warning or "the system reports no changes: they are looked for every few seconds"


def _state_folder(problems: list[str]) -> str:
    try:
        return str(state_folder())
    except DoneWhenError as error:
        problems.append(str(error))
        return ""
