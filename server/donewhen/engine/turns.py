"""The worker's turn: its intent, its tree, its result."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from donewhen.core.decide import RunWorker, decide
from donewhen.core.errors import LedgerError, OverBudget, PluginConflict, WorkerFailed, WorkspaceError
from donewhen.core.events import (
    Abandoned,
    CheckpointTaken,
    FilesReverted,
    InterruptOpened,
    Requested,
    TurnFinished,
    TurnStarted,
    Warned,
)
from donewhen.core.evidence import ObservedResponse
from donewhen.core.feedback import WANTED, feedback_text, keep_ends, outputs_of
from donewhen.core.hints import unasked
from donewhen.core.integrity import ChangedProof, first_change
from donewhen.core.lost_tests import LOST_TESTS, lost_tests, lost_text
from donewhen.core.plugging import Halt, ResumeDirective
from donewhen.core.proof import assess, locations
from donewhen.core.proof_files import ProofFiles
from donewhen.core.state import Resuming, TurnState
from donewhen.core.verdict import RequirementView
from donewhen.core.words import listed
from donewhen.core.work import UNKNOWN, Claim, Interrupt, TurnResult, Usage
from donewhen.engine.active import MAX_PATHS, ActiveRun
from donewhen.engine.contexts import Context
from donewhen.engine.halting import called_at, halted
from donewhen.engine.watching import amend_if_saved, watched
from donewhen.ports import Turn, TurnAhead, TurnBehind, Worker

MAX_LISTED = 10


async def work(run: ActiveRun, iteration: int) -> None:
    """One turn. Cut off from outside it is put on record as abandoned, and runs again on `resume`."""
    worker = run.parts.worker
    if worker is None:
        raise WorkspaceError("the run has no worker")
    redo = run.state.redo
    suspended = redo is not None and redo.stage == "suspended"
    ready, checkpoint = await _prepared(run, worker, iteration)
    if not ready:
        return
    turn, resuming = _turn(run, iteration), run.state.plugins.resuming
    by = "person" if worker.waits_for_person else "worker"
    edited = redo is not None and worker.waits_for_person and run.state.auditing.due
    if not edited:
        run.touched.clear()
    run.walked = False
    finished = False
    try:
        # Cut off while this is on its way to the record, it is there all the same.
        await run.append(TurnStarted(iteration, checkpoint))
        # What the person did while nobody was watching belongs to this turn.
        result: TurnResult | None = TurnResult(usage=Usage(), summary="edited before the run went on")
        if not edited:
            result = await turn_result(run, worker, turn, resuming, suspended=suspended)
        if result is None:
            finished = True  # halted, or without a model, which is on record
            return
        run.set_activity(None)
        await run.look(by, everywhere=not worker.waits_for_person)
        changed = await _changed_in_turn(run, checkpoint, unseen=suspended or (by == "person" and iteration == 1))
        if by == "worker":
            await note_changed_proof(run, changed)
        await run.append(TurnFinished(iteration, result, changed[:MAX_PATHS]), durable=False)
        finished = True
        await record_response(run, result)
    except LedgerError:
        finished = True  # nothing can be put on record: whoever resumes the run finds the turn cut off
        raise
    finally:
        run.set_activity(None)
        if not finished:
            await run.append(Abandoned("turn", _why(run)))
            if left := getattr(worker, "left_behind", ""):
                await run.append(Warned("still_at_work", left))
    await amend_if_saved(run, changed, by)


async def _prepared(run: ActiveRun, worker: Worker, iteration: int) -> tuple[bool, str | None]:
    """The tree before the turn, kept, and whether the turn still comes next: a person may have to be asked, or may have
    amended the goal meanwhile."""
    redo = run.state.redo
    if redo is not None and redo.stage == "cut off" and not await _put_back(run, worker, redo):
        return False, None
    kept = redo.checkpoint if redo is not None else None
    if kept is None:
        kept = await keep_tree(run)
        began = run.state.files.tree_after(0)
        if worker.waits_for_person and iteration == 1 and began is not None:
            kept = began.tree  # whatever was edited since is of this turn
    # Earlier turns may have been taken in another process, or a person may have put something back since.
    unsure = run.changed_proof is None or run.changed_proof.lost
    if unsure and run.state.turns_ended and not worker.waits_for_person:
        await note_changed_proof(run, ())
    return decide(run.state, run.watch.look()) == RunWorker(iteration), kept


async def _changed_in_turn(run: ActiveRun, since: str | None, *, unseen: bool) -> tuple[str, ...]:
    """What changed in the turn, not what came and went within it. `unseen`: a part of it may have been changed while
    nobody watched."""
    workspace = run.parts.workspace
    earlier = await workspace.changed_between(since, None) if since is not None and unseen else ()
    changed = sorted({*run.touched, *earlier})
    gone = [path for path in changed if since is not None and workspace.digest(path) is None][:MAX_PATHS]
    passing = {path for path in gone if since is not None and await workspace.file_at(since, path) is None}
    if passing and since is not None:  # of a file that is too large no tree has the content, and yet it was there
        passing.difference_update(await workspace.changed_between(since, None))
    return tuple(path for path in changed if path not in passing)


def _turn(run: ActiveRun, iteration: int) -> Turn:
    state = run.state
    views = assess(state)
    return Turn(
        run_id=state.run_id,
        iteration=iteration,
        goal=state.goal,
        views=views,
        feedback=None if iteration == 1 and state.trial.last is None else _feedback(run, views),
        token=run.token,
        answers=(*state.steering.answers, *map(unasked, state.steering.hints)),
        preserve_context=state.options.preserve_context,
    )


def _feedback(run: ActiveRun, views: Sequence[RequirementView]) -> str:
    """What is unproven, with reason and evidence, and how the last turn failed where it did; or what a template of the
    caller's makes of that."""
    state, template = run.state, run.parts.setup.retry_prompt
    known = {one.id: one for one in state.audit_evidence}
    findings = [open_one.finding for open_one in state.open_findings]
    text = feedback_text(state.goal, views, locations(state), findings=findings, outputs=outputs_of(views, known))
    if lost := _lost(run):
        gone = "\n".join(f"  {one}: put them back" for one in lost)
        text = f"Tests that were there when the run began are gone, or do nothing now:\n{gone}\n{WANTED}\n\n{text}"
    if state.last_turn.error:
        text = f"The last turn failed: {state.last_turn.error}\n\n{text}"
    return text if template is None else template(text)


