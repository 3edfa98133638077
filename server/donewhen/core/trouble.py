"""Why a model can't be asked: a closed set of causes, and what repairs each. One value from the call that failed to
what people are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

CallRole = Literal["worker", "judge"]

TroubleKind = Literal[
    "unreachable",
    "starting",
    "overloaded",
    "failing",
    "silent",
    "malformed",
    "key_missing",
    "key_refused",
    "no_credit",
    "no_such_model",
    "wrong_address",
    "support_missing",
    "too_long",
    "refused",
]
"""`failing`: its server answers with an error, or the connection breaks off; `malformed`: what it answers can't be
read; `too_long`: the prompt exceeds the model's window; `refused`: it does not take this request."""

Repair = Literal["set_key", "choose_model", "set_address", "install_support", "retry"]
"""`retry`: what is wrong may be over by now."""

REPAIRS: Mapping[TroubleKind, tuple[Repair, ...]] = {
    "unreachable": ("retry", "set_address", "choose_model"),
    "starting": ("retry", "choose_model"),
    "overloaded": ("retry", "choose_model"),
    "failing": ("retry", "choose_model", "set_address"),
    "silent": ("retry", "choose_model"),
    "malformed": ("set_address", "choose_model", "retry"),
    "key_missing": ("set_key", "choose_model"),
    "key_refused": ("set_key", "choose_model"),
    "no_credit": ("choose_model", "set_key", "retry"),
    "no_such_model": ("choose_model", "set_address"),
    "wrong_address": ("set_address", "choose_model"),
    "support_missing": ("install_support", "choose_model"),
    "too_long": ("choose_model",),
    "refused": ("choose_model", "retry"),
}
"""What a person can do about each, the likeliest first."""


@dataclass(frozen=True, slots=True)
class ModelTrouble:
    """What is wrong with the `model` that the worker or the judge asks. `said` is a sentence for people, with what to
    do; `status` the HTTP status that its server answered with, if it did."""

    kind: TroubleKind
    role: CallRole
    model: str
    said: str
    status: int | None = None

    @property
    def repairs(self) -> tuple[Repair, ...]:
        return REPAIRS[self.kind]

    @property
    def brief(self) -> str:
        """A few words, for a line that also says when it is tried again."""
        who = "the judge" if self.role == "judge" else "the model"
        if self.kind in _BRIEF:
            return f"{who} {_BRIEF[self.kind]}"
        return f"{who} answers {self.status}" if self.status is not None else f"{who} fails"

    @property
    def headline(self) -> str:
        """Why a run stands still, in two words."""
        return "judge unreachable" if self.role == "judge" else "model unreachable"


_BRIEF: Mapping[TroubleKind, str] = {
    "unreachable": "can't be reached",
    "starting": "is starting",
    "silent": "sends nothing",
    "malformed": "sends something that is not a reply",
    "wrong_address": "is not at this address",
}


@dataclass(frozen=True, slots=True)
class FailedTry:
    """A try of a call that failed. The next one, number `next_try` of `tries`, follows after `wait` seconds."""

    trouble: ModelTrouble
    next_try: int
    tries: int
    wait: float


@dataclass(frozen=True, slots=True)
class Retrying:
    """A call that is tried again at `at`, epoch seconds."""

    call_id: str
    failed: FailedTry
    at: float

    def text(self, now: float) -> str:
        """What is going on, with a count-down: `the model answers 429, trying again in 8 s (3 of 5)`."""
        failed, left = self.failed, math.ceil(self.at - now)
        when = f"trying again in {left} s" if left > 0 else "trying again"
        return f"{failed.trouble.brief}, {when} ({failed.next_try} of {failed.tries})"
