"""The record of a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.record import FleetRecord, FleetRequest, open_fleet_record


@pytest.fixture
def record(tmp_path: Path) -> Iterator[FleetRecord]:
    with closing(open_fleet_record("f", tmp_path)) as made:
        yield made


def test_it_keeps_the_last_board(record: FleetRecord) -> None:
    assert record.board() is None
    record.keep({"goals": {"a": 1}})
    record.keep({"goals": {"a": 2}})
    assert record.board() == {"goals": {"a": 2}}


def test_a_request_is_taken_once_and_in_order(record: FleetRecord) -> None:
    asked = [FleetRequest("pause", {"goal": None}), FleetRequest("stop", {"goal": "a"})]
    for one in asked:
        record.ask(one)
    assert list(record.take()) == asked
    assert not record.take()


def test_one_leads_it_at_a_time(record: FleetRecord) -> None:
    assert not record.led
    record.lead()
    assert record.led
    with pytest.raises(UsageError):
        record.lead()


def test_it_is_there_for_the_next_process(tmp_path: Path) -> None:
    first, second = open_fleet_record("f", tmp_path), open_fleet_record("f", tmp_path)
    first.lead()
    first.keep({"goals": {}})
    assert (second.board(), second.led) == ({"goals": {}}, True)
    with pytest.raises(UsageError, match="runs this fleet"):
        second.lead()
    second.ask(FleetRequest("pause"))
    assert list(first.take()) == [FleetRequest("pause")]
    first.close()
    second.lead()
    second.close()
