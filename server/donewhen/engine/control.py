"""How people control a run: pause, stop, answer, waive, accept, dispute, revert. Each operation reaches the owner,
wherever it is.

A run of another live process gets a request through the ledger; with a dead owner the operation applies directly.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from donewhen.core import errors
from donewhen.core import events as e
from donewhen.core.acts import REFUSED, UNASKED, PausedBy, Person, ReadWhen, Seen, hint, refusal
from donewhen.core.answers import checked_answer
from donewhen.core.errors import (
    ActRefused,
    DoneWhenError,
    LedgerError,
    Overtaken,
    PersonNeeded,
    RecordChanged,
    UnknownInterrupt,
    UnknownName,
    UnknownRun,
    UnreadableRun,
    UsageError,
)
from donewhen.core.fold.dispatch import fold
from donewhen.core.state import KeptTree, KnownFinding, RunState
from donewhen.core.work import Answer
from donewhen.engine.active import ActiveRun
from donewhen.engine.api import RevertOutcome, RunView
from donewhen.engine.reading import Reading
from donewhen.engine.records import kept_after
from donewhen.engine.watching import amend, take_accepted_goal
from donewhen.ports import Owner, Reply, Request

REPLY_WITHIN = 10.0
PAUSED_WITHIN = 5.0
DIED = "the process that ran it ended unexpectedly"
LETS_GO_WITHIN = 3.0
TRIES = 5
"""Times that an act is tried while other processes put something else on record of the run."""
MAX_REFUSALS = 20
"""Refused requests that are put on record of a run in one process: a worker may ask as often as it likes."""


class Control(Reading):
    """The part of `engine.api.Runs` by which a person steers."""

    async def pause(self, run_id: str, reason: str = "paused by a person", by: PausedBy = "person") -> RunView:
        return await self._do(run_id, "pause", {"reason": reason, "by": by})

    async def stop(self, run_id: str, reason: str = "stopped by a person") -> RunView:
        return await self._do(run_id, "stop", {"reason": reason})

    async def answer(self, run_id: str, interrupt_id: str, answer: Answer) -> RunView:
        given = None if answer.input is None else dict(answer.input)
        arguments = {
            "interrupt_id": interrupt_id,
            "response": answer.response,
            "text": answer.text,
            "input": given,
            "reason": answer.reason,
            "remember": answer.remember,
        }
        return await self._do(run_id, "answer", arguments)

    async def waive(self, run_id: str, requirement: str, reason: str, *, undo: bool = False) -> RunView:
        return await self._do(run_id, "waive", {"requirement": requirement, "reason": reason, "undo": undo})

    async def accept(self, run_id: str, finding_id: str | None, reason: str, *, undo: bool = False) -> RunView:
        return await self._do(run_id, "accept", {"finding_id": finding_id, "reason": reason, "undo": undo})

    async def dispute(self, run_id: str, requirement: str, reason: str) -> RunView:
        return await self._do(run_id, "dispute", {"requirement": requirement, "reason": reason})

    async def hint(self, run_id: str, text: str) -> ReadWhen:
        return (await self._ask_owner(run_id, "hint", {"text": text}))["when"]

    async def revert(
        self, run_id: str, iteration: int | None, paths: Sequence[str] | None = None, *, force: bool = False
    ) -> RevertOutcome:
        chosen = None if paths is None else list(paths)
        result = await self._ask_owner(run_id, "revert", {"iteration": iteration, "paths": chosen, "force": force})
        return _revert_outcome(result)

    async def revert_finding(self, run_id: str, finding_id: str, *, force: bool = False) -> RevertOutcome:
        arguments = {"finding_id": finding_id, "force": force}
        return _revert_outcome(await self._ask_owner(run_id, "revert_finding", arguments))

    async def amend(self, goal_path: str) -> None:
        run = self._pursuing(goal_path)
        if run is not None:
            await amend(run, goal_path)

    # ------------------------------------------------------------------------- reaching the owner

    async def _do(self, run_id: str, operation: str, arguments: Mapping[str, Any]) -> RunView:
        await self._ask_owner(run_id, operation, arguments)
        return await self._view(run_id)

    async def _ask_owner(self, run_id: str, operation: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        for _ in range(TRIES - 1):
            # Another process may resume a run in the moment in which somebody acts on it: then that one has to know.
            with contextlib.suppress(Overtaken):
                return await self._asked_once(run_id, operation, arguments)
        return await self._asked_once(run_id, operation, arguments)

    async def _asked_once(self, run_id: str, operation: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._records.state(run_id)  # an unknown run is an error of its own
        self._may_write()
        owner = await self._owner()
        if run_id not in self._active:
            if owner is not None and owner.run_id == run_id:
                return await self._request(run_id, operation, arguments, owner.pid)
            if arguments.get("by") != "run":  # a pause by the run is nobody's act
                await self._refuse_what_no_person_does(run_id, operation)
            # Before anything else is on record: when it died must stay known.
            await self._mark_interrupted(run_id)
        # Once begun, it runs to its end even if the caller goes away: the question is withdrawn by its own answer.
        performing = self._perform(run_id, operation, arguments, self._setup.people.me())
        return await asyncio.shield(asyncio.ensure_future(performing))

    async def _refuse_what_no_person_does(self, run_id: str, operation: str) -> None:
        """What comes from inside the run. And an agent elsewhere is at work while its run stands still: what comes from
        neither an editor nor a terminal may be its doing."""
        if self._setup.people.inside(run_id):
            seen = Seen(self._setup.people.me(), inside=True)
            raise ActRefused(refusal(operation, run_id, seen, at_work=False) or "")
        state = await self._records.state(run_id)
        if not state.works_elsewhere or not state.halted:
            return
        why = refusal(operation, run_id, Seen(self._setup.people.me()), at_work=True)
        if why is not None:
            raise ActRefused(why)

    async def _owner(self) -> Owner | None:
        """The live owner of this folder. One whose run is over is about to let go: that is waited for."""
        deadline = asyncio.get_running_loop().time() + LETS_GO_WITHIN
        owner = self._setup.lock.owner()
        while owner is not None and asyncio.get_running_loop().time() < deadline:
            run = self._active.get(owner.run_id)
            try:
                state = run.state if run is not None else await self._records.state(owner.run_id)
            except (UnknownRun, UnreadableRun):
                break  # it keeps its record elsewhere, in memory, or only there it can be read: it lives
            if state.active:
                break
            await asyncio.sleep(0.02)
            owner = self._setup.lock.owner()
        return owner

    async def _request(self, run_id: str, operation: str, arguments: Mapping[str, Any], pid: int) -> Mapping[str, Any]:
        ledger = self._setup.ledger
        async with self._setup.people.asking(run_id, operation, arguments) as signed:
            number = await ledger.request(run_id, operation, arguments, signed)
            deadline = asyncio.get_running_loop().time() + REPLY_WITHIN
            while asyncio.get_running_loop().time() < deadline:
                reply = await ledger.reply_to(number)
                if reply is not None:
                    return _unwrap(reply)
                if not self._owned_by(pid, run_id) and await ledger.take_back(number):
                    raise Overtaken(f"process {pid} let run {run_id} go before it read the request")
                await asyncio.sleep(0.02)
            with contextlib.suppress(LedgerError):
                await ledger.take_back(number)  # whoever pursues it later must not take it for said then
        raise PersonNeeded(f"process {pid} owns run {run_id} and does not answer")

    def _owned_by(self, pid: int, run_id: str) -> bool:
        owner = self._setup.lock.owner()
        return owner is not None and (owner.pid, owner.run_id) == (pid, run_id)

    async def _answer_requests(self) -> None:
        if not self._active:
            return
        for request in await self._setup.ledger.take_requests(list(self._active)):
            replying = asyncio.ensure_future(self._replied(request))
            try:
                await asyncio.shield(replying)
            except asyncio.CancelledError:
                # The request may be what lets this process end: whoever asked still gets the reply.
                await asyncio.wait({replying}, timeout=REPLY_WITHIN)
                raise

    async def _replied(self, request: Request) -> None:
        await self._setup.ledger.reply(await self._served(request))

    async def _served(self, request: Request) -> Reply:
        try:
            person = await self._person(request)
            result = await self._perform(request.run_id, request.operation, dict(request.arguments), person)
        except DoneWhenError as error:
            return Reply(request.id, (type(error).__name__, str(error)))
        except (KeyError, TypeError, ValueError) as error:
            return Reply(request.id, ("UsageError", f"the request can't be read: {error}"))
        return Reply(request.id, None, result)

    async def _person(self, request: Request) -> Person:
        """Who is behind a request. Raises ActRefused if that can't be told to be a person, and puts it on record."""
        try:
            seen = await self._setup.people.look(request)
            state = await self._now(request.run_id)
            at_work = state.active and state.turn is not None and not state.waits_for_person
            why = refusal(request.operation, request.run_id, seen, at_work=at_work)
        except ActRefused as refused:
            why = str(refused)
        else:
            if why is None:
                return seen.person
        await self._tell_refused(request, why)
        raise ActRefused(why)

    async def _tell_refused(self, request: Request, why: str) -> None:
        run, told = self._active.get(request.run_id), self._refused.setdefault(request.run_id, set())
        message = f"`{request.operation:.40}` was refused: {why}"
        if run is None or message in told or len(told) >= MAX_REFUSALS:
            return
        told.add(message)
        await run.append(e.Warned(REFUSED, message))

    async def _perform(
        self, run_id: str, operation: str, arguments: Mapping[str, Any], person: Person
    ) -> dict[str, Any]:
        operations: dict[str, Callable[..., Awaitable[dict[str, Any] | None]]] = {
            "pause": self._pause,
            "stop": self._stop,
            "answer": self._answer,
            "waive": self._waive,
            "accept": self._accept,
            "dispute": self._dispute,
            "hint": self._hint,
            "revert": self._revert,
            "revert_finding": self._revert_finding,
        }
        if operation not in operations:
            raise UsageError(f"unknown operation {operation}")
        return await operations[operation](run_id, person, **arguments) or {}

    # ------------------------------------------------------------------------------- the operations

    async def _pause(self, run_id: str, person: Person, reason: str, by: PausedBy = "person") -> None:
        state = await self._now(run_id)
        if (
            (state.lifecycle.interrupted is not None or state.halted)
            and not state.lifecycle.ended
            and state.lifecycle.paused is None
        ):
            await self._act(run_id, e.RunPaused(reason, by))
            return
        if not state.active:
            raise UsageError(f"nothing to pause: run {run_id} is {state.status or 'an audit'}")
        await self._append_event(run_id, e.PauseRequested(reason, by))
        await self._until(run_id, lambda now: not now.active)

    async def _stop(self, run_id: str, person: Person, reason: str) -> None:
        state = await self._now(run_id)
        if state.lifecycle.ended:
            raise UsageError(f"nothing to stop: run {run_id} has ended ({state.status or 'audit'})")
        if run_id in self._active:
            await self._append_event(run_id, e.StopRequested(reason, person))
            await self._until(run_id, lambda now: now.lifecycle.ended)
            return
        last = self._setup.lock.last_owner()
        if last is not None and last.run_id == run_id:
            await self._setup.lock.end_leftovers(last.token)
        await self._act(run_id, e.StopRequested(reason, person))
        await self._act(run_id, e.RunEnded("cancelled", reason))

    async def _answer(
        self,
        run_id: str,
        person: Person,
        interrupt_id: str,
        response: str,
        text: str,
        input: Any,
        reason: str,  # wire name
        remember: str = "",
    ) -> None:
        state = await self._now(run_id)
        asked = next((one for one in state.interrupts if one.id == interrupt_id), None)
        if asked is None:
            known = ", ".join(one.id for one in state.interrupts) or "none is open"
            raise UnknownInterrupt(f"run {run_id} has no open interrupt {interrupt_id} (open: {known})")
        if (run_id, interrupt_id) in self._answering:
            raise UnknownInterrupt(f"somebody answered {interrupt_id} of run {run_id} first")
        answer = checked_answer(asked, response, text, input, reason, remember)
        self._answering.add((run_id, interrupt_id))
        try:
            sequence = await self._act(run_id, e.InterruptAnswered(interrupt_id, answer, person))
        finally:
            self._answering.discard((run_id, interrupt_id))
        if not await self._records.answered_at(run_id, interrupt_id, sequence):
            raise UnknownInterrupt(f"somebody answered {interrupt_id} of run {run_id} first")
        if run_id in self._active:
            self._active[run_id].deliver(interrupt_id, answer)
            await take_accepted_goal(self._active[run_id])

    async def _waive(self, run_id: str, person: Person, requirement: str, reason: str, undo: bool) -> None:
        found = await self._requirement_id(run_id, requirement)
        if not undo and not reason.strip():
            raise UsageError("waiving a requirement needs a reason")
        await self._act(run_id, e.RequirementWaived(found, reason, undo, person))

    async def _dispute(self, run_id: str, person: Person, requirement: str, reason: str) -> None:
        found = await self._requirement_id(run_id, requirement)
        if (await self._now(run_id)).options.judge is None:
            raise UsageError("there is no judge to ask again: checks decide here; change the check, or waive it")
        await self._act(run_id, e.RequirementDisputed(found, reason, person))

    async def _hint(self, run_id: str, person: Person, text: str) -> dict[str, Any]:
        state = await self._steerable(run_id)
        if not text.strip():
            raise UsageError("the hint is empty: say what the worker should know")
        if state.mode == "audit" or state.options.worker is None:
            raise UsageError(f"run {run_id} is a check: it has no worker to tell")
        if state.waits_for_person:
            raise UsageError(f"run {run_id} has no worker to tell: you edit its files")
        await self._act(run_id, e.InterruptAnswered(UNASKED, hint(text), person))
        at_work = state.turn is not None and state.active
        when: ReadWhen = "resume" if not state.active or state.halted else "nextTurn"
        return {"when": "nextCall" if at_work and state.options.agent is not None else when}

    async def _accept(self, run_id: str, person: Person, finding_id: str | None, reason: str, undo: bool) -> None:
        state = await self._steerable(run_id)
        for found in _all(state, undo=undo) if finding_id is None else [_known_finding(state, finding_id)]:
            await self._act(run_id, e.FindingAccepted(found.id, reason, undo, person))
        if run_id in self._active and not undo:
            await take_accepted_goal(self._active[run_id])

    async def _revert(
        self, run_id: str, person: Person, iteration: int | None, paths: list[str] | None, force: bool
    ) -> dict[str, Any]:
        state = await self._now(run_id)
        if iteration is not None:
            return await self._put_back(run_id, person, iteration, kept_after(state, iteration), paths, force)
        if state.files.put_aside is None:
            raise UsageError(f"run {run_id} has reverted nothing that can be undone")
        return await self._put_back(run_id, person, state.iteration, state.files.put_aside, paths, force)

    async def _revert_finding(
        self, run_id: str, person: Person, finding_id: str, force: bool = False
    ) -> dict[str, Any]:
        state = await self._steerable(run_id)
        found = _known_finding(state, finding_id)
        if found.before is None:
            raise UsageError(
                f"run {run_id} kept no files from before that finding: change the file back yourself, or accept it"
            )
        return await self._put_back(run_id, person, state.iteration, found.before, [found.finding.path], force)

    async def _put_back(
        self,
        run_id: str,
        person: Person,
        iteration: int,
        source: KeptTree,
        paths: list[str] | None,
        force: bool,
    ) -> dict[str, Any]:
        """Files as they were, but for those that a person edited since; what stood there before is kept too."""
        state = await self._now(run_id)
        if state.turn is not None and not state.waits_for_person:
            raise UsageError(f"the worker of run {run_id} is at work: pause the run first")
        async with self.opened(run_id) as workspace:
            before = await workspace.checkpoint()
            changed = set(await workspace.changed_between(source.tree, None))
            wanted = changed if paths is None else changed & set(paths)
            edited = set[str]() if force else await self._edited(state, source.sequence, workspace, changed)
            kept = tuple(sorted(wanted & edited))
            just_saved = await workspace.changed_between(before, None)  # and in no tree yet, whatever is forced
            kept = (*kept, *(path for path in just_saved if path in wanted and path not in kept))
            done = await workspace.restore(source.tree, sorted(wanted), keep=kept)
            reverted = e.FilesReverted(iteration, tuple(done), kept, before, source.tree, person)
            try:
                await self._append_event(run_id, reverted)
            except Overtaken:
                await workspace.restore(before, sorted(done))  # whoever pursues it by now knows nothing of this
                raise
        if run_id in self._active:
            await self._active[run_id].look("person")
        return {"changed": list(done), "kept": list(kept)}

    async def _edited(self, state: RunState, sequence: int, workspace: Any, changed: set[str]) -> set[str]:
        """What a person is known to have edited, or changed since the run last looked. What worker `human` had edited
        by then is in the checkpoints."""
        last = state.files.last_checkpoint
        since = set(await workspace.changed_between(last.tree, None)) if last is not None else changed
        if not state.waits_for_person:
            since |= {path for path, at in state.files.person_edits.items() if at > sequence}
        # What an earlier revert put there, and nobody has changed since, is not an edit.
        put_back = state.files.put_back
        for checkpoint in {put_back[path] for path in since if path in put_back}:
            differs = set(await workspace.changed_between(checkpoint, None))
            since -= {path for path, source in put_back.items() if source == checkpoint} - differs
        return since

    # ----------------------------------------------------------------------------------- their base

    def _pursuing(self, goal_path: str) -> ActiveRun | None:
        """The run of this process that pursues that goal."""
        for run in self._active.values():
            if run.state.mode == "pursue" and run.state.active and run.state.goal.path == goal_path:
                return run
        return None

    async def _now(self, run_id: str) -> RunState:
        run = self._active.get(run_id)
        return run.state if run is not None else await self._records.state(run_id)

    async def _steerable(self, run_id: str) -> RunState:
        state = await self._now(run_id)
        if state.lifecycle.ended and state.status in ("complete", "cancelled"):
            raise UsageError(f"run {run_id} has ended ({state.status}): nothing can be changed")
        if state.lifecycle.broken:
            raise UsageError(f"run {run_id} can't go on: {state.lifecycle.reason}")
        return state

    async def _requirement_id(self, run_id: str, key: str) -> str:
        state = await self._steerable(run_id)
        found = state.goal.requirement(key)
        if found is None:
            labels = ", ".join(one.label for one in state.goal.requirements)
            raise UnknownName(f"run {run_id} has no requirement {key} (there are {labels})")
        return found.id

    async def _act(self, run_id: str, event: e.Event) -> int | None:
        """As `_append_event`. Raises Overtaken too where another process put anything on record meanwhile: it may
        matter to this."""
        return await self._append_event(run_id, event, unless_overtaken=True)

    async def _append_event(self, run_id: str, event: e.Event, *, unless_overtaken: bool = False) -> int | None:
        """Appends to a run of this process, or to one that nobody works on: then its number is returned. Raises
        Overtaken where another process pursues it by now, which takes in nothing that it didn't put on record itself.
        """
        run = self._active.get(run_id)
        if run is not None:
            await run.append(event)
            return None
        state = await self._records.state(run_id)
        owner = self._setup.lock.owner()  # in this order: whoever takes it over writes after that state
        if owner is not None and owner.run_id == run_id and (unless_overtaken or state.active):
            raise Overtaken(f"run {run_id} is pursued again")
        now = self._setup.clock.now()
        try:
            entry = await self._setup.ledger.append(run_id, event, now, seconds=0.0, after=state.sequence)
        except Overtaken:
            if unless_overtaken or (await self._records.state(run_id)).sequence == state.sequence:
                raise
            return await self._append_event(run_id, event)
        except RecordChanged:
            await self._read_anew(run_id)
            raise
        fold(state, entry)  # it must fold, or nobody could read the run afterwards
        await self._tell_listeners(run_id)
        self._watch_again()
        return entry.sequence

    async def _read_anew(self, run_id: str) -> None:
        """What was read of it no longer holds: from where it was changed on, nothing counts."""
        self._records.forget(run_id)
        await self._tell_listeners(run_id)

    async def _mark_interrupted(self, run_id: str) -> None:
        """Puts on record that the run's supervisor died, unless it is not a run that was being pursued."""
        state = await self._records.state(run_id)
        owner = self._setup.lock.owner()  # in this order: whoever takes it over writes after that state
        if state.mode != "pursue" or not state.active or (owner is not None and owner.run_id == run_id):
            return
        try:
            await self._record_death(state)
        except Overtaken:
            return  # somebody else was first: it is on record, or pursued again
        except RecordChanged:
            await self._read_anew(run_id)

    async def _find_dead(self) -> None:
        """A run that looks pursued and that no live process owns is interrupted, for whoever reads it. Where that
        can't be put on record, it shows as it was left."""
        with contextlib.suppress(LedgerError):
            for summary in await self._setup.ledger.runs():
                if summary.status in ("running", "waiting") and summary.run_id not in self._active:
                    with contextlib.suppress(UnreadableRun, UnknownRun):
                        await self._mark_interrupted(summary.run_id)

    async def _record_death(self, state: RunState) -> None:
        """Raises Overtaken if the run is not as it was any more: what went on has not died."""
        live = await self._setup.ledger.live(state.run_id)
        seconds = max(0.0, live.elapsed - state.elapsed) if live.elapsed else None
        died = e.RunInterrupted(DIED, max(live.alive_at, state.updated_at))
        now = self._setup.clock.now()
        fold(state, await self._setup.ledger.append(state.run_id, died, now, seconds=seconds, after=state.sequence))
        await self._tell_listeners(state.run_id)
        self._watch_again()

    async def _until(self, run_id: str, reached: Callable[[RunState], bool]) -> None:
        run = self._active.get(run_id)
        if run is None:
            return
        deadline = asyncio.get_running_loop().time() + PAUSED_WITHIN
        while not reached(run.state) and not run.failed and asyncio.get_running_loop().time() < deadline:
            await run.changed(run.state.sequence, 0.1)
        task = self._tasks.get(run_id)
        if reached(run.state) and task is not None:
            await asyncio.wait({task}, timeout=PAUSED_WITHIN)


