"""What a seed chooses before anything happens: the goal, who works and judges, the limits, and what will fail."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal

from donewhen.core.goal import Goal, Limits, Requirement
from tests.core.builders import goal, requirement

GOAL_FILE = "GOAL.md"
PROTECTED = "protected.txt"
GOOD = b"good"
CHECKS = {"alpha": ("a.py",), "beta": ("b.py",), "both": ("a.py", "b.py")}
"""Each check passes where all of its files are good."""
JUDGED = "the text reads well"
"""What only the judge can tell."""
REPORT = "report.txt"
"""What a check writes each time, where the scenario says so."""

JudgeKind = Literal["honest", "gullible", "refusing", "undecided", "garbage", "hostile", "mixed"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """`crashes` are appends at which a process dies, True: once the entry is written. Rates are chances of 0 to 1,
    times virtual seconds."""

    goals: tuple[Goal, ...]
    """What the goal file says, by its versions."""
    worker: Literal["command", "human"] = "command"
    judge: JudgeKind | None = None
    metered: bool = False
    rooms: bool = False
    summary: str = ""
    crashes: dict[int, bool] = field(default_factory=dict[int, bool])
    deaths: tuple[float, ...] = ()
    """When the process dies, whatever it does."""
    power: float = 0.0
    """How often a death is one of the whole machine."""
    full: tuple[tuple[float, float], ...] = ()
    """From when to when the disk is full."""
    delay: float = 0.0
    """The most that a write, a look at the files or a hint of a change takes."""
    outage: float = 0.0
    lying: float = 0.0
    """How often a check fails, hangs or is killed though its files are good."""
    failing: float = 0.0
    """How often a turn of the worker fails."""
    hanging: float = 0.0
    defect: float = 0.0
    orphans: float = 0.0
    """How often something of the worker outlives its process, and goes on writing."""
    writes_report: bool = False
    acts: int = 0
    """What people do while it runs, at most."""
    skill: float = 0.5
    """How often what the worker writes is good."""
    mischief: float = 0.0
    """How often it changes what it must not."""


def scenario(random: Random) -> Scenario:
    """One in ten is without faults and without people."""
    human, judged = random.random() < 0.1, random.random() < 0.5
    first = _goal(random, judged)
    amended = replace(first, requirements=_requirements(random, judged), limits=_limits(random))
    chosen = Scenario(
        goals=(first, amended, replace(first, objective="Another one")),
        worker="human" if human else "command",
        judge=random.choice(("honest", "honest", "gullible", "refusing", "undecided", "garbage", "hostile", "mixed"))
        if judged
        else None,
        metered=random.random() < 0.6,
        rooms=not human and random.random() < 0.25,
        summary="the worker runs a command" if random.random() < 0.1 else "",
        writes_report=random.random() < 0.1,
        skill=random.choice((0.2, 0.5, 0.8, 1.0)),
        mischief=random.choice((0.0, 0.0, 0.2)),
        acts=random.randint(2, 4) if human else 0,
    )
    if random.random() < 0.1:
        return chosen
    return replace(
        chosen,
        crashes={random.randint(2, 80): random.random() < 0.5 for _ in range(random.choice((0, 0, 1, 1, 2, 4)))},
        deaths=tuple(sorted(random.uniform(0.1, 6.0) for _ in range(random.choice((0, 0, 1, 2))))),
        power=random.choice((0.0, 0.3, 1.0)),
        full=tuple((at, at + random.uniform(0.1, 2.0)) for at in [random.uniform(0.1, 5.0)] if random.random() < 0.15),
        delay=random.choice((0.0, 0.002, 0.05)),
        outage=random.choice((0.0, 0.0, 0.3, 0.9)),
        lying=random.choice((0.0, 0.0, 0.2)),
        failing=random.choice((0.0, 0.0, 0.2)),
        hanging=random.choice((0.0, 0.0, 0.1)) if first.limits.timeout and amended.limits.timeout else 0.0,
        defect=random.choice((0.0,) * 5 + (0.03,)),
        orphans=random.choice((0.0, 0.5)),
        acts=random.randint(0, 8),
    )


def calm(chosen: Scenario) -> Scenario:
    """The same without faults: what was begun must now end."""
    return replace(
        chosen, crashes={}, deaths=(), full=(), outage=0.0, lying=0.0, failing=0.0, hanging=0.0, defect=0.0, orphans=0.0
    )


def _goal(random: Random, judged: bool) -> Goal:
    made = goal(*_requirements(random, judged))
    return replace(made, limits=_limits(random), protect=(PROTECTED,))


def _requirements(random: Random, judged: bool) -> tuple[Requirement, ...]:
    names = random.sample(sorted(CHECKS), random.choice((1, 1, 2)))
    made = [requirement(n, f"`{name}` passes", name, sole=True) for n, name in enumerate(names, 1)]
    if judged and random.random() < 0.5:
        made.append(requirement(len(made) + 1, "alpha is right, and reads well", "alpha"))
    if random.random() < (0.6 if judged else 0.1):
        made.append(requirement(len(made) + 1, JUDGED))
    return tuple(made)


def _limits(random: Random) -> Limits:
    return Limits(
        max_iterations=random.choice((2, 3, 5, 8)),
        timeout=random.choice((None, 3.0, 8.0)),
        budget=random.choice((None, None, 0.5, 2.0)),
        token_budget=random.choice((None, None, 500, 3000)),
        check_timeout=0.5,
        stall_after=random.choice((2, 3)),
    )
