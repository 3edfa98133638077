"""Events as text, and back: the versioned format of the ledger.

An event is one line of ASCII JSON: its class name under `type`, then all of its fields. The rules for reading:

- the same version: unknown fields are ignored, missing ones get their defaults, an unknown event type is an error;
- an older version: `UPGRADES` lifts it step by step to the present one;
- a newer version: LedgerTooNew.

Once a version has been released, every change of a stored shape, even a new field with a default, raises CODEC_VERSION
and adds an upgrade: `tests/store` keeps the shapes of each version and fails otherwise.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, cast, get_args

from donewhen.core.errors import InvalidGoal, LedgerError, LedgerTooNew
from donewhen.core.events import Event
from donewhen.core.shapes import Shape, ShapeError, tagged

CODEC_VERSION = 4

EVENT_TYPES: tuple[type[Any], ...] = get_args(Event)

NAMING_TREES: tuple[str, ...] = tuple(
    one.__name__ for one in EVENT_TYPES if any("checkpoint" in field.name for field in fields(one))
)
"""The types of events that name checkpoints."""
_TREE = re.compile('"([0-9a-f]{40})"')

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]


def _from_1(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 gained fields while it was in use; their defaults say what their absence meant. It had a separate event
    type for who accepted the start summary; when such a run continues, the person is asked again.
    """
    if data.get("type") == "StartAccepted":
        who = {"person": "a person", "auto": "the settings", "nobody": "nobody, because there was nobody to ask"}
        reason = f"the start was accepted by {who.get(str(data.get('by')), 'a person')}"
        return {"type": "InterruptClosed", "interrupt_id": "start", "reason": reason}
    return data


def _from_2(data: dict[str, Any]) -> dict[str, Any]:
    """Version 3 introduced trials. Baseline facts that trials made unnecessary are dropped. A run that continues is
    tried like a new one, because nothing else protects its proof any more.
    """
    if data.get("type") == "RunStarted" and isinstance(options := data.get("options"), dict):
        settings = cast("dict[str, Any]", options)
        tried = data.get("mode") == "pursue" and settings.get("worker") not in (None, "human")
        return {**data, "options": {**settings, "trials": tried}}
    if data.get("type") != "BaselineTaken" or not isinstance(facts := data.get("facts"), dict):
        return data
    old = cast("dict[str, Any]", facts)
    kept = {name: old[name] for name in ("goal_file", "protected", "protect", "addressing") if name in old}
    kept["programs"] = [one for one in old.get("definitions", []) if one.get("kind") == "program"]
    # Start-up files in the workspace's folders now count as proof files.
    environment = old.get("environment", [])
    kept["environment"] = [one for one in environment if "/" not in (path := one["path"]) or "-packages" in path]
    return {**data, "facts": kept}


_MERGED: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, str]]] = {
    "CheckFinished": ("EvidenceRecorded", {}, {}),
    "TurnAbandoned": ("Abandoned", {"what": "turn"}, {}),
    "AuditAbandoned": ("Abandoned", {"what": "audit"}, {}),
    "TrialsAbandoned": ("Abandoned", {"what": "trials"}, {}),
    "JudgeFailed": ("Abandoned", {"what": "judge"}, {}),
    "TurnRestored": ("FilesReverted", {"paths": []}, {"checkpoint": "kept_checkpoint"}),
    "FindingAccepted": ("PersonDecided", {"decision": "accept"}, {"subject": "finding_id"}),
    "RequirementWaived": ("PersonDecided", {"decision": "waive"}, {"subject": "requirement_id"}),
    "RequirementDisputed": ("PersonDecided", {"decision": "dispute"}, {"subject": "requirement_id"}),
    "InterruptClosed": ("InterruptAnswered", {"answer": None}, {}),
    "GuardLifted": ("GuardSet", {"by": None}, {}),
    "PauseRequested": ("Requested", {"what": "pause"}, {}),
    "StopRequested": ("Requested", {"what": "stop"}, {}),
}
"""The event types of version 3 that are a part of another one since version 4: its name, what such an event says
besides, and the old names of its fields where they had another one."""


def _from_3(data: dict[str, Any]) -> dict[str, Any]:
    """In version 4, events of one kind are of one type."""
    if (merged := _MERGED.get(str(data.get("type")))) is None:
        return data
    kind, besides, renamed = merged
    return {**data, **besides, **{new: data.get(old) for new, old in renamed.items()}, "type": kind}


UPGRADES: Mapping[int, Upgrade] = {1: _from_1, 2: _from_2, 3: _from_3}
"""Upgrades from version N to N + 1: each takes and returns the JSON object of an event of any type."""


class UnreadableEvent(LedgerError):
    """Stored text that is not a valid event of its version; the message says what is wrong and where."""


def encode(event: Event) -> str:
    """One event as a line of ASCII JSON, the same bytes for equal events.

    Raises ValueError for a value that couldn't be read back: NaN, Infinity, or a type other than the annotated one.
    """
    return _write(_events().write(event))


def decode(text: str | bytes, version: int = CODEC_VERSION) -> Event:
    """The event that `encode` of that version wrote. Raises UnreadableEvent and LedgerTooNew."""
    try:
        data = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise UnreadableEvent(f"not the JSON of an event: {error}") from error
    if not isinstance(data, dict):
        raise UnreadableEvent(f"an event is an object, not {data!r:.60}")
    upgraded = upgrade(version, cast("dict[str, Any]", data))
    try:
        return cast("Event", _events().read(upgraded))
    except (ShapeError, ValueError, InvalidGoal) as error:
        raise UnreadableEvent(f"not an event of version {version}: {error}") from error


def trees_in(text: str) -> frozenset[str]:
    """The checkpoints that the text of an event names; perhaps other names of that form, too."""
    return frozenset(_TREE.findall(text))


def upgrade(
    version: int,
    data: dict[str, Any],
    *,
    upgrades: Mapping[int, Upgrade] = UPGRADES,
    current: int = CODEC_VERSION,
) -> dict[str, Any]:
    """Converts the JSON object of an event from an older version to the current one."""
    if version > current:
        raise LedgerTooNew(
            f"an event was written in format {version}, this version of Done When reads up to {current}: upgrade it"
        )
    for step in range(version, current):
        if step not in upgrades:
            raise UnreadableEvent(f"events of format {step} can no longer be read")
        data = upgrades[step](data)
    return data


@cache
def _events() -> Shape:
    # Compiled at the first use, so that starting the server costs nothing.
    return tagged(EVENT_TYPES)


_write = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number
