"""Chooses how to watch a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from donewhen.workspace.watching import NoWatcher, Watcher


def watcher_for(root: Path, state: Path) -> Watcher:
    """The watcher that fits the platform and the file system of the folder."""
    if sys.platform == "linux":
        from donewhen.workspace.inotify import InotifyWatcher, remote_file_system

        remote = remote_file_system(root)
        if remote is not None:
            return NoWatcher(f"{root} is on {remote}, which reports no changes: they are looked for every few seconds")
        return InotifyWatcher(root)
    from donewhen.workspace.native import NativeWatcher

    return NativeWatcher(root, state)
