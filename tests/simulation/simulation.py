"""One seed from start to end: a scenario, a machine, a run, deaths and recoveries, and then whether all of it holds."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from donewhen.core.errors import DoneWhenError, LedgerError
from donewhen.core.events import AuditFinished, Entry, RevisionConfirmed, RunEnded
from donewhen.core.fold.dispatch import begin, fold
from donewhen.core.state import RunState
from donewhen.engine.api import LimitChanges
from donewhen.engine.setup import EngineSetup
from donewhen.ports import Turn
from tests.simulation.books import Books
from tests.simulation.machine import Machine, Process, task_of_process
from tests.simulation.people import People
from tests.simulation.scenario import GOAL_FILE, Scenario, calm, scenario
from tests.simulation.virtual_time import Stuck, VirtualLoop

STORM = 15.0
"""Virtual seconds in which things fail; then nothing does any more."""
ENDS_WITHIN = 120.0
"""Virtual seconds within which a run then ends, or waits for a person."""
ROUNDS = 12
"""Times that people then answer, and let it go on."""
LOST_TIME = 1.6
"""Seconds of work that a death may hide from the clock of a run: those since its last sign of life."""
PREEMPTION = 0.3
"""Seconds that a step may outlast the time limit: until it is noticed, and the step has ended."""

Parts = Callable[[EngineSetup], EngineSetup]


def unchanged(setup: EngineSetup) -> EngineSetup:
    return setup


@dataclass(slots=True)
class Outcome:
    """`broken` is what did not hold; empty: all did. `digest` is of the whole record."""

    seed: int
    broken: list[str] = field(default_factory=list)
    status: str = ""
    digest: str = ""
    entries: int = 0
    deaths: int = 0
    seconds: float = 0.0
    """Of virtual time."""
    trace: list[str] = field(default_factory=list)


def simulate(seed: int, *, trace: bool = False, parts: Parts = unchanged) -> Outcome:
    """Runs one seed. `parts` puts other parts into each process's engine."""
    random = Random(seed)
    chosen = scenario(random)
    loop = VirtualLoop(lambda: random.random() * chosen.delay)
    simulation = Simulation(chosen, random, loop.time, trace=trace, parts=parts)
    loop.set_task_factory(task_of_process)
    loop.set_exception_handler(simulation.unhandled)
    outcome = Outcome(seed)
    try:
        loop.run_until_complete(simulation.run())
    except Stuck as stuck:
        simulation.machine.broken.append(str(stuck))
    finally:
        machine, outcome.seconds = simulation.machine, loop.time()
        for process in simulation.processes:
            process.alive = False
        _end(loop)  # in whatever order: nothing of it counts
    outcome.broken = list(dict.fromkeys([*machine.broken, *(x for b in simulation.books.values() for x in b.broken)]))
    outcome.status, outcome.digest = simulation.status, machine.disk.digest()
    outcome.entries, outcome.deaths, outcome.trace = len(machine.disk.log), machine.deaths, machine.trace
    return outcome


def _end(loop: VirtualLoop) -> None:
    with contextlib.suppress(Stuck):
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


