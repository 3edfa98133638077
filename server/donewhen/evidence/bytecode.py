"""Keeps Python's bytecode honest.

Python takes bytecode for current if the source has the size and the second of modification that it had. An edit
within that second, or one whose time was set back, would be tested as the code that it replaced. The time of a
file's last change of any kind (ctime) can't be set back, so it decides here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_MARGIN_NS = 1_000_000_000
_THIRD_PARTY = frozenset({"site-packages", "node_modules"})


def sweep_bytecode(prefix: Path, root: Path) -> None:
    """Deletes cached bytecode of the workspace whose source may have changed since it was compiled."""
    whole = root.resolve()
    cache = prefix / whole.relative_to(whole.anchor)
    for entry in _compiled(cache):
        source = whole / Path(entry.path).relative_to(cache).with_name(entry.name.split(".")[0] + ".py")
        try:
            if source.stat().st_ctime_ns + _MARGIN_NS < entry.stat().st_ctime_ns:
                continue
        except OSError:
            pass  # the source is gone: so goes the bytecode
        Path(entry.path).unlink(missing_ok=True)


def _compiled(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _THIRD_PARTY:
                yield from _compiled(Path(entry.path))
        elif entry.name.endswith(".pyc"):
            yield entry
