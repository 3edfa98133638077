"""Waits until content has changed and then stayed the same for a moment; waiting costs nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass

from donewhen.workspace.manifest import Manifest

_POLL_SHARE = 25
"""If only walks find changes, they use at most one part in this many of a core."""


@dataclass(frozen=True)
class Quiet:
    """Seconds without change after which content is settled: `few` after a save or two, `many` after more changes.

    `gather` is how long events are collected before a look, `poll` how often to look if there are no events. `git` is
    how old git's lock may be: an older one was left behind.
    """

    few: float = 0.02
    many: float = 0.15
    gather: float = 0.004
    poll: float = 2.0
    git: float = 60.0


class Notifier:
    """Tells all listeners that something happened."""

    def __init__(self) -> None:
        self._listeners: dict[asyncio.Event, None] = {}  # in the order in which they came

    def notify(self) -> None:
        """Something happened; call this on the event loop."""
        for listener in self._listeners:
            listener.set()

    @contextlib.contextmanager
    def listening(self) -> Generator[asyncio.Event]:
        """An event that is set whenever something happens; the listener clears it."""
        listener = asyncio.Event()
        self._listeners[listener] = None
        try:
            yield listener
        finally:
            del self._listeners[listener]


async def wait_settled(
    look: Callable[[], Awaitable[Manifest]],
    base: Manifest,
    notifier: Notifier,
    quiet: Quiet,
    polls: Callable[[], bool],
    writes: Callable[[], bool] = lambda: False,
) -> None:
    """Returns once the content that `look` finds differs from `base` and has stayed the same, and nobody `writes` who
    says so: a checkout may rest between two files."""
    now = asyncio.get_running_loop().time
    seen, since = base, now()
    with notifier.listening() as moved:
        while True:
            moved.clear()
            began = now()
            found = await look()
            poll = max(quiet.poll, _POLL_SHARE * (now() - began)) if polls() else None
            if found is not seen:
                seen, since = found, now()
            changes = content_changes(found, base)
            rest = (quiet.few if changes <= 2 else quiet.many) - (now() - since) if changes else poll
            if rest is not None and rest <= 0:
                if not writes():
                    return
                rest = quiet.many
            # Not wait_for: before Python 3.12 it loses a cancellation that arrives together with the event.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await moved.wait()
            await asyncio.sleep(quiet.gather)


def content_changes(found: Manifest, base: Manifest) -> int:
    """How many files have other content than in `base` that also counts differently."""
    if found is base or found.revision == base.revision:
        return 0
    changed = 0
    for _, before, now in found.differences(base):
        if before is None or now is None:
            changed += 1
        elif (before.mode, before.digest) != (now.mode, now.digest):
            changed += before.counted != now.counted
    return changed
