"""Asks the judge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from donewhen.core.errors import JudgeOutage, OverBudget
from donewhen.core.events import Abandoned, ClaimJudged, JudgeFinished, JudgeStarted
from donewhen.core.evidence import Evidence
from donewhen.core.goal import Requirement
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.proof import assess
from donewhen.core.trials.untried import Special
from donewhen.core.verdict import Verdict
from donewhen.core.words import counted
from donewhen.core.work import Usage
from donewhen.engine.active import ActiveRun
from donewhen.engine.contexts import RevisionView
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
    cited = frozenset(key for one in run.state.judge.judged.values() for key in one.verdict.evidence_ids)
    disputes = dict(run.state.judge.disputes)
    task = JudgeTask(run.run_id, run.state.goal, requirements, revision, _citable_evidence(run), disputes, cited=cited)
    reply = await _judgement(run, task, f"judging {counted(len(asked), 'requirement')}")
    if reply is None:
        return
    await _notice_changes(run)
    mask, verdict = run.parts.setup.mask, reply.verdict
    if verdict is not None:  # without secrets, whatever the judge was shown
        verdict = Verdict(tuple(replace(one, reason=mask(one.reason)) for one in verdict.findings))
    await run.append(
        JudgeFinished(
            asked,
            revision,
            run.state.revision,
            verdict,
            reply.usage,
            mask(reply.reason),
            dict(reply.shown),
            reply.cached,
            reply.score,
        ),
        durable=False,
    )
    await report(run)


async def _ask_about_claim(run: ActiveRun) -> None:
    """Whether the evidence confirms that the worker is blocked, or that the goal is impossible."""
    state = run.state
    open_ids = {view.requirement_id for view in assess(state) if view.status not in ("met", "waived")}
    unproven = tuple(r for r in state.goal.requirements if r.id in open_ids)
    task = JudgeTask(
        run.run_id, state.goal, unproven, state.revision, _citable_evidence(run), claim=state.last_turn.claim
    )
    reply = await _judgement(run, task, "judging the worker's claim")
    if reply is not None:
        await _notice_changes(run)
        reason = run.parts.setup.mask(reply.reason) or "the judge could not tell"
        await run.append(ClaimJudged(reply.confirmed, reason, reply.evidence_ids, reply.usage))


async def _notice_changes(run: ActiveRun) -> None:
    """Whether files changed while the judge thought: then what it said is dropped."""
    await run.look("person" if run.state.waits_for_person else "check", everywhere=True)


async def _judgement(run: ActiveRun, task: JudgeTask, activity: str) -> Judgement | None:
    """The judge's reply. None if there is none: that is on record then."""
    judge = run.parts.judge
    if judge is None:
        await run.append(Abandoned("judge", "no judge is configured", final=True))
        return None
    if run.state.judge.outages:
        await asyncio.sleep(FIRST_BACKOFF * 2 ** (run.state.judge.outages - 1))
    run.set_activity(activity)
    await run.append(JudgeStarted(tuple(r.id for r in task.requirements), task.revision))
    try:
        return await judge.judge(task, RevisionView(run, task.revision))
    except JudgeOutage as outage:
        mask, trouble = run.parts.setup.mask, outage.trouble
        if trouble is not None:
            trouble = replace(trouble, said=mask(trouble.said))
        await run.append(Abandoned("judge", mask(str(outage)), outage.usage, trouble, outage.final))
    except OverBudget as reached:
        # The run ends for it (`decide`): that the judge was not asked is not an outage.
        await run.append(Abandoned("judge", str(reached)))
    finally:
        run.set_activity(None)
    return None


def _citable_evidence(run: ActiveRun) -> tuple[Evidence, ...]:
    """Fresh results and reports, and the commands that the worker ran, older ones included."""
    state = run.state
    fresh = [evidence for evidence in state.audit_evidence if evidence.fresh(state.revision)]
    responses = (state.last_turn.response,) if state.last_turn.response is not None else ()
    return (*fresh, *state.evidence.commands, *responses)


# The judge's opinions at the moment of completion, apart from its verdicts: whether code of the product does what the
# tests ask for by special cases, and whether the goal asks for a change of its proof.
#
# Neither decides: a special case that the judge sees is a finding, which a person may accept, and what it says about a
# change of the proof stands in the person's question.


_GENERAL = (
    "The change does what the tests ask for in general, without special cases for them: no branch, table or constant "
    "holds what a test passes or expects in place of computing it, and nothing asks whether a test runs. It is `unmet` "
    "only if such a special case is seen; say where."
)
_WANTED = (
    "The objective of the goal asks for the change of the proof that is named below, or can't be reached without it. "
    "It is `unmet` if the change makes the proof weaker than the objective allows; say how."
)
_SAID = {
    "met": "The judge says that the goal asks for it",
    "unmet": "The judge says that the goal does not ask for it",
    "unverified": "The judge can't tell whether the goal asks for it",
}


@dataclass(frozen=True, slots=True)
class Opinions:
    """`special` is the judge's reason where it sees a special case, `advice` what it says about the changed proof, one
    sentence; each empty if it wasn't asked, or doesn't say."""

    special: str = ""
    advice: str = ""
    usage: Usage = field(default_factory=Usage)


async def opinions(run: ActiveRun, specials: Sequence[Special], changed: Sequence[IntegrityFinding]) -> Opinions:
    """Asks the judge, once for both, about lines that may be special cases and findings that tell of a changed proof.
    An outage, or a budget that is reached, leaves it unasked: what trials found stands without it."""
    judge, revision = run.parts.judge, run.state.revision
    asked: list[Requirement] = []
    if specials:
        lines = [f"{one.path}:{one.line + 1}: {one.text}" for one in specials]
        asked.append(_unnumbered_requirement("special-cases", _GENERAL, lines, [one.path for one in specials]))
    if changed:
        told = [one.message for one in changed]
        asked.append(_unnumbered_requirement("proof-change", _WANTED, told, [one.path for one in changed]))
    if judge is None or not asked:
        return Opinions()
    task = JudgeTask(run.run_id, run.state.goal, tuple(asked), revision, run.state.check_evidence, kept=False)
    run.set_activity("asking the judge about the change")
    try:
        reply = await judge.judge(task, RevisionView(run, revision))
    except (JudgeOutage, OverBudget):
        return Opinions()
    finally:
        run.set_activity(None)
    findings = reply.verdict.findings if reply.verdict is not None else ()
    said, mask = {one.requirement_id: one for one in findings}, run.parts.setup.mask
    special = advice = ""
    if (seen := said.get("special-cases")) is not None and seen.finding == "unmet":
        special = mask(seen.reason) or "it gave no reason"
    if (about_proof := said.get("proof-change")) is not None:
        reason = mask(about_proof.reason).strip()
        advice = f"{_SAID[about_proof.finding]}{f': {reason}' if reason else ''}".rstrip(".") + "."
    return Opinions(special, advice, reply.usage)


def _unnumbered_requirement(identity: str, text: str, details: Sequence[str], paths: Sequence[str]) -> Requirement:
    return Requirement(identity, 0, text, details=tuple(details), files=tuple(dict.fromkeys(p for p in paths if p)))
