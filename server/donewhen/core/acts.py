"""Acts of people: who asks, from where, whether that can be a person; and the events of steering a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from donewhen.core.calls import Message
from donewhen.core.work import Answer

Where = Literal["editor", "terminal", "program"]
"""`editor`: a language server that an editor talks to; `terminal`: a process with a controlling terminal; `program`: a
script, a service, the library."""

STEERING = frozenset({"pause", "stop", "hint"})
"""Everything else stands in for proof, or goes to those who decide."""
REFUSED = "act_refused"
"""The code of the warning that says that an act was refused."""
_TO_DO = "do it from your editor or from a terminal that was open before the run began"


@dataclass(frozen=True, slots=True)
class Person:
    """Who acted, by the name of the account, and from where."""

    user: str
    where: Where


@dataclass(frozen=True, slots=True)
class ActOnRecord:
    """What a person did to a run: `what` such as `waived R3`, with what was said."""

    what: str
    said: str
    person: Person
    at: float
    accepted: tuple[str, ...] = ()
    """The ids of the findings that it accepted."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the owner of a run itself sees of the process that asks. `inside`: it came from the run. `rooted`: it, its
    session or what it came from was there before the run, so that the run can't have started it."""

    person: Person
    inside: bool = False
    rooted: bool = True


def refusal(word: str, run_id: str, seen: Seen | None, *, at_work: bool) -> str | None:
    """Why an act, such as `waive`, is not taken from that process, and what to do; None if it is. `at_work`: a worker's
    turn is open."""
    if seen is None:
        return "the process that asks is gone, or of another container or user"
    if seen.inside:
        return f"only a person may {word}: this process was started by run {run_id} itself; {_TO_DO}"
    session = seen.person.where in ("editor", "terminal")
    if word in STEERING:
        known = seen.rooted or seen.person.where == "terminal"
        return None if known else f"{word} came from a process that run {run_id} may have left behind: {_TO_DO}"
    if not seen.rooted:
        return f"only a person may {word}: this process may have been left behind by run {run_id}; {_TO_DO}"
    if at_work and not session:
        return (
            f"only a person may {word} while a worker is at work, and this process has no terminal: {_TO_DO}, or pause "
            "the run first"
        )
    return None


# The events of steering a run: what a person, or the engine itself, asked for, and the outcome.


PausedBy = Literal["person", "run"]
"""`run`: it paused by itself, such as where the judge could not be asked, or nobody was there to be asked."""


@dataclass(frozen=True, slots=True)
class PauseRequested:
    reason: str
    by: PausedBy = "run"


@dataclass(frozen=True, slots=True)
class StopRequested:
    reason: str
    person: Person | None = None


@dataclass(frozen=True, slots=True)
class RunPaused:
    reason: str
    by: PausedBy = "run"


@dataclass(frozen=True, slots=True)
class RunInterrupted:
    """Found after a crash or the loss of its client. `alive_until` is its last sign of life, epoch seconds."""

    reason: str
    alive_until: float


@dataclass(frozen=True, slots=True)
class FilesReverted:
    """Files were put back as they were after `iteration`, or in the tree `source` where it says one; `checkpoint`
    keeps what stood there before."""

    iteration: int
    paths: tuple[str, ...]
    kept: tuple[str, ...]
    checkpoint: str
    source: str | None = None
    person: Person | None = None


# A hint: what a person says to a worker unasked, while it works.
#
# It is on record as an answer that no question asked for. The built-in agent reads it before its next call to the
# model; any other worker reads it in the prompt of its next turn.


UNASKED = ""
"""The id of the interrupt that such an answer is given to: no interrupt has it."""
HEADING = "A message from the person who is following your work. Take it into account and carry on:"

ReadWhen = Literal["nextCall", "nextTurn", "resume"]
"""When a hint will be read: before the agent's next call to its model, with the next turn, or once the run goes on."""


def hint(text: str) -> Answer:
    """What is put on record."""
    return Answer("text", text.strip())


def hint_message(text: str) -> Message:
    """The hint as the agent's model is told it in the middle of a turn."""
    return Message("user", f"{HEADING}\n{text}")


def hint_in(message: Message) -> str | None:
    """The hint that `hint_message` made a message of; None for any other message."""
    told = message.role == "user" and message.text.startswith(f"{HEADING}\n")
    return message.text.removeprefix(f"{HEADING}\n") if told else None


def unasked(text: str) -> str:
    """The hint among the answers that a turn begins with."""
    return f"(without being asked) {text}"


def without(hints: Sequence[str], text: str) -> tuple[str, ...]:
    """The hints without the first of that text."""
    left = list(hints)
    if text in left:
        left.remove(text)
    return tuple(left)
