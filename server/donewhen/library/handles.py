"""A running goal as a library caller controls it."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from donewhen.core.answers import WAITS, yes_or_no
from donewhen.core.errors import UsageError
from donewhen.core.state import RunState
from donewhen.core.work import Answer, Interrupt
from donewhen.engine.api import HaltAnswer, LimitChanges, RunView
from donewhen.library.arguments import duration
from donewhen.library.outcomes import GoalOutcome
from donewhen.library.sessions import Session
from donewhen.threads import called

CALLBACK_ENDS = 2.0
"""Seconds that a callback gets after the run is over."""
OnEvent = Callable[[GoalOutcome], Any]
"""Called with the run's new outcome: when it starts, after each iteration, when it waits, and at its end."""
OnInterrupt = Callable[[Interrupt], Any]
"""Called with a question; returns an Answer, True (yes), False (no), a text, or None: the run pauses."""


class GoalRun:
    """A running goal: an async context manager, which ends everything that it started when the block is left. Without a
    block, `close` does that.

    >>> import asyncio
    >>> from donewhen import Question, start_goal
    >>> def worker(prompt):
    ...     return "blue it is" if "blue" in prompt else Question("Which colour?")
    >>> async def main():
    ...     async with await start_goal("Paint it", worker, lambda task: "blue" in task.response) as run:
    ...         waits = await run.outcome()
    ...         await run.answer(waits.interrupts[0].id, "blue")
    ...         await run.resume()
    ...         return waits.status.value, (await run.outcome()).status.value
    >>> asyncio.run(main())
    ('paused', 'complete')
    """

    def __init__(
        self, session: Session, on_event: OnEvent | None = None, on_interrupt: OnInterrupt | None = None
    ) -> None:
        self._session = session
        self._on_interrupt = on_interrupt
        self._following: asyncio.Task[RunState] | None = None
        self._soon: set[asyncio.Future[Any]] = set()
        self._events = None if on_event is None else _Events(session, on_event)

    @property
    def run_id(self) -> str:
        """The run's name in the workspace's record."""
        return self._session.state.run_id

    @property
    def state(self) -> RunState:
        return self._session.state

    def status(self) -> GoalOutcome:
        """Where the run stands now."""
        return self._session.outcome

    async def outcome(self) -> GoalOutcome:
        """Waits until the run is over, is paused, or was halted. Questions go to `on_interrupt`; without it the run
        pauses at the first question."""
        if self._following is None or self._following.done():
            self._following = asyncio.ensure_future(self._follow())
        await asyncio.shield(self._following)
        return self._session.outcome

    async def pause(self, reason: str = "paused by the program") -> GoalOutcome:
        """Raises UsageError if there is nothing to pause."""
        self._session.steered(await self._session.runs.pause(self.run_id, reason))
        return self.status()

    def pause_soon(self, reason: str) -> bool:
        """Asks for a pause from a callback of the loop; False if the run is not active."""
        if not self._session.state.active:
            return False
        asked = asyncio.ensure_future(self._session.runs.pause(self.run_id, reason))
        self._soon.add(asked)
        asked.add_done_callback(_heard)
        asked.add_done_callback(self._soon.discard)
        return True

    async def stop(self, reason: str = "stopped by the program") -> GoalOutcome:
        """Ends the run as `cancelled`, with every process that it started. Raises UsageError if it is already over."""
        self._session.steered(await self._session.runs.stop(self.run_id, reason))
        return self.status()

    async def answer(self, interrupt_id: str, answer: Any) -> GoalOutcome:
        """Answers an open interrupt: an Answer, True (yes), False (no), or a text. A paused run then needs `resume`.
        Raises UnknownInterrupt, WrongAnswer."""
        asked = next((one for one in self._session.state.interrupts if one.id == interrupt_id), None)
        self._session.steered(await self._session.runs.answer(self.run_id, interrupt_id, answer_of(answer, asked)))
        return self.status()

    async def accept(self, reason: str, finding_id: str | None = None) -> GoalOutcome:
        """Accepts one of `outcome.findings`, or all open ones. A run that ended with open findings then needs `resume`.
        Raises UsageError if there is none, or no reason."""
        if not reason.strip():
            raise UsageError("accepting an integrity finding needs a reason")
        self._session.steered(await self._session.runs.accept(self.run_id, finding_id, reason))
        return self.status()

    async def resume(
        self,
        plugin: str | None = None,
        data: Any = None,
        *,
        max_iterations: Any = None,
        timeout: Any = None,
        budget: Any = None,
        token_budget: Any = None,
    ) -> GoalOutcome:
        """Continues a run that is paused, was halted (`data` goes to the plugin that halted it), or ended by a limit
        that is raised now. Raises NotResumable, UsageError."""
        limits = LimitChanges(max_iterations, duration("timeout", timeout), budget, token_budget)
        halt = HaltAnswer(plugin, data) if plugin is not None or data is not None else None
        await self._session.resume(self.run_id, limits, halt)
        return self.status()

    async def close(self) -> None:
        """Ends what still runs, within 2 s; a run that was active is then `interrupted`. May be called again."""
        await self._session.close()
        if self._following is not None:
            await asyncio.wait({self._following}, timeout=CALLBACK_ENDS)
            self._following.cancel()  # an on_interrupt that does not return is abandoned
            await asyncio.wait({self._following}, timeout=CALLBACK_ENDS)
        if self._events is not None:
            await self._events.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _follow(self) -> RunState:
        session = self._session
        while True:
            state = await session.standstill()
            if not state.active:
                return state
            if self._on_interrupt is None:
                waits = "; ".join(one.title for one in state.interrupts)
                await session.runs.pause(state.run_id, f"{WAITS}: {waits}", "run")
            else:
                await answered(self._session, state.interrupts[0], self._on_interrupt)


