"""A judge asked alone: `judge_goal` and `ajudge_goal`. No loop, no side effect (C16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from donewhen.core.errors import UsageError
from donewhen.core.evidence import Observation
from donewhen.core.goal import Goal
from donewhen.evidence.masking import Masking
from donewhen.judges.alone import GoalVerdict
from donewhen.judges.alone import judge_goal as ask_alone
from donewhen.library.agents import claims_of
from donewhen.library.assembling import environment, judge_secrets, model_judge
from donewhen.library.goals import asked_goal
from donewhen.library.judging import JudgeLike, judge_of
from donewhen.library.threads import run_sync


def judge_goal(
    judge: JudgeLike,
    goal: Goal | str,
    evidence: Sequence[Observation] | None = None,
    *,
    messages: Sequence[Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> GoalVerdict:
    """What a judge says of a goal, on this evidence and these files (path to text) alone. Nothing is run, written,
    recorded or kept.

    `messages` (`{"role", "content"}`, or those of a known package, such as `conversation.state.events`) are claims: the
    judge may read them, and nothing can be proven by them. Raises InvalidGoal, UsageError, and JudgeOutage where the
    judge can't be asked.

    >>> from donewhen import judge_goal
    >>> def judge(task):
    ...     return {"score": 0.4, "complete": False, "missing": "no tests yet"}
    >>> verdict = judge_goal(judge, "The parser is tested", files={"parser.py": "def parse(): ..."})
    >>> verdict.complete, verdict.score, verdict.missing
    (False, 0.4, 'no tests yet')
    """
    return run_sync(ajudge_goal(judge, goal, evidence, messages=messages, files=files))


async def ajudge_goal(
    judge: JudgeLike,
    goal: Goal | str,
    evidence: Sequence[Observation] | None = None,
    *,
    messages: Sequence[Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> GoalVerdict:
    """As `judge_goal`, for callers with `await`.

    >>> import asyncio
    >>> from donewhen import ajudge_goal
    >>> asyncio.run(ajudge_goal(lambda task: {"score": True, "complete": "yes"}, "It works")).complete
    False
    """
    given = judge_of(judge, files)
    secrets = judge_secrets(given)
    asked, closing = model_judge(given, Masking(environment, secrets).mask, secrets)
    if asked is None:
        raise UsageError("a judge is needed: a model's name, a JudgeConfig or a callable")
    wanted = asked_goal(goal) if isinstance(goal, str) else goal
    try:
        verdict = await ask_alone(asked, wanted, evidence, messages=claims_of(messages), files=files)
    finally:
        if closing is not None:
            await closing()
    return verdict
