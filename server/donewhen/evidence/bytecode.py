"""Makes sure that checks run the code that they are about, not other bytecode.

Bytecode that no check wrote was written by somebody else: a worker knows the folder as well as Python does. Python also
considers bytecode current if the source still has the same size and the same second of modification. After an edit
within that second, or one whose time was set back, the old code would be tested. The time of a file's last change of
any kind (ctime) can't be set back, so it decides here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

_MARGIN_NS = 1_000_000_000
_THIRD_PARTY = frozenset({"site-packages", "node_modules"})

Signature = tuple[int, int, int, int]


class Bytecode:
    """The bytecode that checks in `root` use, in the cache at `prefix`, which workspaces share.

    What was there when this process began to use the cache, and what its checks wrote since, may be used. Of the
    workspace's own, only the latter.
    """

    def __init__(self, prefix: Path, root: Path) -> None:
        self._source = root.resolve()
        self._own = prefix / self._source.relative_to(self._source.anchor)
        self._cache = _Cache.at(str(prefix))
        self._used = False

    @contextlib.contextmanager
    def check(self) -> Generator[None]:
        """While a check is being prepared and runs: what appears in the cache meanwhile is not taken away by
        checks beside it. What is there when none runs, and no check left it, is."""
        self._cache.enter()
        try:
            yield
        finally:
            self._cache.end_run()

    def sweep(self) -> None:
        """Before a check: deletes what no check wrote, and what its source may have changed since it was compiled.

        Raises `OSError` where that can't be done: the check would prove nothing.
        """
        self._cache.sweep()
        for path, compiled in _files_below(str(self._own), _THIRD_PARTY):
            name = os.path.basename(path).split(".")[0] + ".py"  # noqa: PTH119  # for each file: Path takes longer
            source = self._source / Path(path).relative_to(self._own).with_name(name)
            with contextlib.suppress(OSError):  # the source is gone: so goes the bytecode
                if self._used and source.stat().st_ctime_ns + _MARGIN_NS < compiled[3]:
                    continue
            _delete(path)
        self._used = True

    def keep(self) -> None:
        """After a check: what is there now is what checks wrote."""
        self._cache.keep()


class _Cache:
    """What may be used of one folder of bytecode, by all of this process's checks."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._lock = threading.Lock()
        self._running = 0
        self._due = True
        self._known = dict(_files_below(prefix))

    @classmethod
    def at(cls, prefix: str) -> _Cache:
        """The one of this process."""
        if prefix not in _caches:
            _caches[prefix] = cls(prefix)
            atexit.register(_caches[prefix].close)
        return _caches[prefix]

    def enter(self) -> None:
        with self._lock:
            self._due = self._due or self._running == 0
            self._running += 1

    def end_run(self) -> None:
        with self._lock:
            self._running -= 1

    def sweep(self) -> None:
        """Called once for checks that run side by side: by the first of them, before any of them starts."""
        with self._lock:
            if self._due:
                self._delete_foreign()
                self._due = False

    def keep(self) -> None:
        with self._lock:
            self._known = dict(_files_below(self._prefix))

    def close(self) -> None:
        """At the end of the process: the next one trusts what it finds."""
        with self._lock, contextlib.suppress(OSError):
            self._delete_foreign()

    def _delete_foreign(self) -> None:
        for path, signature in _files_below(self._prefix):
            if self._known.get(path) != signature:
                _delete(path)


_caches: dict[str, _Cache] = {}


def _files_below(folder: str, passed_over: frozenset[str] = frozenset()) -> Iterator[tuple[str, Signature]]:
    """Everything that is not a folder, links to folders too, with what tells whether it was touched."""
    try:
        entries = _dir_entries(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError:
        Path(folder).chmod(0o700)  # Python would read files by name in a folder that can't be listed
        entries = _dir_entries(folder)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in passed_over:
                yield from _files_below(entry.path, passed_over)
            continue
        with contextlib.suppress(FileNotFoundError):
            stat = entry.stat(follow_symlinks=False)
            yield entry.path, (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _dir_entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _delete(path: str) -> None:
    file = Path(path)
    try:
        file.unlink(missing_ok=True)
    except PermissionError:
        file.parent.chmod(0o700)
        file.unlink(missing_ok=True)
