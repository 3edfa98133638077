"""Goals about a worker's response, pursued by `run_goal`: limits, feedback, errors, endings (C1 to C9, A4, A7, A15)."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from donewhen import (
    Blocked,
    GoalOutcome,
    GoalVerdict,
    Impossible,
    InvalidGoal,
    Question,
    UsageError,
    arun_goal,
    run_goal,
)
from donewhen.workers.callables.judges import AuditTask
from tests.tools import each_row, in_flight

Prompts = list[str]


def answers(prompts: Prompts, *texts: Any) -> Callable[[str], Any]:
    """A worker that returns these in turn; the last one goes on."""

    def worker(prompt: str) -> Any:
        prompts.append(prompt)
        said = texts[min(len(prompts), len(texts)) - 1]
        if isinstance(said, Exception):
            raise said
        return said

    return worker


def is_done(response: Any, agent: Any, **more: Any) -> Any:
    return {"passed": response == "done", "feedback": f"it says {response!r}"}


@pytest.mark.conformance("C1")
@each_row(
    "given, named",
    [
        ({"goal": " "}, "objective"),
        ({"goal": "/goal "}, "objective"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"max_iterations": 1.5}, "max_iterations"),
        ({"max_iterations": True}, "max_iterations"),
        ({"max_iterations": float("nan")}, "max_iterations"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"budget": -1}, "budget"),
        ({"token_budget": 0}, "token_budget"),
        ({"stall_after": 0}, "stall_after"),
        ({"check_timeout": 0}, "check_timeout"),
    ],
)
def test_c01_what_cannot_be_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    prompts: Prompts = []
    arguments = {"goal": "Do it", "worker": answers(prompts, "done"), "checks": [is_done], **given}
    with pytest.raises(InvalidGoal, match=named):
        run_goal(**arguments)
    assert prompts == []


@pytest.mark.conformance("C1")
def test_c01_unlimited_is_allowed_and_warned_of() -> None:
    outcome = run_goal("Do it", lambda prompt: "done", checks=[is_done], max_iterations="unlimited")
    assert outcome.status == "complete"
    assert outcome.warnings == ("this run has no limit on iterations",)


@pytest.mark.conformance("C1")
def test_c01_what_nothing_can_decide_is_refused() -> None:
    with pytest.raises(InvalidGoal, match="give a judge, or checks"):
        run_goal("Do it", lambda prompt: "done")
    with pytest.raises(UsageError, match="a worker is a callable"):
        run_goal("Do it", 7, checks=[is_done])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(UsageError, match="as its first argument"):
        run_goal("Do it", lambda: "done", checks=[is_done])
    with pytest.raises(InvalidGoal, match="give workspace"):
        run_goal("Do it", lambda prompt: "done", checks=["pytest -q"])
    with pytest.raises(InvalidGoal, match="give workspace"):
        run_goal("Do it, until `pytest -q` passes", lambda prompt: "done", lambda task: True)


@pytest.mark.conformance("C2")
@each_row(
    "texts, status, iterations",
    [
        (["done"], "complete", 1),
        (["no", "done"], "complete", 2),
        (["no", "no", "done"], "complete", 3),
        (["no"], "capped", 3),
    ],
)
def test_c02_iterations_are_counted_and_proof_beats_the_cap(texts: list[str], status: str, iterations: int) -> None:
    prompts: Prompts = []
    outcome = run_goal("Do it", answers(prompts, *texts), checks=[is_done], max_iterations=3)
    assert (outcome.status, outcome.iterations, len(prompts)) == (status, iterations, iterations)


@pytest.mark.conformance("C3")
def test_c03_the_feedback_names_what_is_unmet_and_keeps_the_objective() -> None:
    prompts: Prompts = []

    def polite(response: Any, agent: Any) -> Any:
        return {"passed": True, "feedback": "so polite"}

    run_goal("Say that it is done", answers(prompts, "no", "done"), checks=[is_done, polite])
    assert prompts[0] == "Say that it is done"
    assert prompts[1].startswith("Say that it is done")
    assert "it says 'no'" in prompts[1]
    assert "Keep the whole objective in view" in prompts[1]
    assert "so polite" not in prompts[1]


@pytest.mark.conformance("C4")
@pytest.mark.parametrize("stuck", ["worker", "check", "judge"])
async def test_c04_the_time_limit_interrupts_whatever_is_in_flight(stuck: str) -> None:
    ended: list[str] = []

    async def hang(name: str) -> Any:
        if name != stuck:
            return {"worker": "done", "check": True, "judge": GoalVerdict(1.0, True, "")}[name]
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def worker(prompt: str) -> Any:
        return await hang("worker")

    async def check(response: Any, agent: Any) -> Any:
        return await hang("check")

    async def judge(task: AuditTask) -> Any:
        return await hang("judge")

    outcome = await in_flight(
        lambda seconds: arun_goal("Do it", worker, judge, checks=[check], timeout=seconds), lambda _: ended
    )
    assert (outcome.status, ended) == ("timed_out", [stuck])


@pytest.mark.conformance("C4", "C19")
async def test_c04_a_sync_worker_is_left_behind_and_its_late_result_changes_nothing() -> None:
    begun, leave, left = threading.Event(), threading.Event(), threading.Event()

    def worker(prompt: str) -> str:
        begun.set()
        leave.wait(60)
        left.set()
        return "done"

    outcome = await in_flight(
        lambda seconds: arun_goal("Do it", worker, checks=[is_done], timeout=seconds), lambda _: begun.is_set()
    )
    leave.set()
    assert await asyncio.to_thread(left.wait, 10)
    assert (outcome.status, outcome.response) == ("timed_out", None)


@pytest.mark.conformance("C5")
@pytest.mark.parametrize("preserve", [True, False])
def test_c05_messages_go_on_or_begin_anew(preserve: bool) -> None:
    seen: list[list[tuple[str, str]]] = []

    def worker(prompt: str, messages: list[dict[str, Any]]) -> str:
        seen.append([(one["role"], one["content"]) for one in messages])
        assert messages[-1] == {"role": "user", "content": prompt}
        return f"answer {len(seen)}"

    run_goal("Do it", worker, checks=[is_done], max_iterations=3, preserve_context=preserve)
    roles = [[role for role, _ in messages] for messages in seen]
    if preserve:
        assert roles == [["user"], ["user", "assistant", "user"], ["user", "assistant", "user", "assistant", "user"]]
        assert seen[2][1] == ("assistant", "answer 1")
    else:
        assert roles == [["user"], ["user", "user"], ["user", "user"]]
        assert "answer 2" in seen[2][1][1]
        assert "answer 1" not in seen[2][1][1]


@pytest.mark.conformance("C6")
@pytest.mark.parametrize("made", ["Nochmal!", [{"text": "Nochmal!"}]])
def test_c06_the_retry_prompt_is_the_templates(made: Any) -> None:
    prompts: list[Any] = []
    told: list[str | None] = []

    def template(feedback: str | None) -> Any:
        told.append(feedback)
        return made

    run_goal("Do it", answers(prompts, "no", "done"), checks=[is_done], resume_prompt_template=template)
    assert prompts == ["Do it", made]
    assert len(told) == 1
    assert "it says 'no'" in (told[0] or "")


@pytest.mark.conformance("C6")
@each_row("made", [None, "  ", [], 7])
def test_c06_a_template_that_makes_no_prompt_ends_the_run_by_name(made: Any) -> None:
    outcome = run_goal("Do it", lambda prompt: "no", checks=[is_done], resume_prompt_template=lambda feedback: made)
    assert (outcome.status, outcome.iterations) == ("crashed", 1)
    assert "resume_prompt_template must return text or a list of content blocks" in outcome.reason


@pytest.mark.conformance("C8")
@pytest.mark.parametrize("plain", [True, False])
def test_a_worker_that_wants_the_program_to_end_fails_its_turn(plain: bool) -> None:
    def leaves(prompt: str) -> str:
        sys.exit(3)

    async def leaves_later(prompt: str) -> str:
        sys.exit(3)

    outcome = run_goal("Do it", leaves if plain else leaves_later, checks=[is_done])
    assert (outcome.status, "SystemExit: 3" in outcome.reason) == ("crashed", True)


def test_a_goal_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="goal must be text, a Goal or the path of a goal file; it is int"):
        run_goal(5, lambda prompt: "done", checks=[is_done])  # type: ignore[arg-type]  # that is the point


@pytest.mark.conformance("C8")
def test_what_is_yielded_is_no_answer() -> None:
    def yields(prompt: str) -> Iterator[str]:
        yield "done"

    outcome = run_goal("Do it", yields, checks=[is_done])
    assert (outcome.status, "returned a generator" in outcome.reason) == ("crashed", True)


@pytest.mark.conformance("C8", "A4")
@each_row("bad", ["", "  ", None, {"content": []}, ValueError("no such table")])
def test_c08_a_turn_without_output_is_not_judged(bad: Any) -> None:
    prompts: Prompts = []
    validated: list[Any] = []
    judged: list[str] = []

    def check(response: Any, agent: Any) -> bool:
        validated.append(response)
        return True

    def judge(task: AuditTask) -> GoalVerdict:
        judged.append(task.response)
        complete = task.response == "done"
        return GoalVerdict(1.0 if complete else 0.1, complete, "" if complete else "not yet")

    outcome = run_goal("Do it", answers(prompts, "almost", bad, "done"), judge, checks=[check])
    assert (outcome.status, outcome.iterations) == ("complete", 3)
    assert (validated, judged) == (["almost", "done"], ["almost", "done"])
    said = "ValueError: no such table" if isinstance(bad, ValueError) else "returned nothing"
    assert said in prompts[2]


@pytest.mark.conformance("C8")
def test_c08_repeated_errors_end_the_run_with_the_reason() -> None:
    prompts: Prompts = []
    outcome = run_goal("Do it", answers(prompts, ValueError("no such table")), checks=[is_done])
    assert (outcome.status, len(prompts)) == ("crashed", 3)
    assert "no such table" in outcome.reason


@pytest.mark.conformance("C9")
@pytest.mark.parametrize(("claim", "status"), [(Blocked("no key"), "blocked"), (Impossible("no way"), "impossible")])
def test_c09_a_claim_ends_the_run_once_a_person_confirms_it(claim: Any, status: str) -> None:
    asked: list[str] = []

    def answer(interrupt: Any) -> bool:
        asked.append(interrupt.title)
        return True

    outcome = run_goal("Do it", lambda prompt: claim, checks=[is_done], on_interrupt=answer)
    assert (outcome.status, len(asked)) == (status, 1)
    assert claim.reason in asked[0]
    assert claim.reason in outcome.reason


@pytest.mark.conformance("C9")
def test_c09_a_claim_that_is_denied_does_not_end_the_run() -> None:
    prompts: Prompts = []
    worker = answers(prompts, Blocked("no key"), "done")
    outcome = run_goal("Do it", worker, checks=[is_done], on_interrupt=lambda interrupt: False)
    assert (outcome.status, outcome.iterations) == ("complete", 2)


@pytest.mark.conformance("C9")
def test_c09_a_judge_confirms_a_claim_only_explicitly() -> None:
    def judge(task: AuditTask) -> Any:
        if task.claim is not None:
            return {"confirmed": True, "reason": "there is no key indeed"}
        return {"score": 0.0, "complete": False}

    turns: Prompts = []
    outcome = run_goal("Do it", answers(turns, "tried", Blocked("no key")), judge)
    # Nothing was observed in the blocked turn that could be cited: a person is asked.
    assert outcome.status == "paused"
    assert "no key" in outcome.reason


@pytest.mark.conformance("C9", "A2")
def test_c09_a_question_is_answered_and_the_answer_reaches_the_worker() -> None:
    prompts: Prompts = []
    worker = answers(prompts, Question("Which colour?"), "done")
    outcome = run_goal("Do it", worker, checks=[is_done], on_interrupt=lambda interrupt: "blue")
    assert (outcome.status, outcome.iterations) == ("complete", 2)
    assert "blue" in prompts[1]


@pytest.mark.conformance("A2")
def test_a02_without_anybody_to_answer_the_run_pauses_and_says_why() -> None:
    outcome = run_goal("Do it", lambda prompt: Question("Which colour?"), checks=[is_done])
    assert (outcome.status, outcome.reason) == ("paused", "waits for a person: Which colour?")
    assert [one.title for one in outcome.interrupts] == ["Which colour?"]
    assert outcome.iterations == 1


@pytest.mark.conformance("C22")
def test_c22_the_goal_prefix_is_stripped_and_other_text_is_untouched() -> None:
    prompts: Prompts = []
    run_goal("/goal Do it", answers(prompts, "done"), checks=[is_done])
    run_goal("/goals are met", answers(prompts, "done"), checks=[is_done])
    assert prompts == ["Do it", "/goals are met"]


@pytest.mark.conformance("A7", "A15")
def test_a15_every_ending_is_distinct_and_has_its_reason() -> None:
    def ended(worker: Any, **limits: Any) -> GoalOutcome:
        return run_goal("Do it", worker, checks=[is_done], **limits)

    found = {
        "capped": ended(lambda prompt: "no", max_iterations=2),
        "stalled": ended(lambda prompt: "no", stall_after=2, max_iterations=9),
        "complete": ended(lambda prompt: "done"),
        "crashed": ended(answers([], OSError("gone"))),
    }
    assert {name: str(outcome.status) for name, outcome in found.items()} == {name: name for name in found}
    assert len({outcome.reason for outcome in found.values()}) == len(found)
    assert found["stalled"].iterations == 2


@pytest.mark.conformance("A14")
def test_a14_the_library_never_stalls_unless_it_is_asked_to() -> None:
    assert run_goal("Do it", lambda prompt: "no", checks=[is_done], max_iterations=6).status == "capped"


@pytest.mark.conformance("C15")
@pytest.mark.parametrize("value", [True, {"passed": True}, GoalVerdict(1.0, True, "")])
def test_c15_validators_get_the_response_itself(value: Any) -> None:
    given: list[Any] = []
    response = {"content": [{"text": "done"}], "usage": object()}

    async def check(said: Any, agent: Any, **more: Any) -> Any:
        given.extend([said, agent])
        return value

    outcome = run_goal("Do it", lambda prompt: response, checks=[check], agent="me", max_iterations=1)
    assert given == [response, "me"]
    assert outcome.response is response
    # Only a boolean, or an outcome with `passed`, is a verdict.
    assert (outcome.status == "complete") is not isinstance(value, GoalVerdict)


def test_a_validator_is_called_once_for_each_response() -> None:
    calls: Prompts = []

    def check(response: str, agent: Any) -> bool:
        calls.append(response)
        return response == "done"

    outcome = run_goal("Do it", answers([], "no", "no", "done"), checks=[check])
    assert (outcome.iterations, calls) == (3, ["no", "no", "done"])


def test_an_outcome_is_json_whatever_the_worker_returned() -> None:
    class Reply:
        content = "done"

    def check(response: Any, agent: Any) -> bool:
        return True

    outcome = run_goal("Do it", lambda prompt: Reply(), checks=[check])
    told = json.loads(json.dumps(outcome.as_dict(), allow_nan=False))
    assert (told["status"], told["verdict"]["complete"], told["cost"]) == ("complete", True, None)
    assert [one["status"] for one in told["requirements"]] == ["met"]


@pytest.mark.conformance("C18")
def test_c18_events_begin_at_iteration_zero_and_end_with_the_outcome() -> None:
    told: list[GoalOutcome] = []
    outcome = run_goal("Do it", answers([], "no", "done"), checks=[is_done], on_event=told.append)
    assert [(str(one.status), one.iterations, one.verdict is None) for one in told] == [
        ("running", 0, True),
        ("running", 1, False),
        ("complete", 2, False),
    ]
    assert told[1].verdict is not None
    assert told[1].verdict.complete is False
    assert told[-1] == outcome


async def test_it_runs_inside_a_running_loop_too() -> None:
    assert run_goal("Do it", lambda prompt: "done", checks=[is_done]).status == "complete"


@pytest.mark.conformance("C7", "A5")
async def test_c07_runs_side_by_side_do_not_mix() -> None:
    async def pursue(word: str) -> GoalOutcome:
        async def worker(prompt: str) -> str:
            await asyncio.sleep(0)
            return word

        def check(response: Any, agent: Any) -> bool:
            return response == word == agent

        return await arun_goal(f"Say {word}", worker, checks=[check], agent=word)

    outcomes = await asyncio.gather(*(pursue(word) for word in ("one", "two", "three")))
    assert [one.response for one in outcomes] == ["one", "two", "three"]
    assert len({one.run_id for one in outcomes}) == 3
