"""How a worker's turn changes a run's state: the turn itself, calls to models, and what plugins did."""

from __future__ import annotations

from collections.abc import Sequence

from donewhen.core import calls as c
from donewhen.core import events as e
from donewhen.core import plugging as p
from donewhen.core.answers import WAITS
from donewhen.core.calls import Message, ToolCall
from donewhen.core.changing import replace
from donewhen.core.hints import hint_in, without
from donewhen.core.proof import assess, unmet_signature
from donewhen.core.state import KEPT_ITERATIONS, IterationRecord, Resuming, RunState, TurnState
from donewhen.core.trouble import Retrying
from donewhen.core.work import UNKNOWN, Claim, RunWarning, Usage


def turn_started(state: RunState, event: e.TurnStarted, at: float) -> RunState:
    """A turn that runs again keeps its number; a new one closes the books on the iteration before."""
    redo = state.redo if state.redo is not None and state.redo.iteration == event.iteration else None
    again, suspended = redo is not None, redo is not None and redo.stage == "suspended"
    # One that runs again goes on from where it began; without preserved context each starts over.
    began_with = state.conversation if redo is None else redo.conversation
    if not (suspended or state.options.preserve_context):
        began_with = ()
    signature = unmet_signature(state)
    repeated = signature == state.stall.signature
    first = state.turns_ended == 0 or again
    met_before = state.progress.met_before
    if met_before is None and event.iteration == 1:
        counts = _counts(state)
        met_before = (counts["met"], counts["total"])
    return replace(
        state,
        progress=replace(
            state.progress, met_before=met_before, open=True, began=state.progress.began if again else state.elapsed
        ),
        worker_turn=TurnState(event.iteration, event.checkpoint, at, began_with),
        files=replace(state.files, edits_kept=None, first_checkpoint=state.files.first_checkpoint or event.checkpoint),
        last_turn=replace(state.last_turn, fatal=None, claim_judged=None, returned=None, claim=None),
        judge=replace(state.judge, dropped=0),
        evidence=replace(state.evidence, citable=_still_recorded(state)),
        conversation=state.conversation if suspended else began_with,
        plugins=replace(state.plugins, resuming=None),
        trial=replace(
            state.trial, agreed={path: kept or event.checkpoint or "" for path, kept in state.trial.agreed.items()}
        ),
        iteration=event.iteration,
        steering=replace(
            state.steering,
            answers=state.steering.answers if again else (),
            # A turn that goes on where it stood is told nothing new: it reads them on its way.
            hints=state.steering.hints if suspended else (),
            hints_read=state.steering.hints_read if suspended else state.steering.hints,
        ),
        # An approval belongs to the step that was cut off: that step asks again (product.md, "Nothing lost").
        interrupts=tuple(i for i in state.interrupts if i.kind == "question" or suspended or not again),
        stall=replace(
            state.stall,
            signature=state.stall.signature if first else signature,
            count=state.stall.count if first else (state.stall.count + 1 if repeated else 1),
        ),
    )


def _still_recorded(state: RunState) -> dict[str, str]:
    """What may be cited still: the latest of each kind. What the judge was shown is shown again."""
    latest = [*state.audit_evidence, *state.evidence.commands]
    return {one.id: state.evidence.citable[one.id] for one in latest if one.id in state.evidence.citable}


def turn_finished(state: RunState, event: e.TurnFinished, at: float) -> RunState:
    """A turn that failed is recorded with its error and is not audited as if it had answered."""
    result = event.result
    off = worker_paid(charge_open_calls(state, "worker"), result.usage)
    failed = result.error is not None
    needs_person = not failed and result.claim.state != "finished"
    started = state.turn.started_at if state.turn is not None else at
    record = IterationRecord(
        number=event.iteration,
        started_at=started,
        seconds=state.elapsed - state.progress.began,
        usage=off.spend.turn,
        revision=state.revision,
        changed=event.changed,
        summary=result.summary or result.claim.text,
        error=result.error,
        **_counts(state),
    )
    return replace(
        off,
        worker_turn=None,
        turns_ended=state.turns_ended + 1,
        last_turn=replace(
            off.last_turn,
            claim=Claim(result.claim.state, result.claim.text) if needs_person else None,
            words="" if failed else result.claim.text,
            error=result.error,
            fatal=result.error if result.final else None,
            response_digest=result.response_digest,
            response=None,
            returned=result.returned,
        ),
        steering=replace(off.steering, late_answers={}, hints_read=()),
        spend=replace(off.spend, turn=Usage()),
        stall=replace(off.stall, failures=state.stall.failures + 1 if failed else 0),
        undoing=state.undoing and failed,
        judge=replace(
            off.judge,
            judged={key: replace(one, stale=one.stale or one.one_turn) for key, one in state.judge.judged.items()},
        ),
        auditing=replace(off.auditing, due=not failed or bool(event.changed)),
        progress=replace(off.progress, iterations=_with_record(state, record)),
    )


