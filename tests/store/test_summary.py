"""The list of runs says what the runs themselves say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core import events as e
from donewhen.core.work import Answer, Interrupt
from donewhen.store.summary import RunRecord, updated
from tests.core.builders import fold_all

from .samples import GOAL, started

IDS = st.sampled_from(["I1", "I2"])
EVENTS = st.one_of(
    IDS.map(lambda id_: e.InterruptOpened(Interrupt(id_, "question", "?", about="worker"))),
    IDS.map(lambda id_: e.InterruptAnswered(id_, Answer("text", "yes"))),
    IDS.map(lambda id_: e.InterruptAnswered(id_, None, reason="gone")),
    st.just(e.RunPaused("x")),
    st.just(e.RunInterrupted("x", 1.0)),
    st.just(e.RunResumed()),
    st.sampled_from(e.END_STATUSES).map(lambda status: e.RunEnded(status, "x")),
    st.just(e.Requested("pause", "x")),
    st.just(e.GoalAmended(GOAL)),
)


@given(st.lists(EVENTS, max_size=12))
def test_the_listed_status_is_the_status_of_the_run(events: list[e.Event]) -> None:
    record: RunRecord | None = None
    every = [started(), *events]
    for at, event in enumerate(every):
        record = updated(record, event, float(at))
    assert record is not None
    state = fold_all(e.Entry(n + 1, float(n), event) for n, event in enumerate(every))
    assert record.status == state.status
    assert record.updated_at == state.updated_at


def test_a_run_is_listed_from_its_start_on() -> None:
    assert updated(None, e.RunPaused("x"), 1.0) is None
