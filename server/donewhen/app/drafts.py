"""Examines a workspace before a goal is drafted for it: its checks, which of them can run here, and their results."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.core.errors import LedgerUnavailable
from donewhen.core.evidence import CheckResult, Outcome
from donewhen.core.goal import Check
from donewhen.engine.tasks import side_by_side
from donewhen.evidence.causes import how_to_get
from donewhen.evidence.environment import CheckEnvironment
from donewhen.evidence.runner import CommandChecker
from donewhen.goalfile.detect import DetectedCheck, detect, left, slots
from donewhen.goalfile.survey import FoundCheck, Standing, Survey
from donewhen.ports import Processes
from donewhen.store.folders import private_folder, state_folder
from donewhen.workspace.processes.running import SystemProcesses

ANOTHER = "another tox command is drafted in its place; add this one if it decides as well"
_ALL = 2.5
"""All checks together get this many times the time of one check; the rest is drafted untried."""
_SIDE_BY_SIDE = 2
_WAYS = 4
_MAKES_ENVIRONMENTS = frozenset(("tox", "nox", "pre-commit"))
"""They download what they need, which takes minutes, so they are never tried."""
_UNKNOWN_MODULES = (
    "import importlib.util as u, json, sys; print(json.dumps([m for m in sys.argv[1:] if u.find_spec(m) is None]))"
)
_MISUSED = re.compile(
    r"^(?:(?:[\w-]+: error|ERROR|error): (?:usage:|unrecognized|unexpected|unknown|file or directory not found"
    r"|.*no such (?:option|file)).*|npm (?:ERR!|error) Missing script.*|.*can't open file.*"
    r"|Error: Cannot find module.*|.*(?:no tests? (?:files? )?found|could not find any test files).*)$",
    re.MULTILINE | re.IGNORECASE,
)
"""Messages of programs that did no work, because they were called wrongly or found nothing to do."""
_UNABLE = (Outcome.NO_TESTS, Outcome.NO_REPORT, Outcome.NOT_INSTALLED, Outcome.NOT_RUN)


@dataclass(frozen=True, slots=True)
class CheckPlace:
    """Where checks are looked for, and tried: a folder, the variables of whoever started Done When, the Python that is
    selected for it. `bytecode` is as for `CheckEnvironment`."""

    root: Path
    environment: Callable[[], Mapping[str, str]] = lambda: os.environ
    interpreter: Path | None = None
    bytecode: Path | None = None


async def survey(
    place: CheckPlace, *, execute: bool, tries: bool, patience: float, processes: Processes | None = None
) -> Survey:
    """What a draft for this workspace should hold.

    Without `execute` nothing at all is run, and modules are assumed to be installed. With `tries` each check of the
    draft runs once, two at a time, for at most `patience` seconds; one that can't run here (a wrong option, no test
    found) is replaced by the next alternative. Cancelling ends everything that was started.
    """
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="donewhen-draft-"))
    try:
        look = _Look(place, scratch, processes or SystemProcesses(), patience)
        return await look.survey(execute=execute, tries=tries and execute)
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


def place_of(root: Path, state_dir: Path | None, interpreter: Path | None) -> CheckPlace:
    """Uses the same bytecode as runs, if the state folder can be written."""
    try:
        bytecode = private_folder(state_folder(state_dir) / "pycache")
    except LedgerUnavailable:
        bytecode = None
    return CheckPlace(root, interpreter=interpreter, bytecode=bytecode)


class _Look:
    """One examination of one workspace."""

    def __init__(self, place: CheckPlace, scratch: Path, processes: Processes, patience: float) -> None:
        self._root = place.root
        self._patience = patience
        self._processes = processes
        self._checker = CommandChecker(
            processes, place.root, scratch, place.environment, interpreter=place.interpreter, bytecode=place.bytecode
        )
        self._environment = CheckEnvironment(place.root, scratch, place.environment, place.interpreter, place.bytecode)
        self._variables = self._checker.variables()
        self._token = f"draft-{secrets.token_hex(8)}"
        self._unknown: frozenset[str] = frozenset()
        self._recipes = asyncio.Lock()
        """Recipes share what they make on their way: one after another."""

    async def survey(self, *, execute: bool, tries: bool) -> Survey:
        detected = await asyncio.to_thread(detect, self._root)
        python = "python" if self._which("python") or not self._which("python3") else "python3"
        detected = tuple(check.with_python(python) for check in detected)
        if execute:
            self._unknown = await self._unknown_modules(python, detected)
        queue = asyncio.Semaphore(_SIDE_BY_SIDE)
        deadline = asyncio.get_running_loop().time() + _ALL * self._patience
        chosen = await side_by_side(self._chosen(slot, queue, deadline, tries) for slot in slots(detected))
        held = {one.command for one in chosen}
        others = [
            FoundCheck(one.command, one.why, one.purpose, left_out=ANOTHER if one.beside else None)
            for one in detected
            if one.command not in held
        ]
        unknown = await asyncio.to_thread(left, self._root)
        return Survey((*(c for c in chosen if c.drafted), *(c for c in chosen if not c.drafted), *others), unknown)

    async def _unknown_modules(self, python: str, detected: Sequence[DetectedCheck]) -> frozenset[str]:
        """The modules that checks need and the interpreter doesn't have; none if it can't be asked."""
        modules = sorted({module for check in detected for way in check.ways for module in way.modules})
        program = self._which(python)
        if not modules or program is None:
            return frozenset()
        done = await self._processes.run(
            [program, "-c", _UNKNOWN_MODULES, *modules], cwd=self._root, environment=self._variables,
            token=self._token, timeout=20,
        )  # fmt: skip
        try:
            return frozenset(json.loads(done.output.strip().splitlines()[-1]))
        except (ValueError, IndexError, TypeError):
            return frozenset()

    def _which(self, program: str) -> str | None:
        return self._environment.which(program, self._variables)

    def _missing(self, check: DetectedCheck) -> str | None:
        """What the check needs and is missing, and how to get it."""
        if check.lacking:
            return check.lacking
        for name in (*(one for one in check.programs if not self._which(one)), *(set(check.modules) & self._unknown)):
            return f"`{name}` is not installed here: {how_to_get(name, self._root)}"
        return None

    async def _chosen(
        self, slot: Sequence[DetectedCheck], queue: asyncio.Semaphore, deadline: float, tries: bool
    ) -> FoundCheck:
        """The first of these checks that can run; else the first one, with what prevents it."""
        first = slot[0]
        ways = [check for check in slot if self._missing(check) is None][:_WAYS]
        if not ways:
            return FoundCheck(first.command, first.why, first.purpose, left_out=self._missing(first))
        hindered: str | None = None
        for check in ways:
            found = FoundCheck(check.command, check.why, check.purpose, drafted=True)
            if not tries or check.tool in _MAKES_ENVIRONMENTS:
                return found
            async with self._recipes if check.command.startswith(("make ", "just ")) else nullcontext(), queue:
                left = deadline - asyncio.get_running_loop().time()
                if left < 1:
                    return found
                asked = Check.of(check.command)
                result = await self._checker.run(asked, timeout=min(self._patience, left), token=self._token)
            standing = standing_of(result)
            if standing is not None:
                slow = f"still running after {result.seconds:.0f} s" if standing == "slow" else None
                return replace(found, standing=standing, reason=slow or result.reason, seconds=result.seconds)
            hindered = hindered or _misuse(result)[:200] or result.reason
        return FoundCheck(first.command, first.why, first.purpose, left_out=f"it can't be run here: {hindered}")


def standing_of(result: CheckResult) -> Standing | None:
    """None if the check could not run, or its result says nothing: no run of it could be met."""
    if result.outcome is Outcome.PASSED:
        return "green"
    if result.outcome is Outcome.TIMED_OUT:
        return "slow"
    return None if _misuse(result) or result.outcome in _UNABLE else "red"


def _misuse(result: CheckResult) -> str:
    """The program's complaint about how it was called; empty if it did its work."""
    if result.outcome is not Outcome.FAILED or (result.totals is not None and result.totals.executed):
        return ""
    said = _MISUSED.search(result.output)
    return said[0].strip() if said else ""
