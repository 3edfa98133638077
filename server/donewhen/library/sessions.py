"""One run of a library caller, and everything that it uses, from its start or resumption until it is closed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from donewhen.app.program import Assembled, RunParts, assembled
from donewhen.core.errors import UsageError
from donewhen.core.events import Entry, InterruptOpened, RunOptions
from donewhen.core.state import RunState
from donewhen.engine.active import ActiveRun
from donewhen.engine.api import HaltAnswer, LimitChanges, RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import Start
from donewhen.library.outcomes import GoalOutcome, outcome_of
from donewhen.workers.callables.validators import NOTHING

NO_OPTIONS = RunOptions(worker=None)


class Session:
    """Holds one run at a time. `runs` controls it as for any front end."""

    def __init__(self, made: Assembled) -> None:
        setup = made.setup
        self.stirred = asyncio.Event()
        """Set whenever an interrupt is opened."""
        self.checker = made.checker
        found = setup.plugins(NO_OPTIONS)
        self.plugins = found.names if found is not None else ()
        """The names of the plugins that the run has."""

        def observe(run_id: str, entry: Entry) -> None:
            setup.observe(run_id, entry)
            if isinstance(entry.event, InterruptOpened):
                self.stirred.set()

        self.runs = Supervisor(replace(setup, observe=observe))
        self._ledger = setup.ledger
        self._run: ActiveRun | None = None
        self._later: RunState | None = None
        self._closed = False

    @property
    def run(self) -> ActiveRun:
        """Raises UsageError if there is none yet."""
        if self._run is None:
            raise UsageError("the run was not started")
        return self._run

    @property
    def state(self) -> RunState:
        """The current state of the run, also if it was changed while it was stopped."""
        state, later = self.run.state, self._later
        return later if later is not None and later.sequence > state.sequence else state

    def steered(self, view: RunView) -> None:
        """The run was paused, stopped or answered, and `view` is its new state."""
        if view.state.run_id == self.run.run_id:
            self._later = view.state

    @property
    def outcome(self) -> GoalOutcome:
        """The current outcome of the run, for the caller."""
        return self.outcome_at(self.state)

    def outcome_at(self, state: RunState) -> GoalOutcome:
        """A state of the run, for the caller."""
        response = None if self.checker.response is NOTHING else self.checker.response
        return outcome_of(state, response)

    async def start(self, start: Start) -> RunState:
        """Puts the run on record and starts it. Raises AlreadyRunning for a second one in the same workspace."""
        options = replace(start.options, plugins=self.plugins)
        view = await self.runs.start_goal(replace(start, options=options))
        self._run = self.runs.registry.active[view.state.run_id]
        return view.state

    async def resume(
        self,
        run_id: str | None,
        limits: LimitChanges,
        halt: HaltAnswer | None = None,
        options: StartOptions | None = None,
    ) -> RunState:
        """Continues a run of this workspace. Raises NotResumable, UnknownRun, UsageError."""
        if run_id is not None and self.checker.response is NOTHING:
            # Validators must still examine the response from before the run stopped: nothing that ran runs again.
            state = (await self.runs.view(run_id)).state
            result = state.plugins.halt.result if state.plugins.halt is not None else None
            kept = state.last_turn.returned if result is None else result.returned
            self.checker.response = NOTHING if kept is None else kept
        view = await self.runs.resume(run_id, limits, options, halt)
        self._run = self.runs.registry.active[view.state.run_id]
        return view.state

    async def standstill(self) -> RunState:
        """The run's state once it goes no further by itself: over, paused, halted, or waiting for a person's answer."""
        run, registry = self.run, self.runs.registry
        task = registry.tasks.get(run.run_id)
        while task is not None and not task.done() and not (run.state.active and run.state.interrupts):
            self.stirred.clear()
            woken: asyncio.Future[Any] = asyncio.ensure_future(self.stirred.wait())
            try:
                await asyncio.wait({task, woken}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                woken.cancel()
        if registry.failure is not None:
            raise registry.failure
        return run.state

    async def close(self, reason: str = "the program ended") -> None:
        """Ends what still runs, within 2 s; an active run is then `interrupted`."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.runs.close(reason)
        finally:
            await self._ledger.close()


async def open_session(parts: RunParts) -> Session:
    """Starts nothing yet. Raises UsageError for parts that can't work together, LedgerUnavailable."""
    return Session(await assembled(parts))
