"""Asking the judge."""

from __future__ import annotations

import asyncio

from donewhen.core.errors import JudgeOutage
from donewhen.core.events import JudgeFailed, JudgeFinished, JudgeStarted
from donewhen.core.evidence import Evidence
from donewhen.core.goal import Requirement
from donewhen.engine.active import ActiveRun
from donewhen.ports import JudgeTask

FIRST_BACKOFF = 0.5


async def ask_judge(run: ActiveRun, requirements: tuple[Requirement, ...]) -> None:
    """One question to the judge about these requirements. An outage is told apart from a verdict (A6)."""
    judge = run.parts.judge
    if judge is None:
        await run.append(JudgeFailed("no judge is configured"))
        return
    if run.state.outages:
        await asyncio.sleep(FIRST_BACKOFF * 2 ** (run.state.outages - 1))
    asked = tuple(requirement.id for requirement in requirements)
    revision = run.state.revision
    run.say(f"judging {len(asked)} requirements")
    await run.append(JudgeStarted(asked, revision))
    task = JudgeTask(run.run_id, run.state.goal, requirements, revision, _evidence(run), dict(run.state.disputes))
    try:
        reply = await judge.judge(task, run.parts.workspace)
    except JudgeOutage as outage:
        await run.append(JudgeFailed(str(outage)))
        return
    finally:
        run.say(None)
    await run.look("person" if run.state.waits_for_person else "check", everywhere=True)
    await run.append(JudgeFinished(asked, revision, run.state.revision, reply.verdict, reply.usage, reply.reason))


def _evidence(run: ActiveRun) -> tuple[Evidence, ...]:
    state = run.state
    known = [*state.results.values(), *state.editor.values()]
    return tuple(evidence for evidence in known if evidence.fresh(state.revision))
