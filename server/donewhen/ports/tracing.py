"""Tracing of runs, for whoever watches them with tools of their own. See `donewhen.ports`."""

from __future__ import annotations

from typing import Protocol

from donewhen.core.events import Entry


class Tracer(Protocol):
    """Tells a tracing backend what happens in runs. Nothing that it does can fail a run, or hold it up."""

    @property
    def state(self) -> str:
        """Whether runs are traced, and where to, in one line for people."""
        ...

    def on_entry(self, run_id: str, entry: Entry) -> None:
        """Takes in an entry that was just put on record. In the order of the record, within a run."""
        ...

    def close(self, timeout: float = 1.5) -> None:
        """Ends what is open and hands over what is left, within `timeout` seconds. Blocks: for a thread, or for the
        end of a process."""
        ...
