"""A person's commands to a run, whoever owns it: pause, stop, answer, waive, accept, dispute, hint, revert."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from donewhen.cli.calling import Call
from donewhen.cli.formatting import one_line, shown_path
from donewhen.cli.outcome import COMPLETE, PERSON_NEEDED
from donewhen.cli.progress import met_of_total
from donewhen.cli.questions import given_answer
from donewhen.core.acts import ActOutcome
from donewhen.core.errors import UsageError
from donewhen.core.hints import ReadWhen
from donewhen.core.resume import of_a_program, resumable
from donewhen.core.state import RunState
from donewhen.engine.api import Runs, RunView

ASKED = "asked for on the command line"
HINTED: Mapping[ReadWhen, str] = {
    "nextCall": "the agent reads it before its next call to the model",
    "nextTurn": "the worker reads it at the start of its next turn",
    "resume": "the worker reads it once the run is resumed",
}


async def pause(call: Call) -> int:
    async with call.runs() as runs:
        return _done(call, await runs.pause(call.arguments.run_id, ASKED))


async def stop(call: Call) -> int:
    async with call.runs() as runs:
        return _done(call, await runs.stop(call.arguments.run_id, ASKED))


async def answer(call: Call) -> int:
    given = call.arguments
    text = " ".join(given.text).strip() if given.text else None
    async with call.runs() as runs:
        interrupts = (await runs.view(given.run_id)).state.interrupts
        # If it isn't open, the engine reports what is wrong.
        interrupt = next((one for one in interrupts if one.id == given.interrupt_id), None)
        reply = given_answer(given.response, text, interrupt, given.remember or "")
        view = await runs.answer(given.run_id, given.interrupt_id, reply)
    return _done(call, view, f"answered {given.interrupt_id}")


async def waive(call: Call) -> int:
    given = call.arguments
    async with call.runs() as runs:
        view = await runs.waive(given.run_id, given.requirement, _reason(call), undo=given.undo)
    return _done(call, view, f"{given.requirement} {'counts again' if given.undo else 'is waived'}")


async def accept(call: Call) -> int:
    given = call.arguments
    if (given.finding is None) != given.all:
        raise UsageError("say which finding to accept, such as F1, or give --all")
    async with call.runs() as runs:
        view = await runs.accept(given.run_id, given.finding, _reason(call), undo=given.undo)
    which = "all findings" if given.all else given.finding
    return _done(call, view, f"{'undid the acceptance of' if given.undo else 'accepted'} {which}")


async def dispute(call: Call) -> int:
    given = call.arguments
    async with call.runs() as runs:
        view = await runs.dispute(given.run_id, given.requirement, _reason(call))
    return _done(call, view, f"disputed {given.requirement}")


async def hint(call: Call) -> int:
    """Says something to the worker without being asked, and reports when it will be read."""
    given = call.arguments
    async with call.runs() as runs:
        when = await runs.hint(given.run_id, " ".join(given.text))
        if call.json:
            call.terminal.document({"when": when})
        else:
            call.terminal.result(HINTED[when])
            if when == "resume":
                call.terminal.message(f"continue with: {call.resuming(given.run_id)}")
    return COMPLETE


def _reason(call: Call) -> str:
    """An override without a reason is worthless to readers of the receipt; withdrawing one needs no reason."""
    reason = (call.arguments.reason or "").strip()
    if not reason and not getattr(call.arguments, "undo", False):
        raise UsageError(f"`{call.arguments.command}` needs a reason: --reason TEXT")
    return reason


def _next(call: Call, state: RunState) -> str:
    if state.interrupts and state.active:
        return f"{', '.join(one.id for one in state.interrupts)} still waits for an answer"
    if (ending := state.lifecycle.ending) is not None and not state.lifecycle.ended and resumable(state):
        status, reason = ending
        return f"{one_line(reason, 200)}. End the run as {status} with: {call.resuming(state.run_id)}"
    if resumable(state):
        return of_a_program(state, str(call.root)) or f"continue with: {call.resuming(state.run_id)}"
    return "the run has ended" if state.lifecycle.ended else "the run continues by itself"


def _done(call: Call, view: RunView, did: str = "") -> int:
    """Reports how the run stands; after `did`, also what comes next, which JSON has as the status: the words take
    effect once it is resumed, if nobody pursues it now."""
    state = view.state
    if did and not call.json:
        call.terminal.message(f"{did}; {_next(call, state)}")
    if call.json:
        call.show(view)
    else:
        reason = f" ({one_line(state.lifecycle.reason)})" if state.lifecycle.reason else ""
        call.terminal.result(f"{state.run_id} {state.status or 'check'}{reason} · {met_of_total(view)}")
    return 0


async def revert(call: Call) -> int:
    """Keeps a person's later edits, unless the person says otherwise; a separate exit code reports that."""
    given = call.arguments
    if re.fullmatch("F[0-9]+", given.iteration):
        return await _revert_finding(call)
    if given.iteration != "undo" and not given.iteration.isdecimal():
        raise UsageError(
            "revert takes the number of an iteration (0: the files before the first turn), an integrity finding "
            f"such as F1, or undo; {given.iteration!r} is none of these"
        )
    iteration = None if given.iteration == "undo" else int(given.iteration)
    paths = [_workspace_path(name, call.root) for name in given.files] or None
    async with call.runs() as runs:
        outcome = await runs.revert(given.run_id, iteration, paths, force=given.force)
        if outcome.kept and call.interactive and await _overwritten(call, outcome.kept):
            outcome = await _forced(runs, given.run_id, iteration, paths, outcome)
    return _reverted(call, outcome, undoes=iteration is None)


