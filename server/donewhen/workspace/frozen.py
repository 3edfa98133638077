"""The ignore rules of a run, kept outside of the workspace: once resumed it goes on with those it began with."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.regular import read_text
from donewhen.workspace.ignoring import IgnoreRules

KEPT = 20
"""The rules of so many runs are kept; who resumes an older one freezes those of that moment."""


@dataclass(frozen=True)
class FrozenRules:
    """Rules, the paths that git tracked, as they were when a run began, and the files that it printed to."""

    rules: IgnoreRules
    tracked: frozenset[str]
    streams: frozenset[str] = frozenset()


def load(place: Path, name: str) -> FrozenRules | None:
    """What was kept under this name; None if there is nothing, or nothing that can be read."""
    try:
        kept: Any = json.loads(read_text(place / f"{name}.json", "utf-8", "surrogateescape"))
        rules = IgnoreRules.thawed(kept["above"], kept["below"])
        return FrozenRules(rules, frozenset(kept["tracked"]), frozenset(kept.get("streams", ())))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def keep(place: Path, name: str, rules: IgnoreRules, tracked: Collection[str], streams: Collection[str] = ()) -> None:
    """Keeps them under this name. Raises OSError if that can't be written."""
    place.mkdir(parents=True, exist_ok=True)
    above, below = rules.texts()
    document = {"above": above, "below": below, "tracked": sorted(tracked), "streams": sorted(streams)}
    text = json.dumps(document, ensure_ascii=True)
    unfinished = place / f".{name}.tmp"
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(place / f"{name}.json")
    _forget_old(place)


def _forget_old(place: Path) -> None:
    known = sorted(place.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in known[KEPT:]:
        old.unlink(missing_ok=True)
