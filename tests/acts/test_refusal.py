"""Who may act on a run, as a pure decision, and what a request's signature covers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from donewhen.core.acts import PERSONS, Person, Seen, Sender, Where, refusal, sender, signature, signed
from tests.tools import each_row

STEERING = ("pause", "stop", "hint")
BY = Sender(Person("ada", "terminal"), 7, "boot/1", "n" * 32, 1.5)
KEY = b"k" * 32


@each_row("operation", [*sorted(PERSONS), *STEERING])
@each_row("where", ["editor", "terminal", "program"])
@each_row("at_work", [True, False])
def test_what_the_run_started_gets_nothing_through(operation: str, where: Where, at_work: bool) -> None:
    why = refusal(operation, "4711", Seen(Person("ada", where), inside=True), at_work=at_work)
    assert why is not None
    assert "started by run 4711 itself" in why
    assert "from your editor or from a terminal" in why


@each_row("operation", [*sorted(PERSONS), *STEERING])
def test_a_person_in_a_session_may_do_all_of_it_at_any_time(operation: str) -> None:
    for where in ("editor", "terminal"):
        for at_work in (True, False):
            assert refusal(operation, "1", Seen(Person("ada", where)), at_work=at_work) is None


@each_row("operation", sorted(PERSONS))
def test_a_program_may_act_between_turns_alone(operation: str) -> None:
    seen = Seen(Person("ada", "program"))
    assert refusal(operation, "1", seen, at_work=False) is None
    assert "while a worker is at work" in (refusal(operation, "1", seen, at_work=True) or "")


@pytest.mark.parametrize("operation", STEERING)
def test_a_script_may_stop_its_run_at_any_time(operation: str) -> None:
    for at_work in (True, False):
        assert refusal(operation, "1", Seen(Person("ada", "program")), at_work=at_work) is None


def test_what_may_have_been_left_behind_acts_never_and_steers_from_a_terminal_alone() -> None:
    for operation in PERSONS:
        for where in ("editor", "terminal", "program"):
            seen = Seen(Person("ada", where), rooted=False)
            assert "left behind" in (refusal(operation, "1", seen, at_work=False) or "")
    for operation in STEERING:
        assert refusal(operation, "1", Seen(Person("ada", "terminal"), rooted=False), at_work=True) is None
        assert refusal(operation, "1", Seen(Person("ada", "program"), rooted=False), at_work=True) is not None


def test_a_signature_covers_all_that_is_said() -> None:
    arguments = {"requirement": "R1", "reason": "x"}
    good = signature(KEY, "t", "1", "waive", arguments, BY)
    assert good == signature(KEY, "t", "1", "waive", dict(reversed(arguments.items())), BY)
    others = [
        signature(b"x" * 32, "t", "1", "waive", arguments, BY),
        signature(KEY, "u", "1", "waive", arguments, BY),
        signature(KEY, "t", "2", "waive", arguments, BY),
        signature(KEY, "t", "1", "accept", arguments, BY),
        signature(KEY, "t", "1", "waive", {**arguments, "reason": "y"}, BY),
        *(
            signature(KEY, "t", "1", "waive", arguments, replace(BY, **change))
            for change in (
                {"person": Person("eve", "terminal")},
                {"person": Person("ada", "editor")},
                {"pid": 8},
                {"birth": "boot/2"},
                {"nonce": "m" * 32},
                {"at": 2.0},
            )
        ),
    ]
    assert len({good, *others}) == len(others) + 1


def test_what_a_request_carries_is_read_back_and_anything_else_is_no_sender() -> None:
    said = signed(BY, "abc")
    assert sender(said) == (BY, "abc")
    for name in said:
        assert sender({key: value for key, value in said.items() if key != name}) is None
        assert sender({**said, name: None}) is None
        assert sender({**said, name: ["x"]}) is None
    assert sender({}) is None
    assert sender({**said, "where": "moon"}) is None
    assert sender({**said, "pid": True}) is None
