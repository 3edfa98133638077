"""What a result is worth later: a proof counts for the revision at which it was made, whether or not its run
continues."""

from __future__ import annotations

from dataclasses import dataclass

from donewhen.core.changing import replace
from donewhen.core.globs import any_matches
from donewhen.core.state import Judged, RunState


@dataclass(frozen=True, slots=True)
class Present:
    """The workspace as it was last looked at beside a run that nobody pursues. `changed` are the paths that count
    otherwise than when the run last looked; None if only the revisions can be compared."""

    revision: str
    changed: tuple[str, ...] | None = ()


def as_of(state: RunState, present: Present | None) -> RunState:
    """The state as its evidence stands now. What was waived stays so: a person's word is not proof that ages."""
    if present is None or present.revision == state.revision:
        return state
    judged = outdated(state, present.changed or (), known=present.changed is not None)
    # A goal on guard is about to be looked at again.
    due = state.audit_due or state.guard is not None
    return replace(state, revision=present.revision, judged=judged, audit_due=due)


def outdated(state: RunState, paths: tuple[str, ...], *, known: bool) -> dict[str, Judged]:
    """The judge's findings after these paths changed, or after others did too where they aren't all `known`."""
    return {
        key: replace(value, stale=True)
        if not known or not value.scope or any(any_matches(value.scope, path) for path in paths)
        else value
        for key, value in state.judged.items()
    }
