"""The content that a result was made from, kept longer than the process that made it: the covered files with their
stat, the rules of coverage, and which files were a check's output. A comparison costs one stat per file."""

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


@dataclass(frozen=True)
class Remembered:
    """A manifest, and what makes it comparable: frozen rules, the paths that git tracked, the globs of named files, and
    what checks had written at that time."""

    manifest: Manifest
    rules: IgnoreRules
    tracked: frozenset[str]
    named: tuple[str, ...]
    written: Mapping[str, Written]
    streams: frozenset[str] = frozenset()


def load(place: Path, name: str, revision: str) -> Remembered | None:
    """What was kept under this name for this revision; None if there is nothing, or nothing readable."""
    try:
        kept: Any = json.loads(read_text(place / f"{name}.json"))
        if kept["revision"] != revision:
            return None
        folders = {
            at: Folder({file: _entry_from_list(entry) for file, entry in files.items()})
            for at, files in kept["folders"].items()
        }
        return Remembered(
            Manifest(folders, bytes.fromhex(kept["digest"])),
            IgnoreRules.thawed(kept["above"], kept["below"]),
            frozenset(kept["tracked"]),
            tuple(kept["named"]),
            {path: (check, bytes.fromhex(digest)) for path, (check, digest) in kept["written"].items()},
            frozenset(kept.get("streams", ())),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error):
        return None


def keep(place: Path, name: str, manifest: Manifest, coverage: Coverage, written: Mapping[str, Written]) -> None:
    """Keeps it under this name, in place of the previous content. Raises OSError if it can't be written, or if
    the folder of `place` is gone."""
    above, below = coverage.rules.texts()
    document = {
        "revision": manifest.revision,
        "digest": manifest.rules.hex(),
        "above": above,
        "below": below,
        "tracked": sorted(coverage.tracked),
        "named": coverage.named,
        "streams": sorted(coverage.streams),
        "written": {path: (check, digest.hex()) for path, (check, digest) in written.items()},
        "folders": {
            at: {file: _entry_as_list(entry) for file, entry in folder.files.items()}
            for at, folder in manifest.folders.items()
        },
    }
    place.mkdir(exist_ok=True)
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
