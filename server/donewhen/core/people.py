"""Who acts on a run: a person, from where, and whether the process that asks can be one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
