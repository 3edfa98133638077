"""What people do while a run goes on: from the process that owns it and from another one, twice, too late, all at
once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from donewhen.core.answers import form_of
from donewhen.core.errors import DoneWhenError
from donewhen.core.state import RunState
from donewhen.core.work import Answer, ResponseKind
from donewhen.engine.runs import Supervisor
from tests.simulation.machine import Machine, Process
from tests.simulation.scenario import GOAL_FILE, PROTECTED

Act = Callable[["People"], Awaitable[None]]


KINDS: tuple[ResponseKind, ...] = ("approve", "approve", "deny", "text")
"""Of answers; what is approved more often gets further."""


class People:
    """Those around one run. `processes` are the living ones, that which supervises it first."""

    def __init__(self, machine: Machine, run_id: str, processes: Callable[[], list[Process]]) -> None:
        self._machine = machine
        self._run_id = run_id
        self._processes = processes

    async def act(self) -> None:
        """One thing, whatever it is."""
        acts: list[Act] = [People.edit, People.edit, People.answer, People.answer, People.answer_twice]
        acts += [People.waive, People.accept, People.dispute, People.hint, People.hint, People.check]
        acts += [
            People.resume,
            People.save_goal,
            People.spoil,
            People.pause,
            People.stop_twice,
            People.revert,
            People.follow,
        ]
        await self._machine.random.choice(acts)(self)

    async def edit(self) -> None:
        path = self._machine.random.choice(("a.py", "b.py", PROTECTED, "notes.txt"))
        self._save(path, self._machine.content(self._machine.chance(0.7)))

    async def save_goal(self) -> None:
        machine = self._machine
        number = machine.random.randrange(len(machine.scenario.goals))
        machine.persons_goals.append(machine.scenario.goals[number])
        self._save(GOAL_FILE, b"%d saved %d\n" % (number, next(machine.counter)))
        await self._does("amend", lambda runs: runs.amend(GOAL_FILE))

    async def spoil(self) -> None:
        """The goal file can't be read for a while, or is gone."""
        machine = self._machine
        if not machine.chance(0.3):
            return
        before = machine.files.read(GOAL_FILE) or b""
        self._save(GOAL_FILE, machine.random.choice((b"half a goal", None)))
        await machine.pause(0.5)
        # It may have been spoiled before: an iteration in which it was can have been taken back.
        self._save(GOAL_FILE, before if before[:1].isdigit() else b"0 goal\n")
        machine.persons_goals.append(machine.load(GOAL_FILE))

    async def waive(self) -> None:
        word, undo = self._word("waive"), self._machine.chance(0.3)
        label = self._machine.random.choice(("R1", "R2"))
        await self._does(word, lambda runs: runs.waive(self._run_id, label, word, undo=undo), kept=True)

    async def accept(self) -> None:
        word, undo = self._word("accept"), self._machine.chance(0.2)
        await self._does(word, lambda runs: runs.accept(self._run_id, None, word, undo=undo), kept=True)

    async def dispute(self) -> None:
        word = self._word("dispute")
        await self._does(word, lambda runs: runs.dispute(self._run_id, "R1", word), kept=True)

    async def hint(self) -> None:
        word = self._word("hint")
        await self._does(word, lambda runs: runs.hint(self._run_id, word), kept=True)

    async def check(self) -> None:
        await self._does("check", lambda runs: runs.check(GOAL_FILE))

    async def follow(self) -> None:
        await self._does("views", lambda runs: runs.views())
        await self._does("steps", lambda runs: runs.steps(self._run_id))

    async def revert(self) -> None:
        number = self._machine.random.choice((0, 1, None))
        await self._does(f"revert {number}", lambda runs: runs.revert(self._run_id, number))

    async def resume(self) -> None:
        """From any process, whether or not another one pursues the run."""
        await self._does("resume", lambda runs: runs.resume(self._run_id))

    async def pause(self) -> None:
        word = self._word("pause")
        await self._does(word, lambda runs: runs.pause(self._run_id, word), kept=True)

    async def stop_twice(self) -> None:
        if not self._machine.chance(0.25):
            return
        first, second = self._word("stop"), self._word("stop")
        await asyncio.gather(
            self._does(first, lambda runs: runs.stop(self._run_id, first), kept=True),
            self._does(second, lambda runs: runs.stop(self._run_id, second)),
        )

    async def answer(self) -> None:
        state = await self._state()
        if state is not None and state.interrupts:
            await self._answered(state)

    async def answer_twice(self) -> None:
        state = await self._state()
        if state is not None and state.interrupts:
            await asyncio.gather(self._answered(state), self._answered(state))

    async def _answered(self, state: RunState) -> None:
        random, word = self._machine.random, self._word("answer")
        asked = state.interrupts[0]
        response = random.choice([one for one in KINDS if one in form_of(asked).takes])
        given = Answer(response, word, reason=word)
        if await self._does(word, lambda runs: runs.answer(self._run_id, asked.id, given), kept=True):
            self._machine.answers.append((asked.id, word))

    # ---------------------------------------------------------------------------------------- inside

    def _word(self, kind: str) -> str:
        return f"{kind}-{next(self._machine.counter)}."

    def _save(self, path: str, data: bytes | None) -> None:
        """In an editor that tells the server of it, or in another one."""
        self._machine.edit(path, data, "a person")
        if data is not None and self._machine.chance(0.5):
            for process in self._processes():
                process.supervisor.saved_by_client(path, data.decode())

    async def _state(self) -> RunState | None:
        found: list[RunState] = []

        async def look(runs: Supervisor) -> None:
            found.append((await runs.view(self._run_id)).state)

        await self._does("view", look)
        return found[0] if found else None

    async def _does(self, what: str, do: Callable[[Supervisor], Awaitable[object]], *, kept: bool = False) -> bool:
        """True if it was done, as far as the person was told. `kept`: then it is on record for ever."""
        machine = self._machine
        living = self._processes()
        if not living:
            return False
        process = machine.random.choice(living)
        machine.tell(f"{process.name}: {what}")

        async def done() -> None:
            await do(process.supervisor)

        try:
            async with asyncio.timeout(60.0):
                await process.spawn(done())
        except TimeoutError:
            machine.broken.append(f"`{what}` does not come back within a minute")
            return False
        except DoneWhenError as error:
            machine.tell(f"{what} is refused: {error}")
            return False
        except asyncio.CancelledError:
            if process.alive:
                raise
            return False
        except Exception as error:  # noqa: BLE001  # nothing else may come out of the engine
            if process.alive:
                machine.broken.append(f"`{what}` fails: {type(error).__name__}: {error}")
            return False
        if kept:
            machine.acknowledged.append(what)
        machine.tell(f"{what} is done")
        return True
