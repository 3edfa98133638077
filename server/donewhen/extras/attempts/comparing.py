"""How attempts compare: as JSON (docs/protocol.md, "Attempts"), and in the words of an editor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from donewhen.core.verdict import PROVEN, graded
from donewhen.core.words import counted, duration, listed, money
from donewhen.extras.attempts.pursuing import Group, Standing
from donewhen.wire.snapshot import wire_time
from donewhen.wire.view import harmless

NAMED = 5
"""How many files a question names."""


def document(group: Group, standing: Sequence[Standing]) -> dict[str, Any]:
    """The comparison as JSON."""
    return {
        "id": group.id,
        "goal": group.goal_path,
        "keep": group.keep,
        "startedAt": wire_time(group.began),
        "applied": group.applied,
        "proven": group.proven,
        "attempts": [_attempt_document(one) for one in standing],
    }


def _attempt_document(one: Standing) -> dict[str, Any]:
    view = one.view
    state = view.state if view is not None else None
    views = view.views if view is not None else ()
    return {
        "number": one.attempt.number,
        "status": state.status if state is not None else None,
        "reason": state.lifecycle.reason if state is not None else one.attempt.error,
        "proven": one.result.proven,
        "stale": view is not None and view.stale,
        "met": met(one),
        "total": len(views),
        "grades": {f"R{each.number}": each.grade for each in views},
        "files": [each.path for each in one.files],
        "added": one.added,
        "removed": one.removed,
        "cut": one.cut,
        "usd": state.usage.usd if state is not None else 0.0,
        "tokens": state.usage.tokens if state is not None else 0,
        "seconds": round(one.result.seconds, 3),
        "worker": state.options.worker if state is not None else one.attempt.worker,
        "model": state.options.agent.model if state is not None and state.options.agent is not None else None,
        "runId": one.attempt.run_id,
        "folder": str(one.attempt.root),
    }


def met(one: Standing) -> int:
    """How many requirements are proven."""
    return 0 if one.view is None else sum(each.status in PROVEN for each in one.view.views)


def outcome_in_words(one: Standing) -> str:
    """How it ended, or where it stands, in words."""
    if one.gone:
        return "its folder is gone"
    if one.view is None:
        return "not started"
    if one.view.state.status == "complete":
        return "changed since it was proven" if one.view.stale else "proven"
    return one.view.state.status or "not started"


def lines_changed(one: Standing) -> str:
    """`+41 -6`; of a long diff, those of its beginning."""
    return f"+{one.added} -{one.removed}{' or more' if one.cut else ''}"


def working_with(one: Standing) -> str:
    """The model of an agent, else the worker."""
    options = one.view.state.options if one.view is not None else None
    if options is not None and options.agent is not None:
        return options.agent.model
    return (options.worker if options is not None else one.attempt.worker) or ""


def reasons(one: Standing) -> list[str]:
    """What its proofs are worth, and why it ended."""
    if one.view is None:
        return [one.attempt.error] if one.attempt.error else []
    ended = one.view.state.lifecycle.reason if one.view.state.status != "complete" else ""
    return [*graded(one.view.views), *([ended] if ended else [])]


# --------------------------------------------------------------------------- in the words of an editor


def group_view(group: Group) -> dict[str, str]:
    """How an editor offers a group: `label`, and `description` beside it."""
    kept = [] if group.applied is None else [f"attempt {group.applied} is applied"]
    facts = [
        counted(len(group.attempts), "attempt"),
        *kept,
        *(["proven here"] if group.proven else []),
        group.id,
    ]
    return {"label": harmless(group.goal_path), "description": " · ".join(facts)}


def views(group: Group, standing: Sequence[Standing]) -> list[dict[str, Any]]:
    """How an editor shows each attempt: `label`, `description`, `detail`; and what it asks before it applies or drops
    one (`apply`, `drop`: `message` and `detail`). Words of others are text there."""
    return [_attempt_view(group, one, len(standing)) for one in standing]


def _attempt_view(group: Group, one: Standing, all_of_them: int) -> dict[str, Any]:
    number = one.attempt.number
    written = "It changed no file."
    if one.files:
        named = listed([harmless(each.path) for each in one.files], NAMED)
        written = f"Written here: {named}. Nothing is, if one of them was changed here since the attempts began."
    alone = group.keep == "ask" or all_of_them == 1
    others = "" if alone else " Once it is proven, the other attempts are removed."
    applied = " · applied" if group.applied == number else ""
    return {
        "label": f"{number} · {outcome_in_words(one)}{applied}",
        "description": harmless(" · ".join(_facts(one))),
        "detail": harmless(" · ".join(reasons(one))),
        "apply": {
            "message": f"Apply the changes of attempt {number} to the workspace?",
            "detail": f"{written} Then the goal is checked here.{others}",
        },
        "drop": {
            "message": f"Drop attempt {number}?",
            "detail": "Its folder and its record are deleted. That can’t be undone.",
        },
    }


def _facts(one: Standing) -> list[str]:
    with_what = working_with(one)
    named = [f"with {with_what}"] if with_what else []
    if one.view is None:
        return named
    state, usage = one.view.state, one.view.state.usage
    files = len(one.files)
    spent = [money(usage.usd)] if usage.tokens or usage.usd != 0 else []
    tokens = [f"{usage.tokens:,} tokens"] if usage.tokens else []
    return [
        f"{met(one)} of {len(one.view.views)} proven",
        counted(files, "file"),
        lines_changed(one),
        *spent,
        *tokens,
        duration(state.elapsed),
        *named,
    ]
