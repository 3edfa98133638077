"""The runs of one folder as this process has to do with them: those that it works on, and what is on record of others.

The other parts of the engine's front (`reading`, `following`, `control`, `guarding`, `runs`) are given this one value.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

from donewhen.core.errors import (
    DoneWhenError,
    GoalFileError,
    LedgerError,
    LedgerUnavailable,
    NotTrusted,
    Overtaken,
    RecordChanged,
    UnknownRun,
    UnreadableRun,
)
from donewhen.core.events import Event, RunInterrupted
from donewhen.core.fold.dispatch import fold
from donewhen.core.integrity import ChangedProof
from donewhen.core.proof import Present
from donewhen.core.resume import of_a_program, resumable
from donewhen.core.state import RunState
from donewhen.engine.active import ActiveRun
from donewhen.engine.api import RunView
from donewhen.engine.records import Records
from donewhen.engine.results import ResultWatcher, comparable, compared_once
from donewhen.engine.setup import EngineSetup
from donewhen.engine.tasks import cancel_all
from donewhen.engine.watching import same_goal
from donewhen.ports import Live, Owner, Workspace

DIED = "the process that ran it ended unexpectedly"
LETS_GO_WITHIN = 3.0


class Registry:
    """`active` are the runs that this process pursues or audits, `tasks` what pursues them, both by run id. `failure`
    is set where the ledger itself failed, or a defect came: what was pursued or on guard could not go on, nor could
    that be recorded."""

    def __init__(self, setup: EngineSetup) -> None:
        self.setup = setup
        self.records = Records(setup.state_folder, setup.ledger)
        self.active: dict[str, ActiveRun] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.listeners: list[Callable[[RunView], None]] = []
        self.failure: Exception | None = None
        self.elsewhere: set[str] = set()
        """Runs that another process was seen to supervise."""
        self._watcher: ResultWatcher | None = None
        self._watching_again: asyncio.Task[None] | None = None
        self._watch_due = False
        self._telling: set[asyncio.Future[None]] = set()

    def may_write(self) -> None:
        """Raises LedgerUnavailable before anything is begun that couldn't be put on record."""
        if self.setup.unwritable is not None:
            raise LedgerUnavailable(self.setup.unwritable)

    def may_execute(self) -> None:
        """Raises NotTrusted too."""
        if not self.setup.trusted():
            raise NotTrusted
        self.may_write()

    # ------------------------------------------------------------------------------------ who works

    def pursuing(self, goal_path: str) -> ActiveRun | None:
        """The run of this process that pursues that goal."""
        for run in self.active.values():
            if run.state.mode == "pursue" and run.state.active and run.state.goal.path == goal_path:
                return run
        return None

    async def state(self, run_id: str) -> RunState:
        """Raises UnknownRun and UnreadableRun."""
        run = self.active.get(run_id)
        return run.state if run is not None else await self.records.state(run_id)

    async def owner(self) -> Owner | None:
        """The live owner of this folder. One whose run is over is about to let go: that is waited for."""
        deadline = asyncio.get_running_loop().time() + LETS_GO_WITHIN
        owner = self.setup.lock.owner()
        while owner is not None and asyncio.get_running_loop().time() < deadline:
            try:
                state = await self.state(owner.run_id)
            except (UnknownRun, UnreadableRun):
                break  # it keeps its record elsewhere, in memory, or only there it can be read: it lives
            if state.active:
                break
            await asyncio.sleep(0.02)
            owner = self.setup.lock.owner()
        return owner

    @contextlib.asynccontextmanager
    async def opened(self, run_id: str) -> AsyncGenerator[Workspace]:
        """The run's workspace: its own where it is active here, else one opened for the occasion."""
        run = self.active.get(run_id)
        if run is not None:
            with run.lent_workspace() as lent:
                yield lent
            return
        workspace = self.setup.workspace()
        await workspace.open(())
        try:
            yield workspace
        finally:
            await workspace.close()

    # ---------------------------------------------------------------------------------------- views

    async def known_view(self, run_id: str) -> RunView:
        """The run as it is known, without a look at the workspace."""
        run = self.active.get(run_id)
        if run is not None:
            return self.own_view(run)
        return self.watched_view(await self.records.state(run_id), await self.setup.ledger.live(run_id))

    async def view(self, run_id: str) -> RunView:
        run = self.active.get(run_id)
        if run is not None:
            return self.own_view(run)
        state = await self.records.state(run_id)
        if state.active and state.mode != "audit":
            await self.find_dead()
            state = await self.records.state(run_id)
        return await self.as_now(state)

    def own_view(self, run: ActiveRun) -> RunView:
        # What it ends or pauses with is what it has just looked at.
        seen = run.state.lifecycle.ended or run.state.lifecycle.paused is not None
        present = Present(run.state.revision) if seen and comparable(run.state) else None
        changed = run.changed_proof or ChangedProof()
        return RunView(run.state, run.live, self._goal_uri(run.state), True, present, changed)

    async def as_now(self, state: RunState) -> RunView:
        """The run with what its proofs are worth in the current workspace."""
        glance, present = self.setup.glance, None
        if glance is not None and comparable(state):
            present = await self._watcher.looked_at(state) if self._watcher is not None else None
            present = present or await compared_once(state, glance())
        return self._view_in(present, state, await self.setup.ledger.live(state.run_id))

    def watched_view(self, state: RunState, live: Live) -> RunView:
        """The run in the workspace as far as it is watched."""
        return self._view_in(self._watcher.present(state) if self._watcher is not None else None, state, live)

    def _view_in(self, present: Present | None, state: RunState, live: Live) -> RunView:
        """The run in a workspace that was looked at, or not, and whether it can be taken over (`RunView.take_over`)."""
        if present is not None and self._says_the_same(state, present):
            present = Present(state.revision)
        owned, uri = state.run_id in self.active, self._goal_uri(state)
        return RunView(state, live, uri, owned, present, take_over=self._can_be_taken_over(state))

    def _goal_uri(self, state: RunState) -> str | None:
        return (self.setup.root / state.goal.path).as_uri() if state.goal.path is not None else None

    def _says_the_same(self, state: RunState, present: Present) -> bool:
        """True if nothing but the goal file changed, and it still says the same goal: ticking what is proven makes
        no proof stale."""
        path = state.goal.path
        if path is None or present.changed != (path,):
            return False
        try:
            return same_goal(state, self.setup.load_goal(path))
        except GoalFileError:
            return False

    def _can_be_taken_over(self, state: RunState) -> bool:
        if state.active and state.mode == "pursue" and state.run_id not in self.elsewhere:
            owner = self.setup.lock.owner()
            if owner is not None and owner.run_id == state.run_id:
                self.elsewhere.add(state.run_id)
        if state.run_id not in self.elsewhere or state.status != "interrupted" or not resumable(state):
            return False
        return self.setup.of_program or of_a_program(state, str(self.setup.root)) is None

    def cleared(self, state: RunState) -> bool:
        """True if its result is no longer shown."""
        return state.updated_at <= self.records.cleared().get(state.goal.path or "", 0.0)

    # ------------------------------------------------------------------------------------ listeners

    def tell(self, view: RunView) -> None:
        for listener in list(self.listeners):
            listener(view)

    def run_changed(self, run: ActiveRun) -> None:
        if self.listeners:
            self.tell(self.own_view(run))

    async def tell_of(self, run_id: str) -> None:
        with contextlib.suppress(DoneWhenError):
            view = await self.known_view(run_id)
            if view.state.active or not self.cleared(view.state):
                self.tell(view)

    # ---------------------------------------------------------------------------- results in the workspace

    def watch(self, keep_proven: Callable[[str, Workspace], Awaitable[str]]) -> None:
        """See `api.Runs.watch`; `keep_proven` is `ResultWatcher`'s `act`."""
        if self._watcher is None:
            self._watcher = ResultWatcher(self.setup.workspace, self._looked_different, keep_proven)
        self.watch_again()

    def watch_again(self) -> None:
        """The results that stand may be others now."""
        self._watch_due = True
        if self._watcher is not None and (self._watching_again is None or self._watching_again.done()):
            self._watching_again = asyncio.ensure_future(self._watch_results(self._watcher))

    async def suspend_watching(self) -> None:
        """Whatever is being proven again is cut off: a run begins."""
        if self._watcher is not None:
            await self._watcher.suspend()

    def saved_by_client(self, path: str, text: str) -> None:
        for run in self.active.values():
            run.parts.workspace.saved_by_client(path, text)
        if self._watcher is not None:
            self._watcher.saved_by_client(path, text)

    async def close(self) -> None:
        await cancel_all(*self._telling, *([] if self._watching_again is None else [self._watching_again]))
        if self._watcher is not None:
            await self._watcher.close()

    async def _watch_results(self, watcher: ResultWatcher) -> None:
        with contextlib.suppress(LedgerError):
            while self._watch_due:
                self._watch_due = False
                newest = await self.records.newest()
                await watcher.keep(
                    [one for one in newest if comparable(one) and one.auditing.count and not self.cleared(one)]
                )

    def _looked_different(self, run_id: str) -> None:
        self._telling.add(telling := asyncio.ensure_future(self.tell_of(run_id)))
        telling.add_done_callback(self._telling.discard)

    # -------------------------------------------------------------------- the record of runs of others

    async def append(self, run_id: str, event: Event, *, unless_overtaken: bool = False) -> int | None:
        """Appends to a run of this process, or to one that nobody works on: then its number is returned. Raises
        Overtaken where another process pursues it by now, which takes in nothing that it didn't put on record itself;
        with `unless_overtaken` also where another process put anything on record meanwhile: it may matter to this."""
        run = self.active.get(run_id)
        if run is not None:
            await run.append(event)
            return None
        state = await self.records.state(run_id)
        owner = self.setup.lock.owner()  # in this order: whoever takes it over writes after that state
        if owner is not None and owner.run_id == run_id and (unless_overtaken or state.active):
            raise Overtaken(f"run {run_id} is pursued again")
        now = self.setup.clock.now()
        try:
            entry = await self.setup.ledger.append(run_id, event, now, seconds=0.0, after=state.sequence)
        except Overtaken:
            if unless_overtaken or (await self.records.state(run_id)).sequence == state.sequence:
                raise
            return await self.append(run_id, event)
        except RecordChanged:
            await self._read_anew(run_id)
            raise
        fold(state, entry)  # it must fold, or nobody could read the run afterwards
        await self.tell_of(run_id)
        self.watch_again()
        return entry.sequence

    async def _read_anew(self, run_id: str) -> None:
        """What was read of it no longer holds: from where it was changed on, nothing counts."""
        self.records.forget(run_id)
        await self.tell_of(run_id)

    async def find_dead(self) -> None:
        """A run that looks pursued and that no live process owns is interrupted, for whoever reads it. Where that
        can't be put on record, it shows as it was left."""
        with contextlib.suppress(LedgerError):
            for summary in await self.setup.ledger.runs():
                if summary.status in ("running", "waiting") and summary.run_id not in self.active:
                    with contextlib.suppress(UnreadableRun, UnknownRun):
                        await self.mark_interrupted(summary.run_id)

    async def mark_interrupted(self, run_id: str) -> None:
        """Puts on record that the run's supervisor died, unless it is not a run that was being pursued."""
        state = await self.records.state(run_id)
        owner = self.setup.lock.owner()  # in this order: whoever takes it over writes after that state
        if state.mode != "pursue" or not state.active or (owner is not None and owner.run_id == run_id):
            return
        try:
            await self.record_death(state)
        except Overtaken:
            return  # somebody else was first: it is on record, or pursued again
        except RecordChanged:
            await self._read_anew(run_id)

    async def record_death(self, state: RunState) -> None:
        """Raises Overtaken if the run is not as it was any more: what went on has not died."""
        live = await self.setup.ledger.live(state.run_id)
        seconds = max(0.0, live.elapsed - state.elapsed) if live.elapsed else None
        died = RunInterrupted(DIED, max(live.alive_at, state.updated_at))
        now = self.setup.clock.now()
        fold(state, await self.setup.ledger.append(state.run_id, died, now, seconds=seconds, after=state.sequence))
        await self.tell_of(state.run_id)
        self.watch_again()
