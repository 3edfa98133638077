"""`GoalLoop` around any worker: attempts, validators, retries, limits, and results that never mix."""

from __future__ import annotations

import asyncio
import gc
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from donewhen.core.errors import InvalidGoal, JudgeOutage, UsageError, WorkerFailed
from donewhen.core.verdict import GoalVerdict
from donewhen.extras.lookalikes.loop import GoalLoop, judge_from
from donewhen.extras.lookalikes.response import GoalResult
from donewhen.library.models import JudgeConfig
from donewhen.library.running import run_goal
from donewhen.plugins import Halt, hookimpl
from donewhen.plugins.critic import Critic
from donewhen.workers.callables.judges import AuditTask
from donewhen.workers.callables.workers import Blocked, Impossible
from tests.tools import each_row, in_flight

PROMPT = "Explain how rainbows form."


class Answers:
    """An async worker that gives its answers one after the other, the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.prompts: list[Any] = []

    async def __call__(self, prompt: Any) -> Any:
        self.prompts.append(prompt)
        await asyncio.sleep(0)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def short(response: Any, agent: Any, **more: Any) -> bool | dict[str, Any]:
    words = len(str(response).split())
    return True if words <= 3 else {"passed": False, "feedback": f"Too long ({words} words). Cap at 3."}


def never(response: Any, agent: Any) -> bool:
    return False


def result_of(loop: GoalLoop, worker: Any) -> GoalResult:
    result = loop.last_result(worker)
    assert result is not None
    return result


async def hangs(*_: Any) -> Any:
    await asyncio.Event().wait()


# ------------------------------------------------------------------------------------------- attempts


@pytest.mark.conformance("C2", "C7", "C15")
async def test_c02_fail_then_pass_hands_the_feedback_on() -> None:
    worker, loop = Answers("It is sunlight in many drops.", "Sunlight in drops."), GoalLoop(short)
    looped = loop.attach(worker)
    assert loop.last_result(worker) is None
    assert await looped(PROMPT) == "Sunlight in drops."
    result = result_of(loop, looped)
    assert (result.passed, result.stop_reason) == (True, "satisfied")
    assert [(a.number, a.passed, a.feedback, a.response, a.error) for a in result.attempts] == [
        (1, False, "Too long (6 words). Cap at 3.", "It is sunlight in many drops.", None),
        (2, True, None, "Sunlight in drops.", None),
    ]
    assert worker.prompts[0] == PROMPT
    assert PROMPT in worker.prompts[1]
    assert "It is sunlight in many drops." in worker.prompts[1]
    assert "Too long (6 words). Cap at 3." in worker.prompts[1]
    assert loop.last_result(worker) is result


def test_a_sync_worker_is_called_as_itself() -> None:
    answers = ["It is sunlight in many drops.", "Sunlight in drops."]

    def worker(prompt: str, tone: str = "plain") -> str:
        assert tone == "grave"
        return answers.pop(0)

    loop = GoalLoop(short)
    looped = loop(worker)
    assert looped(PROMPT, tone="grave") == "Sunlight in drops."
    assert result_of(loop, worker).passed


@pytest.mark.conformance("C2", "C1", "A7")
@pytest.mark.parametrize("cap", [1, 2, 5])
async def test_c02_never_met_it_ends_at_exactly_the_cap(cap: int) -> None:
    worker, loop = Answers("no"), GoalLoop(never, max_attempts=cap)
    assert await loop(worker)(PROMPT) == "no"
    result = result_of(loop, worker)
    assert (result.passed, result.stop_reason, len(result.attempts), len(worker.prompts)) == (
        False, "max_attempts", cap, cap,
    )  # fmt: skip


async def test_the_default_cap_is_ten() -> None:
    worker, loop = Answers("no"), GoalLoop(never)
    await loop(worker)(PROMPT)
    assert len(result_of(loop, worker).attempts) == 10


@pytest.mark.conformance("C15")
@pytest.mark.parametrize("found", ["true", 1, None, {"passed": "yes"}, {"passed": 1}, {}, [True]])
async def test_c15_anything_else_is_an_error_at_once(found: Any) -> None:
    worker, loop = Answers("so it is"), GoalLoop(lambda response, agent: found)
    with pytest.raises(WorkerFailed, match="the validator returned"):
        await loop(worker)(PROMPT)
    assert (result_of(loop, worker).stop_reason, len(worker.prompts)) == ("crashed", 1)


@pytest.mark.conformance("C15")
async def test_c15_a_validator_gets_the_response_the_agent_and_which_attempt_it_is() -> None:
    seen: list[Any] = []

    def validator(response: Any, agent: Any, **more: Any) -> bool:
        seen.append((response, agent, more))
        return len(seen) == 2

    message = {"role": "assistant", "content": [{"text": "hello"}]}
    worker = Answers(message)
    await GoalLoop(validator)(worker)(PROMPT)
    assert seen == [(message, worker, {"attempt": 1}), (message, worker, {"attempt": 2})]


async def test_the_agent_of_a_method_is_its_object() -> None:
    class Agent:
        async def ask(self, prompt: str) -> str:
            return "hello"

    agent, seen = Agent(), list[Any]()
    loop = GoalLoop(lambda response, of: seen.append(of) or True)
    await loop.attach(agent.ask)(PROMPT)
    assert seen == [agent]
    assert result_of(loop, agent.ask).passed  # another bound method of the same object


# -------------------------------------------------------------------------------- failures and limits


@pytest.mark.conformance("C8", "A4")
async def test_c08_a_turn_that_fails_is_not_judged_by_what_was_said_before() -> None:
    asked: list[Any] = []

    def validator(response: Any, agent: Any) -> bool:
        asked.append(response)
        return response == "good"

    worker, loop = Answers("bad", RuntimeError("no connection"), "good"), GoalLoop(validator)
    assert await loop(worker)(PROMPT) == "good"
    assert asked == ["bad", "good"]
    attempts = result_of(loop, worker).attempts
    assert [(a.number, a.error) for a in attempts] == [(1, None), (2, "RuntimeError: no connection"), (3, None)]
    assert worker.prompts[2] == worker.prompts[1]


@pytest.mark.conformance("C8")
@pytest.mark.parametrize("empty", ["", "  \n", None, {"role": "assistant", "content": []}])
async def test_c08_no_output_is_no_answer(empty: Any) -> None:
    asked: list[Any] = []
    worker, loop = Answers(empty, "good"), GoalLoop(lambda response, agent: asked.append(response) or True)
    await loop(worker)(PROMPT)
    assert asked == ["good"]
    assert result_of(loop, worker).attempts[0].error == "the worker returned nothing"
    assert worker.prompts == [PROMPT, PROMPT]


@pytest.mark.conformance("C8", "A7")
async def test_c08_repeated_errors_end_it_with_the_reason() -> None:
    worker, loop = Answers(RuntimeError("no connection")), GoalLoop(never)
    with pytest.raises(WorkerFailed, match="no connection") as raised:
        await loop(worker)(PROMPT)
    assert isinstance(raised.value.__cause__, RuntimeError)
    result = result_of(loop, worker)
    assert (result.stop_reason, len(result.attempts)) == ("crashed", 3)
    assert "no connection" in result.reason


@pytest.mark.conformance("C9", "A15")
@pytest.mark.parametrize(("said", "stopped"), [(Blocked("no key"), "blocked"), (Impossible("no key"), "impossible")])
async def test_a15_a_worker_that_can_not_go_on_ends_it_with_its_reason(said: Any, stopped: str) -> None:
    worker, loop = Answers("no", said), GoalLoop(never)
    assert await loop(worker)(PROMPT) == "no"
    result = result_of(loop, worker)
    assert (result.passed, result.stop_reason, len(worker.prompts)) == (False, stopped, 2)
    assert "no key" in result.reason


@pytest.mark.conformance("C4", "A7")
@pytest.mark.parametrize("hanging", ["worker", "judge"])
async def test_c04_the_timeout_interrupts_whoever_hangs(hanging: str) -> None:
    worker: Any = Answers("an answer")
    if hanging == "worker":

        async def worker(prompt: str) -> Any:
            await hangs()

    expected = None if hanging == "worker" else "an answer"

    async def play(seconds: float) -> tuple[object, str]:
        loop = GoalLoop("It is short.", judge=hangs, timeout=seconds)
        return await loop(worker)(PROMPT), result_of(loop, worker).stop_reason

    assert await in_flight(play, lambda found: found[0] == expected) == (expected, "timeout")


@pytest.mark.conformance("C1")
@each_row(
    "setting, field",
    [
        ({"goal": " "}, "goal"),
        ({"goal": 5}, "goal"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": -1}, "max_attempts"),
        ({"max_attempts": 2.5}, "max_attempts"),
        ({"max_attempts": True}, "max_attempts"),
        ({"max_attempts": math.nan}, "max_attempts"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1.0}, "timeout"),
        ({"timeout": math.nan}, "timeout"),
        ({"timeout": "soon"}, "timeout"),
        ({"name": ""}, "name"),
    ],
)
def test_c01_what_can_not_be_is_refused_by_name(setting: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidGoal, match=field):
        GoalLoop(**{"goal": never, **setting})


@pytest.mark.conformance("C1")
@pytest.mark.parametrize("unlimited", [math.inf, "unlimited"])
async def test_c01_unlimited_warns(unlimited: Any) -> None:
    with pytest.warns(UserWarning, match="no limit on max_attempts") as caught:
        loop = GoalLoop(short, max_attempts=unlimited)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="no limit on timeout"):
        GoalLoop(short, timeout=unlimited)
    worker = Answers(*["far too many words"] * 14, "short now")
    await loop(worker)(PROMPT)
    assert len(result_of(loop, worker).attempts) == 15


async def test_a_blank_prompt_is_refused() -> None:
    with pytest.raises(UsageError, match="prompt"):
        await GoalLoop(never)(Answers("x"))("  ")


# ----------------------------------------------------------------------------------- cancelling, C7, A5


@pytest.mark.conformance("A3", "C19")
@pytest.mark.parametrize("phase", ["working", "judging"])
async def test_a03_cancelling_ends_it_and_asks_nobody_any_more(phase: str) -> None:
    entered, left = asyncio.Event(), list[str]()

    async def stuck(*_: Any) -> Any:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            left.append(phase)
            raise

    worker: Any = Answers("an answer")
    if phase == "working":

        async def worker(prompt: str) -> Any:
            return await stuck()

    loop = GoalLoop("It is short.", judge=stuck)
    run = asyncio.ensure_future(loop(worker)(PROMPT))
    await entered.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    result = result_of(loop, worker)
    assert (left, result.passed, result.stop_reason) == ([phase], False, "cancelled")
    if phase == "judging":
        assert len(worker.prompts) == 1


@pytest.mark.conformance("C7", "A5")
async def test_c07_the_result_is_empty_while_it_runs_and_the_next_run_clears_it() -> None:
    seen: list[GoalResult | None] = []
    loop = GoalLoop(lambda response, agent: seen.append(loop.last_result(worker)) or response == "right")
    worker = Answers("wrong", "right")
    looped = loop(worker)
    await looped(PROMPT)
    first = result_of(loop, worker)
    await looped("Again.")
    assert seen == [None, None, None]
    assert len(first.attempts) == 2
    assert [a.number for a in result_of(loop, worker).attempts] == [1]
    assert worker.prompts[2] == "Again."


@pytest.mark.conformance("C7", "A5")
async def test_a05_one_loop_serves_many_workers_side_by_side() -> None:
    def validator(response: Any, agent: Any) -> dict[str, Any]:
        return {"passed": response == f"{agent.wanted}-3", "feedback": f"not yet {response}"}

    class Counting:
        def __init__(self, wanted: str) -> None:
            self.wanted = wanted
            self.count = 0
            self.prompts: list[str] = []

        async def __call__(self, prompt: str) -> str:
            self.prompts.append(prompt)
            self.count += 1
            await asyncio.sleep(0.001)
            return f"{self.wanted}-{self.count}"

    loop = GoalLoop(validator)
    workers = [Counting(f"w{number}") for number in range(20)]
    answers = await asyncio.gather(*(loop(worker)(f"task of {worker.wanted}") for worker in workers))
    assert answers == [f"{worker.wanted}-3" for worker in workers]
    for worker in workers:
        told = "".join(worker.prompts)
        assert not [other for other in workers if other is not worker and f"{other.wanted}-" in told]
        assert [a.response for a in result_of(loop, worker).attempts] == [f"{worker.wanted}-{n}" for n in (1, 2, 3)]


@pytest.mark.conformance("C7")
async def test_c07_a_second_run_of_a_worker_meanwhile_is_refused() -> None:
    entered = asyncio.Event()

    async def worker(prompt: str) -> None:
        entered.set()
        await asyncio.Event().wait()

    loop = GoalLoop(never)
    first = asyncio.ensure_future(loop(worker)(PROMPT))
    await entered.wait()
    with pytest.raises(UsageError, match="under way"):
        await loop(worker)(PROMPT)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert result_of(loop, worker).stop_reason == "cancelled"


async def test_a_second_loop_on_one_worker_is_refused_until_the_first_lets_go() -> None:
    worker = Answers("a b c")
    one, other = GoalLoop(short, name="one"), GoalLoop(never, name="other")
    looped = one.attach(worker)
    assert one.attach(worker).worker is worker  # the same loop again is no second one
    for given in (worker, looped):
        with pytest.raises(UsageError, match="in the goal loop 'one' already"):
            other.attach(given)
    one.detach(worker)
    assert other.attach(worker).loop is other


def test_a_loop_and_its_workers_are_let_go_together() -> None:
    worker, loop = Answers("a"), GoalLoop(short)
    loop.attach(worker)
    del loop
    gc.collect()
    GoalLoop(short).attach(worker)  # nobody holds it any more


def test_what_else_a_worker_has_is_found_on_the_loop_around_it() -> None:
    looped = GoalLoop(short).attach(Answers("a"))
    assert looped.prompts == []
    with pytest.raises(AttributeError):
        _ = looped.nothing
    with pytest.raises(UsageError, match="callable"):
        GoalLoop(short).attach("worker")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------ conversations


class Talking:
    """An agent with a conversation of its own."""

    def __init__(self, *answers: Any) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "be brief"}]
        self._answers = list(answers)
        self.seen: list[list[str]] = []

    async def __call__(self, prompt: Any) -> str:
        self.messages.append({"role": "user", "content": prompt})
        self.seen.append([one["content"] for one in self.messages])
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        self.messages.append({"role": "assistant", "content": answer})
        return answer


LONG = "a long answer this is"
FEEDBACK = "Too long (5 words). Cap at 3."


@pytest.mark.conformance("C5")
async def test_c05_an_agents_own_conversation_goes_on() -> None:
    agent = Talking(LONG, "short")
    await GoalLoop(short, resume_prompt_template=str)(agent)(PROMPT)
    assert agent.seen == [["be brief", PROMPT], ["be brief", PROMPT, LONG, FEEDBACK]]


@pytest.mark.conformance("C5")
async def test_c05_without_context_each_attempt_starts_from_the_original_conversation() -> None:
    agent = Talking(LONG, "another far too long answer", "short")
    await GoalLoop(short, preserve_context=False)(agent)(PROMPT)
    assert agent.seen[0] == ["be brief", PROMPT]
    for seen in agent.seen[1:]:
        assert len(seen) == 2
        assert seen[1].startswith(PROMPT)
        assert FEEDBACK in seen[1]
        assert LONG not in seen[1]
    assert [one["role"] for one in agent.messages] == ["system", "user", "assistant"]


@pytest.mark.conformance("C5", "A4")
async def test_a_turn_that_fails_leaves_nothing_half_said() -> None:
    agent = Talking(LONG, RuntimeError("gone"), "short")
    await GoalLoop(short, resume_prompt_template=str)(agent)(PROMPT)
    assert agent.seen[2] == ["be brief", PROMPT, LONG, FEEDBACK]


@pytest.mark.conformance("C5")
@pytest.mark.parametrize("preserve", [True, False])
async def test_c05_a_worker_that_takes_messages_is_given_them(preserve: bool) -> None:
    answers, seen = [LONG, "still far too long", "short"], list[list[str]]()

    async def worker(prompt: str, messages: list[dict[str, str]]) -> str:
        seen.append([one["content"] for one in messages])
        messages.clear()  # its own copy
        return answers.pop(0)

    earlier = [{"role": "system", "content": "be brief"}]
    loop = GoalLoop(short, preserve_context=preserve, resume_prompt_template=str)
    await loop(worker)(PROMPT, messages=earlier)
    assert earlier == [{"role": "system", "content": "be brief"}]
    assert seen[0] == ["be brief", PROMPT]
    assert seen[1] == (["be brief", PROMPT, LONG, FEEDBACK] if preserve else ["be brief", PROMPT, FEEDBACK])
    assert len(seen[2]) == (6 if preserve else 3)


@pytest.mark.conformance("C5")
async def test_c05_without_context_a_worker_that_remembers_nothing_is_told_its_task_and_the_feedback_only() -> None:
    worker = Answers(LONG, "short")
    await GoalLoop(short, preserve_context=False)(worker)(PROMPT)
    assert worker.prompts[1].startswith(PROMPT)
    assert FEEDBACK in worker.prompts[1]
    assert LONG not in worker.prompts[1]


@pytest.mark.conformance("C6")
async def test_c06_the_retry_prompt_is_the_templates_alone() -> None:
    given: list[str | None] = []

    def template(feedback: str | None) -> Any:
        given.append(feedback)
        return [{"text": "Noch einmal!"}] if feedback is None else f"Nochmal: {feedback}"

    found = [False, {"passed": False, "feedback": "länger"}, True]
    worker = Answers("x")
    loop = GoalLoop(lambda response, agent: found.pop(0), resume_prompt_template=template)
    await loop(worker)(PROMPT)
    assert given == [None, "länger"]
    assert worker.prompts == [PROMPT, [{"text": "Noch einmal!"}], "Nochmal: länger"]


@pytest.mark.conformance("C6")
@pytest.mark.parametrize("made", [None, "", 5, []])
async def test_c06_a_template_that_makes_no_prompt_is_an_error(made: Any) -> None:
    worker, loop = Answers("x"), GoalLoop(never, resume_prompt_template=lambda feedback: made)
    with pytest.raises(WorkerFailed, match="resume_prompt_template"):
        await loop(worker)(PROMPT)
    assert len(worker.prompts) == 1


async def test_content_blocks_are_a_prompt() -> None:
    worker = Answers(LONG, "short")
    await GoalLoop(short)(worker)([{"text": PROMPT}])
    assert worker.prompts[0] == [{"text": PROMPT}]
    assert worker.prompts[1][0] == {"text": PROMPT}
    assert FEEDBACK in worker.prompts[1][-1]["text"]


# ------------------------------------------------------------------------------------ goals in words


@pytest.mark.conformance("A15", "C2")
async def test_a_goal_in_words_is_decided_by_the_judge_on_the_response() -> None:
    tasks: list[AuditTask] = []

    def judge(task: AuditTask) -> GoalVerdict:
        tasks.append(task)
        plain = "refract" not in task.response
        return GoalVerdict(1.0 if plain else 0.3, plain, "" if plain else "'refract' is jargon")

    worker = Answers("Light refracts.", "Light bends.")
    loop = GoalLoop("No jargon.", judge=judge)
    assert await loop(worker)(PROMPT) == "Light bends."
    assert [task.response for task in tasks] == ["Light refracts.", "Light bends."]
    assert [one.text for one in tasks[0].requirements] == ["No jargon."]
    assert tasks[0].objective == PROMPT
    assert [a.feedback for a in result_of(loop, worker).attempts] == ["'refract' is jargon", None]


@pytest.mark.conformance("A4")
async def test_a04_the_same_response_twice_is_judged_anew() -> None:
    verdicts = [False, True]
    worker, loop = Answers("the same"), GoalLoop("It is right.", judge=lambda task: verdicts.pop(0))
    await loop(worker)(PROMPT)
    assert (result_of(loop, worker).stop_reason, verdicts) == ("satisfied", [])


async def test_without_a_judge_the_workers_own_model_is_one_or_there_is_an_error() -> None:
    with pytest.raises(UsageError, match="needs a judge"):
        await GoalLoop("No jargon.")(Answers("x"))(PROMPT)


@pytest.mark.parametrize("model", ["openai/worker", SimpleNamespace(model_id="openai/worker")])
def test_the_workers_own_model_is_the_judge_where_it_has_one(model: Any) -> None:
    class Agent:
        async def ask(self, prompt: str) -> str:
            return "hello"

    agent = Agent()
    agent.model = model  # type: ignore[attr-defined]
    assert judge_from(agent.ask, GoalLoop("x")) == JudgeConfig("openai/worker")
    strict = JudgeConfig(system_prompt="Be strict.")
    assert GoalLoop("x", judge=strict).judge == strict
    assert judge_from(agent.ask, GoalLoop("x", judge=strict)) == replace(strict, model="openai/worker")
    assert judge_from(agent.ask, GoalLoop("x", judge="openai/judge")) == JudgeConfig("openai/judge")
    with pytest.raises(UsageError, match="the judge needs a model here"):
        run_goal("Do it", agent.ask, strict)


@pytest.mark.conformance("A6", "A3")
async def test_a_judge_that_can_not_be_asked_is_an_outage_and_no_verdict() -> None:
    def judge(task: AuditTask) -> bool:
        raise JudgeOutage("no key", final=True)

    worker, loop = Answers("x"), GoalLoop("No jargon.", judge=judge)
    with pytest.raises(JudgeOutage, match="no key"):
        await loop(worker)(PROMPT)
    assert (result_of(loop, worker).passed, result_of(loop, worker).stop_reason) == (False, "paused")


# ------------------------------------------------------------------------------------------- plugins


@pytest.mark.conformance("C17")
async def test_c17_a_critic_refines_an_attempt_from_inside_and_the_loop_governs_from_outside() -> None:
    """What the critic sends back is no attempt of the loop's, and the validator sees the refined response alone."""
    judged: list[Any] = []

    def validator(response: Any, agent: Any) -> dict[str, Any]:
        judged.append(response)
        return {"passed": response == "Dear all, it works.", "feedback": "say that it works"}

    def ask(turn: Any) -> str | None:
        return None if turn.result.response.startswith("Dear") else "add a greeting"

    worker = Answers("It is done.", "Dear all, it is done.", "It works.", "Dear all, it works.")
    loop = GoalLoop(validator, plugins=[Critic(ask)])
    assert await loop(worker)(PROMPT) == "Dear all, it works."
    assert judged == ["Dear all, it is done.", "Dear all, it works."]
    result = result_of(loop, worker)
    assert [(a.number, a.response, a.feedback) for a in result.attempts] == [
        (1, "Dear all, it is done.", "say that it works"),
        (2, "Dear all, it works.", None),
    ]
    assert ["add a greeting" in prompt for prompt in worker.prompts] == [False, True, False, True]
    assert "say that it works" in worker.prompts[2]


async def test_what_plugins_add_is_told_to_the_worker() -> None:
    class Notes:
        name = "notes"

        @hookimpl
        def before_turn(self, turn: Any, context: Any) -> str:
            return f"This is turn {turn.iteration}."

    worker = Answers("far too many words", "just three words")
    await GoalLoop(short, plugins=[Notes()])(worker)(PROMPT)
    assert worker.prompts[0] == f"{PROMPT}\n\nThis is turn 1."
    assert worker.prompts[1].endswith("This is turn 2.")


# --------------------------------------------------------------------------------------- many rounds


@pytest.mark.conformance("C23")
async def test_c23_what_a_plugin_halted_with_reaches_the_result() -> None:
    class Closed:
        name = "closed"

        @hookimpl
        def before_turn(self) -> None:
            raise Halt("out of hours", {"opens": "08:00"})

    worker, loop = Answers("x"), GoalLoop(never, plugins=[Closed()])
    assert await loop(worker)(PROMPT) is None
    result = loop.last_result(worker)
    assert result is not None
    assert (result.passed, result.stop_reason, result.reason) == (False, "paused", "out of hours")
    assert result.halt is not None
    assert (result.halt.plugin, result.halt.data) == ("closed", {"opens": "08:00"})
