"""Asks the judge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from donewhen.core.errors import JudgeOutage, OverBudget
from donewhen.core.events import ClaimJudged, JudgeFailed, JudgeFinished, JudgeStarted
from donewhen.core.evidence import Evidence
from donewhen.core.goal import Requirement
from donewhen.core.proof import assess
from donewhen.core.verdict import Verdict
from donewhen.engine.active import ActiveRun
from donewhen.engine.audit_context import RevisionView
from donewhen.engine.halting import report
from donewhen.ports import Judgement, JudgeTask

FIRST_BACKOFF = 0.5


async def ask_judge(run: ActiveRun, requirements: tuple[Requirement, ...]) -> None:
    """One question to the judge: about these requirements, without any about the worker's claim. An outage is told
    apart from a verdict."""
    if not requirements:
        await _ask_about_claim(run)
        return
    asked = tuple(requirement.id for requirement in requirements)
    revision = run.state.revision
    cited = frozenset(key for one in run.state.judged.values() for key in one.verdict.evidence_ids)
    disputes = dict(run.state.disputes)
    task = JudgeTask(run.run_id, run.state.goal, requirements, revision, _evidence(run), disputes, cited=cited)
    reply = await _asked(run, task, f"judging {len(asked)} requirement{'s' if len(asked) > 1 else ''}")
    if reply is None:
        return
    await _look(run)
    reason = run.parts.mask(reply.reason)
    verdict = _masked(reply.verdict, run.parts.mask)
    await run.append(
        JudgeFinished(
            asked,
            revision,
            run.state.revision,
            verdict,
            reply.usage,
            reason,
            dict(reply.shown),
            reply.cached,
            reply.score,
        )
    )
    await report(run)


def _masked(verdict: Verdict | None, mask: Callable[[str], str]) -> Verdict | None:
    """What a judge says, without secrets, whatever it was shown."""
    if verdict is None:
        return None
    return Verdict(tuple(replace(one, reason=mask(one.reason)) for one in verdict.findings))


async def _ask_about_claim(run: ActiveRun) -> None:
    """Whether the evidence confirms that the worker is blocked, or that the goal is impossible."""
    state = run.state
    open_ids = {view.requirement_id for view in assess(state) if view.status not in ("met", "waived")}
    unproven = tuple(r for r in state.goal.requirements if r.id in open_ids)
    task = JudgeTask(run.run_id, state.goal, unproven, state.revision, _evidence(run), claim=state.claim)
    reply = await _asked(run, task, "judging the worker's claim")
    if reply is not None:
        await _look(run)
        reason = run.parts.mask(reply.reason) or "the judge could not tell"
        await run.append(ClaimJudged(reply.confirmed, reason, reply.evidence_ids, reply.usage))


async def _look(run: ActiveRun) -> None:
    """Whether files changed while the judge thought: then what it said is dropped."""
    await run.look("person" if run.state.waits_for_person else "check", everywhere=True)


async def _asked(run: ActiveRun, task: JudgeTask, activity: str) -> Judgement | None:
    """The judge's reply. None if there is none: that is on record then."""
    judge = run.parts.judge
    if judge is None:
        await run.append(JudgeFailed("no judge is configured", final=True))
        return None
    if run.state.outages:
        await asyncio.sleep(FIRST_BACKOFF * 2 ** (run.state.outages - 1))
    run.say(activity)
    await run.append(JudgeStarted(tuple(r.id for r in task.requirements), task.revision))
    try:
        return await judge.judge(task, RevisionView(run, task.revision))
    except JudgeOutage as outage:
        await run.append(JudgeFailed(run.parts.mask(str(outage)), outage.usage, final=outage.final))
    except OverBudget as reached:
        # The run ends for it (`decide`): that the judge was not asked is not an outage.
        await run.append(JudgeFailed(str(reached)))
    finally:
        run.say(None)
    return None


def _evidence(run: ActiveRun) -> tuple[Evidence, ...]:
    """Fresh results and reports, and the commands that the worker ran, older ones included."""
    state = run.state
    known = [*state.results.values(), *state.editor.values()]
    responses = (state.response,) if state.response is not None else ()
    return (*(evidence for evidence in known if evidence.fresh(state.revision)), *state.commands, *responses)