async def _revert_finding(call: Call) -> int:
    given = call.arguments
    if given.files:
        raise UsageError(f"{given.iteration} is about one file: leave out {shown_path(given.files[0])}")
    async with call.runs() as runs:
        outcome = await runs.revert_finding(given.run_id, given.iteration, force=given.force)
        if outcome.kept and call.interactive and await _overwritten(call, outcome.kept):
            outcome = await runs.revert_finding(given.run_id, given.iteration, force=True)
    return _reverted(call, outcome)


def _reverted(call: Call, outcome: ActOutcome, *, undoes: bool = False) -> int:
    code = PERSON_NEEDED if outcome.kept else COMPLETE
    if call.json:
        changed = [(call.root / path).as_uri() for path in outcome.changed]
        call.terminal.document({"changedFiles": changed, "kept": [(call.root / p).as_uri() for p in outcome.kept]})
        return code
    for path in outcome.changed:
        call.terminal.result(f"put back: {shown_path(path)}")
    for path in outcome.kept:
        call.terminal.result(
            f"kept: {shown_path(path)} (a person edited it since; --force overwrites it, after a checkpoint)"
        )
    if not outcome.changed:
        call.terminal.message("nothing had to be put back" if not outcome.kept else "nothing was put back")
    elif not undoes:
        undo = call.typed_here(f"donewhen revert {call.arguments.run_id} undo")
        call.terminal.message(f"undo it with:\n  {undo}")
    return code


async def _forced(
    runs: Runs, run_id: str, iteration: int | None, paths: Sequence[str] | None, before: ActOutcome
) -> ActOutcome:
    """All of it as one revert, so that one undo restores everything."""
    if iteration is None:
        rest = await runs.revert(run_id, None, before.kept, force=True)
        return ActOutcome((*before.changed, *rest.changed), rest.kept)
    if before.changed:
        await runs.revert(run_id, None)
    return await runs.revert(run_id, iteration, paths, force=True)


async def _overwritten(call: Call, kept: Sequence[str]) -> bool:
    return await call.confirmed(
        f"edited since: {', '.join(map(shown_path, kept))}\noverwrite them, after a checkpoint? [y/N]"
    )


def _workspace_path(name: str, root: Path) -> str:
    """A file named relative to this folder, else to the workspace, as a workspace path. It may have been deleted."""
    for base in (Path.cwd(), root):
        path = base / name
        found = path.parent.resolve() / path.name
        if found.is_relative_to(root):
            return found.relative_to(root).as_posix()
    raise UsageError(f"{shown_path(name)} is not in the workspace {root}")
