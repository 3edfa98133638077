"""The worker's turn: its intent, its tree, its result."""

from __future__ import annotations

from donewhen.core.errors import WorkspaceError
from donewhen.core.events import (
    CheckpointTaken,
    InterruptOpened,
    TurnAbandoned,
    TurnFinished,
    TurnRestored,
    TurnStarted,
    Warned,
)
from donewhen.core.feedback import feedback_text, outputs_of
from donewhen.core.hints import unasked
from donewhen.core.proof import assess
from donewhen.core.state import OpenTurn
from donewhen.core.work import Interrupt, TurnResult, Usage
from donewhen.engine.active import MAX_PATHS, ActiveRun
from donewhen.engine.changed_proof import note_changed_proof
from donewhen.engine.places import locations
from donewhen.engine.watching import amend_if_saved
from donewhen.engine.working import record_response, turn_result
from donewhen.ports import LeavesBehind, Turn

MAX_LISTED = 10


async def work(run: ActiveRun, iteration: int) -> None:
    """One turn. Cut off from outside it is put on record as abandoned, and runs again on `resume`."""
    worker = run.parts.worker
    if worker is None:
        raise WorkspaceError("the run has no worker")
    redo = run.state.redo
    suspended = redo is not None and redo.suspended
    if redo is not None and not suspended and not worker.waits_for_person and not await _put_back(run, redo):
        return
    checkpoint = redo.checkpoint if redo is not None else await keep_tree(run)
    turn, resuming = _turn(run, iteration), run.state.resuming
    by = "person" if worker.waits_for_person else "worker"
    edited = redo is not None and worker.waits_for_person and run.state.audit_due
    if not edited:
        run.touched.clear()
    run.walked = False
    await run.append(TurnStarted(iteration, checkpoint))
    finished = False
    try:
        # What the person did while nobody was watching belongs to this turn.
        result: TurnResult | None = TurnResult(usage=Usage(), summary="edited before the run went on")
        if not edited:
            result = await turn_result(run, worker, turn, resuming, suspended=suspended)
        if result is None:
            finished = True  # halted, which is on record
            return
        run.say(None)
        await run.look(by, everywhere=not worker.waits_for_person)
        changed = await _changed(run, checkpoint if suspended else None)
        if by == "worker":
            await note_changed_proof(run, changed)
        await run.append(TurnFinished(iteration, result, changed[:MAX_PATHS]))
        finished = True
        await record_response(run, result)
    finally:
        run.say(None)
        if not finished:
            await run.append(TurnAbandoned(iteration, _why(run)))
            if isinstance(worker, LeavesBehind) and worker.left_behind:
                await run.append(Warned("still_at_work", worker.left_behind))
    await amend_if_saved(run, changed, by)


async def _changed(run: ActiveRun, since: str | None) -> tuple[str, ...]:
    """What changed in the turn; of one that was suspended, since it began."""
    earlier = await run.parts.workspace.changed_between(since, None) if since is not None else ()
    return tuple(sorted({*run.touched, *earlier}))


def _turn(run: ActiveRun, iteration: int) -> Turn:
    state = run.state
    views = assess(state)
    return Turn(
        run_id=state.run_id,
        iteration=iteration,
        goal=state.goal,
        views=views,
        feedback=None if iteration == 1 else _retry(run),
        token=run.token,
        answers=(*state.answers, *map(unasked, state.hints)),
        preserve_context=state.options.preserve_context,
    )


def _retry(run: ActiveRun) -> str:
    """The feedback, or what a template of the caller's makes of it."""
    feedback = _feedback(run)
    template = run.parts.retry_prompt
    return feedback if template is None else template(feedback)


def _feedback(run: ActiveRun) -> str:
    """What is unproven, with reason and evidence, and how the last turn failed where it did."""
    state = run.state
    views = assess(state)
    known = {one.id: one for one in (*state.results.values(), *state.editor.values())}
    findings = [open_one.finding for open_one in state.open_findings]
    text = feedback_text(state.goal, views, locations(state), findings=findings, outputs=outputs_of(views, known))
    return f"The last turn failed: {state.last_error}\n\n{text}" if state.last_error else text


def _why(run: ActiveRun) -> str:
    state = run.state
    return state.stop_requested or state.pause_requested or "it was cut off"


async def keep_tree(run: ActiveRun) -> str | None:
    """Keeps the tree as it is now: the files after the iteration that just ended. None if that can't be done,
    which a warning tells."""
    revision = run.state.revision
    if run.checkpointed is not None and run.checkpointed[0] == revision:
        kept = run.checkpointed[1]
    else:
        try:
            kept = await run.parts.workspace.checkpoint()
        except (WorkspaceError, OSError) as error:
            await run.append(Warned("no_checkpoint", f"the files could not be kept: {error}"))
            return None
        run.checkpointed = (revision, kept)
        await _tell(run)
    if run.state.mode == "pursue" and run.state.last_checkpoint != (run.state.iteration, kept):
        await run.append(CheckpointTaken(run.state.iteration, kept))
    return kept


async def _tell(run: ActiveRun) -> None:
    """What a person should know of the workspace, once each."""
    known = {(warning.code, warning.message) for warning in run.state.warnings}
    for code, message in run.parts.workspace.notices:
        if (code, message) not in known:
            await run.append(Warned(code, message))


async def _put_back(run: ActiveRun, redo: OpenTurn) -> bool:
    """Puts the tree back as it was before the turn that was cut off, after keeping the present one. What changed
    later is the person's: it is asked about first, and False says that the answer isn't there yet (product.md,
    "Nothing lost")."""
    workspace, checkpoint = run.parts.workspace, redo.checkpoint
    if checkpoint is None:
        return True
    changed = await workspace.changed_between(checkpoint, None)
    persons = () if run.leftovers else tuple(workspace.changed_after(run.state.last_alive, changed))
    asked = run.state.edits_kept
    open_ones = persons if asked is None else () if asked[1] else tuple(workspace.changed_after(asked[0], persons))
    if open_ones:
        title = f"Edited since the turn was cut off: {_listed(open_ones)}. Keep these edits?"
        await run.append(InterruptOpened(run.numbered(Interrupt("", "question", title, "restore"))))
        return False
    kept = persons if asked is not None and asked[1] else ()
    await run.append(TurnRestored(redo.iteration, await workspace.checkpoint(), kept))
    restored = await workspace.restore(checkpoint, keep=kept)
    await run.look("check", everywhere=True)
    await amend_if_saved(run, tuple(restored), "person")
    run.checkpointed = None
    return True


def _listed(paths: tuple[str, ...]) -> str:
    more = len(paths) - MAX_LISTED
    return ", ".join(paths[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
