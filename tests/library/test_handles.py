"""A run under way, steered by its program: pause, resume, stop, answers, halts (C7, C19, C20, C23, A2, A3, A5)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from donewhen import GoalRun, Halt, NotResumable, Question, UsageError, arun_goal, start_goal
from donewhen.core.errors import UnknownInterrupt, WrongAnswer
from donewhen.plugins import PluginContext, ResumeDirective, TurnAhead, hookimpl


def is_done(response: Any, agent: Any) -> Any:
    return {"passed": response == "done", "feedback": f"it says {response!r}"}


class Held:
    """A worker that is held up until it is let go. `ended` counts how often it was cut off."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.turns = 0
        self.ended = 0

    async def __call__(self, prompt: str) -> str:
        self.turns += 1
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.ended += 1
            raise
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]


async def held_run(worker: Held, **options: Any) -> GoalRun:
    run = await start_goal("Do it", worker, checks=[is_done], **options)
    async with asyncio.timeout(10):
        await worker.begun.wait()
    return run


@pytest.mark.conformance("C19", "A3")
async def test_c19_stop_ends_a_turn_in_flight_and_nothing_follows() -> None:
    worker = Held("done")
    async with await held_run(worker) as run:
        outcome = await run.stop("enough")
        assert (outcome.status, outcome.reason, worker.ended, worker.turns) == ("cancelled", "enough", 1, 1)
        assert (await run.outcome()).status == "cancelled"
        with pytest.raises(UsageError, match="nothing to stop"):
            await run.stop()
        with pytest.raises(NotResumable, match="cancelled"):
            await run.resume()


@pytest.mark.conformance("C20")
async def test_c20_a_paused_run_goes_on_as_the_same_iteration() -> None:
    worker = Held("no", "done")
    async with await held_run(worker) as run:
        paused = await run.pause("lunch")
        assert (paused.status, paused.reason, paused.iterations) == ("paused", "lunch", 1)
        assert (await run.outcome()).status == "paused"
        worker.go.set()
        assert (await run.resume()).run_id == paused.run_id
        outcome = await run.outcome()
    assert (outcome.status, outcome.iterations, worker.turns) == ("complete", 2, 3)


@pytest.mark.conformance("C7")
async def test_c07_an_outcome_is_running_before_the_end_and_final_after_it() -> None:
    worker = Held("done")
    async with await held_run(worker) as run:
        assert (run.status().status, run.status().response) == ("running", None)
        worker.go.set()
        outcome = await run.outcome()
        assert run.status() == outcome


@pytest.mark.conformance("A5")
async def test_a05_leaving_the_block_ends_the_run_and_the_next_one_knows_nothing_of_it() -> None:
    worker = Held("done")
    async with await held_run(worker) as run:
        pass
    assert (worker.ended, run.status().status) == (1, "interrupted")
    other = Held("done")
    async with await held_run(other) as fresh:
        assert fresh.run_id != run.run_id
        assert fresh.status().iterations == 0


@pytest.mark.conformance("A2", "C23")
async def test_a02_questions_are_answered_by_id_strictly() -> None:
    prompts: list[str] = []

    def worker(prompt: str) -> Any:
        prompts.append(prompt)
        return Question("How many?") if len(prompts) == 1 else "done"

    async with await start_goal("Do it", worker, checks=[is_done]) as run:
        waits = await run.outcome()
        assert (waits.status, len(prompts)) == ("paused", 1)
        asked = waits.interrupts[0].id
        with pytest.raises(UnknownInterrupt, match="I9"):
            await run.answer("I9", "three")
        with pytest.raises(UsageError, match="an answer is"):
            await run.answer(asked, 3)
        await run.answer(asked, "")  # a false-like text is an answer
        with pytest.raises(UnknownInterrupt):
            await run.answer(asked, "three")
        await run.resume()
        assert (await run.outcome()).status == "complete"
    assert len(prompts) == 2


@pytest.mark.conformance("C19", "C23")
async def test_what_is_said_to_a_run_that_stands_still_shows_at_once() -> None:
    async with await start_goal("Do it", lambda prompt: Question("How many?"), checks=[is_done]) as run:
        waits = await run.outcome()
        assert (await run.answer(waits.interrupts[0].id, "three")).interrupts == ()
        assert (await run.stop("enough")).status == "cancelled"
        outcome = await run.outcome()
        assert (outcome.status, outcome.reason) == ("cancelled", "enough")

    class Closed:
        @hookimpl
        def before_turn(self) -> None:
            raise Halt("closed")

    async with await start_goal("Do it", lambda prompt: "done", checks=[is_done], plugins=[Closed()]) as run:
        assert (await run.outcome()).status == "waiting"
        assert (await run.stop()).status == "cancelled"
        with pytest.raises(NotResumable, match="cancelled"):
            await run.resume()


