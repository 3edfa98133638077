"""How a worker's turn changes a run's state."""

from __future__ import annotations

from donewhen.core import events as e
from donewhen.core.calls import Message
from donewhen.core.changing import replace
from donewhen.core.fold_calls import unreported, worker_paid, written_off
from donewhen.core.fold_plugging import cut_turn, unread_again
from donewhen.core.proof import assess, unmet_signature
from donewhen.core.state import KEPT_ITERATIONS, IterationRecord, OpenTurn, RunState
from donewhen.core.work import Claim, Usage


def turn_started(state: RunState, event: e.TurnStarted, at: float) -> RunState:
    """A turn that runs again keeps its number; a new one closes the books on the iteration before."""
    again = state.redo is not None and state.redo.iteration == event.iteration
    suspended = again and state.redo is not None and state.redo.suspended
    signature = unmet_signature(state)
    repeated = signature == state.stall_signature
    first = state.turns_ended == 0 or again
    met_before = state.met_before
    if met_before is None and event.iteration == 1:
        counts = _counts(state)
        met_before = (counts["met"], counts["total"])
    return replace(
        state,
        met_before=met_before,
        turn=OpenTurn(event.iteration, event.checkpoint, at),
        redo=None,
        edits_kept=None,
        fatal=None,
        claim_judged=None,
        dropped=0,
        recorded=_still_recorded(state),
        conversation=state.conversation if suspended else _conversation(state, again),
        conversation_before=state.conversation_before if suspended else _conversation(state, again),
        resuming=None,
        returned=None,
        first_checkpoint=state.first_checkpoint or event.checkpoint,
        agreed={path: kept or event.checkpoint or "" for path, kept in state.agreed.items()},
        iteration=event.iteration,
        iteration_open=True,
        iteration_began=state.iteration_began if again else state.elapsed,
        claim=None,
        answers=state.answers if again else (),
        # A turn that goes on where it stood is told nothing new: it reads them on its way.
        hints=state.hints if suspended else (),
        hints_read=state.hints_read if suspended else state.hints,
        # An approval belongs to the step that was cut off: that step asks again (product.md, "Nothing lost").
        interrupts=tuple(i for i in state.interrupts if i.kind == "question" or suspended or not again),
        stall_signature=state.stall_signature if first else signature,
        stall_count=state.stall_count if first else (state.stall_count + 1 if repeated else 1),
    )


def _still_recorded(state: RunState) -> dict[str, str]:
    """What may be cited still: the latest of each kind. What the judge was shown is shown again."""
    latest = [*state.results.values(), *state.editor.values(), *state.commands]
    return {one.id: state.recorded[one.id] for one in latest if one.id in state.recorded}


def turn_finished(state: RunState, event: e.TurnFinished, at: float) -> RunState:
    """A turn that failed is recorded with its error and is not audited as if it had answered."""
    result = event.result
    off = worker_paid(written_off(state, "worker"), result.usage)
    failed = result.error is not None
    needs_person = not failed and result.claim.state != "finished"
    started = state.turn.started_at if state.turn is not None else at
    record = IterationRecord(
        number=event.iteration,
        started_at=started,
        seconds=state.elapsed - state.iteration_began,
        usage=off.unfinished_usage,
        revision=state.revision,
        changed=event.changed,
        summary=result.summary or result.claim.text,
        error=result.error,
        **_counts(state),
    )
    return replace(
        off,
        turn=None,
        turns_ended=state.turns_ended + 1,
        claim=Claim(result.claim.state, result.claim.text) if needs_person else None,
        last_words="" if failed else result.claim.text,
        late_answers={},
        hints_read=(),
        unfinished_usage=Usage(),
        failures=state.failures + 1 if failed else 0,
        undoing=state.undoing and failed,
        last_error=result.error,
        fatal=result.error if result.final else None,
        response_digest=result.response_digest,
        response=None,
        returned=result.returned,
        judged={key: replace(one, stale=one.stale or one.one_turn) for key, one in state.judged.items()},
        audit_due=not failed or bool(event.changed),
        iterations=(*_without(state, event.iteration), record)[-KEPT_ITERATIONS:],
    )


def turn_abandoned(state: RunState, event: e.TurnAbandoned, at: float) -> RunState:
    spent = unreported(worker_paid(written_off(state, "worker"), event.usage))
    if state.turn is None:
        return spent
    cut = cut_off(spent, event.reason)
    return replace(cut, turn=None, redo=cut_turn(state), last_alive=at, late_answers={}, **unread_again(state))


def cut_off(state: RunState, reason: str) -> RunState:
    """What an open turn has cost stands in a record of its iteration, so that the records add up to the total;
    the turn's own record takes its place once the turn ran to its end."""
    turn = state.turn
    if turn is None or state.unfinished_usage == Usage():
        return state
    record = IterationRecord(
        number=turn.iteration,
        started_at=turn.started_at,
        seconds=state.elapsed - state.iteration_began,
        usage=state.unfinished_usage,
        revision=state.revision,
        summary=f"cut off: {reason}",
        error=f"cut off: {reason}",
    )
    record = replace(record, **_counts(state))
    return replace(state, iterations=(*_without(state, turn.iteration), record)[-KEPT_ITERATIONS:])


def _without(state: RunState, iteration: int) -> tuple[IterationRecord, ...]:
    return tuple(record for record in state.iterations if record.number != iteration)


def _conversation(state: RunState, again: bool) -> tuple[Message, ...]:
    """A turn that runs again goes on from where it began; without preserved context each starts over."""
    if not state.options.preserve_context:
        return ()
    return state.conversation_before if again else state.conversation


def turn_restored(state: RunState, event: e.TurnRestored, at: float) -> RunState:
    return state


def _counts(state: RunState) -> dict[str, int]:
    views = assess(state)
    return {"met": sum(view.status in ("met", "waived") for view in views), "total": len(views)}


def recount(state: RunState) -> RunState:
    """The latest iteration's record with what is met now, and the time that took: an audit or the judge came to an
    end."""
    if not state.iterations or state.iterations[-1].number != state.iteration:
        return state
    latest = replace(state.iterations[-1], revision=state.revision, **_counts(state))
    if state.iteration_open:
        latest = replace(latest, seconds=state.elapsed - state.iteration_began)
    return replace(state, iterations=(*state.iterations[:-1], latest))
