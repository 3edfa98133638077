"""The scripted judges of the table: one that knows the truth, and all the ways in which a judge can be wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Usage
from donewhen.extras.goalbench.cases import Case, JudgeName
from donewhen.judges.scripted import (
    CallableJudge,
    OutageJudge,
    Reply,
    garbage_judge,
    hostile_judge,
    uniform_verdict,
)
from donewhen.ports import Judge, Judgement, JudgeTask


def scripted_judge(name: JudgeName, case: Case, root: Path) -> Judge | None:
    """A new judge of that name for one run of a case in the folder `root`; None for `none`."""
    makers: dict[JudgeName, Callable[[], Judge | None]] = {
        "honest": lambda: honest_judge(case, root),
        "gullible": credulous_judge,
        "hostile": hostile_judge,
        "garbage": garbage_judge,
        "contradictory": contradictory_judge,
        "incomplete": incomplete_judge,
        "overtaken": lambda: overtaken_judge(root / case.options.judge_empties),
        "recovering": lambda: OutageJudge(1, credulous_judge()),
        "slow": lambda: slow_judge(case.options.judge_delay),
        "down": OutageJudge,
        "none": lambda: None,
    }
    return makers[name]()


def honest_judge(case: Case, root: Path) -> CallableJudge:
    """Says what is true of each requirement: what the case's oracle shows now, else what holds at the end."""

    def ask(task: JudgeTask) -> Reply:
        cited, reason = _fresh(task), "the oracle says so"
        if task.claim is not None:
            return Judgement(None, Usage(), reason=reason, confirmed=case.claim, evidence_ids=cited)
        findings: list[RequirementVerdict] = []
        for requirement in task.requirements:
            clue = case.oracle.get(requirement.label)
            met = clue.is_found_in(root) if clue is not None else case.truth[requirement.label]
            findings.append(RequirementVerdict(requirement.id, "met" if met else "unmet", reason, cited))
        return Verdict(tuple(findings))

    return CallableJudge(ask, "honest")


def _fresh(task: JudgeTask) -> tuple[str, ...]:
    return tuple(one.id for one in task.evidence if one.fresh(task.revision))


def credulous_judge() -> CallableJudge:
    """Finds everything met, and believes every claim too."""

    def ask(task: JudgeTask) -> Reply:
        if task.claim is not None:
            return Judgement(None, Usage(), reason="the worker will know", confirmed=True, evidence_ids=_fresh(task))
        return uniform_verdict(task, "met", "it looks done")

    return CallableJudge(ask, "gullible")


def contradictory_judge() -> CallableJudge:
    """Names each requirement twice: as met, and as unmet."""

    def ask(task: JudgeTask) -> Verdict:
        met, unmet = uniform_verdict(task, "met", "it is done"), uniform_verdict(task, "unmet", "it is not done")
        return Verdict((*met.findings, *unmet.findings))

    return CallableJudge(ask, "contradictory")


def incomplete_judge() -> CallableJudge:
    """Finds everything met, but leaves out the last requirement that it was asked about."""
    return CallableJudge(lambda task: Verdict(uniform_verdict(task, "met", "it is done").findings[:-1]), "incomplete")


def overtaken_judge(file: Path) -> CallableJudge:
    """Finds everything met, but while it thinks somebody empties a file: its verdict is about what was."""

    def ask(task: JudgeTask) -> Verdict:
        file.write_text("", encoding="utf-8")
        return uniform_verdict(task, "met", "it looked done")

    return CallableJudge(ask, "overtaken")


def slow_judge(delay: float) -> CallableJudge:
    """Finds everything met after `delay` seconds."""

    async def ask(task: JudgeTask) -> Verdict:
        await asyncio.sleep(delay)
        return uniform_verdict(task, "met", "it looks done")

    return CallableJudge(ask, "slow")
