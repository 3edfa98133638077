"""How people control a run. Each act reaches the process that pursues it, wherever that is; with a dead one it applies
directly."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from donewhen.core import events as e
from donewhen.core.acts import (
    AcceptFinding,
    Act,
    ActOutcome,
    ActReply,
    AnswerInterrupt,
    AskedAct,
    DisputeRequirement,
    HintWorker,
    PauseRun,
    RefusedAct,
    RevertFiles,
    RevertFinding,
    StopRun,
    WaiveRequirement,
    events_of,
    hint_is_read,
    known_finding,
    refuse_unsteerable,
)
from donewhen.core.errors import (
    ActRefused,
    DoneWhenError,
    Overtaken,
    PersonNeeded,
    UnknownInterrupt,
    UsageError,
)
from donewhen.core.events import PausedBy
from donewhen.core.globs import all_folders, folders_above
from donewhen.core.hints import ReadWhen
from donewhen.core.people import REFUSED, Person, Seen, refusal
from donewhen.core.state import KeptTree, RunState
from donewhen.core.work import Answer
from donewhen.engine.api import RunView
from donewhen.engine.records import kept_after
from donewhen.engine.registry import Registry
from donewhen.engine.watching import amend, take_accepted_goal
from donewhen.ports import Owner, Workspace

TAKEN_WITHIN = 10.0
"""Seconds in which the process that pursues a run has to take an act."""
PAUSED_WITHIN = 5.0
TRIES = 5
"""Times that an act is tried while other processes put something else on record of the run."""
MAX_REFUSALS = 20
"""Refused acts that are put on record of a run in one process: a worker may ask as often as it likes."""


class Control:
    """The part of `engine.api.Runs` by which a person steers."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._setup = registry.setup
        self._records = registry.records
        self._active = registry.active
        self._refused: dict[str, set[str]] = {}
        """What was said of acts that were refused, by run."""
        self._acting = asyncio.Lock()
        """Held from what an act is decided on until it is on record: one at a time, as they come."""

    async def pause(self, run_id: str, reason: str = "paused by a person", by: PausedBy = "person") -> RunView:
        return await self._steered(run_id, PauseRun(reason, by))

    async def stop(self, run_id: str, reason: str = "stopped by a person") -> RunView:
        return await self._steered(run_id, StopRun(reason))

    async def answer(self, run_id: str, interrupt_id: str, answer: Answer) -> RunView:
        return await self._steered(run_id, AnswerInterrupt(interrupt_id, answer))

    async def waive(self, run_id: str, requirement: str, reason: str, *, undo: bool = False) -> RunView:
        return await self._steered(run_id, WaiveRequirement(requirement, reason, undo))

    async def accept(self, run_id: str, finding_id: str | None, reason: str, *, undo: bool = False) -> RunView:
        return await self._steered(run_id, AcceptFinding(finding_id, reason, undo))

    async def dispute(self, run_id: str, requirement: str, reason: str) -> RunView:
        return await self._steered(run_id, DisputeRequirement(requirement, reason))

    async def hint(self, run_id: str, text: str) -> ReadWhen:
        return (await self.act(run_id, HintWorker(text))).read_when

    async def revert(
        self, run_id: str, iteration: int | None, paths: Sequence[str] | None = None, *, force: bool = False
    ) -> ActOutcome:
        return await self.act(run_id, RevertFiles(iteration, None if paths is None else tuple(paths), force))

    async def revert_finding(self, run_id: str, finding_id: str, *, force: bool = False) -> ActOutcome:
        return await self.act(run_id, RevertFinding(finding_id, force))

    async def amend(self, goal_path: str) -> None:
        run = self._registry.pursuing(goal_path)
        if run is not None:
            await amend(run, goal_path)

    # ------------------------------------------------------------------------- reaching the owner

    async def _steered(self, run_id: str, act: Act) -> RunView:
        run = self._active.get(run_id)
        await self.act(run_id, act)
        if run is None or run_id in self._active:
            return await self._registry.known_view(run_id)
        # This process has let go of it: its record may be closed by now.
        return self._registry.watched_view(run.state, replace(run.live, activity=None))

    async def act(self, run_id: str, act: Act) -> ActOutcome:
        """Done here, or by the process that pursues the run."""
        for _ in range(TRIES - 1):
            # Another process may resume a run in the moment in which somebody acts on it: then that one has to know.
            with contextlib.suppress(Overtaken):
                return await self._acted(run_id, act)
        return await self._acted(run_id, act)

    async def _acted(self, run_id: str, act: Act) -> ActOutcome:
        await self._records.state(run_id)  # an unknown run is an error of its own
        self._registry.may_write()
        owner = await self._registry.owner()
        if run_id not in self._active:
            if owner is not None and owner.run_id == run_id:
                return await self._ask(owner, act)
            if not (isinstance(act, PauseRun) and act.by == "run"):  # a pause by the run is nobody's act
                await self._refuse_what_no_person_does(run_id, act)
            # Before anything else is on record: when it died must stay known.
            await self._registry.mark_interrupted(run_id)
        # Once begun, it runs to its end even if the caller goes away: the question is withdrawn by its own answer.
        performing = self._perform(run_id, act, self._setup.people.me())
        return await asyncio.shield(asyncio.ensure_future(performing))

    async def _refuse_what_no_person_does(self, run_id: str, act: Act) -> None:
        """What comes from inside the run. And an agent elsewhere is at work while its run stands still: what comes from
        neither an editor nor a terminal may be its doing."""
        state, people = await self._records.state(run_id), self._setup.people
        seen = Seen(people.me(), inside=people.inside(run_id))
        if seen.inside or (state.works_elsewhere and state.halted):
            why = refusal(act.word, run_id, seen, at_work=True)
            if why is not None:
                raise ActRefused(why)

    async def _ask(self, owner: Owner, act: Act) -> ActOutcome:
        """Has the owner do it. Raises Overtaken where that let the run go before it took the act."""
        deadline = asyncio.get_running_loop().time() + TAKEN_WITHIN
        while (reply := await self._setup.people.ask(owner, act)) is None:
            if self._setup.lock.owner() != owner:
                raise Overtaken(f"process {owner.pid} let run {owner.run_id} go before it took the act")
            if asyncio.get_running_loop().time() >= deadline:
                raise PersonNeeded(f"process {owner.pid} owns run {owner.run_id} and does not answer")
            await asyncio.sleep(0.02)
        if isinstance(reply, RefusedAct):
            raise reply.error
        return reply

    async def take(
        self, asked: AskedAct, look: Callable[[], Awaitable[Seen | None]], agreed: Callable[[], Awaitable[bool]]
    ) -> ActReply | None:
        """As `ports.TakeAct`. An act of somebody who can't be told to be a person is refused, and that is on record."""
        run, word = self._active.get(asked.run_id), asked.act.word
        if run is None:
            return None
        seen = await look()
        at_work = run.state.active and run.state.turn is not None and not run.state.waits_for_person
        why = refusal(word, run.run_id, seen, at_work=at_work)
        if run.run_id not in self._active:
            return None
        try:
            if seen is not None and why is None:
                async with self._acting:
                    if run.run_id not in self._active or not await agreed():
                        return None
                    outcome = await self._put_on_record(run.run_id, asked.act, seen.person)
                await self._takes_effect(run.run_id, asked.act)
                return outcome
            told, message = self._refused.setdefault(run.run_id, set()), f"`{word}` was refused: {why}"
            if message not in told and len(told) < MAX_REFUSALS:
                told.add(message)
                await run.append(e.Warned(REFUSED, message))
            raise ActRefused(why or "")
        except DoneWhenError as error:
            return RefusedAct.by(error)

    # ------------------------------------------------------------------------------------ the acts

    async def _perform(self, run_id: str, act: Act, person: Person) -> ActOutcome:
        async with self._acting:
            outcome = await self._put_on_record(run_id, act, person)
        await self._takes_effect(run_id, act)
        return outcome

    async def _put_on_record(self, run_id: str, act: Act, person: Person) -> ActOutcome:
        if isinstance(act, RevertFiles | RevertFinding):
            return await self._revert(run_id, act, person)
        state, run = await self._registry.state(run_id), self._active.get(run_id)
        events = events_of(state, act, person, pursued=run is not None)
        last = self._setup.lock.last_owner()
        if isinstance(act, StopRun) and run is None and last is not None and last.run_id == run_id:
            await self._setup.lock.end_leftovers(last.token)
        for event in events:
            number = await self._registry.append(run_id, event, unless_overtaken=True)
            if isinstance(act, AnswerInterrupt) and isinstance(event, e.InterruptAnswered):
                if not await self._records.answered_at(run_id, event.interrupt_id, number):
                    raise UnknownInterrupt(f"somebody answered {event.interrupt_id} of run {run_id} first")
                if run is not None and event.answer is not None:
                    run.deliver(event.interrupt_id, event.answer)
        return ActOutcome(read_when=hint_is_read(state))

    async def _takes_effect(self, run_id: str, act: Act) -> None:
        """Returns once what is on record has come about, or after some seconds."""
        run = self._active.get(run_id)
        match act:
            case PauseRun():
                await self._until(run_id, lambda now: not now.active)
            case StopRun():
                await self._until(run_id, lambda now: now.lifecycle.ended)
            case AnswerInterrupt() | AcceptFinding(undo=False) if run is not None:
                await take_accepted_goal(run)
            case _:
                pass

    async def _revert(self, run_id: str, act: RevertFiles | RevertFinding, person: Person) -> ActOutcome:
        state = await self._registry.state(run_id)
        if isinstance(act, RevertFinding):
            refuse_unsteerable(state)
            found = known_finding(state, act.finding_id)
            if found.before is None:
                raise UsageError(
                    f"run {run_id} kept no files from before that finding: change the file back yourself, or accept it"
                )
            return await self._put_back(run_id, person, state.iteration, found.before, [found.finding.path], act.force)
        if act.iteration is not None:
            source = kept_after(state, act.iteration)
            return await self._put_back(run_id, person, act.iteration, source, act.paths, act.force)
        if state.files.put_aside is None:
            raise UsageError(f"run {run_id} has reverted nothing that can be undone")
        return await self._put_back(run_id, person, state.iteration, state.files.put_aside, act.paths, act.force)

    async def _put_back(
        self,
        run_id: str,
        person: Person,
        iteration: int,
        source: KeptTree,
        paths: Sequence[str] | None,
        force: bool,
    ) -> ActOutcome:
        """Files as they were, but for those that a person edited since, or that have such a one in their way; what
        stood there before is kept too."""
        state = await self._registry.state(run_id)
        if state.turn is not None and not state.waits_for_person:
            raise UsageError(f"the worker of run {run_id} is at work: pause the run first")
        async with self._registry.opened(run_id) as workspace:
            before = await workspace.checkpoint()
            changed = set(await workspace.changed_between(source.tree, None))
            wanted = changed if paths is None else changed & set(paths)
            theirs = set[str]() if force else await self._edited(state, source.sequence, workspace, changed)
            theirs |= set(await workspace.changed_between(before, None))  # just saved and in no tree yet: never forced
            around = theirs | all_folders(theirs)
            kept = tuple(sorted(one for one in wanted if one in around or not theirs.isdisjoint(folders_above(one))))
            done = await workspace.restore(source.tree, sorted(wanted), keep=kept)
            reverted = e.FilesReverted(iteration, tuple(done), kept, before, source.tree, person)
            try:
                await self._registry.append(run_id, reverted)
            except Overtaken:
                await workspace.restore(before, sorted(done))  # whoever pursues it by now knows nothing of this
                raise
        if run_id in self._active:
            await self._active[run_id].look("person")
        return ActOutcome(reverted.paths, kept)

    async def _edited(self, state: RunState, sequence: int, workspace: Workspace, changed: set[str]) -> set[str]:
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

    async def _until(self, run_id: str, reached: Callable[[RunState], bool]) -> None:
        run = self._active.get(run_id)
        if run is None:
            return
        deadline = asyncio.get_running_loop().time() + PAUSED_WITHIN
        while not reached(run.state) and not run.failed and asyncio.get_running_loop().time() < deadline:
            await run.changed(run.state.sequence, 0.1)
        task = self._registry.tasks.get(run_id)
        if reached(run.state) and task is not None:
            await asyncio.wait({task}, timeout=PAUSED_WITHIN)
