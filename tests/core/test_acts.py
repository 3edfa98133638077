"""What an act of a person puts on record, and when it is refused: one pure function of the state and the act."""

from __future__ import annotations

import pytest

from donewhen.core import events as e
from donewhen.core.acts import (
    AcceptFinding,
    Act,
    AnswerInterrupt,
    DisputeRequirement,
    HintWorker,
    PauseRun,
    RevertFiles,
    RevertFinding,
    StopRun,
    WaiveRequirement,
    events_of,
    hint_is_read,
)
from donewhen.core.errors import DoneWhenError, UnknownInterrupt, UnknownName, UsageError, WrongAnswer
from donewhen.core.hints import UNASKED
from donewhen.core.people import Person
from donewhen.core.state import RunState
from donewhen.core.work import Answer, Interrupt
from tests.core.builders import Story
from tests.tools import each_row

ADA = Person("ada", "terminal")
NEW = Story().state
WORKING = Story().then(e.TurnStarted(1, None)).state
ASKING = Story().then(e.InterruptOpened(Interrupt("I1", "question", "Which?", "claim:question"))).state
HALTED = Story().then(e.RunInterrupted("it died", 1.0)).state
ENDED = Story().then(e.RunEnded("complete", "")).state
CHECK = Story(worker=None, mode="audit").state
HUMAN = Story(worker="human").state

DOES: dict[str, tuple[RunState, Act, list[e.Event]]] = {
    "a run that is pursued is asked to pause": (NEW, PauseRun("later"), [e.Requested("pause", "later", "person")]),
    "one that stands still is paused at once": (HALTED, PauseRun("later", "run"), [e.RunPaused("later", "run")]),
    "a stop says who": (WORKING, StopRun("enough"), [e.Requested("stop", "enough", person=ADA)]),
    "an answer is checked": (
        ASKING,
        AnswerInterrupt("I1", Answer("text", "both")),
        [e.InterruptAnswered("I1", Answer("text", "both"), ADA)],
    ),
    "a hint is an answer that nobody asked for": (
        WORKING,
        HintWorker(" be quick "),
        [e.InterruptAnswered(UNASKED, Answer("text", "be quick"), ADA)],
    ),
    "a requirement is named by its label": (
        NEW,
        WaiveRequirement("R1", "", undo=True),
        [e.PersonDecided("waive", NEW.goal.requirements[0].id, "", True, ADA)],
    ),
    "files are put back before it is known which": (NEW, RevertFiles(1), []),
    "and so for a finding": (NEW, RevertFinding("F1"), []),
}
REFUSES: dict[str, tuple[RunState, Act, type[DoneWhenError], str]] = {
    "nothing to pause": (ENDED, PauseRun("x"), UsageError, "nothing to pause: run run1 is complete"),
    "nothing to stop": (ENDED, StopRun("x"), UsageError, "nothing to stop: run run1 has ended"),
    "no such question": (NEW, AnswerInterrupt("I7", Answer("text", "x")), UnknownInterrupt, "open: none is open"),
    "not that answer": (ASKING, AnswerInterrupt("I1", Answer("approve")), WrongAnswer, "I1 is answered with"),
    "no such requirement": (NEW, WaiveRequirement("R9", "x"), UnknownName, "has no requirement R9"),
    "no reason": (NEW, WaiveRequirement("R1", " "), UsageError, "needs a reason"),
    "no judge": (NEW, DisputeRequirement("R1", "x"), UsageError, "no judge to ask again"),
    "no such finding": (NEW, AcceptFinding("F9", "x"), UnknownName, "has no integrity finding F9"),
    "no finding at all": (NEW, AcceptFinding(None, "x"), UsageError, "no integrity finding of run run1 is open"),
    "none was accepted": (NEW, AcceptFinding(None, "x", undo=True), UsageError, "is accepted"),
    "an empty hint": (WORKING, HintWorker(" \n"), UsageError, "the hint is empty"),
    "a hint to a check": (CHECK, HintWorker("x"), UsageError, "has no worker to tell"),
    "a hint to oneself": (HUMAN, HintWorker("x"), UsageError, "you edit its files"),
    "a run that has ended": (ENDED, WaiveRequirement("R1", "x"), UsageError, "nothing can be changed"),
}


@each_row("what", DOES)
def test_an_act_puts_on_record(what: str) -> None:
    state, act, events = DOES[what]
    assert list(events_of(state, act, ADA, pursued=True)) == events


@each_row("what", REFUSES)
def test_an_act_is_refused(what: str) -> None:
    state, act, kind, why = REFUSES[what]
    with pytest.raises(kind, match=why):
        events_of(state, act, ADA, pursued=True)


def test_a_stop_ends_a_run_that_nobody_pursues() -> None:
    assert list(events_of(HALTED, StopRun("enough"), ADA, pursued=False)) == [
        e.Requested("stop", "enough", person=ADA),
        e.RunEnded("cancelled", "enough"),
    ]


def test_when_a_hint_is_read_depends_on_who_works() -> None:
    assert [hint_is_read(state) for state in (NEW, WORKING, HALTED)] == ["nextTurn", "nextTurn", "resume"]