def _why(run: ActiveRun) -> str:
    state = run.state
    return state.lifecycle.stop_requested or state.lifecycle.pause_requested or ""


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
        told = {(warning.code, warning.message) for warning in run.state.warnings}
        for code, message in run.parts.workspace.notices:
            if (code, message) not in told:
                await run.append(Warned(code, message))
    last = run.state.files.last_checkpoint
    known = last is not None and (last.iteration, last.tree) == (run.state.iteration, kept)
    if run.state.mode == "pursue" and not known:
        await run.append(CheckpointTaken(run.state.iteration, kept), durable=False)
    return kept


async def _put_back(run: ActiveRun, worker: Worker, redo: TurnState) -> bool:
    """Puts the tree back as it was before the turn that was cut off, after keeping the present one. What changed
    later is the person's: it is asked about first, and False says that the answer isn't there yet (product.md,
    "Nothing lost")."""
    workspace, checkpoint = run.parts.workspace, redo.checkpoint
    if checkpoint is None or worker.waits_for_person or run.state.works_elsewhere:
        return True
    changed = await workspace.changed_between(checkpoint, None)
    persons = () if run.leftovers else tuple(workspace.changed_after(run.state.files.last_alive, changed))
    asked = run.state.files.edits_kept
    open_ones = persons if asked is None else () if asked[1] else tuple(workspace.changed_after(asked[0], persons))
    if open_ones:
        title = f"Edited since the turn was cut off: {listed(open_ones, MAX_LISTED)}. Keep these edits?"
        await run.append(InterruptOpened(run.numbered(Interrupt("", "question", title, "restore"))))
        return False
    kept = persons if asked is not None and asked[1] else ()
    present = await workspace.checkpoint()
    await run.append(FilesReverted(redo.iteration, (), kept, present, checkpoint))
    # What was saved since is in no tree yet.
    just_saved = await workspace.changed_between(present, None)
    restored = await workspace.restore(checkpoint, keep=(*kept, *just_saved))
    await run.look("check", everywhere=True)
    # The goal goes back with its file, unless that had been changed by a worker before: then it is a finding still.
    if not any(one.finding.kind == "goal_file" for one in run.state.open_findings):
        await amend_if_saved(run, tuple(restored), "person")
    run.checkpointed = None
    return True


# Which proof files a worker has changed so far: reported during the run, before trials say what that means.


MOST = 200
"""Files that are looked into after a turn; of more, the names are told."""


async def note_changed_proof(run: ActiveRun, changed: Collection[str]) -> None:
    """Brings `run.changed_proof` up to date after a turn that changed these paths."""
    state, workspace = run.state, run.parts.workspace
    base = state.files.first_checkpoint
    if not state.options.trials or base is None:
        return
    try:
        if run.changed_proof is None:  # this process has seen none of the turns before
            changed = await workspace.changed_between(base, None)
        known = run.changed_proof or ChangedProof()
        paths = sorted({*known.lines, *known.gone, *known.unread, *known.lost, *changed})
        run.changed_proof = await _looked_into(run, base, paths)
    except WorkspaceError:
        return  # trials report what they can't compare either
    told = {warning.message for warning in state.warnings}
    for lost in _lost(run):
        message = f"the worker removed or emptied tests: {lost}"
        if message not in told:
            await run.append(Warned(LOST_TESTS, message))


