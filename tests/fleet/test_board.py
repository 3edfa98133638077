"""Which goal has its next iteration when, and with how much money: the board alone, which is pure."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.board import Board, Given, Grant, Outcome, Question
from donewhen.extras.fleet.manifest import Fleet, FleetGoal


def board(count: int = 3, *, same: bool = False, **bounds: float) -> Board:
    goals = [FleetGoal(f"g{n}", "/w" if same else f"/w{n}") for n in range(count)]
    fleet = Fleet("f", goals, int(bounds.get("parallel", 2)), bounds.get("max_cost"), bounds.get("iteration_cost", 0.5))
    return Board(fleet, "serial")


def ended(grant: Grant, end: str = "complete", usd: float = 0.0) -> Outcome:
    return Outcome(grant.goal.id, grant.number, "ended", end, usd=usd)


def asks(grant: Grant) -> Outcome:
    return Outcome(grant.goal.id, grant.number, "waiting", questions=[Question("I1", "Which?")])


def names(grants: list[Grant]) -> list[str]:
    return [one.goal.id for one in grants]


def test_so_many_at_a_time_and_the_next_when_one_ends() -> None:
    it = board()
    first = list(it.grants())
    assert names(first) == ["g0", "g1"]
    assert not list(it.grants())
    it.settle(ended(first[0]))
    assert names(list(it.grants())) == ["g2"]


def test_goals_of_one_workspace_are_worked_on_one_after_the_other() -> None:
    it = board(same=True)
    (first,) = it.grants()
    it.settle(Outcome("g0", first.number, "ready"))
    (again,) = it.grants()
    assert again.goal.id == "g0"
    it.settle(ended(again))
    assert names(list(it.grants())) == ["g1"]


def test_a_result_that_comes_twice_counts_once() -> None:
    it = board(max_cost=10.0)
    first, _ = it.grants()
    it.settle(ended(first, "complete", 0.4))
    it.settle(Outcome("g0", first.number, "ready", usd=9.0))
    assert (it.goals["g0"].end, it.spent) == ("complete", 0.4)


def test_a_question_holds_no_slot_and_its_answer_goes_with_the_next_grant() -> None:
    it = board(2, parallel=1)
    (first,) = it.grants()
    it.settle(asks(first))
    assert names(list(it.grants())) == ["g1"]
    with pytest.raises(UsageError, match="no open question I2"):
        it.answer("g0", Given("I2", "approve"))
    it.answer("g0", Given("I1", "approve"))
    it.settle(Outcome("g1", 1, "ended", "complete"))
    (again,) = it.grants()
    assert again.answers == [Given("I1", "approve")]


def test_a_pause_lets_what_is_at_work_end_first() -> None:
    it = board(1)
    (first,) = it.grants()
    it.pause("g0")
    it.settle(Outcome("g0", first.number, "ready"))
    assert it.goals["g0"].state == "paused"
    assert not list(it.grants())
    it.resume("g0")
    assert names(list(it.grants())) == ["g0"]
    it.pause(None)
    assert not list(it.grants())


def test_what_never_began_is_stopped_at_once() -> None:
    it = board(3)
    list(it.grants())
    assert [one.goal.id for one in it.stop(None)] == ["g0", "g1"]
    assert it.goals["g2"].end == "cancelled"
    assert not it.stop(None)
    with pytest.raises(UsageError, match="nothing to stop"):
        it.stop("g2")


def test_an_iteration_that_was_short_gets_twice_as_much_or_ends() -> None:
    it = board(1, max_cost=1.0, iteration_cost=0.25)
    (first,) = it.grants()
    assert first.usd == 0.25
    it.settle(Outcome("g0", 1, "ready", usd=0.2, short=True))
    (second,) = it.grants()
    assert second.usd == 0.5
    it.settle(Outcome("g0", 2, "ready", usd=0.7, short=True))
    (third,) = it.grants()
    assert third.usd == pytest.approx(0.3)
    it.settle(Outcome("g0", 3, "ready", usd=0.7, short=True))
    assert not list(it.grants())
    assert it.goals["g0"].end == "over_budget"
    it.again(Fleet("f", [it.goals["g0"].goal], 1, 3.0, 0.25))
    assert names(list(it.grants())) == ["g0"]


@given(st.integers(0, 10_000))
def test_the_budget_is_never_passed_and_every_goal_ends(seed: int) -> None:
    """As long as each iteration keeps to what was set aside for it, which a run that can bound its calls does."""
    chance = random.Random(seed)
    it = board(6, parallel=3, max_cost=chance.uniform(1.0, 6.0), iteration_cost=chance.uniform(0.05, 1.0))
    spent = dict.fromkeys(it.goals, 0.0)
    at_work: list[Grant] = []
    for _ in range(500):
        at_work += it.grants()
        assert it.working <= 3
        assert it.fleet.max_cost is not None
        assert sum(spent.values()) + sum(one.usd or 0 for one in at_work) <= it.fleet.max_cost + 1e-9
        it = Board.of(it.document())  # as after a restart
        if not at_work:
            break
        grant = at_work.pop(chance.randrange(len(at_work)))
        assert grant.usd is not None
        spent[grant.goal.id] += chance.uniform(0, grant.usd)
        usd, short = spent[grant.goal.id], chance.random() < 0.3
        over = not short and chance.random() < 0.4
        state, end = ("ended", "complete") if over else ("ready", None)
        it.settle(Outcome(grant.goal.id, grant.number, state, end, usd=usd, short=short))
    assert it.ended
