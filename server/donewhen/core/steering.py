"""The events of steering a run: what a person, or the engine itself, asked for, and the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from donewhen.core.people import Person

PausedBy = Literal["person", "run"]
"""`run`: it paused by itself, such as where the judge could not be asked, or nobody was there to be asked."""


@dataclass(frozen=True, slots=True)
class Requested:
    """That the run pauses or stops: what it is at is cut off first. A stop has the `person` who asked for it."""

    what: Literal["pause", "stop"]
    reason: str
    by: PausedBy = "run"
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
    """Files were put back as they were after `iteration`, or in the tree `source` where it says one; `kept` are those
    that stay as they are, `checkpoint` keeps what stood there before.

    Before an interrupted turn runs again, all but what is `kept` goes back to what stood there when it began: then this
    is the intent, and `paths` is empty."""

    iteration: int
    paths: tuple[str, ...]
    kept: tuple[str, ...]
    checkpoint: str
    source: str | None = None
    person: Person | None = None
