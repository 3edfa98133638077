"""What a run does, step by step, as clients get it: bounded, unless one step is asked for in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from donewhen.core.feedback import keep_ends
from donewhen.engine.api import RunStep
from donewhen.wire.snapshot import Wire, wire_time

MAX_TEXT = 4_000
"""Characters of the text, and of the diff, of a step among others."""


class WireStep(Wire):
    """`id` stays while the step goes on: a later one of that id takes its place. `cut`: `text` or `diff` is not all
    that is kept of it. A hint is `running` until the worker reads it, and `failed` where the run ended before. `lead`
    is what kind of thing it is, where its title doesn't begin with that."""

    id: str
    order: int
    at: str
    iteration: int
    kind: Literal[
        "turn", "says", "reads", "runs", "edits", "tool", "reports", "check", "judge", "hint", "asks", "act", "end"
    ]
    lead: str
    title: str
    state: Literal["running", "done", "failed"]
    text: str
    diff: str
    cut: bool
    uri: str | None
    added: int
    removed: int
    evidence_id: str | None


def step_json(step: RunStep, root: Path, *, full: bool = False) -> dict[str, Any]:
    """A step as JSON; its texts bounded, unless `full`."""
    text, diff = (one if full else keep_ends(one, MAX_TEXT) for one in (step.text, step.diff))
    return WireStep(
        id=step.id,
        order=step.order,
        at=wire_time(step.at),
        iteration=step.iteration,
        kind=step.kind,
        lead=_lead(step),
        title=step.title,
        state=step.state,
        text=text,
        diff=diff,
        cut=text != step.text or diff != step.diff,
        uri=None if step.path is None else (root / step.path).as_uri(),
        added=step.added,
        removed=step.removed,
        evidence_id=step.evidence_id,
    ).model_dump(mode="json", by_alias=True)


def _lead(step: RunStep) -> str:
    if step.kind == "hint":
        return {"running": "your hint, not read yet", "done": "your hint, read"}.get(
            step.state, "your hint, never read"
        )
    if step.kind == "runs":
        return "" if step.title.startswith("run ") else "runs" if step.state == "running" else "ran"
    return {"says": "says", "reports": "reports", "check": "check", "asks": "asks you"}.get(step.kind, "")