class _Events:
    """Reports a run to its caller: first that it runs, then each iteration with its verdict, last its end. A callback
    that fails causes a warning, and does no harm to the run."""

    def __init__(self, session: Session, tell: OnEvent) -> None:
        self._session = session
        self._tell = tell
        self._before = session.state
        self._closed = False
        self._queue: asyncio.Queue[GoalOutcome] = asyncio.Queue()
        self._task = asyncio.ensure_future(self._deliver())
        self._queue.put_nowait(session.outcome_at(session.state))
        self._unsubscribe = session.runs.subscribe(self._note_view)

    def _note_view(self, view: RunView) -> None:
        before, now = self._before, view.state
        if now.run_id != before.run_id or now.sequence == before.sequence:
            return
        self._before = now
        if now.iteration > before.iteration > 0:
            self._queue.put_nowait(self._session.outcome_at(before))
        if not now.active or len(now.interrupts) > len(before.interrupts):
            self._queue.put_nowait(self._session.outcome_at(now))

    async def _deliver(self) -> None:
        while True:
            outcome = await self._queue.get()
            try:
                found = self._tell(outcome)
                if inspect.isawaitable(found):
                    await found
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as error:  # the caller's own callback
                if self._closed:
                    raise
                warnings.warn(f"on_event failed: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=1)
            finally:
                self._queue.task_done()

    async def close(self) -> None:
        """Returns once everything has been reported. A callback that doesn't return is abandoned."""
        self._unsubscribe()
        told = asyncio.ensure_future(self._queue.join())
        await asyncio.wait({told, self._task}, timeout=CALLBACK_ENDS, return_when=asyncio.FIRST_COMPLETED)
        if not told.done():
            warnings.warn("on_event did not return: the remaining events are dropped", RuntimeWarning, stacklevel=1)
        self._closed = True
        told.cancel()
        self._task.cancel()
        await asyncio.wait({told, self._task}, timeout=CALLBACK_ENDS)


async def answered(session: Session, interrupt: Interrupt, ask: OnInterrupt) -> None:
    """Asks the caller. An answer that comes too late, because somebody else answered or the run continued, is dropped.
    Raises UsageError for anything that is not an answer."""
    said: Any = await called(ask, interrupt)
    answer = None if said is None else answer_of(said, interrupt, "what on_interrupt returns must be")
    state = session.state
    if interrupt.id not in {one.id for one in state.interrupts}:
        return
    if answer is not None:
        await session.runs.answer(state.run_id, interrupt.id, answer)
    elif state.active:
        await session.runs.pause(state.run_id, f"{WAITS}: {interrupt.title}", "run")


def answer_of(said: Any, asked: Interrupt | None, what: str = "an answer is") -> Answer:
    """A caller's answer: an Answer, True (yes), False (no) or a text. Raises UsageError for anything else."""
    if isinstance(said, Answer):
        return said
    if isinstance(said, bool):
        return yes_or_no(asked, yes=said)
    if isinstance(said, str):
        return Answer("text", said)
    raise UsageError(f"{what} True, False, text or an Answer; it is {said!r:.80}")


def _heard(asked: asyncio.Future[Any]) -> None:
    """The run was already over: nobody needs the result."""
    if not asked.cancelled():
        asked.exception()