def _known_finding(state: RunState, finding_id: str) -> KnownFinding:
    found = next((known for known in state.present_findings if known.id == finding_id), None)
    if found is None:
        known = ", ".join(one.id for one in state.present_findings) or "none"
        raise UnknownName(f"run {state.run_id} has no integrity finding {finding_id} (known: {known})")
    return found


def _all(state: RunState, *, undo: bool) -> list[KnownFinding]:
    """What is accepted, or taken back, as a whole. Raises UsageError if that is nothing."""
    found = [one for one in state.present_findings if (one.acceptance is not None if undo else not one.accepted)]
    if not found:
        raise UsageError(f"no integrity finding of run {state.run_id} is {'accepted' if undo else 'open'}")
    return found


def _unwrap(reply: Reply) -> Mapping[str, Any]:
    if reply.error is None:
        return reply.result
    name, message = reply.error
    kind = getattr(errors, name, DoneWhenError)
    if kind is errors.AlreadyRunning:
        raise UsageError(message)
    # One that is made of more than a message is raised as what it is one of.
    raise next(one for one in kind.__mro__ if one.__init__ is DoneWhenError.__init__)(message)


def _revert_outcome(result: Mapping[str, Any]) -> RevertOutcome:
    return RevertOutcome(tuple(result["changed"]), tuple(result["kept"]))