def turn_abandoned(state: RunState, event: e.Abandoned, at: float) -> RunState:
    spent = unreported(worker_paid(charge_open_calls(state, "worker"), event.usage))
    if spent.turn is None:
        return spent
    cut = cut_off_turn(spent, event.reason, model_failed=event.trouble is not None)
    cut = replace(cut, files=replace(cut.files, last_alive=at))
    if event.trouble is None:
        return cut
    return replace(
        cut,
        calls=replace(cut.calls, trouble=event.trouble),
        lifecycle=replace(cut.lifecycle, pause_requested=event.reason, paused_by="run"),
    )


def cut_off_turn(state: RunState, reason: str, *, model_failed: bool = False) -> RunState:
    """The open turn, if there is one, as it runs again: from its beginning, or from where it stood if it only waited
    for a person or its model failed. One in which the model never answered is none: nothing has to be put back for it,
    and its iteration is not spent."""
    turn = state.turn
    if turn is None:
        return state
    answered = state.spend.turn.output_tokens > 0
    counts = answered or not (model_failed or state.options.agent is not None)
    cut = _with_cost_so_far(state, turn, reason) if counts else state
    cut = replace(cut, steering=replace(cut.steering, late_answers={}))
    if (model_failed and answered) or (not model_failed and standing_still(state)):
        return replace(cut, worker_turn=replace(turn, stage="suspended"))
    cut = replace(
        cut,
        worker_turn=replace(turn, stage="cut off"),
        steering=replace(cut.steering, hints=(*state.steering.hints_read, *state.steering.hints), hints_read=()),
    )
    if counts:
        return cut
    return replace(cut, worker_turn=replace(turn, checkpoint=None, stage="cut off"), iteration=turn.iteration - 1)


def _with_cost_so_far(state: RunState, turn: TurnState, reason: str) -> RunState:
    """What an open turn has cost stands in a record of its iteration; the turn's own record takes its place once the
    turn ran to its end. The records add up to the total but for a turn that is none, until it runs again. One that
    waits for a person has not failed."""
    if state.spend.turn == Usage():
        return state
    ended = "" if reason.startswith(WAITS) else ": ".join(filter(None, ("cut off", reason)))
    record = IterationRecord(
        number=turn.iteration,
        started_at=turn.started_at,
        seconds=state.elapsed - state.progress.began,
        usage=state.spend.turn,
        revision=state.revision,
        summary=ended,
        error=ended or None,
    )
    record = replace(record, **_counts(state))
    return replace(
        state,
        progress=replace(state.progress, iterations=_with_record(state, record)),
    )


def _with_record(state: RunState, record: IterationRecord) -> tuple[IterationRecord, ...]:
    """The iterations, with this record in the place of an earlier one of the same."""
    others = (one for one in state.progress.iterations if one.number != record.number)
    return (*others, record)[-KEPT_ITERATIONS:]


def _counts(state: RunState) -> dict[str, int]:
    views = assess(state)
    return {"met": sum(view.status in ("met", "waived") for view in views), "total": len(views)}


def refresh_iteration(state: RunState) -> RunState:
    """The latest iteration's record with what is met now, and the time that took: an audit or the judge came to an
    end."""
    if not state.progress.iterations or state.progress.iterations[-1].number != state.iteration:
        return state
    latest = replace(state.progress.iterations[-1], revision=state.revision, **_counts(state))
    if state.progress.open:
        latest = replace(latest, seconds=state.elapsed - state.progress.began)
    return replace(state, progress=replace(state.progress, iterations=(*state.progress.iterations[:-1], latest)))


# Calls to models, and what they cost.


def call_started(state: RunState, event: c.CallStarted, at: float) -> RunState:
    return replace(
        state, calls=replace(state.calls, open={**state.calls.open, event.call_id: event}, count=state.calls.count + 1)
    )


def call_finished(state: RunState, event: c.CallFinished, at: float) -> RunState:
    """Counted once; what arrives after the call was written off changes nothing."""
    started = state.calls.open.get(event.call_id)
    if started is None:
        return state
    counted = _spent(state, started, event.usage)
    if event.error is None:
        counted = replace(counted, calls=replace(counted.calls, trouble=None))
    if event.message is None or started.role != "worker" or state.turn is None:
        return counted
    return replace(counted, conversation=(*counted.conversation, event.message))


def call_retried(state: RunState, event: c.CallRetried, at: float) -> RunState:
    if event.call_id not in state.calls.open:
        return state
    return replace(
        state, calls=replace(state.calls, retrying=Retrying(event.call_id, event.failed, at + event.failed.wait))
    )


def message_kept(state: RunState, event: c.MessageKept, at: float) -> RunState:
    kept = replace(state, conversation=(*state.conversation, event.message))
    read = hint_in(event.message)
    if read is None:
        return kept
    return replace(
        kept,
        steering=replace(
            kept.steering, hints=without(state.steering.hints, read), hints_read=(*state.steering.hints_read, read)
        ),
    )


