"""The events of steering a run: what a person, or the engine itself, asked for, and the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from donewhen.core.acts import Person
from donewhen.core.calls import Message
from donewhen.core.work import Answer

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
HEADING = "The person who follows your work says this to you now. Take it into account, and go on:"

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
