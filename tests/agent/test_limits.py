"""What bounds a run of the agent: time and tokens, and what it says of itself."""

from __future__ import annotations

import json

import pytest

from tests.agent.room import Room
from tests.scripted_models import ModelCall, Reply, calls, fails, hangs, says

GOAL = "# Limits\n\nThe purpose of it all is a note.\n\n- [ ] `test -f limits/done.txt` passes\n"
FINISH = [calls("write_file", path="limits/done.txt", content="done\n"), says("Done.")]


@pytest.fixture(autouse=True)
def _undone(room: Room) -> None:
    (room.root / "limits/done.txt").unlink(missing_ok=True)


@pytest.mark.conformance("C9", "A15")
@pytest.mark.parametrize("state", ["blocked", pytest.param("impossible", marks=pytest.mark.slow)])
def test_an_agent_that_gives_up_is_confirmed_by_the_judge(room: Room, state: str) -> None:
    def judge(call: ModelCall) -> Reply:
        cited = [word for word in ("E1", "E2") if word in call.text][:1]
        return says(json.dumps({"confirmed": True, "reason": "the check shows it", "evidence_ids": cited}))

    room.play(worker=[calls("report", state=state, text="the disk is read-only")], judge=judge)
    last = room.pursue(state, GOAL)
    assert last["status"] == state, last
    assert "the disk is read-only" in last["reason"]
    assert "the disk is read-only" in room.asked("judge")[0].text


@pytest.mark.slow
@pytest.mark.conformance("C9", "A6")
def test_a_person_decides_where_the_judge_can_not_be_asked(room: Room) -> None:
    room.play(worker=[calls("report", state="blocked", text="there is no key")], judge=lambda _: fails(400, "no"))
    run_id = room.start("unjudged", GOAL)
    asked = room.waiting(run_id)
    assert asked["title"] == "The worker says that it is blocked: there is no key. End the run as blocked?"
    room.answer(run_id, asked, "approve")
    assert room.end(run_id)["status"] == "blocked"


@pytest.mark.slow
@pytest.mark.conformance("C9", "C23")
def test_a_question_waits_for_its_answer_and_the_answer_reaches_the_agent(room: Room) -> None:
    room.play(
        worker=[
            calls("report", state="question", text="Which colour?"),
            FINISH[0].expecting("Blue, of course."),
            FINISH[1],
        ]
    )
    run_id = room.start("question", GOAL)
    asked = room.waiting(run_id)
    assert (asked["kind"], asked["title"]) == ("question", "Which colour?")
    room.answer(run_id, asked, "text", text="Blue, of course.")
    assert room.end(run_id)["status"] == "complete"
    room.sound()


@pytest.mark.conformance("C9", "A2")
def test_a_denied_command_does_not_run_and_the_agent_goes_on(room: Room) -> None:
    room.configure(approve="deny", sandbox="off")
    room.play(
        worker=[
            calls("run_command", command="touch limits/denied.txt"),
            FINISH[0].expecting(matches=["(?i)den(y|ied)"]),
            FINISH[1],
        ]
    )
    assert room.pursue("deny", GOAL)["status"] == "complete"
    room.sound()
    assert not (room.root / "limits/denied.txt").exists()


def test_a_budget_in_tokens_ends_the_run_before_it_is_passed(room: Room) -> None:
    room.configure(tokenBudget=30_000)
    room.play(worker=lambda _: calls("list_files", path="limits").spending(4_000, 10))
    last = room.pursue("tokens", GOAL)
    assert last["status"] == "over_budget", last
    used = last["cost"]["worker"]["inputTokens"] + last["cost"]["worker"]["outputTokens"]
    assert 0 < used <= 30_000


@pytest.mark.slow
@pytest.mark.conformance("C4")
def test_the_time_limit_interrupts_a_call(room: Room) -> None:
    room.configure(timeout="1s")
    room.play(worker=[hangs(2)])
    last = room.pursue("time", GOAL)
    assert last["status"] == "timed_out", last
    assert last["elapsedSeconds"] < 3
    assert len(room.asked("worker")) == 1


@pytest.mark.slow
def test_a_run_waits_for_a_person_where_the_model_answers_nothing(room: Room) -> None:
    room.play(worker=lambda _: says(""))
    last = room.pursue("nothing", GOAL)
    assert (last["status"], last["iteration"], last["complete"]) == ("paused", 0, False), last
    assert "answers nothing at all" in last["reason"]
    assert len(room.asked("worker")) == 2
    assert last["iterations"] == []


@pytest.mark.slow
@pytest.mark.conformance("A4", "C8")
def test_a_failed_turn_is_no_answer_and_the_next_one_is_told(room: Room) -> None:
    def worker(call: ModelCall) -> Reply:
        number = len(room.asked("worker"))
        if number == 1:
            return calls("write_file", path="limits/half.txt", content="half\n")
        return says("") if number <= 3 else FINISH[number - 4]

    room.play(worker=worker)
    last = room.pursue("failed", GOAL)
    assert (last["status"], last["iteration"]) == ("complete", 2), last
    first, second = last["iterations"]
    assert "nothing" in first["error"]
    assert not second.get("error")
    assert (room.root / "limits/half.txt").exists()