class Simulation:
    """One run on one machine."""

    def __init__(
        self, chosen: Scenario, random: Random, time: Callable[[], float], *, trace: bool, parts: Parts
    ) -> None:
        self.machine = Machine(chosen, random, time, self._written, parts)
        self.machine.tracing = trace
        self.machine.begins = self._begins
        self.machine.asks = lambda run_id: run_id == self.run_id and bool(self._state().interrupts)
        self.machine.tell(f"{chosen}")
        self.books: dict[str, Books] = {}
        self.run_id = ""
        self.status = ""
        self.processes: list[Process] = []
        self.owner: Process | None = None
        self.other: Process | None = None
        self._folded: RunState | None = None
        self._full = chosen.full

    async def run(self) -> None:
        machine = self.machine
        loop = asyncio.get_running_loop()
        for at in machine.scenario.deaths:
            loop.call_at(at, self._someone_dies)
        for since, until in machine.scenario.full:
            loop.call_at(since, self._fill, True)
            loop.call_at(until, self._fill, False)
        await self._begun()
        people = People(machine, self.run_id, lambda: self._living)
        acting = asyncio.ensure_future(self._people(people))
        while loop.time() < STORM and not (await self._over() and acting.done()):
            await self._tended()
        await acting
        await self._calm_down(people)
        self._holds()

    # --------------------------------------------------------------------------------- how things go

    async def _begun(self) -> None:
        """Starts the run, if need be again: until it is on record."""
        while not self.run_id:
            process = await self._booted()
            with contextlib.suppress(DoneWhenError, asyncio.CancelledError):
                await process.spawn(process.supervisor.start(GOAL_FILE))
            found = [one.run_id for one in self.machine.disk.log]
            self.run_id = found[0] if found else ""
            if not self.run_id:
                await self.machine.pause(0.5)

    async def _booted(self) -> Process:
        """The process that supervises the run; a new one where the last has died, after a while."""
        if self.owner is None or not self.owner.alive:
            if self.owner is not None:
                await self.owner.gone()
                await self._after_death()
            self.owner = self._process("owner")
            with contextlib.suppress(DoneWhenError, asyncio.CancelledError):
                await self.owner.spawn(self.owner.supervisor.recover())
        return self.owner

    async def _after_death(self) -> None:
        machine = self.machine
        if machine.chance(machine.scenario.power):
            machine.lose_power(*[one for one in self.processes if one.alive])
            self._rewrite()
        await machine.pause(3.0)

    def _process(self, name: str) -> Process:
        process = self.machine.process(f"{name} {len(self.processes) + 1}")
        self.processes.append(process)
        self.machine.tell(f"{process.name} begins")
        return process

    async def _tended(self) -> None:
        """One round: a dead process is followed by another, and what stands still goes on."""
        machine = self.machine
        owner = await self._booted()
        if not machine.held and not await self._over():
            await self._resumed(owner)
        stirred = machine.stirred
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await stirred.wait()

    async def _resumed(self, owner: Process) -> None:
        machine = self.machine
        raised = LimitChanges()
        if machine.chance(0.2):
            raised = LimitChanges(max_iterations=9, timeout=30.0)
        machine.tell(f"{owner.name}: resume")
        try:
            await owner.spawn(owner.supervisor.resume(self.run_id, raised))
        except DoneWhenError as error:
            machine.tell(f"resume is refused: {error}")
            await machine.pause(0.3)
        except asyncio.CancelledError:
            if owner.alive:
                raise

    async def _people(self, people: People) -> None:
        machine = self.machine
        for _ in range(machine.scenario.acts):
            await machine.pause(2.0)
            if self.other is None or not self.other.alive:
                self.other = self._process("other")
            await people.act()

    async def _calm_down(self, people: People) -> None:
        """Nothing fails any more. What then doesn't end waits for a person: by an open question, or for an edit."""
        machine = self.machine
        machine.scenario = calm(machine.scenario)
        machine.disk.deadly, machine.disk.full = {}, False
        machine.tell("all is calm")
        began = machine.monotonic()
        for _ in range(ROUNDS):
            state = await self._at_rest(began)
            if state is None or self._waits(state):
                return
            if state.lifecycle.ended and (
                state.lifecycle.end_status in ("complete", "cancelled") or machine.chance(0.7)
            ):
                return
            if state.active and state.interrupts:
                await people.answer()
            elif state.active:
                await people.edit()
            else:
                await self._resumed(await self._booted())
            began = machine.monotonic()

    def _waits(self, state: RunState) -> bool:
        """It waits for a person, who has gone home."""
        if not state.active or not self.machine.chance(0.3):
            return False
        return bool(state.interrupts) or (state.waits_for_person and state.turn is not None)

    async def _at_rest(self, since: float) -> RunState | None:
        """The run once it has ended, stands still or waits; None if it never does, which is broken."""
        machine = self.machine
        while machine.monotonic() < since + ENDS_WITHIN:
            state = self._state()
            if not machine.held and state.active:
                await self._resumed(await self._booted())
            elif not machine.held or (state.active and (state.interrupts or state.waits_for_person)):
                return state
            stirred = machine.stirred
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await stirred.wait()
        machine.broken.append("the run neither ends nor waits for a person")
        return None

    def _state(self) -> RunState:
        """What is on record by now."""
        for entry in self.machine.disk.entries(self.run_id, after=self._folded.sequence if self._folded else 0):
            self._folded = begin(entry) if self._folded is None else fold(self._folded, entry)
        assert self._folded is not None  # `_begun` saw it on record
        return self._folded

    async def _over(self) -> bool:
        books = self.books.get(self.run_id)
        return books is not None and books.ended and not self.machine.held

    def _someone_dies(self) -> None:
        living = self._living
        if living:
            self.machine.random.choice(living).die()

    def _fill(self, full: bool) -> None:
        self.machine.disk.full = full
        self.machine.tell("the disk is full" if full else "there is space on the disk")

    @property
    def _living(self) -> list[Process]:
        return [one for one in (self.owner, self.other) if one is not None and one.alive]

    # ------------------------------------------------------------------------------ what must hold

    def _written(self, run_id: str, entry: Entry) -> None:
        books = self.books.setdefault(run_id, self._new_books())
        books.write(entry)
        self._looked(run_id, books, entry)
        if isinstance(entry.event, RunEnded) and entry.event.broken:
            self.machine.broken.append(f"a run ends, and nothing has changed its record: {entry.event.reason}")
        if self.machine.tracing:
            self.machine.tell(f"{run_id[:4]} {entry.sequence}: {_short(entry)}")

    def _new_books(self) -> Books:
        return Books(self.machine.truths, self.machine.persons_goals)

    def _looked(self, run_id: str, books: Books, entry: Entry) -> None:
        """What is confirmed was found by a walk of the whole workspace, after everything else."""
        machine, event = self.machine, entry.event
        if not machine.held or machine.held[0][1].run_id != run_id:
            return  # a check beside the run
        if isinstance(event, AuditFinished):
            machine.walks.pop(machine.held[0][0], None)
        confirms = isinstance(event, RevisionConfirmed) and event.revision == books.revision
        if confirms and machine.walks.get(machine.held[0][0]) != books.revision:
            machine.broken.append("files are confirmed that nobody has looked at")

    def _rewrite(self) -> None:
        """The books of what is left of the record."""
        broken = [text for one in self.books.values() for text in one.broken]
        self.machine.broken += broken
        self.books.clear()
        self._folded = None
        for one in self.machine.disk.log:
            self.books.setdefault(one.run_id, self._new_books()).write(one.entry)
        self.run_id = self.run_id if self.run_id in self.books else ""

    def _begins(self, turn: Turn) -> None:
        """A worker is given a turn."""
        books, machine = self.books[turn.run_id], self.machine
        if turn.iteration in books.finished:
            machine.broken.append(f"iteration {turn.iteration} is worked on again, though its result is on record")
        if not machine.disk.begun("TurnStarted"):
            machine.broken.append(f"iteration {turn.iteration} is worked on, and nothing on the disk itself says so")
        if machine.turns:
            machine.broken.append(f"two workers at once: iterations {turn.iteration} and {machine.turns[0][1]}")

    def _holds(self) -> None:
        machine = self.machine
        state = self._state()
        self.status = str(state.status)
        record = "\n".join(one.text for one in machine.disk.log if one.run_id == self.run_id)
        for word in machine.acknowledged:
            if word not in record:
                machine.broken.append(f"{word} was said to be done, and is not on record")
        books = self.books[self.run_id]
        for identity, word in machine.answers:
            if books.answers.get(identity) != word:
                machine.broken.append(f"{word} was said to be taken, and {identity} has another answer")
        for run_id, number in machine.calls_recorded if not machine.outages else ():
            if number not in self.books[run_id].answered_calls:
                machine.broken.append(f"the result of call {number} is lost")
        self._replays(state)
        self._in_time(state)

    def _replays(self, state: RunState) -> None:
        """What the living engine holds is what its record adds up to."""
        run = (
            self.owner.supervisor.registry.active.get(self.run_id)
            if self.owner is not None and self.owner.alive
            else None
        )
        if run is not None and run.state.sequence == state.sequence and run.state != state:
            different = [name for name, value in vars(state).items() if getattr(run.state, name) != value]
            self.machine.broken.append(f"the state in memory is not what the record adds up to: {different}")

    def _in_time(self, state: RunState) -> None:
        machine = self.machine
        limit = state.goal.limits.timeout
        if limit is None or state.waits_for_person:
            return
        if machine.work_seconds > limit:  # an amendment may have lowered it when they were worked already
            limit = self._highest_limit()
        unwritten = sum(until - since for since, until in self._full)  # nothing of it can be on record
        unwritten += machine.disk.lost_seconds
        most = limit + PREEMPTION + LOST_TIME * (machine.deaths + len(self._full)) + unwritten
        if machine.work_seconds > most:
            machine.broken.append(f"{machine.work_seconds:.2f} s of work, of at most {limit} s")

    def _highest_limit(self) -> float:
        entries = self.machine.disk.entries(self.run_id)
        state = begin(entries[0])
        found = [state.limit("timeout") or math.inf]
        for entry in entries[1:]:
            state = fold(state, entry)
            found.append(state.limit("timeout") or math.inf)
        return max(found)

    def unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What nobody waited for: a defect of a living process."""
        error = context.get("exception")
        if error is not None and not isinstance(error, LedgerError) and any(one.alive for one in self.processes):
            self.machine.broken.append(f"{context['message']}: {type(error).__name__}: {error}")


def _short(entry: Entry) -> str:
    text = repr(entry.event)
    return text if len(text) < 400 else f"{text[:400]}..."
