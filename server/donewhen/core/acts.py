"""What people do to a run, each as one value; what such an act puts on record; and how it is said to the process that
pursues the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from donewhen.core import events as e
from donewhen.core.answers import checked_answer
from donewhen.core.errors import (
    ActRefused,
    DoneWhenError,
    InvalidGoal,
    LedgerError,
    LedgerUnavailable,
    Overtaken,
    PersonNeeded,
    UnknownInterrupt,
    UnknownName,
    UsageError,
    WorkspaceError,
    WrongAnswer,
)
from donewhen.core.events import PausedBy
from donewhen.core.goal import Requirement
from donewhen.core.hints import UNASKED, ReadWhen, hint
from donewhen.core.people import Person, Where
from donewhen.core.shapes import shape_of
from donewhen.core.state import KnownFinding, RunState
from donewhen.core.work import Answer


@dataclass(frozen=True, slots=True)
class PauseRun:
    word: ClassVar = "pause"
    reason: str
    by: PausedBy = "person"


@dataclass(frozen=True, slots=True)
class StopRun:
    word: ClassVar = "stop"
    reason: str


@dataclass(frozen=True, slots=True)
class AnswerInterrupt:
    word: ClassVar = "answer"
    interrupt_id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class WaiveRequirement:
    """`requirement` is an id or a label (`R3`)."""

    word: ClassVar = "waive"
    requirement: str
    reason: str
    undo: bool = False


@dataclass(frozen=True, slots=True)
class AcceptFinding:
    """None: all that are open, or with `undo` all that a person accepted."""

    word: ClassVar = "accept"
    finding_id: str | None
    reason: str
    undo: bool = False


@dataclass(frozen=True, slots=True)
class DisputeRequirement:
    word: ClassVar = "dispute"
    requirement: str
    reason: str


@dataclass(frozen=True, slots=True)
class HintWorker:
    word: ClassVar = "hint"
    text: str


@dataclass(frozen=True, slots=True)
class RevertFiles:
    """To the tree after `iteration`; None: to what the last revert put aside. `paths`: these alone."""

    word: ClassVar = "revert"
    iteration: int | None
    paths: tuple[str, ...] | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class RevertFinding:
    word: ClassVar = "revert"
    finding_id: str
    force: bool = False


Act = (
    PauseRun
    | StopRun
    | AnswerInterrupt
    | WaiveRequirement
    | AcceptFinding
    | DisputeRequirement
    | HintWorker
    | RevertFiles
    | RevertFinding
)


def events_of(state: RunState, act: Act, person: Person, *, pursued: bool) -> Sequence[e.Event]:  # noqa: C901  # one branch for each act
    """What an act puts on record; nothing for a revert, whose effects decide that. `pursued`: this process pursues the
    run. Raises UsageError, UnknownName, UnknownInterrupt or WrongAnswer where it is refused."""
    run = state.run_id
    match act:
        case PauseRun(reason, by):
            at = state.lifecycle
            if (at.interrupted is not None or state.halted) and not at.ended and at.paused is None:
                return [e.RunPaused(reason, by)]
            if not state.active:
                raise UsageError(f"nothing to pause: run {run} is {state.status or 'an audit'}")
            return [e.Requested("pause", reason, by)]
        case StopRun(reason):
            if state.lifecycle.ended:
                raise UsageError(f"nothing to stop: run {run} has ended ({state.status or 'audit'})")
            return [e.Requested("stop", reason, person=person), *([] if pursued else [e.RunEnded("cancelled", reason)])]
        case AnswerInterrupt(interrupt_id, given):
            asked = next((one for one in state.interrupts if one.id == interrupt_id), None)
            if asked is None:
                known = ", ".join(one.id for one in state.interrupts) or "none is open"
                raise UnknownInterrupt(f"run {run} has no open interrupt {interrupt_id} (open: {known})")
            replaced = None if given.input is None else dict(given.input)
            answer = checked_answer(asked, given.response, given.text, replaced, given.reason, given.remember)
            return [e.InterruptAnswered(interrupt_id, answer, person)]
        case WaiveRequirement(key, reason, undo):
            requirement = _requirement(state, key)
            if not undo and not reason.strip():
                raise UsageError("waiving a requirement needs a reason")
            return [e.PersonDecided("waive", requirement.id, reason, undo, person)]
        case DisputeRequirement(key, reason):
            requirement = _requirement(state, key)
            if state.options.judge is None:
                raise UsageError("there is no judge to ask again: checks decide here; change the check, or waive it")
            return [e.PersonDecided("dispute", requirement.id, reason, person=person)]
        case AcceptFinding(finding_id, reason, undo):
            refuse_unsteerable(state)
            of_all = [
                one for one in state.present_findings if (one.acceptance is not None if undo else not one.accepted)
            ]
            if finding_id is None and not of_all:
                raise UsageError(f"no integrity finding of run {run} is {'accepted' if undo else 'open'}")
            found = of_all if finding_id is None else [known_finding(state, finding_id)]
            return [e.PersonDecided("accept", one.id, reason, undo, person) for one in found]
        case HintWorker(text):
            refuse_unsteerable(state)
            if not text.strip():
                raise UsageError("the hint is empty: say what the worker should know")
            if state.mode == "audit" or state.options.worker is None:
                raise UsageError(f"run {run} is a check: it has no worker to tell")
            if state.waits_for_person:
                raise UsageError(f"run {run} has no worker to tell: you edit its files")
            return [e.InterruptAnswered(UNASKED, hint(text), person)]
        case RevertFiles() | RevertFinding():
            return []


def refuse_unsteerable(state: RunState) -> None:
    """Raises UsageError where a run has ended for good."""
    if state.lifecycle.ended and state.status in ("complete", "cancelled"):
        raise UsageError(f"run {state.run_id} has ended ({state.status}): nothing can be changed")
    if state.lifecycle.broken:
        raise UsageError(f"run {state.run_id} can't go on: {state.lifecycle.reason}")


def _requirement(state: RunState, key: str) -> Requirement:
    refuse_unsteerable(state)
    found = state.goal.requirement(key)
    if found is None:
        labels = ", ".join(one.label for one in state.goal.requirements)
        raise UnknownName(f"run {state.run_id} has no requirement {key} (there are {labels})")
    return found


def known_finding(state: RunState, finding_id: str) -> KnownFinding:
    """Raises UnknownName."""
    found = next((known for known in state.present_findings if known.id == finding_id), None)
    if found is None:
        known = ", ".join(one.id for one in state.present_findings) or "none"
        raise UnknownName(f"run {state.run_id} has no integrity finding {finding_id} (known: {known})")
    return found


def hint_is_read(state: RunState) -> ReadWhen:
    """When a hint will be read that is given now."""
    if state.turn is not None and state.active and state.options.agent is not None:
        return "nextCall"
    return "resume" if not state.active or state.halted else "nextTurn"


# What one process says to another: the act, and what came of it.


@dataclass(frozen=True, slots=True)
class AskedAct:
    """An act as another process asks for it. `where` is what its front end says of itself."""

    run_id: str
    where: Where
    act: Act


@dataclass(frozen=True, slots=True)
class ActOutcome:
    """The files that a revert put back, and those that it `kept` as they are; when a hint will be read."""

    changed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    read_when: ReadWhen = "nextTurn"


REFUSALS: Mapping[str, type[DoneWhenError]] = {
    "act": ActRefused,
    "name": UnknownName,
    "interrupt": UnknownInterrupt,
    "answer": WrongAnswer,
    "goal": InvalidGoal,
    "usage": UsageError,
    "person": PersonNeeded,
    "overtaken": Overtaken,
    "disk": LedgerUnavailable,
    "record": LedgerError,
    "files": WorkspaceError,
    "other": DoneWhenError,
}
"""What an act may be refused for, the narrowest first."""


@dataclass(frozen=True, slots=True)
class RefusedAct:
    """Why nothing came of an act. `kind` is one of REFUSALS."""

    kind: str
    why: str

    @staticmethod
    def by(error: DoneWhenError) -> RefusedAct:
        return RefusedAct(next(kind for kind, one in REFUSALS.items() if isinstance(error, one)), str(error))

    @property
    def error(self) -> DoneWhenError:
        return REFUSALS.get(self.kind, DoneWhenError)(self.why)


ActReply = ActOutcome | RefusedAct


def line_of(kind: Any, said: object) -> bytes:
    """An `AskedAct`, or an `ActReply`, as one line. Raises ValueError for what couldn't be read back."""
    return json.dumps(shape_of(kind).write(said), allow_nan=False).encode("ascii") + b"\n"


def read_line(kind: Any, line: bytes) -> Any:
    """What `line_of` made a line of. Raises ValueError for anything else."""
    try:
        return shape_of(kind).read(json.loads(line))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
