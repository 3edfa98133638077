"""Which runs go, and which stay whatever the policy says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.retention import Because, OnRecord, Retention, plan
from tests.tools import each_row

DAY = 86_400.0
NOW = 1_000 * DAY
ALL = Retention(None, None, None)


def run(name: str, days: float = 0, *, goal: str = "GOAL.md", mode: str = "pursue", stays: Because | None = None,
        size: int = 10) -> OnRecord:  # fmt: skip
    return OnRecord(name, goal, mode, NOW - days * DAY, size, stays)


@each_row(
    "runs, policy, gone",
    [
        pytest.param([run("b"), run("a", 900)], ALL, "", id="without a limit nothing goes"),
        pytest.param([run("c"), run("b"), run("a")], Retention(2, None, None), "a", id="the newest two"),
        pytest.param([run("b"), run("a", goal="other")], Retention(1, None, None), "", id="of each goal"),
        pytest.param([run("b"), run("a", mode="audit")], Retention(1, None, None), "", id="checks count by themselves"),
        pytest.param([run("c", 8), run("b", 9), run("a", 9)], Retention(None, 7 * DAY, None), "a b", id="age"),
        pytest.param([run("c"), run("b"), run("a")], Retention(None, None, 20), "a", id="size takes the oldest"),
        pytest.param([run("c"), run("b"), run("a")], Retention(None, None, 1), "a b", id="never the newest"),
        pytest.param([run("c"), run("b"), run("a", stays="kept")], Retention(1, None, 1), "b", id="never a kept one"),
        pytest.param([run("c"), run("b"), run("a", 99, stays="open")], Retention(1, DAY, 1), "b", id="nor an open one"),
    ],
)
def test_what_goes(runs: list[OnRecord], policy: Retention, gone: str) -> None:
    assert [one.run_id for one in plan(runs, policy, NOW).going] == gone.split()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]), st.sampled_from(["pursue", "audit"]), st.floats(0, 900),
            st.sampled_from([None, "kept", "open", "in use", "newest"]), st.integers(0, 99),
        ),
        max_size=12,
    ),
    st.none() | st.integers(1, 3), st.none() | st.floats(1, 100), st.none() | st.integers(1, 300),
)  # fmt: skip
def test_each_run_goes_or_stays_and_what_must_stay_does(
    made: list[tuple[str | None, str, float, Because | None, int]],
    most: int | None,
    days: float | None,
    size: int | None,
) -> None:
    runs = [
        OnRecord(str(number), goal, mode, NOW - age * DAY, taken, stays)
        for number, (goal, mode, age, stays, taken) in enumerate(made)
    ]
    found = plan(runs, Retention(most, None if days is None else days * DAY, size), NOW)
    gone, left = {one.run_id for one in found.going}, dict(found.staying)
    assert gone | left.keys() == {one.run_id for one in runs}
    assert not gone & left.keys()
    firsts = {(one.goal, one.mode): one.run_id for one in reversed(runs)}
    assert not gone & ({*firsts.values()} | {one.run_id for one in runs if one.stays})
