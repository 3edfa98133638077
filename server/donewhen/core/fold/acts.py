"""The acts of people in a run, gathered from its entries for the receipt."""

from __future__ import annotations

from collections.abc import Callable

from donewhen.core import events as e
from donewhen.core.changing import replace
from donewhen.core.hints import UNASKED
from donewhen.core.people import ActOnRecord
from donewhen.core.state import RunState
from donewhen.core.work import Answer

MAX_ACTS = 200
"""The latest are kept: a run of an agent may ask for hundreds of approvals."""


def record_act(before: RunState, state: RunState, event: e.Event, at: float) -> RunState:
    """The state with what a person did, where the event says who."""
    person = getattr(event, "person", None)
    if person is None:
        return state

    def label(requirement_id: str) -> str:
        found = before.goal.requirement(requirement_id)
        return requirement_id if found is None else found.label

    accepted = _accepted(before, event)
    what, said = act_words(event, label)
    if accepted:
        what = f"accepted {', '.join(accepted)}"
    return replace(state, acts=(*state.acts, ActOnRecord(what, said, person, at, accepted))[-MAX_ACTS:])


def _accepted(before: RunState, event: e.Event) -> tuple[str, ...]:
    """The ids of the findings that an act accepts, by itself or as the answer to the question about them."""
    match event:
        case e.PersonDecided("accept", finding, undo=False):
            return (finding,)
        case e.InterruptAnswered(key, Answer("approve")):
            asked = next((one for one in before.interrupts if one.id == key and one.about == "findings"), None)
            return tuple(asked.input.get("findings", ())) if asked is not None else ()
        case _:
            return ()


ACTS = (e.PersonDecided, e.FilesReverted, e.Requested)
"""The acts that people do of their own accord."""
Acted = e.PersonDecided | e.FilesReverted | e.Requested


def act_words(event: e.Event, label: Callable[[str], str]) -> tuple[str, str]:
    """An act in words, with what was said; `label` names a requirement."""
    match event:
        case e.PersonDecided("waive", key, reason, undo):
            return f"{'undid the waiver of' if undo else 'waived'} {label(key)}", reason
        case e.PersonDecided("dispute", key, reason):
            return f"disputed {label(key)}", reason
        case e.PersonDecided("accept", finding, reason, undo):
            return f"{'undid the acceptance of' if undo else 'accepted'} {finding}", reason
        case e.InterruptAnswered(asked, Answer() as answer):
            said = answer.text or answer.reason
            if asked == UNASKED:
                return "sent a hint to the worker", said
            kept = f" for the {answer.remember}" if answer.remember else ""
            return f"answered {asked} with {answer.response}{kept}", said
        case e.FilesReverted(iteration=iteration, paths=paths):
            files = f"{len(paths) or 'no'} file{'' if len(paths) == 1 else 's'}"
            return f"put back {files}, as of iteration {iteration}", ", ".join(paths[:5])
        case e.Requested("stop", reason):
            return "stopped the run", reason
        case _:
            return type(event).__name__, ""
