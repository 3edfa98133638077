"""Keeps Python's bytecode honest.

Python takes bytecode for current if the source has the size and the second of modification that it had. An edit
within that second, or one whose time was set back, would be tested as the code that it replaced. The time of a
file's last change of any kind (ctime) can't be set back, so it decides here. And bytecode that is not as a check left
it was written by somebody else: a worker knows the folder as well as Python does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_MARGIN_NS = 1_000_000_000
_THIRD_PARTY = frozenset({"site-packages", "node_modules"})

Signature = tuple[int, int, int, int]


class Bytecode:
    """The bytecode of one workspace in the cache at `prefix`: what a check wrote may be used by the next one."""

    def __init__(self, prefix: Path, root: Path) -> None:
        self._source = root.resolve()
        self._cache = prefix / self._source.relative_to(self._source.anchor)
        self._written: dict[str, Signature] = {}

    def sweep(self) -> None:
        """Before a check: deletes what no check wrote, and what its source may have changed since it was compiled."""
        for entry in _compiled(self._cache):
            name = entry.name.split(".")[0] + ".py"
            source = self._source / Path(entry.path).relative_to(self._cache).with_name(name)
            try:
                compiled = entry.stat()
                own = self._written.get(entry.path) == _signature(compiled)
                if own and source.stat().st_ctime_ns + _MARGIN_NS < compiled.st_ctime_ns:
                    continue
            except OSError:
                pass  # the source is gone: so goes the bytecode
            Path(entry.path).unlink(missing_ok=True)

    def keep(self) -> None:
        """After a check: what is there now is what checks wrote."""
        written: dict[str, Signature] = {}
        for entry in _compiled(self._cache):
            try:
                written[entry.path] = _signature(entry.stat())
            except OSError:
                continue
        self._written = written


def _signature(stat: os.stat_result) -> Signature:
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


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
