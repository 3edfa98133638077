"""Hears that something changed in one folder of ours, so that nobody has to look again and again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from donewhen.workspace.watching import Wake, watcher_for


def folder_news(folder: Path, wake: Wake) -> Callable[[], None] | None:
    """Calls `wake` in the running loop at all news of a folder, and of none below it; returns what ends that
    (`store.sqlite.Listen`)."""
    if sys.platform != "linux":
        return None  # there a watcher wakes more often than one would look, and hears of all the folders below
    watcher = watcher_for(folder, folder)

    def heard() -> None:
        watcher.take()
        wake()

    watcher.start(heard)
    watcher.watch("")
    if not watcher.polls:
        return watcher.close
    watcher.close()
    return None
