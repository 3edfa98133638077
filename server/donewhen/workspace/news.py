"""Hears that something changed in one folder of ours, so that nobody has to look again and again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from donewhen.workspace.watching import NoWatcher, Wake, watcher_for


def folder_news(folder: Path, wake: Wake) -> tuple[Callable[[], bool], Callable[[], None]]:
    """Calls `wake` in the running loop at all news of a folder, and of none below it (`store.sqlite.Listen`)."""
    # Elsewhere a watcher wakes more often than one would look, and hears of all the folders below.
    watcher = watcher_for(folder, folder) if sys.platform == "linux" else NoWatcher()

    def heard() -> None:
        watcher.take()
        wake()

    watcher.start(heard)
    watcher.watch("")
    return lambda: not watcher.polls, watcher.close
