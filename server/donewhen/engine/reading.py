"""Views of runs, and following them live, whoever owns them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.core.errors import (
    DoneWhenError,
    GoalFileError,
    LedgerError,
    LedgerUnavailable,
    RecordGone,
    UnknownRun,
    UnreadableRun,
    no_such_run,
)
from donewhen.core.evidence import Evidence
from donewhen.core.proof import Present
from donewhen.core.resume import of_a_program, resumable
from donewhen.core.state import RunState
from donewhen.engine.active import ActiveRun
from donewhen.engine.api import ChangedFile, IterationDetail, RunSteps, RunView
from donewhen.engine.guarding import ResultWatcher, committed_as, comparable, compared_once
from donewhen.engine.records import PIECE, Records, kept_after, view_of
from donewhen.engine.setup import EngineSetup
from donewhen.engine.steps import Followers, Steps
from donewhen.engine.tasks import cancel_all
from donewhen.engine.watching import same_goal
from donewhen.ports import Owner, RunSummary, Workspace

FOLLOWS_AGAIN = 0.5
LOOKED_FOR_AGAIN = 5.0
"""Seconds after which a record that was taken away is looked for again."""
MAX_DIFF = 1_000_000
"""Bytes: what a person reads, or another program, of all that a run changed."""


class Reading:
    """The part of `engine.api.Runs` that changes nothing."""

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._records = Records(setup.root, setup.state_folder, setup.ledger)
        self._active: dict[str, ActiveRun] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._audits: dict[str, asyncio.Task[RunView]] = {}
        self._waiting: dict[str, int] = {}
        self._listeners: list[Callable[[RunView], None]] = []
        self._background: asyncio.Task[None] | None = None
        self._watcher: ResultWatcher | None = None
        self._followers = Followers(lambda: Steps(setup.root, setup.mask))
        self._telling: set[asyncio.Future[None]] = set()
        self._watching_again: asyncio.Task[None] | None = None
        self._collecting: asyncio.Task[None] | None = None
        self._watch_due = False
        self._suspended: dict[str, str] = {}
        """Runs whose guard another run has suspended, with that run."""
        self._refused: dict[str, set[str]] = {}
        """What was said of acts that were refused, by run."""
        self._acting = asyncio.Lock()
        """Held from what an act is decided on until it is on record: one at a time, as they come."""
        self._followed: dict[str, tuple[float, int, str | None]] = {}
        self._looked_at_others = False
        self._elsewhere: set[str] = set()
        """Runs that another process was seen to supervise."""
        self._awaited: Owner | None = None
        """The process whose end is awaited."""
        self._owner_ends: asyncio.Task[None] | None = None
        self.failure: Exception | None = None
        """Set where the ledger itself failed, or a defect came: what was pursued or on guard could not go on, nor could
        that be recorded."""

    @property
    def root(self) -> Path:
        return self._setup.root

    @property
    def state_folder(self) -> Path:
        return self._setup.state_folder

    async def _view(self, run_id: str) -> RunView:
        """The run as it is known, without a look at the workspace."""
        run = self._active.get(run_id)
        return self._own_view(run) if run is not None else self._watched_view(await self._records.view(run_id))

    async def view(self, run_id: str) -> RunView:
        run = self._active.get(run_id)
        if run is not None:
            return self._own_view(run)
        view = await self._records.view(run_id)
        if view.state.active and view.state.mode != "audit":
            await self._find_dead()
            view = await self._records.view(run_id)
        return await self._as_now(view)

    async def _as_now(self, view: RunView) -> RunView:
        """The view with what its proofs are worth in the current workspace."""
        glance = self._setup.glance
        if glance is None or not comparable(view.state):
            return self._offered(view)
        present = await self._watcher.looked_at(view.state) if self._watcher is not None else None
        return self._offered(self._with_present(view, present or await compared_once(view.state, glance())))

    def _with_present(self, view: RunView, present: Present | None) -> RunView:
        """The view in a workspace that was looked at; unchanged where it wasn't."""
        if present is None or not comparable(view.state):
            return view
        if self._says_the_same(view.state, present):
            present = Present(view.state.revision)
        return view_of(self._setup.root, view.state, view.live, owned=view.owned, present=present)

    def _says_the_same(self, state: RunState, present: Present) -> bool:
        """True if nothing but the goal file changed, and it still says the same goal: ticking what is proven makes
        no proof stale."""
        path = state.goal.path
        if path is None or present.changed != (path,):
            return False
        try:
            return same_goal(state, self._setup.goal_files.load(path))
        except GoalFileError:
            return False

    def _watched_view(self, view: RunView) -> RunView:
        """The view in the workspace as far as it is watched."""
        return self._offered(
            self._with_present(view, self._watcher.present(view.state) if self._watcher is not None else None)
        )

    def _offered(self, view: RunView) -> RunView:
        """The view, with whether the run is to be had: see `RunView.take_over`."""
        state = view.state
        if state.active and state.mode == "pursue" and state.run_id not in self._elsewhere:
            owner = self._setup.lock.owner()
            if owner is not None and owner.run_id == state.run_id:
                self._elsewhere.add(state.run_id)
        if state.run_id not in self._elsewhere or state.status != "interrupted" or not resumable(state):
            return view
        of_others = not self._setup.of_program and of_a_program(state, str(self._setup.root)) is not None
        return view if of_others else replace(view, take_over=True)

    # ------------------------------------------------------------------------------------ watching

    async def watch(self) -> None:
        if self._watcher is None:
            self._watcher = ResultWatcher(self._setup.workspace, self._looked_different, self._keep_proven)
        self._watch_again()

    def warm(self) -> None:
        if self._setup.trusted():
            self._setup.warm()

    async def _keep_proven(self, run_id: str, workspace: Workspace) -> str:
        """Proves again what is on guard: see `runs`. Returns the revision that the run's result is of."""
        return (await self._records.state(run_id)).revision

    def _watch_again(self) -> None:
        """The results that stand may be others now."""
        self._watch_due = True
        if self._watcher is not None and (self._watching_again is None or self._watching_again.done()):
            self._watching_again = asyncio.ensure_future(self._watch_results(self._watcher))

    async def _watch_results(self, watcher: ResultWatcher) -> None:
        with contextlib.suppress(LedgerError):
            while self._watch_due:
                self._watch_due = False
                await watcher.keep(await self._comparable_results())

    async def _comparable_results(self) -> list[RunState]:
        newest = await self._records.newest()
        return [state for state in newest if comparable(state) and state.auditing.count and not self._cleared(state)]

    def _cleared(self, state: RunState) -> bool:
        """True if its result is no longer shown."""
        return state.updated_at <= self._records.cleared().get(state.goal.path or "", 0.0)

    def _looked_different(self, run_id: str) -> None:
        self._telling.add(telling := asyncio.ensure_future(self._tell_listeners(run_id)))
        telling.add_done_callback(self._telling.discard)

    async def _tell_listeners(self, run_id: str) -> None:
        with contextlib.suppress(DoneWhenError):
            view = await self._view(run_id)
            if view.state.active or not self._cleared(view.state):
                for listener in list(self._listeners):
                    listener(view)

    async def views(self, goal_path: str | None = None, *, compare: bool = True) -> Sequence[RunView]:
        await self._find_dead()
        found: list[RunView] = []
        for state in await self._records.newest():
            if goal_path is not None and state.goal.path != goal_path:
                continue
            if self._cleared(state) and not state.active:
                continue
            found.append(await (self.view(state.run_id) if compare else self._view(state.run_id)))
        return found

    async def standing(self) -> Mapping[str, RunView]:
        return {view.state.run_id: view for view in await self.views()}

    async def summaries(self) -> Sequence[RunSummary]:
        await self._find_dead()
        return await self._records.summaries()

    async def iteration(self, run_id: str, number: int) -> IterationDetail:
        return await self._records.iteration(run_id, number)

    async def steps(self, run_id: str, after: int = 0) -> RunSteps:
        steps, reading = self._followers.of(run_id)
        async with reading:
            entries = await self._setup.ledger.entries(run_id, steps.sequence)
            if not entries and steps.sequence == 0:
                raise no_such_run(run_id)
            for number, entry in enumerate(entries, 1):
                steps.take(entry)
                if number % PIECE == 0:
                    await asyncio.sleep(0)
            run = self._active.get(run_id)
            if run is not None:
                steps.look(run)
            if steps.edited:
                live = (await self._view(run_id)).state.active
                async with self.opened(run_id) as workspace:
                    await steps.work_out(workspace, live=live)
            return steps.since(after)

    async def file_at(self, run_id: str, iteration: int, path: str) -> str | None:
        kept = kept_after(await self._records.state(run_id), iteration)
        async with self.opened(run_id) as workspace:
            data = await workspace.file_at(kept.tree, path)
        return None if data is None else data.decode("utf-8", errors="replace")

    async def changes(self, run_id: str) -> Sequence[ChangedFile]:
        first = kept_after(await self._records.state(run_id), 0).tree
        async with self.opened(run_id) as workspace:
            changed = await workspace.changed_between(first, None)
            present = frozenset(workspace.files())
            # What is not there now was there before, or it would not differ: of what is too large there is no content.
            return [
                ChangedFile(
                    path, path not in present or await workspace.file_at(first, path) is not None, path in present
                )
                for path in changed
            ]

    async def diff(self, run_id: str) -> str:
        first = kept_after(await self._records.state(run_id), 0).tree
        async with self.opened(run_id) as workspace:
            return await workspace.diff(first, None, MAX_DIFF)

    async def evidence(self, run_id: str, evidence_id: str) -> Evidence | None:
        await self._records.state(run_id)
        return await self._setup.ledger.evidence(run_id, evidence_id)

    async def evidence_file(self, run_id: str, evidence_id: str) -> Path | None:
        return await self._records.evidence_file(run_id, evidence_id)

    async def report(self, run_id: str) -> RunView:
        state = await self._records.in_full(run_id)
        live = await self._setup.ledger.live(run_id)
        return await self._as_now(view_of(self._setup.root, state, live, owned=run_id in self._active))

    async def commit(self, run_id: str) -> str | None:
        state = await self._records.state(run_id)
        if self._setup.glance is None or not comparable(state):
            return None
        return await committed_as(state, self._setup.glance())

    async def forget(self, goal_path: str) -> None:
        self._may_write()
        # Not before what it clears, however the time was set meanwhile.
        known = [one.updated_at for one in await self._setup.ledger.runs() if one.goal_path == goal_path]
        self._records.clear(goal_path, max([self._setup.clock.now(), *known]))
        self._watch_again()

    async def follow(self, run_id: str, *, guarded: bool = False) -> AsyncIterator[RunView]:
        """The view now, then after every change: see `api`."""
        view = await self.view(run_id)
        yield view
        waiter: asyncio.Queue[RunView] = asyncio.Queue()
        unsubscribe = self.subscribe(lambda one: waiter.put_nowait(one) if one.state.run_id == run_id else None)
        try:
            again = await self.view(run_id)
            if again.state.sequence > view.state.sequence:
                view = again
                yield view
            while view.state.active or (guarded and view.state.guard is not None):
                view = await waiter.get()
                while not waiter.empty():
                    view = waiter.get_nowait()
                if not view.state.active:
                    await self._over(run_id)
                    lost = self.failure
                    if lost is not None and (isinstance(lost, RecordGone) or not isinstance(lost, DoneWhenError)):
                        raise lost
                yield view
        finally:
            unsubscribe()

    async def _over(self, run_id: str) -> None:
        """Waits until a run of this process that has ended has let go of everything."""
        task = self._tasks.get(run_id)
        if task is not None:
            await asyncio.wait({task})

    def subscribe(self, on_change: Callable[[RunView], None]) -> Callable[[], None]:
        self._listeners.append(on_change)
        if self._background is None or self._background.done():
            self._background = asyncio.ensure_future(self._follow_others())

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(on_change)

        return unsubscribe

    def saved_by_client(self, path: str, text: str) -> None:
        for run in self._active.values():
            run.parts.workspace.saved_by_client(path, text)
        if self._watcher is not None:
            self._watcher.saved_by_client(path, text)

    def editor_changed(self) -> None:
        self._setup.editor_activity.note()

    # ------------------------------------------------------------------------------------ inside

    def _may_write(self) -> None:
        """Raises LedgerUnavailable before anything is begun that couldn't be put on record."""
        if self._setup.unwritable is not None:
            raise LedgerUnavailable(self._setup.unwritable)

    def opened(self, run_id: str) -> contextlib.AbstractAsyncContextManager[Workspace]:
        """The run's workspace: its own where it is active here, else one opened for the occasion."""
        return self._run_workspace(run_id)

    @contextlib.asynccontextmanager
    async def _run_workspace(self, run_id: str) -> AsyncGenerator[Workspace]:
        run = self._active.get(run_id)
        if run is not None:
            with run.lent_workspace() as lent:
                yield lent
            return
        workspace = self._setup.workspace()
        await workspace.open(())
        try:
            yield workspace
        finally:
            await workspace.close()

    def _own_view(self, run: ActiveRun) -> RunView:
        # What it ends or pauses with is what it has just looked at.
        seen = run.state.lifecycle.ended or run.state.lifecycle.paused is not None
        present = Present(run.state.revision) if seen and comparable(run.state) else None
        view = view_of(self._setup.root, run.state, run.live, owned=True, present=present)
        return replace(view, changed_proof=run.changed_proof) if run.changed_proof else view

    def _run_changed(self, run: ActiveRun) -> None:
        if self._listeners:
            view = self._own_view(run)
            for listener in list(self._listeners):
                listener(view)

    async def _end_background(self) -> None:
        tasks = (self._background, self._watching_again, self._owner_ends, *self._telling)
        ending = [task for task in tasks if task is not None]
        await cancel_all(*ending)
        if self._watcher is not None:
            await self._watcher.close()

    async def _follow_others(self) -> None:
        """Looks at what other processes write, from when somebody here first wants to know."""
        while True:
            try:
                await self._tell_of_others()
                async for _ in self._setup.ledger.changes():
                    self.failure = None if isinstance(self.failure, RecordGone) else self.failure
                    await self._tell_of_others()
                return
            except RecordGone as error:
                await self._record_is_gone(error)
                await asyncio.sleep(LOOKED_FOR_AGAIN)  # somebody may put it back
            except DoneWhenError:
                # A full disk or a busy ledger: followers get another chance.
                await asyncio.sleep(FOLLOWS_AGAIN)

    async def _record_is_gone(self, error: RecordGone) -> None:
        """Nothing can be kept any more: what is pursued or on guard here ends."""
        if isinstance(self.failure, RecordGone):
            return  # it is said already
        self.failure = error
        for run in list(self._active.values()):
            run.lose_record(error)
        with contextlib.suppress(DoneWhenError):
            for state in await self._records.newest():
                await self._tell_listeners(state.run_id)

    async def _tell_of_others(self) -> None:
        """Runs of other processes: those that are pursued, and those that changed since the last look."""
        if not self._listeners:
            return
        await self._find_dead()
        self._watch_again()
        self._await_owner()
        for summary in await self._setup.ledger.runs():
            if summary.run_id in self._active or summary.mode == "audit":
                continue
            known = self._followed.get(summary.run_id)
            pursued = summary.status in ("running", "waiting")
            if pursued or known is None or known[0] != summary.updated_at:
                await self._report_to_followers(summary, known)
        self._looked_at_others = True

    def _await_owner(self) -> None:
        """From now on, the end of the other process that supervises a run here is noticed: no entry of the ledger tells
        of a process that was killed."""
        owner = self._setup.lock.owner()
        if owner is not None and owner.run_id in self._active:
            owner = None
        if owner != self._awaited:
            if self._owner_ends is not None:
                self._owner_ends.cancel()
            self._awaited = owner
            self._owner_ends = None if owner is None else asyncio.ensure_future(self._owner_ended(owner))

    async def _owner_ended(self, owner: Owner) -> None:
        await self._setup.lock.until_gone(owner)
        await self._find_dead()

    async def _report_to_followers(self, summary: RunSummary, known: tuple[float, int, str | None] | None) -> None:
        try:
            view = self._watched_view(await self._records.view(summary.run_id))
        except (UnreadableRun, UnknownRun):
            return  # it is listed as that, or was removed since it was listed
        if summary.run_id in self._active:
            return  # it was resumed here meanwhile, and what it does is told as it happens
        now = (summary.updated_at, view.state.sequence, view.live.activity)
        self._followed[summary.run_id] = now
        # What was there at the first look is shown already; what comes later may never change again.
        if self._looked_at_others and now != known:
            for listener in list(self._listeners):
                listener(view)

    async def _find_dead(self) -> None:
        """Records which runs lost their supervisor: see `control`."""
