"""A judge asked on its own: `judge_goal` and `ajudge_goal`. No loop, no side effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from donewhen.app.program import ask_judge
from donewhen.core.evidence import Observation
from donewhen.core.goal import Goal
from donewhen.core.verdict import GoalVerdict
from donewhen.library.goals import asked_goal
from donewhen.library.models import JudgeLike, judge_of, keys_of, options_of
from donewhen.threads import run_sync
from donewhen.workers.callables.agents import claims_of


def judge_goal(
    judge: JudgeLike,
    goal: Goal | str,
    evidence: Sequence[Observation] | None = None,
    *,
    messages: Sequence[Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> GoalVerdict:
    """A judge's verdict on a goal, from this evidence and these files (path to text) alone. Nothing is run, written,
    recorded or kept.

    `messages` (`{"role", "content"}`, or those of a known package, such as `conversation.state.events`) are claims: the
    judge may read them, but they can't prove anything. Raises InvalidGoal, UsageError, and JudgeOutage if the
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
    """Like `judge_goal`, for callers with `await`.

    >>> import asyncio
    >>> from donewhen import ajudge_goal
    >>> asyncio.run(ajudge_goal(lambda task: {"score": True, "complete": "yes"}, "It works")).complete
    False
    """
    given = judge_of(judge, files)
    wanted = asked_goal(goal) if isinstance(goal, str) else goal
    return await ask_judge(
        options_of(given), wanted, evidence, messages=claims_of(messages), files=files, secrets=keys_of(None, given)
    )
