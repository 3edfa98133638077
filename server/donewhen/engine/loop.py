"""The loop: decide, append the intent, perform, append the result. Everything else is in the steps."""

from __future__ import annotations

import asyncio
import traceback

from donewhen.core.decide import (
    Ask,
    AskJudge,
    AwaitPerson,
    Confirm,
    Pause,
    RunAudit,
    RunTrials,
    RunWorker,
    Stop,
    decide,
)
from donewhen.core.errors import DoneWhenError, LedgerError, out_of_memory
from donewhen.core.events import InterruptOpened, RevisionConfirmed, RunEnded, RunPaused, Warned
from donewhen.core.proof import proven
from donewhen.engine.active import ActiveRun
from donewhen.engine.api import OUT_OF_TURNS
from donewhen.engine.audits import audit
from donewhen.engine.halting import resume_reporting, stopping
from donewhen.engine.judging import ask_judge
from donewhen.engine.trials import try_checks
from donewhen.engine.turns import keep_tree, work
from donewhen.engine.watching import amend_if_edited, renew_editor, watched
from donewhen.ports import Stopping


async def pursue(run: ActiveRun) -> None:
    """Drives a run until it ends or is paused, as it is where its workspace folder is gone. A defect ends this run as
    `crashed`, and affects nothing else (invariant 8). What keeps that off the record is raised."""
    root = run.parts.workspace.root
    on_disk = await asyncio.to_thread(root.is_dir)  # a workspace in memory has no folder that could go
    try:
        await resume_reporting(run)
        while not run.state.lifecycle.ended and run.state.active:
            await _step(run)
    except LedgerError:
        raise  # what can't be recorded must not happen: the supervisor reports it
    except (DoneWhenError, OSError) as error:
        if not on_disk or await asyncio.to_thread(root.is_dir):
            await run.append(RunEnded("crashed", out_of_memory(error) or str(error)))
        else:  # moved or deleted meanwhile: nothing failed, and a person puts it back
            await run.append(RunPaused(f"the workspace folder {root} is gone: put it back, then resume", "run"))
    except Exception as error:  # noqa: BLE001  # invariant 8: a defect is this run's end, with its reason
        await run.append(RunEnded("crashed", defect(error)))


def defect(error: Exception) -> str:
    """What to say of an error that nobody expected."""
    place = traceback.extract_tb(error.__traceback__)[-1].name
    return out_of_memory(error) or f"a defect in {place}: {type(error).__name__}: {error}"


async def _step(run: ActiveRun) -> None:  # noqa: C901  # one branch for each action
    await amend_if_edited(run)
    since = run.state.sequence
    action = decide(run.state, run.watch.look())
    match action:
        case RunWorker() if run.out_of_turns:
            await run.append(RunPaused(OUT_OF_TURNS, "run"))
        case RunWorker():
            await run.unless_preempted(work(run, action.iteration))
        case RunAudit():
            await run.unless_preempted(_audited(run, action.iteration))
        case AskJudge():
            await run.unless_preempted(ask_judge(run, action.requirements))
        case RunTrials():
            await run.unless_preempted(try_checks(run))
        case Confirm():
            await _confirm(run)
        case Ask():
            for interrupt in action.interrupts:
                await run.append(InterruptOpened(run.numbered(interrupt)))
        case AwaitPerson():
            await run.unless_preempted(_watch_changes(run, since))
        case Pause():
            await run.append(RunPaused(action.reason, action.by))
        case Stop():
            await _stop(run, action)


async def _watch_changes(run: ActiveRun, since: int) -> None:
    await watched(run, run.changed(since))  # made here, so that it is awaited once this runs


async def _audited(run: ActiveRun, iteration: int) -> None:
    """An audit. The files that a new finding saw are kept: what differs from them later is not the worker's doing."""
    known = {one.finding.key for one in run.state.present_findings}
    if iteration == 0 and run.state.waits_for_person:
        await keep_tree(run)  # before anything tells the person what to change
    rooms, looking = run.parts.setup.rooms, None
    if iteration == 0 and rooms is not None and run.state.options.trials:
        # What will keep trials from deciding anything is found out before anybody works.
        looking = asyncio.ensure_future(rooms.hindrance(run.parts.workspace))
    try:
        await audit(run, iteration)
        if looking is not None and (text := await looking):
            await run.append(Warned("rooms", text))
    finally:
        if looking is not None:
            looking.cancel()
    if any(one.finding.key not in known for one in run.state.present_findings):
        await keep_tree(run)


async def _stop(run: ActiveRun, action: Stop) -> None:
    status = action.status
    await keep_tree(run)
    if status == "complete" and not _complete(run):
        return  # somebody reverted files, or took an act back, in this moment
    if status is not None and not await stopping(run, Stopping(status, action.reason, run.state.iteration)):
        return  # a plugin halts it instead
    if status != "complete":
        await run.append(RunEnded(status, action.reason))
        return
    if run.parts.plugins is not None:
        await _confirm(run)  # what was proven before they heard of the end must be so after
    if _complete(run):
        # Whatever is on its way to the record comes first, and is decided on again.
        await run.append_next(RunEnded(status, action.reason))


def _complete(run: ActiveRun) -> bool:
    return run.state.files.confirmed and proven(run.state)


async def _confirm(run: ActiveRun) -> None:
    """The last look before `complete`: what it finds to have changed is not taken for a person's."""
    await run.look("person" if run.state.waits_for_person else "check", everywhere=True)
    await run.unless_preempted(renew_editor(run))
    await run.append(RevisionConfirmed((await run.parts.workspace.current()).revision))
