"""What a person wants: a goal, its requirements, their checks and the limits of a run.

Everything here is a value: parsed once, compared by content, never changed in place.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Literal

from donewhen.core.errors import InvalidGoal

CheckKind = Literal["command", "validator"]
About = Literal["workspace", "response"]

_SPACE = re.compile(r"\s+")


def requirement_id(text: str, occurrence: int = 1) -> str:
    """The identity of a requirement: its normalised text, so that moving it keeps its history.

    `occurrence` counts equal texts in one file from 1; the second and later ones get ids of their own.
    """
    normalised = _SPACE.sub(" ", text).strip().casefold()
    digest = hashlib.sha256(normalised.encode()).hexdigest()[:12]
    return f"r-{digest}" if occurrence == 1 else f"r-{digest}-{occurrence}"


def check_id(command: str, expected_exit: int = 0) -> str:
    """The identity of a check: what it runs and which exit code it expects."""
    digest = hashlib.sha256(f"{expected_exit}\0{command.strip()}".encode()).hexdigest()[:12]
    return f"c-{digest}"


@dataclass(frozen=True, slots=True)
class Check:
    """An executable proof that the server runs itself, in the workspace folder, as written.

    >>> from donewhen import Check
    >>> Check.of("python -m pytest -q").command
    'python -m pytest -q'
    """

    id: str
    command: str
    expected_exit: int = 0
    kind: CheckKind = "command"

    @classmethod
    def of(cls, command: str, expected_exit: int = 0) -> Check:
        return cls(check_id(command, expected_exit), command.strip(), expected_exit)


@dataclass(frozen=True)
class Requirement:
    """One statement that must be proven.

    `sole_check` is true for the forms "`COMMAND` passes" and "No errors in Problems": that alone decides, no judge is
    asked.
    `files` and `problems` are globs relative to the workspace; `line` is the 0-based line in the goal file, and is
    no part of the requirement's identity.

    >>> from donewhen import Check, Requirement
    >>> Requirement("r-tests", 1, "`pytest` passes", (Check.of("pytest"),), sole_check=True).label
    'R1'
    """

    id: str
    number: int
    text: str
    checks: tuple[Check, ...] = ()
    sole_check: bool = False
    files: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    ticked: bool = field(default=False, compare=False)
    line: int = field(default=0, compare=False)
    external: bool = False
    """It is about something outside of the workspace, which changes while no file does: what is known of it is looked
    at again in every audit, and the judge asked again after every turn."""

    @property
    def label(self) -> str:
        return f"R{self.number}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a run that is not proven. None is unlimited, and always a person's explicit choice.

    Times are in seconds, money in US dollars.

    >>> from donewhen import Limits
    >>> Limits(max_iterations=3, timeout=600).max_iterations
    3
    """

    max_iterations: int | None = 10
    timeout: float | None = 3600.0
    budget: float | None = None
    token_budget: int | None = None
    check_timeout: float = 600.0
    stall_after: int | None = 3

    def __post_init__(self) -> None:
        _refuse_not_whole("max_iterations", self.max_iterations)
        _positive("timeout", self.timeout)
        _positive("budget", self.budget)
        _refuse_not_whole("token_budget", self.token_budget)
        _positive("check_timeout", self.check_timeout)
        _refuse_not_whole("stall_after", self.stall_after)


def _refuse_not_whole(name: str, value: int | None) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):  # pyright: ignore[reportUnnecessaryIsInstance]  # values come from files and callers
        raise InvalidGoal(f"{name} must be a whole number of at least 1, or unlimited; it is {value!r}")


def _positive(name: str, value: float | None) -> None:
    # `not value > 0` also refuses NaN.
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance]  # values come from files and callers
    if not number or not value > 0 or value == float("inf"):
        raise InvalidGoal(f"{name} must be a number greater than 0, or unlimited; it is {value!r}")


@dataclass(frozen=True, slots=True)
class Goal:
    """An objective, its requirements and its limits.

    >>> from donewhen import Check, Goal, Requirement
    >>> tests = Requirement("r-tests", 1, "`pytest` passes", (Check.of("pytest"),), sole_check=True)
    >>> Goal("Export", "Export handles quotes.", (tests,)).checks[0].command
    'pytest'

    `path` is the goal file relative to the workspace (posix), None for a goal without a file. `protect` are the
    globs of files that a worker must not change. `explicit_limits` names the limits that a person set: for worker
    `human` only those apply (product.md, "When a run starts and ends").
    """

    title: str
    objective: str
    requirements: tuple[Requirement, ...]
    limits: Limits = field(default_factory=Limits)
    path: str | None = None
    worker: str | None = None
    model: str | None = None
    judge_model: str | None = None
    protect: tuple[str, ...] = ()
    explicit_limits: frozenset[str] = frozenset()
    about: About = "workspace"
    """`response`: a library goal about what the worker returned; it proves nothing about files (product.md)."""
    guard: bool = False
    """Once it is complete, it is on guard."""
    proof: tuple[str, ...] = ()
    """Globs of files that count as proof besides those that the tables know (`core/proof_files.py`)."""
    may_change: tuple[str, ...] = ()
    """Globs of proof files whose change is what the goal is about: their original is not tried on the new work."""

    def __post_init__(self) -> None:
        if not (self.objective.strip() or self.title.strip()) or not self.requirements:
            raise InvalidGoal("the goal is empty: write a title, some text, or a task list of requirements")

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every bound check once, in the order of the file."""
        seen: dict[str, Check] = {}
        for requirement in self.requirements:
            for check in requirement.checks:
                seen.setdefault(check.id, check)
        return tuple(seen.values())

    @property
    def outside_checks(self) -> frozenset[str]:
        """The ids of checks that may say something else while no file changes: those of external requirements, and
        validators."""
        return frozenset(
            check.id
            for requirement in self.requirements
            for check in requirement.checks
            if requirement.external or check.kind == "validator"
        )

    def requirement(self, key: str) -> Requirement | None:
        """Finds a requirement by its id or by its label (`R3`)."""
        wanted = key.strip()
        for requirement in self.requirements:
            if wanted in (requirement.id, requirement.label):
                return requirement
        return None
