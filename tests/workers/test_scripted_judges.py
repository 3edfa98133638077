from __future__ import annotations

import pytest

from donewhen.core.errors import JudgeOutage
from donewhen.core.evidence import Evidence, ObservedFile
from donewhen.judges.scripted import (
    CallableJudge,
    OutageJudge,
    garbage_judge,
    gullible_judge,
    hostile_judge,
    refusing_judge,
    undecided_judge,
    uniform_verdict,
)
from donewhen.ports import Judge, Judgement, JudgeTask

from .turns import GOAL

EVIDENCE = tuple(Evidence(f"E{n}", "r1", "r1", 1, ObservedFile("a.py", "d", 1)) for n in (1, 2))
TASK = JudgeTask("run-1", GOAL, GOAL.requirements, "r1", EVIDENCE)
IDS = tuple(requirement.id for requirement in GOAL.requirements)


async def ask(judge: Judge) -> Judgement:
    return await judge.judge(TASK, None)


@pytest.mark.parametrize(
    ("judge", "finding"), [(gullible_judge(), "met"), (refusing_judge(), "unmet"), (undecided_judge(), "unverified")]
)
async def test_uniform_judges_answer_every_requirement_and_cite_what_they_were_given(
    judge: CallableJudge, finding: str
) -> None:
    verdict = (await ask(judge)).verdict
    assert verdict is not None
    assert verdict.answers(IDS)
    assert {(f.finding, f.evidence_ids) for f in verdict.findings} == {(finding, ("E1", "E2"))}
    assert judge.tasks == [TASK]
    assert judge.identity


async def test_garbage_is_no_verdict_and_a_hostile_one_does_not_answer_what_was_asked() -> None:
    garbage = await ask(garbage_judge())
    assert garbage.verdict is None
    assert garbage.reason
    hostile = (await ask(hostile_judge())).verdict
    assert hostile is not None
    assert not hostile.answers(IDS)
    assert all("E1" not in f.evidence_ids for f in hostile.findings if f.requirement_id in IDS)


@pytest.mark.conformance("A6")
async def test_an_outage_is_an_error_until_it_ends() -> None:
    judge = OutageJudge(times=2, reason="connection refused")
    for _ in range(2):
        with pytest.raises(JudgeOutage, match="connection refused"):
            await ask(judge)
    assert (await ask(judge)).verdict is not None
    assert judge.calls == 3
    with pytest.raises(JudgeOutage):
        await ask(OutageJudge())


async def test_a_callable_may_be_async_and_its_errors_are_its_own() -> None:
    async def reply(task: JudgeTask) -> Judgement:
        return Judgement(uniform_verdict(task, "met", "seen"), reason="async")

    assert (await ask(CallableJudge(reply, "mine"))).reason == "async"

    def broken(task: JudgeTask) -> Judgement:
        raise KeyError("defect")

    with pytest.raises(KeyError):
        await ask(CallableJudge(broken))
