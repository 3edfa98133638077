"""What is kept of a workspace longer than the process that made it.

The rules of a run: whoever resumes it goes on with those that it began with. And what a result was made of, so that a
comparison costs one stat per file: the covered files with their stat, what made them covered, and which of them were a
check's output.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.regular import read_text
from donewhen.workspace.attribution import Written
from donewhen.workspace.ignoring import Coverage, IgnoreRules
from donewhen.workspace.manifest import FileEntry, Folder, Manifest, stat_key, stat_of

MOST_RULES = 20
"""How many runs' rules are kept; resuming an older run freezes the rules of that moment."""
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error)


@dataclass(frozen=True)
class FrozenRules:
    """The rules and the paths that git tracked when a run began, and the files that it printed to."""

    rules: IgnoreRules
    tracked: frozenset[str]
    streams: frozenset[str]


@dataclass(frozen=True)
class Result:
    """A manifest, and what makes it comparable: the rules, the globs of named files, and what checks had written."""

    manifest: Manifest
    frozen: FrozenRules
    named: tuple[str, ...]
    written: Mapping[str, Written]


def load_rules(place: Path, name: str) -> FrozenRules | None:
    """What was kept under this name; None if there is nothing, or nothing readable."""
    try:
        return _rules_in(json.loads(read_text(place / f"{name}.json")))
    except _UNREADABLE:
        return None


def keep_rules(place: Path, name: str, coverage: Coverage) -> None:
    """Keeps them under this name. Raises OSError if they can't be written."""
    place.mkdir(parents=True, exist_ok=True)
    _write(place, name, _rules_of(coverage))
    known = sorted(place.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in known[MOST_RULES:]:
        old.unlink(missing_ok=True)


def load_result(place: Path, name: str, revision: str) -> Result | None:
    """What was kept under this name for this revision; None if there is nothing, or nothing readable."""
    try:
        kept: Any = json.loads(read_text(place / f"{name}.json"))
        if kept["revision"] != revision:
            return None
        folders = {
            at: Folder({file: _entry_from_list(entry) for file, entry in files.items()})
            for at, files in kept["folders"].items()
        }
        return Result(
            Manifest(folders, bytes.fromhex(kept["digest"])),
            _rules_in(kept),
            tuple(kept["named"]),
            {path: (check, bytes.fromhex(digest)) for path, (check, digest) in kept["written"].items()},
        )
    except _UNREADABLE:
        return None


def keep_result(place: Path, name: str, manifest: Manifest, coverage: Coverage, written: Mapping[str, Written]) -> None:
    """Keeps it under this name, in place of the previous content. Raises OSError if it can't be written, or if
    the folder of `place` is gone."""
    place.mkdir(exist_ok=True)
    document = {
        **_rules_of(coverage),
        "revision": manifest.revision,
        "digest": manifest.rules.hex(),
        "named": coverage.named,
        "written": {path: (check, digest.hex()) for path, (check, digest) in written.items()},
        "folders": {
            at: {file: _entry_as_list(entry) for file, entry in folder.files.items()}
            for at, folder in manifest.folders.items()
        },
    }
    _write(place, name, document)


def _rules_of(coverage: Coverage) -> dict[str, Any]:
    above, below = coverage.rules.texts()
    tracked, streams = sorted(coverage.tracked), sorted(coverage.streams)
    return {"above": above, "below": below, "tracked": tracked, "streams": streams}


def _rules_in(kept: Any) -> FrozenRules:
    rules = IgnoreRules.thawed(kept["above"], kept["below"])
    return FrozenRules(rules, frozenset(kept["tracked"]), frozenset(kept.get("streams", ())))


def _write(place: Path, name: str, document: Mapping[str, Any]) -> None:
    unfinished = place / f".{name}.tmp"
    # Escaped, so that file names that are not UTF-8 keep their bytes.
    unfinished.write_text(json.dumps(document, ensure_ascii=True, separators=(",", ":")), encoding="utf-8")
    unfinished.replace(place / f"{name}.json")


def _entry_as_list(entry: FileEntry) -> list[Any]:
    counted = None if entry.counted == entry.digest else entry.counted.hex()
    return [entry.mode, entry.digest.hex(), counted, entry.blob.hex(), stat_of(entry.key), entry.racy]


def _entry_from_list(kept: list[Any]) -> FileEntry:
    mode, digest, counted, blob, stat, racy = kept
    content = bytes.fromhex(digest)
    key = stat_key(*stat)
    return FileEntry(
        mode, content, content if counted is None else bytes.fromhex(counted), bytes.fromhex(blob), key, bool(racy)
    )