async def test_an_edit_is_no_answer_to_a_question() -> None:
    from donewhen import Answer

    async with await start_goal("Do it", lambda prompt: Question("How many?"), checks=[is_done]) as run:
        waits = await run.outcome()
        with pytest.raises(WrongAnswer):
            await run.answer(waits.interrupts[0].id, Answer("edit", input={"a": 1}))
        with pytest.raises(WrongAnswer, match="answered with deny, text, not 'approve'"):
            await run.answer(waits.interrupts[0].id, Answer("approve"))


async def test_yes_to_a_question_is_a_text_for_its_worker() -> None:
    heard: list[str] = []

    def worker(prompt: str) -> object:
        heard.append(prompt)
        return Question("Shall I?") if len(heard) == 1 else "done"

    outcome = await arun_goal("Do it", worker, checks=[is_done], on_interrupt=lambda asked: True)
    assert outcome.status == "complete"
    assert "yes" in heard[1]
    assert "a person says" not in heard[1]


class Budgeted:
    """Halts before the second turn, and goes on once it is told so."""

    name = "budgeted"

    def __init__(self) -> None:
        self.resumed: list[Any] = []
        self.before: list[int] = []

    @hookimpl
    async def before_turn(self, turn: TurnAhead, context: PluginContext) -> str | None:
        self.before.append(turn.iteration)
        if turn.iteration == 2 and not self.resumed:
            raise Halt("the quota is used up", {"until": 18})
        return "be brief" if turn.iteration == 2 else None

    @hookimpl
    def on_resume(self, data: Any, context: PluginContext) -> ResumeDirective:
        self.resumed.append(data)
        return ResumeDirective()


@pytest.mark.conformance("C23")
async def test_c23_a_plugin_halts_and_the_run_goes_on_exactly_there() -> None:
    prompts: list[str] = []
    plugin = Budgeted()

    def worker(prompt: str) -> str:
        prompts.append(prompt)
        return "done" if len(prompts) == 2 else "no"

    async with await start_goal("Do it", worker, checks=[is_done], plugins=[plugin]) as run:
        halted = await run.outcome()
        assert (halted.status, halted.reason) == ("waiting", "the quota is used up")
        assert halted.halt is not None
        assert (halted.halt.plugin, halted.halt.data) == ("budgeted", {"until": 18})
        assert len(prompts) == 1
        with pytest.raises(UsageError, match="budgeted"):
            await run.resume("another", {})
        await run.resume("budgeted", {"more": 5})
        outcome = await run.outcome()
    assert (outcome.status, outcome.iterations, plugin.resumed) == ("complete", 2, [{"more": 5}])
    assert len(prompts) == 2


@pytest.mark.conformance("C23")
async def test_c23_a_worker_may_halt_itself() -> None:
    texts = [Halt("come back later", {"at": 18}), "done"]

    def worker(prompt: str) -> str:
        said = texts.pop(0)
        if isinstance(said, Halt):
            raise said
        return said

    async with await start_goal("Do it", worker, checks=[is_done]) as run:
        halted = await run.outcome()
        assert halted.halt is not None
        assert (halted.status, halted.halt.plugin, halted.halt.data) == ("waiting", "worker", {"at": 18})
        await run.resume()
        assert (await run.outcome()).status == "complete"


@pytest.mark.conformance("A15")
async def test_a15_a_halt_that_is_final_ends_the_run_blocked() -> None:
    def worker(prompt: str) -> str:
        raise Halt("never again", resumable=False)

    async with await start_goal("Do it", worker, checks=[is_done]) as run:
        outcome = await run.outcome()
    assert outcome.status == "blocked"
    assert "never again" in outcome.reason


class Failing:
    name = "failing"

    @hookimpl
    def before_turn(self, turn: TurnAhead, context: PluginContext) -> None:
        raise ZeroDivisionError("oops")


async def test_a_plugin_that_fails_is_named_and_does_no_harm() -> None:
    async with await start_goal("Do it", lambda prompt: "done", checks=[is_done], plugins=[Failing()]) as run:
        outcome = await run.outcome()
    assert outcome.status == "complete"
    assert "failing" in outcome.warnings[0]


async def test_a_callback_that_fails_does_no_harm() -> None:
    def on_event(outcome: Any) -> None:
        raise ZeroDivisionError("oops")

    with pytest.warns(RuntimeWarning, match="on_event failed: ZeroDivisionError"):
        async with await start_goal("Do it", lambda prompt: "done", checks=[is_done], on_event=on_event) as run:
            outcome = await run.outcome()
    assert outcome.status == "complete"


@pytest.mark.slow
@pytest.mark.timeout(20)
async def test_a_question_that_its_caller_never_answers_holds_no_end_up() -> None:
    asked, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def on_interrupt(interrupt: Any) -> None:
        loop.call_soon_threadsafe(asked.set)
        release.wait(60)

    async def pursued() -> None:
        await arun_goal("Do it", lambda prompt: Question("Which?"), checks=[is_done], on_interrupt=on_interrupt)

    run = asyncio.ensure_future(pursued())
    try:
        await asked.wait()
        run.cancel()
        ended, _ = await asyncio.wait({run}, timeout=10)
        assert ended
    finally:
        release.set()
