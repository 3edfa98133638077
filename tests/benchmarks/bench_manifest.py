"""What one changed file costs, by the size of the workspace: a million files are simulated, none is on disk."""

from __future__ import annotations

import hashlib
import statistics
import time
from typing import Any

from donewhen.workspace.manifest import FILE, FileEntry, Folder, Manifest, stat_key

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BELOW = 50
"""Files in each folder."""


def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """For each number of files: milliseconds from a changed file to the new revision, and to what differs."""
    found: dict[str, Any] = {}
    for size in sizes:
        manifest = _manifest(size)
        assert manifest.revision
        times: list[float] = []
        for number in range(9):
            path = f"part{number % (size // BELOW):06}/file{number % BELOW:03}.py"
            begun = time.perf_counter()
            now = manifest.with_entries({path: _entry(size + number)})
            assert now.revision != manifest.revision
            assert now.changed_since(manifest) == (path,)
            times.append(time.perf_counter() - begun)
            manifest = now
        found[f"{size:,} files: a change, ms"] = round(1000 * statistics.median(times), 2)
    return found


def _manifest(size: int) -> Manifest:
    folders = {
        f"part{at:06}": Folder({f"file{one:03}.py": _entry(at * BELOW + one) for one in range(BELOW)})
        for at in range(size // BELOW)
    }
    return Manifest(folders)


def _entry(number: int) -> FileEntry:
    digest = hashlib.sha256(str(number).encode()).digest()
    return FileEntry(FILE, digest, digest, digest[:20], stat_key(number))


if __name__ == "__main__":
    for name, figure in measure().items():
        print(f"{name:<40} {figure}")
