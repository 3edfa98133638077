"""Acts of people: who asks, from where, whether that can be a person; and the events of steering a run."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from donewhen.core.calls import Message
from donewhen.core.work import Answer

Where = Literal["editor", "terminal", "program"]
"""`editor`: a language server that an editor talks to; `terminal`: a process with a controlling terminal; `program`: a
script, a service, the library."""
WHERES: tuple[Where, ...] = get_args(Where)

PERSONS = frozenset({"waive", "accept", "answer", "dispute", "revert", "revert_finding"})
"""What stands in for proof, or goes to those who decide. Everything else steers: pause, stop, hint."""
REFUSED = "act_refused"
"""The code of the warning that says that a request was refused."""
_TO_DO = "do it from your editor or from a terminal that was open before the run began"


@dataclass(frozen=True, slots=True)
class Person:
    """Who acted, by the name of the account, and from where."""

    user: str
    where: Where


@dataclass(frozen=True, slots=True)
class Act:
    """What a person did to a run: `what` such as `waived R3`, with what was said."""

    what: str
    said: str
    person: Person
    at: float
    accepted: tuple[str, ...] = ()
    """The ids of the findings that it accepted."""


@dataclass(frozen=True, slots=True)
class Sender:
    """What a request says of the process that makes it. `birth` tells that process from all others that had its pid,
    `nonce` this request from all others."""

    person: Person
    pid: int
    birth: str
    nonce: str
    at: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What the owner of a run itself sees of the process that asks. `inside`: it came from the run. `rooted`: it, its
    session or what it came from was there before the run, so that the run can't have started it."""

    person: Person
    inside: bool = False
    rooted: bool = True


def signature(key: bytes, token: str, run_id: str, operation: str, arguments: Mapping[str, Any], by: Sender) -> str:
    """What only the holder of the key can say of a request; `token` is of the one supervision of the run that it is
    for."""
    said = [
        token,
        run_id,
        operation,
        dict(arguments),
        by.person.user,
        by.person.where,
        by.pid,
        by.birth,
        by.nonce,
        by.at,
    ]
    text = json.dumps(said, sort_keys=True, allow_nan=False, ensure_ascii=True)
    return hmac.new(key, text.encode("ascii"), hashlib.sha256).hexdigest()


def signed(by: Sender, signature: str) -> dict[str, object]:
    """What a stored request says about its sender."""
    return {
        "user": by.person.user,
        "where": by.person.where,
        "pid": by.pid,
        "birth": by.birth,
        "nonce": by.nonce,
        "at": by.at,
        "signature": signature,
    }


def sender(said: Mapping[str, object]) -> tuple[Sender, str] | None:
    """The sender and the signature that a request carries; None if it carries none that can be read."""
    user, where, birth, nonce, sign = (said.get(name) for name in ("user", "where", "birth", "nonce", "signature"))
    pid, at = said.get("pid"), said.get("at")
    texts = all(isinstance(one, str) and one for one in (user, birth, nonce, sign))
    if not texts or where not in WHERES or type(pid) is not int or not isinstance(at, float):
        return None
    person = Person(str(user), where)
    return Sender(person, pid, str(birth), str(nonce), at), str(sign)


def refusal(operation: str, run_id: str, seen: Seen, *, at_work: bool) -> str | None:
    """Why a request is not taken from that process, and what to do; None if it is. `at_work`: a worker's turn is
    open."""
    word = operation.partition("_")[0]
    if seen.inside:
        return f"only a person may {word}: this process was started by run {run_id} itself; {_TO_DO}"
    session = seen.person.where in ("editor", "terminal")
    if operation not in PERSONS:
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
