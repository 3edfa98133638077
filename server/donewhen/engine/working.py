"""The worker's work in one turn, with the plugins that guide, refine or halt it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from donewhen.core.errors import OverBudget, PluginConflict, WorkerFailed
from donewhen.core.events import EvidenceRecorded, PauseRequested
from donewhen.core.evidence import Evidence, ObservedResponse
from donewhen.core.feedback import keep_ends
from donewhen.core.plugging import Halt, Refine, ResumeDirective
from donewhen.core.state import Resuming
from donewhen.core.work import UNKNOWN, Claim, TurnResult, Usage
from donewhen.engine.active import ActiveRun
from donewhen.engine.halting import called_at, halted
from donewhen.engine.turn_context import Context
from donewhen.engine.watching import watched
from donewhen.ports import Turn, TurnAhead, TurnBehind, Worker

MAX_REFINEMENTS = 10
"""Times that critics may send one turn back."""
MAX_RESPONSE = 60_000
"""Characters of a response that are kept as evidence: head and tail."""


async def turn_result(
    run: ActiveRun, worker: Worker, turn: Turn, resuming: Resuming | None, *, suspended: bool
) -> TurnResult | None:
    """What the worker and the plugins made of the turn; None if it was halted. A suspended turn goes on where it
    stood."""
    stage = resuming.halt.stage if resuming is not None else "turn" if suspended else None
    result = resuming.halt.result if resuming is not None and stage == "after_turn" else None
    if result is None:
        told = await _told(run, turn, resuming, stage)
        if told is None:
            return None
        result = await _worked(run, worker, told)
    return None if result is None else await _refined(run, worker, turn, result, called_at(resuming, "after_turn"))


async def _told(run: ActiveRun, turn: Turn, resuming: Resuming | None, stage: str | None) -> Turn | None:
    """The turn with what plugins add to it; one that goes on was told before."""
    if stage == "turn":
        return replace(turn, resume=resuming.directive if resuming is not None else ResumeDirective())
    plugins = run.parts.plugins
    if plugins is None:
        return turn
    ahead = TurnAhead(turn.iteration, turn.goal, turn.views, turn.feedback)
    earlier = resuming.halt.notes if resuming is not None and stage == "before_turn" else ()
    try:
        notes = await plugins.before_turn(run.host, ahead, called_at(resuming, "before_turn"))
    except Halt as halt:
        halt.notes = (*earlier, *halt.notes)
        await halted(run, halt, "before_turn")
        return None
    return replace(turn, notes=(*earlier, *notes))


async def _refined(
    run: ActiveRun, worker: Worker, turn: Turn, result: TurnResult, skip: frozenset[str]
) -> TurnResult | None:
    """Critics look at what the worker returned, and may send it back within the same turn."""
    plugins = run.parts.plugins
    for number in range(MAX_REFINEMENTS if plugins is not None else 0):
        assert plugins is not None  # the range is empty without them
        try:
            refine = await plugins.after_turn(run.host, TurnBehind(turn.iteration, turn.goal, result, number), skip)
        except Halt as halt:
            await halted(run, halt, "after_turn", result)
            return None
        except PluginConflict as conflict:
            await run.append(PauseRequested(str(conflict)))
            return result
        skip = frozenset[str]()
        if refine is None or result.error is not None or result.claim.state != "finished":
            break
        again = await _worked(run, worker, _again(turn, refine, number + 1))
        if again is None:
            return None
        result = _joined(result, again)
    return result


def _again(turn: Turn, refine: Refine, number: int) -> Turn:
    return replace(turn, feedback=refine.feedback, refinement=number, notes=(), resume=None)


def _joined(first: TurnResult, then: TurnResult) -> TurnResult:
    """One turn's result: the last response counts; steps and costs add up."""
    return replace(then, usage=first.usage + then.usage, steps=(*first.steps, *then.steps))


async def _worked(run: ActiveRun, worker: Worker, turn: Turn) -> TurnResult | None:
    context, mask = Context(run), run.parts.mask
    try:
        if worker.waits_for_person:
            return await worker.work(turn, context)
        return masked(await watched(run, worker.work(turn, context), by="worker"), mask)
    except WorkerFailed as failure:
        error = str(failure) or "the worker failed"
        usage = _unsaid(run) if failure.usage is None else failure.usage
        failed = TurnResult(Claim(), usage, error=error, summary=f"failed: {error}", final=failure.final)
        return masked(failed, mask)
    except OverBudget as reached:
        # What it has done so far is audited, since it may be enough.
        return TurnResult(usage=_unsaid(run), summary=f"stopped: {reached}")
    except Halt as halt:
        await run.look("person" if worker.waits_for_person else "worker", everywhere=not worker.waits_for_person)
        await halted(run, halt, "turn")
        return None


def _unsaid(run: ActiveRun) -> Usage:
    """What a turn cost that ended without saying so, besides the calls on record."""
    return Usage() if run.state.options.metered else UNKNOWN


def masked(result: TurnResult, mask: Callable[[str], str]) -> TurnResult:
    """What a worker says without its secrets."""
    return replace(
        result,
        claim=replace(result.claim, text=mask(result.claim.text)),
        error=None if result.error is None else mask(result.error),
        steps=tuple(replace(step, summary=mask(step.summary)) for step in result.steps),
        summary=mask(result.summary),
        response=None if result.response is None else mask(result.response),
    )


async def record_response(run: ActiveRun, result: TurnResult) -> None:
    """The response of this turn becomes evidence where the goal is about it, and only there (product.md)."""
    state = run.state
    if state.goal.about != "response" or result.response is None or result.error is not None:
        return
    text = result.response
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    observed = ObservedResponse(digest, keep_ends(text, MAX_RESPONSE), len(text))
    evidence = Evidence(run.evidence_id(), state.revision, state.revision, state.turns_ended, observed)
    await run.append(EvidenceRecorded(evidence), durable=False)
