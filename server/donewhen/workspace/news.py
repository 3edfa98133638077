"""Hears that something changed in one folder of ours, so that nobody has to look again and again."""

from __future__ import annotations

import sys
from pathlib import Path

from donewhen.workspace.watching import NoWatcher, Wake, watcher_for


class FolderNews:
    """News of one folder, and of none below it (`store.sqlite.News`)."""

    def __init__(self, folder: Path) -> None:
        # Elsewhere a watcher wakes more often than one would look, and hears of all the folders below.
        self._watcher = watcher_for(folder, folder) if sys.platform == "linux" else NoWatcher()

    @property
    def polls(self) -> bool:
        return self._watcher.polls

    def start(self, wake: Wake) -> None:
        def heard() -> None:
            self._watcher.take()
            wake()

        self._watcher.start(heard)
        self._watcher.watch("")

    def close(self) -> None:
        self._watcher.close()
