"""The scripted judges of the table: one that knows the truth, and all the ways in which a judge can be wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.goalbench.cases import Case, JudgeName
from donewhen.judges.scripted import (
    CallableJudge,
    OutageJudge,
    garbage_judge,
    gullible_judge,
    hostile_judge,
    uniform_verdict,
)
from donewhen.ports import Judge, JudgeTask


def scripted_judge(name: JudgeName, case: Case, root: Path) -> Judge | None:
    """A new judge of that name for one run of a case in the folder `root`; None for `none`."""
    makers: dict[JudgeName, Callable[[], Judge | None]] = {
        "honest": lambda: honest_judge(case, root),
        "gullible": gullible_judge,
        "hostile": hostile_judge,
        "garbage": garbage_judge,
        "contradictory": contradictory_judge,
        "incomplete": incomplete_judge,
        "slow": lambda: slow_judge(case.options.judge_delay),
        "down": OutageJudge,
        "none": lambda: None,
    }
    return makers[name]()


def honest_judge(case: Case, root: Path) -> CallableJudge:
    """Says what is true of each requirement: what the case's oracle shows now, else what holds at the end."""

    def ask(task: JudgeTask) -> Verdict:
        cited = tuple(one.id for one in task.evidence if one.fresh(task.revision))
        return Verdict(
            tuple(
                RequirementVerdict(r.id, "met" if _true(case, r.label, root) else "unmet", "the oracle says so", cited)
                for r in task.requirements
            )
        )

    return CallableJudge(ask, "honest")


def _true(case: Case, label: str, root: Path) -> bool:
    clue = case.oracle.get(label)
    return clue.shown(root) if clue is not None else case.truth[label]


def contradictory_judge() -> CallableJudge:
    """Names each requirement twice: as met, and as unmet (C10)."""

    def ask(task: JudgeTask) -> Verdict:
        met, unmet = uniform_verdict(task, "met", "it is done"), uniform_verdict(task, "unmet", "it is not done")
        return Verdict((*met.findings, *unmet.findings))

    return CallableJudge(ask, "contradictory")


def incomplete_judge() -> CallableJudge:
    """Finds everything met, but leaves out the last requirement that it was asked about (C10)."""
    return CallableJudge(lambda task: Verdict(uniform_verdict(task, "met", "it is done").findings[:-1]), "incomplete")


def slow_judge(delay: float) -> CallableJudge:
    """Finds everything met after `delay` seconds."""

    async def ask(task: JudgeTask) -> Verdict:
        await asyncio.sleep(delay)
        return uniform_verdict(task, "met", "it looks done")

    return CallableJudge(ask, "slow")
