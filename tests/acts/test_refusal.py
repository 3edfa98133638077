"""Who may act on a run, and how an act is said to another process, as pure decisions."""

from __future__ import annotations

from typing import get_args

import pytest

from donewhen.core import errors
from donewhen.core.acts import (
    AcceptFinding,
    Act,
    ActOutcome,
    ActReply,
    AnswerInterrupt,
    AskedAct,
    DisputeRequirement,
    HintWorker,
    PauseRun,
    RefusedAct,
    RevertFiles,
    RevertFinding,
    StopRun,
    WaiveRequirement,
    line_of,
    read_line,
)
from donewhen.core.people import STEERING, Person, Seen, Where, refusal
from donewhen.core.work import Answer
from tests.tools import each_row

PERSONS = ("accept", "answer", "dispute", "revert", "waive")
ACTS: tuple[Act, ...] = (
    PauseRun("later"),
    PauseRun("nobody is there", "run"),
    StopRun("enough"),
    AnswerInterrupt("I1", Answer("edit", "", {"command": "ls", "deep": [1, None, {"a": 0.5}]}, "so", "")),
    WaiveRequirement("R1", "fine\n", undo=True),
    AcceptFinding(None, "all"),
    AcceptFinding("F1", "one"),
    DisputeRequirement("R2", "no"),
    HintWorker("look at ünïcode"),
    RevertFiles(None),
    RevertFiles(2, ("a.py", "b c.py"), force=True),
    RevertFinding("F1"),
)
UNREADABLE = (
    b"",
    b"\n",
    b"GET / HTTP/1.1\r\n",
    b"\xff\xfe\n",
    b"[" * 100_000,
    b'{"run_id": "a", "where": "terminal"}',
    b'{"run_id": "a", "where": "moon", "act": {"type": "StopRun", "reason": ""}}',
    b'{"run_id": 4, "where": "editor", "act": {"type": "StopRun", "reason": ""}}',
    b'{"run_id": "a", "where": "editor", "act": {"type": "PersonNeeded", "reason": ""}}',
    b'{"run_id": "a", "where": "editor", "act": {"type": "StopRun", "reason": ["x"]}}',
)


@each_row("operation", [*PERSONS, *sorted(STEERING)])
@each_row("where", ["editor", "terminal", "program"])
@each_row("at_work", [True, False])
def test_what_the_run_started_gets_nothing_through(operation: str, where: Where, at_work: bool) -> None:
    why = refusal(operation, "4711", Seen(Person("ada", where), inside=True), at_work=at_work)
    assert why is not None
    assert "started by run 4711 itself" in why
    assert "from your editor or from a terminal" in why


@each_row("operation", [*PERSONS, *sorted(STEERING)])
def test_a_person_in_a_session_may_do_all_of_it_at_any_time(operation: str) -> None:
    for where in ("editor", "terminal"):
        for at_work in (True, False):
            assert refusal(operation, "1", Seen(Person("ada", where)), at_work=at_work) is None


@each_row("operation", PERSONS)
def test_a_program_may_act_between_turns_alone(operation: str) -> None:
    seen = Seen(Person("ada", "program"))
    assert refusal(operation, "1", seen, at_work=False) is None
    assert "while a worker is at work" in (refusal(operation, "1", seen, at_work=True) or "")


@pytest.mark.parametrize("operation", sorted(STEERING))
def test_a_script_may_stop_its_run_at_any_time(operation: str) -> None:
    for at_work in (True, False):
        assert refusal(operation, "1", Seen(Person("ada", "program")), at_work=at_work) is None


@each_row("operation", [*PERSONS, *sorted(STEERING)])
def test_whoever_is_gone_gets_nothing_through(operation: str) -> None:
    why = refusal(operation, "1", None, at_work=False)
    assert why == "the process that asks is gone, or of another container or user"


def test_what_may_have_been_left_behind_acts_never_and_steers_from_a_terminal_alone() -> None:
    for operation in PERSONS:
        for where in ("editor", "terminal", "program"):
            seen = Seen(Person("ada", where), rooted=False)
            assert "left behind" in (refusal(operation, "1", seen, at_work=False) or "")
    for operation in STEERING:
        assert refusal(operation, "1", Seen(Person("ada", "terminal"), rooted=False), at_work=True) is None
        assert refusal(operation, "1", Seen(Person("ada", "program"), rooted=False), at_work=True) is not None


@each_row("act", ACTS)
def test_an_act_is_understood_as_it_was_said(act: Act) -> None:
    line = line_of(AskedAct, AskedAct("4711", "terminal", act))
    assert line.count(b"\n") == 1
    assert read_line(AskedAct, line) == AskedAct("4711", "terminal", act)


def test_every_act_is_said_and_is_of_a_known_word() -> None:
    assert {type(act) for act in ACTS} == set(get_args(Act))
    assert {act.word for act in ACTS} == {*PERSONS, *STEERING}


@each_row("line", UNREADABLE)
def test_what_is_no_act_is_refused_as_that(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_line(AskedAct, line)


@each_row(
    "error",
    [
        errors.ActRefused("only a person may"),
        errors.UnknownName("no R9"),
        errors.UnknownInterrupt("no I9"),
        errors.WrongAnswer("not that"),
        errors.UsageError("nothing to stop"),
        errors.Overtaken("it went on"),
        errors.LedgerUnavailable("the disk is full"),
        errors.PersonNeeded("somebody has to"),
    ],
)
def test_a_refusal_is_the_same_for_whoever_asked(error: errors.DoneWhenError) -> None:
    reply = read_line(ActReply, line_of(ActReply, RefusedAct.by(error)))
    assert isinstance(reply, RefusedAct)
    assert (type(reply.error), str(reply.error)) == (type(error), str(error))


def test_what_has_no_word_of_its_own_is_refused_as_what_it_is_one_of() -> None:
    for error, kind in {
        errors.AlreadyRunning("4711"): errors.UsageError,
        errors.RecordChanged("4711", "entry 2"): errors.LedgerError,
        errors.HeldElsewhere("process 3"): errors.PersonNeeded,
        errors.ModelFailed("no"): errors.DoneWhenError,
    }.items():
        assert type(RefusedAct.by(error).error) is kind


def test_what_came_of_an_act_is_heard() -> None:
    for done in (ActOutcome(), ActOutcome(read_when="nextCall"), ActOutcome(("a.py",), ("b.py", "c.py"), "resume")):
        assert read_line(ActReply, line_of(ActReply, done)) == done
