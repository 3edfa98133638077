"""The runs of one workspace folder: starts, supervises and resumes them.

`Supervisor` is `engine.api.Runs`, made of its parts: `reading`, `following`, `control` (what people do to a run) and
`guarding`, over the `registry` that all of them share.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from donewhen.core import events as e
from donewhen.core.errors import (
    AlreadyRunning,
    DoneWhenError,
    LedgerError,
    NotResumable,
    Overtaken,
    RecordChanged,
    RecordGone,
    UnknownRun,
    UnreadableRun,
    UsageError,
)
from donewhen.core.goal import Limits
from donewhen.core.proof_files import ProofBasis
from donewhen.core.resume import (
    check_resumable,
    goal_gone,
    of_a_program,
    putting_back,
    refuse_another_sandbox,
    resumable,
    tightened,
)
from donewhen.core.retention import Retention
from donewhen.core.state import RunState
from donewhen.core.summary import unkept_budgets
from donewhen.engine.active import MAX_PATHS, ActiveRun, Parts
from donewhen.engine.api import Collected, HaltAnswer, LimitChanges, RunView, StartOptions
from donewhen.engine.collecting import Collector
from donewhen.engine.control import Control
from donewhen.engine.following import Following
from donewhen.engine.guarding import Guard
from donewhen.engine.halting import resume_halted
from donewhen.engine.loop import defect, pursue
from donewhen.engine.proof_basis import proof_basis_of
from donewhen.engine.reading import Reading
from donewhen.engine.registry import DIED, Registry
from donewhen.engine.results import remember
from donewhen.engine.setup import EngineSetup, Start
from donewhen.engine.tasks import cancel_all, result_of
from donewhen.engine.watching import amend_if_saved, goal_file_gone, named_globs, take_accepted_goal
from donewhen.ports import Worker

CLOSES_WITHIN = 2.0
COLLECTS_WITHIN = 1.0
"""Seconds that the end of a command waits for what was begun when its run ended; the rest is done the next time."""


class Supervisor:
    """Owns the run tasks of this process: at most one run is pursued per folder, audits are always allowed."""

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self.registry = Registry(setup)
        self._records = self.registry.records
        self._active = self.registry.active
        self._tasks = self.registry.tasks
        self._audits: dict[str, asyncio.Task[RunView]] = {}
        self._waiting: dict[str, int] = {}
        self._collecting: asyncio.Task[None] | None = None
        reading = Reading(self.registry)
        self._following = following = Following(self.registry)
        self._control = control = Control(self.registry)
        self._guard = Guard(self.registry)

        self.view, self.saved_by_client = self.registry.view, self.registry.saved_by_client
        self.views, self.standing, self.summaries = reading.views, reading.standing, reading.summaries
        self.steps, self.report, self.commit = reading.steps, reading.report, reading.commit
        self.changes, self.diff, self.file_at = reading.changes, reading.diff, reading.file_at
        self.evidence, self.evidence_file = reading.evidence, self._records.evidence_file
        self.iteration = self._records.iteration
        self.follow, self.subscribe = following.follow, following.subscribe
        self.pause, self.stop, self.answer, self.hint = control.pause, control.stop, control.answer, control.hint
        self.waive, self.accept, self.dispute = control.waive, control.accept, control.dispute
        self.revert, self.revert_finding, self.amend = control.revert, control.revert_finding, control.amend
        self.guard = self._guard.guard

    @property
    def root(self) -> Path:
        return self._setup.root

    @property
    def state_folder(self) -> Path:
        return self._setup.state_folder

    async def start(self, goal_path: str, options: StartOptions | None = None) -> RunView:
        chosen = options or StartOptions()
        return await self.start_goal(await self._settled(goal_path, chosen), chosen.run_id, chosen.turns)

    async def ready(self, goal_path: str, options: StartOptions) -> e.RunOptions:
        start = await self._settled(goal_path, options)
        self._setup.worker(start.options)
        return start.options

    async def _settled(self, goal_path: str, options: StartOptions) -> Start:
        self.registry.may_execute()
        if self._setup.prepare is not None:
            await self._setup.prepare()
        goal = self._setup.load_goal(goal_path)
        return replace(self._setup.settle(goal, options), file_limits=goal.limits)

    async def start_goal(self, start: Start, run_id: str | None = None, turns: int | None = None) -> RunView:
        """Starts a run of a goal that needs no file, with options that are settled. `run_id` and `turns` are those of
        `StartOptions`. Raises UsageError for an id that a run has."""
        self.registry.may_execute()
        if run_id is not None:
            with contextlib.suppress(UnknownRun):
                await self._records.state(run_id)
                raise UsageError(f"there is a run {run_id} already: resume it, or choose another id")
        worker = self._setup.worker(start.options)
        token, run_id = self._new_token(), run_id or self._new_run_id()
        await self._acquire_lock(run_id, token)
        try:
            guarded = await self._guard.run_on_guard(start.goal.path)
            run = await self._begin_run(run_id, token, "pursue", start, worker, guarded=guarded is not None)
            if guarded is not None:
                await self.registry.append(guarded.run_id, e.GuardSet(None, f"run {run_id} works on the goal"))
            for warning in start.warnings:
                await run.append(e.Warned(warning.code, warning.message))
        except BaseException:
            self._setup.lock.release()
            raise
        run.limit_turns(turns)
        self._launch(run)
        return self.registry.own_view(run)

    async def check(self, goal_path: str) -> RunView:
        self.registry.may_execute()
        running = self.registry.pursuing(goal_path)
        if running is not None:
            return await self._next_audit(running)
        task = self._audits.get(goal_path)
        if task is None or task.done():
            task = asyncio.ensure_future(self._bare_audit(goal_path))
            self._audits[goal_path] = task
            self._waiting[goal_path] = 0
        self._waiting[goal_path] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[goal_path] -= 1
            if self._waiting[goal_path] == 0 and not task.done():
                await cancel_all(task)

    async def rests_on(self, goal_path: str) -> ProofBasis:
        goal = self._setup.settle(self._setup.load_goal(goal_path), StartOptions(audit=True)).goal
        workspace = (self._setup.glance or self._setup.workspace)()
        try:
            await workspace.open(named_globs(goal))
            return await proof_basis_of(goal, workspace, workspace.files())
        finally:
            await workspace.close()

    async def resume(
        self,
        run_id: str | None = None,
        limits: LimitChanges | None = None,
        options: StartOptions | None = None,
        halt: HaltAnswer | None = None,
    ) -> RunView:
        self.registry.may_execute()
        state = await self._resumable(run_id)
        await self._refuse_programs(state)
        changes = limits or LimitChanges()
        check_resumable(
            replace(state, lifecycle=replace(state.lifecycle, interrupted=DIED)) if state.active else state,
            changed_limits(state.goal.limits, changes),
        )
        self._setup.ready(state.goal, state.options)
        token = self._new_token()
        leftovers = await self._acquire_lock(state.run_id, token)
        try:
            # As it is now that nobody else can change it; that its process ended, if it did, is on record then.
            while (state := await self._records.state(state.run_id)).active:
                with contextlib.suppress(Overtaken):  # by whoever found it dead at the same time
                    await self.registry.record_death(state)
            raised = changed_limits(state.goal.limits, changes)
            check_resumable(state, raised)
            approve = tightened(state, options.approve if options is not None else None)
            refuse_another_sandbox(state, options.sandbox if options is not None else None)
            run = await self._reopen(state, token, leftovers)
            await self._prepare_to_resume(run, halt)
            if raised != state.goal.limits:
                await run.append(e.LimitsRaised(raised))
                for warning in unkept_budgets(raised, state.options):
                    await run.append(e.Warned(warning.code, warning.message))
            await run.append(e.RunResumed(approve, options.askable if options is not None else None))
            await take_accepted_goal(run)
        except BaseException:
            self._setup.lock.release()
            raise
        run.limit_turns(options.turns if options is not None else None)
        self._launch(run)
        return self.registry.own_view(run)

    async def _refuse_programs(self, state: RunState) -> None:
        why = None if self._setup.of_program else of_a_program(state, str(self._setup.root))
        if why is None or state.status in ("complete", "cancelled"):
            return
        if state.active:
            await self._refuse_second()
        raise NotResumable(why)

    async def _prepare_to_resume(self, run: ActiveRun, answer: HaltAnswer | None) -> None:
        """Has the goal file, and hears from the plugin that halted it how to go on; else it is let go, as it was."""
        try:
            if goal_file_gone(run) and not run.state.works_elsewhere:  # an agent hears of it from the audit
                back = putting_back(run.state)
                raise NotResumable(goal_gone(run.state.goal.path), typed=back and f" (`{back}` puts it back)")
            await resume_halted(run, answer)
        except BaseException:
            await self._release_run(run)  # nothing was begun: the run is as it was
            raise

    async def recover(self) -> Sequence[RunView]:
        await self.registry.find_dead()
        owner, found = self._setup.lock.owner(), list[RunView]()
        for summary in await self._setup.ledger.runs():
            pursued = summary.run_id in self._active or (owner is not None and owner.run_id == summary.run_id)
            if summary.status == "interrupted" and not pursued:
                with contextlib.suppress(UnreadableRun, UnknownRun):
                    found.append(await self.view(summary.run_id))
        return found

    async def close(self, reason: str) -> None:
        """Cancels every task, whose steps end their processes, then records the active runs as interrupted."""
        audits = [task for task in self._audits.values() if not task.done()]
        tasks = [*self._tasks.values(), *audits]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSES_WITHIN):
                await cancel_all(*tasks)
        for run in list(self._active.values()):
            if run.state.active and run.state.mode == "pursue":
                try:
                    await run.append(e.RunInterrupted(reason, self._setup.clock.now()))
                except RecordChanged as error:
                    await run.crash(error)
                except LedgerError:
                    pass  # then it is found as interrupted later
                except Exception as error:  # noqa: BLE001  # a defect: everything else is closed all the same
                    run.fail(defect(error), crashed=True)
            await self._release_run(run)
        # What was asked may be what lets this process end: whoever asked still gets the reply.
        await self._setup.people.replied()
        await self._following.close()
        await self.registry.close()
        self._setup.lock.release()
        await self._end_collecting(COLLECTS_WITHIN)
        if self._setup.closing is not None:
            await self._setup.closing()

    # ------------------------------------------------------------------------------------ the folder

    async def watch(self) -> None:
        self.registry.watch(self._guard.keep_proven)

    def warm(self) -> None:
        if self._setup.trusted():
            self._setup.warm()

    def editor_changed(self) -> None:
        self._setup.editor_activity.note()

    async def forget(self, goal_path: str) -> None:
        guarded = await self._guard.run_on_guard(goal_path)
        if guarded is not None:
            await self.registry.append(guarded.run_id, e.GuardSet(None, "the goal was cleared"))
        self.registry.may_write()
        # Not before what it clears, however the time was set meanwhile.
        known = [one.updated_at for one in await self._setup.ledger.runs() if one.goal_path == goal_path]
        self._records.clear(goal_path, max([self._setup.clock.now(), *known]))
        self.registry.watch_again()

    # -------------------------------------------------------------------------------- what is kept

    async def collect(self, policy: Retention, *, dry_run: bool = False) -> Collected:
        if not dry_run:
            self.registry.may_write()
        await self._end_collecting()
        return await Collector(self._setup, self._records).collect(policy, self._pursued_runs(), dry_run=dry_run)

    async def keep(self, run_id: str, on: bool) -> None:
        self.registry.may_write()
        await self._setup.ledger.keep(run_id, on)

    def _collect_later(self) -> None:
        """Removes what is old, now that a run ended: beside whatever comes next, which doesn't wait for it."""
        retention = self._setup.retention
        if retention is None or self._setup.unwritable is not None or self._pursued_runs():
            return
        if self._collecting is None or self._collecting.done():
            self._collecting = asyncio.ensure_future(self._collect_old(retention()))

    async def _collect_old(self, policy: Retention) -> None:
        collector = Collector(self._setup, self._records)
        with contextlib.suppress(DoneWhenError, OSError):  # the next run is the next occasion
            if await asyncio.to_thread(collector.is_due):
                done = await collector.collect(policy, self._pursued_runs(), thorough=False)
                if done.line:
                    self._setup.tell(done.line)

    def _pursued_runs(self) -> list[str]:
        return [run.run_id for run in self._active.values() if run.state.active]

    async def _end_collecting(self, within: float = 0.0) -> None:
        """Whatever it was at is whole or undone: see `collecting`."""
        if self._collecting is not None:
            await asyncio.wait({self._collecting}, timeout=within)
            await cancel_all(self._collecting)

    # -------------------------------------------------------------------------------- what it takes

    async def _refuse_second(self) -> None:
        owner = await self.registry.owner()
        if owner is not None:
            raise AlreadyRunning(owner.run_id)

    async def _resumable(self, run_id: str | None) -> RunState:
        if run_id is not None:
            state = await self._records.state(run_id)
            if run_id in self._active and state.active:
                raise NotResumable(f"run {run_id} is {state.status} already")
            return state
        for summary in await self._setup.ledger.runs():
            with contextlib.suppress(UnreadableRun, UnknownRun):
                state = await self._records.state(summary.run_id)
                if resumable(state) or (state.mode == "pursue" and state.active):
                    return state
        raise NotResumable("no run here can be resumed", typed=": `donewhen list` shows all")

    async def _acquire_lock(self, run_id: str, token: str) -> bool:
        """Becomes the supervisor, after ending what the last one left behind."""
        await self._refuse_second()
        await self.registry.suspend_watching()
        last = self._setup.lock.last_owner()
        ended = 0
        if last is not None and self._setup.lock.owner() is None:
            ended = await self._setup.lock.end_leftovers(last.token)
        self._setup.lock.acquire(run_id, token)
        return ended > 0

    async def _begin_run(
        self,
        run_id: str,
        token: str,
        mode: e.RunMode,
        start: Start,
        worker: Worker | None,
        *,
        guarded: bool = False,
    ) -> ActiveRun:
        goal = start.goal
        parts = self._parts(start.options, worker)
        try:
            tree = await parts.workspace.open(named_globs(goal), run_id if mode == "pursue" else None)
            known = await self._records.test_runs(goal.path)
            past = await self._records.past(goal.path)
            started = e.RunStarted(
                run_id, mode, goal, start.options, tree.revision, known, past, start.accepted, guarded=guarded,
                file_limits=start.file_limits if start.file_limits != goal.limits else None,
            )  # fmt: skip
            run = await ActiveRun.begin(parts, token, self.registry.run_changed, started)
        except BaseException:
            await parts.workspace.close()
            raise
        self._active[run_id] = run
        return run

    async def _reopen(self, state: RunState, token: str, leftovers: bool) -> ActiveRun:
        """An existing run, supervised by this process from now on."""
        parts = self._parts(state.options, self._setup.worker(state.options))
        run = ActiveRun(parts, token, self.registry.run_changed, state)
        run.leftovers = leftovers
        try:
            tree = await parts.workspace.open(named_globs(state.goal), state.run_id)
            if tree.revision != state.revision:
                await self._changed_meanwhile(run, tree.revision)
        except BaseException:
            await parts.workspace.close()
            raise
        self._active[state.run_id] = run
        return run

    async def _changed_meanwhile(self, run: ActiveRun, revision: str) -> None:
        """What changed while nobody looked: the person's where it is later than the last sign of life."""
        state, workspace = run.state, run.parts.workspace
        kept = state.files.last_checkpoint
        changed = tuple(await workspace.changed_between(kept.tree, None)) if kept is not None else ()
        if state.works_elsewhere:
            run.touched.update(changed)
            await run.append(e.RevisionChanged(revision, changed[:MAX_PATHS], "worker", max(1, len(changed))))
            return
        persons = set(changed) if state.waits_for_person else set[str]()
        if not run.leftovers:
            persons |= set(workspace.changed_after(state.files.last_alive, changed))
        run.touched.update(persons)
        theirs = tuple(path for path in changed if path in persons)
        others = tuple(path for path in changed if path not in persons)
        if theirs:
            await run.append(e.RevisionChanged(revision, theirs, "person", len(theirs)))
            await amend_if_saved(run, theirs, "person")
        if others or not theirs:
            await run.append(e.RevisionChanged(revision, others, "check", max(1, len(others))))

    def _parts(self, options: e.RunOptions, worker: Worker | None) -> Parts:
        setup = self._setup
        plugins = setup.plugins(options) if options.worker is not None else None
        return Parts(setup, setup.workspace(), worker, setup.judge(options), plugins)

    # ---------------------------------------------------------------------------------- supervising

    def _launch(self, run: ActiveRun) -> None:
        self.registry.elsewhere.discard(run.run_id)
        self.registry.failure = None
        run.alone = True
        self._tasks[run.run_id] = asyncio.ensure_future(self._supervise(run))

    async def _supervise(self, run: ActiveRun) -> None:
        try:
            await self._setup.people.listen(run.run_id, self._control.take)
            begun = (pursue(run), run.heartbeat(), run.lost.wait())
            tasks = [asyncio.ensure_future(one) for one in begun]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                result_of(next(task for task in tasks if task.done()))
                if run.record_lost is not None:
                    raise run.record_lost
            except RecordChanged as error:
                await run.crash(error)
                self._records.forget(run.run_id)
            finally:
                await cancel_all(*tasks)
        except DoneWhenError as error:
            self.registry.failure = error
            run.fail(str(error))
        except Exception as error:  # noqa: BLE001  # invariant 8, whatever becomes of the record
            with contextlib.suppress(Exception):
                await run.append_next(e.RunEnded("crashed", defect(error)))
            if not run.state.lifecycle.ended:
                self.registry.failure = error
                run.fail(defect(error), crashed=True)
        try:
            await remember(run.state, run.parts.workspace)
            await self._release_run(run)
        finally:
            self._setup.lock.release()
        if not isinstance(self.registry.failure, RecordGone):
            self._collect_later()

    async def _release_run(self, run: ActiveRun) -> None:
        if self._setup.of_program:
            self._records.remember(run.state)
        self._active.pop(run.run_id, None)
        self._tasks.pop(run.run_id, None)
        await run.close_workspace()
        with contextlib.suppress(LedgerError):
            await self._setup.ledger.set_live(run.run_id, replace(run.live, activity=None))
        run.touch()
        self.registry.watch_again()

    async def _bare_audit(self, goal_path: str) -> RunView:
        start = self._setup.settle(self._setup.load_goal(goal_path), StartOptions(audit=True))
        start = replace(start, options=replace(start.options, worker=None))
        run = await self._begin_run(self._new_run_id(), self._new_token(), "audit", start, None)
        beat = asyncio.ensure_future(run.heartbeat())
        try:
            await pursue(run)
            return self.registry.own_view(run)
        finally:
            await cancel_all(beat)
            try:
                if not run.state.lifecycle.ended:
                    await run.append(e.RunEnded(None, "the check was cancelled"))
                await remember(run.state, run.parts.workspace)
            finally:
                await self._release_run(run)
                self._collect_later()

    async def _next_audit(self, run: ActiveRun) -> RunView:
        """The run's next audit; where nothing has changed since the last one, that is what it found."""
        audits = run.state.auditing.count
        while run.state.active and run.state.auditing.count == audits and not run.state.interrupts:
            idle = run.state.waits_for_person and run.state.turn is not None and not run.state.auditing.due
            if idle:
                break
            await run.changed(run.state.sequence)
        return self.registry.own_view(run)

    def _new_run_id(self) -> str:
        return self._setup.random_hex(4)

    def _new_token(self) -> str:
        return self._setup.random_hex(16)


def changed_limits(limits: Limits, changes: LimitChanges) -> Limits:
    """The limits with a person's changes. Raises InvalidGoal for a value that can't be one."""
    for one in fields(changes):
        value = getattr(changes, one.name)
        if value is not None:
            limits = replace(limits, **{one.name: None if value == "unlimited" else value})
    return limits
