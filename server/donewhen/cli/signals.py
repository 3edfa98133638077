"""Signals that ask a command to end: they pause a run, and never lose anything."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class Ending:
    """Set by the first Ctrl-C, SIGTERM or SIGHUP; later ones change nothing, for pausing is under way."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.signal: signal.Signals | None = None

    @property
    def by_ctrl_c(self) -> bool:
        return self.signal is signal.SIGINT

    @property
    def reason(self) -> str:
        return "Ctrl-C" if self.by_ctrl_c else (self.signal.name if self.signal else "")

    def set(self, number: signal.Signals) -> None:
        if self.signal is None:
            self.signal = number
            self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


@contextmanager
def ending_signals() -> Generator[Ending]:
    """Turns the signals that end a process into an `Ending` of the running loop, until the block is left."""
    loop, ending = asyncio.get_running_loop(), Ending()

    def received(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(ending.set, signal.Signals(number))

    # SIGHUP is absent on Windows, SIGBREAK elsewhere.
    known = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
    # What the caller ignores (nohup, a shell's background job) stays ignored.
    before = {number: signal.getsignal(number) for number in known}
    taken = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in taken:
            signal.signal(number, received)
        yield ending
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