def tool_finished(state: RunState, event: c.ToolFinished, at: float) -> RunState:
    return replace(state, conversation=(*state.conversation, event.message))


def compacted(state: RunState, event: c.ConversationCompacted, at: float) -> RunState:
    return replace(state, conversation=event.messages)


def budget_reached(state: RunState, event: c.BudgetReached, at: float) -> RunState:
    return replace(state, calls=replace(state.calls, unaffordable=event.reason))


def charge_open_calls(state: RunState, role: c.CallRole) -> RunState:
    """Calls that were cut off count as what their prompts cost: nobody tells more."""
    for started in [call for call in state.calls.open.values() if call.role == role]:
        state = _spent(state, started, started.prompt)
    return state


def worker_paid(state: RunState, usage: Usage) -> RunState:
    """What the worker's turn cost, or a part of it."""
    return replace(state, spend=state.spend.by_worker(usage))


def judge_paid(state: RunState, usage: Usage) -> RunState:
    """What asking the judge cost: it is the latest iteration's."""
    iterations = state.progress.iterations
    if iterations:
        iterations = (*iterations[:-1], replace(iterations[-1], usage=iterations[-1].usage + usage))
    return replace(state, spend=state.spend.by_judge(usage), progress=replace(state.progress, iterations=iterations))


def unreported(state: RunState) -> RunState:
    """An open turn ended without saying what it cost: that of a worker whom nobody accounts for is unknown."""
    return state if state.turn is None or state.options.metered else worker_paid(state, UNKNOWN)


def _spent(state: RunState, started: c.CallStarted, usage: Usage) -> RunState:
    left = {key: call for key, call in state.calls.open.items() if key != started.call_id}
    retrying = state.calls.retrying
    if retrying is not None and retrying.call_id == started.call_id:
        retrying = None
    paid = judge_paid if started.role == "judge" else worker_paid
    return paid(replace(state, calls=replace(state.calls, open=left, retrying=retrying)), usage)


# Halts, and what plugins keep.


def run_halted(state: RunState, event: p.RunHalted, at: float) -> RunState:
    """The loop stands still: an open turn goes on where it is, an audit that had begun is not counted."""
    state = charge_open_calls(charge_open_calls(state, "worker"), "judge")
    if event.halt.stage == "turn":
        state = unreported(state)
    turn = state.turn
    return replace(
        state,
        plugins=replace(state.plugins, halt=event.halt, resuming=None),
        lifecycle=replace(state.lifecycle, reason=event.halt.reason),
        worker_turn=replace(turn, stage="suspended") if turn is not None else state.redo,
        auditing=replace(state.auditing, open=None, due=state.auditing.due or state.auditing.open is not None),
        judge=replace(state.judge, deciding=()),
        steering=replace(state.steering, late_answers={}),
        files=replace(state.files, last_alive=at),
    )


def halt_resumed(state: RunState, event: p.HaltResumed, at: float) -> RunState:
    """The answers and results that the halt had kept go on with the turn."""
    if state.plugins.halt is None:
        return state
    directive = replace(event.directive, completed={**state.plugins.halt.completed, **event.directive.completed})
    return replace(
        state,
        plugins=replace(state.plugins, halt=None, resuming=Resuming(state.plugins.halt, directive)),
        lifecycle=replace(state.lifecycle, reason=""),
    )


def plugin_state_set(state: RunState, event: p.PluginStateSet, at: float) -> RunState:
    kept = {name: value for name, value in state.plugins.states.items() if name != event.plugin}
    if event.state is not None:
        kept[event.plugin] = event.state
    return replace(state, plugins=replace(state.plugins, states=kept))


def plugin_off(state: RunState, event: p.PluginOff, at: float) -> RunState:
    said = f"the plugin {event.plugin} failed in {event.hook} and is switched off for this run: {event.reason}"
    warning = RunWarning("plugin_failed", said)
    return replace(
        state,
        plugins=replace(state.plugins, off={**state.plugins.off, event.plugin: f"{event.hook}: {event.reason}"}),
        warnings=(*state.warnings, warning),
    )


def pending_calls(conversation: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the model's last message that have no result yet; none where it called nothing."""
    answered: list[str] = []
    for message in reversed(conversation):
        if message.role == "tool":
            answered.append(message.answers)
            continue
        if message.role != "assistant":
            return ()
        left = list(message.calls)
        for identity in answered:
            found = next((call for call in left if call.id == identity), None)
            if found is not None:
                left.remove(found)
        return tuple(left)
    return ()


def standing_still(state: RunState) -> bool:
    """True if the open turn waits for a person about a tool call that had no effect yet: nothing is lost by going
    on from there, and no model call is repeated."""
    asking = any(one.about.startswith(("tool:", "plugin:")) for one in state.interrupts)
    return asking and bool(pending_calls(state.conversation))