def _lost(run: ActiveRun) -> list[str]:
    lost = (run.changed_proof or ChangedProof()).lost
    return [run.parts.setup.mask(lost_text(path, names)) for path, names in lost.items()][:MAX_LISTED]


async def _looked_into(run: ActiveRun, base: str, paths: list[str]) -> ChangedProof:
    state, files = run.state, ProofFiles.of(run.state.goal)
    sides = {path: files.classify(path).side for path in paths if path != state.goal.path}
    own = [path for path in sides if not files.changeable(path) and path not in state.trial.agreed]
    proof = [path for path in own if sides[path] == "proof"]
    contents = await _contents(run, base, proof[:MOST])
    lines = {path: first_change(was or "", now) for path, (was, now) in contents.items() if now is not None}
    came = frozenset(path for path, (was, _) in contents.items() if was is None)
    gone = tuple(path for path, (_, now) in contents.items() if now is None)
    contents |= await _contents(run, base, [path for path in own if sides[path] == "both"][:MOST])
    lost = await asyncio.to_thread(lost_tests, contents)
    if lost:  # they may have gone into files that the worker may change, or changed before
        changed = await run.parts.workspace.changed_between(base, None)
        others = [path for path in changed if path not in contents and files.classify(path).side != "product"]
        whole = len(others) <= MOST and len(proof) <= MOST  # else they may be in what is not looked into
        lost = await asyncio.to_thread(lost_tests, contents | await _contents(run, base, others)) if whole else {}
    return ChangedProof(lines, came, gone, tuple(proof[MOST:]), {path: lost[path] for path in own if path in lost})


async def _contents(run: ActiveRun, base: str, paths: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
    """What files held at the start, and what they hold now, of those that differ."""
    workspace = run.parts.workspace
    found: dict[str, tuple[str | None, str | None]] = {}
    for path in paths:
        was, now = await workspace.file_at(base, path), await asyncio.to_thread(workspace.read, path)
        if was != now:
            found[path] = (_replaced_text(was), _replaced_text(now))
    return found


def _replaced_text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")


# The worker's work in one turn, with the plugins that guide, refine or halt it.


MAX_REFINEMENTS = 10
"""Times that critics may send one turn back."""
MAX_RESPONSE = 60_000
"""Characters of a response that are kept as evidence: head and tail."""


async def turn_result(
    run: ActiveRun, worker: Worker, turn: Turn, resuming: Resuming | None, *, suspended: bool
) -> TurnResult | None:
    """What the worker and the plugins made of the turn; None if it was halted, or its model could not be asked. A
    suspended turn goes on where it stood."""
    stage = resuming.halt.stage if resuming is not None else "turn" if suspended else None
    result = resuming.halt.result if resuming is not None and stage == "after_turn" else None
    if result is None:
        told = await _prepared_turn(run, turn, resuming, stage)
        if told is None:
            return None
        result = await _worked(run, worker, told)
    return None if result is None else await _refined(run, worker, turn, result, called_at(resuming, "after_turn"))


async def _prepared_turn(run: ActiveRun, turn: Turn, resuming: Resuming | None, stage: str | None) -> Turn | None:
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
            await run.append(Requested("pause", str(conflict)))
            return result
        skip = frozenset[str]()
        if refine is None or result.error is not None or result.claim.state != "finished":
            break
        refining = replace(turn, feedback=refine.feedback, refinement=number + 1, notes=(), resume=None)
        again = await _worked(run, worker, refining)
        if again is None:
            return None
        # One turn's result: the last response counts; steps and costs add up.
        result = replace(again, usage=result.usage + again.usage, steps=(*result.steps, *again.steps))
    return result


async def _worked(run: ActiveRun, worker: Worker, turn: Turn) -> TurnResult | None:
    context, mask = Context(run), run.parts.setup.mask
    try:
        if worker.waits_for_person:
            return await worker.work(turn, context)
        return masked(await watched(run, worker.work(turn, context), by="worker"), mask)
    except WorkerFailed as failure:
        if failure.trouble is not None:
            await run.look("worker", everywhere=True)
            trouble = replace(failure.trouble, said=mask(failure.trouble.said))
            reason = f"{trouble.headline}: {trouble.said}"
            await run.append(Abandoned("turn", reason, failure.usage or Usage(), trouble))
            return None
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
    await run.record(observed, state.revision)
