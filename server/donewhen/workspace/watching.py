"""Learns from the operating system where something happened. These are only hints: the disk is read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Wake = Callable[[], None]
"""Called on the event loop when there is something to look at."""


@dataclass(frozen=True)
class Hints:
    """Paths to look at again; `everything` if hints were lost and only a walk helps."""

    paths: frozenset[str] = frozenset()
    everything: bool = False


class Watcher(Protocol):
    """Watches the folders of one workspace."""

    @property
    def warning(self) -> str | None:
        """Why changes are noticed late, and what to do about it; None if all is well."""
        ...

    @property
    def polls(self) -> bool:
        """True if changes are not reported: only walks find them."""
        ...

    def start(self, wake: Wake) -> None:
        """Begins to watch; on the event loop."""
        ...

    def watch(self, place: str) -> None:
        """Watches one folder from now on; called from the scanning thread, without effect if it is watched already."""
        ...

    async def drain(self) -> bool:
        """Waits until everything that has happened is known. False if there is nothing to look at."""
        ...

    def take(self) -> Hints:
        """What was heard since the last call; called from the scanning thread."""
        ...

    def close(self) -> None: ...


class NoWatcher:
    """Hears nothing: every look is a walk."""

    def __init__(self, warning: str | None = None) -> None:
        self.warning = warning
        self.polls = True

    def start(self, wake: Wake) -> None:
        """Nothing to start."""

    def watch(self, place: str) -> None:
        """Nothing to watch."""

    async def drain(self) -> bool:
        """There may always be something to look at."""
        return True

    def take(self) -> Hints:
        """Look at everything."""
        return Hints(everything=True)

    def close(self) -> None:
        """Nothing to end."""
