"""The seconds in which this process worked on a run, whatever happens to its clocks."""

from __future__ import annotations

from donewhen.ports import Clock

GAP = 2.0
"""The most seconds that count between two looks: in a longer gap the process, or the whole machine, was suspended."""


class Stopwatch:
    """Adds up the steps of the monotonic clock from one look to the next. It has to be looked at more often than every
    GAP seconds. A step that is longer, or backward, is a machine that was suspended, a process that was stopped or a
    clock that was moved: of that no more than GAP counts. So it makes no difference that some systems' monotonic clocks
    go on while the machine is suspended (Windows) and others' don't (Linux, macOS)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.monotonic()
        self._seconds = 0.0

    def look(self) -> float:
        """The seconds since the last lap."""
        now = self._clock.monotonic()
        self._seconds += min(max(0.0, now - self._last), GAP)
        self._last = now
        return self._seconds

    def lap(self) -> float:
        """The seconds since the last lap, which ends here."""
        seconds = self.look()
        self._seconds = 0.0
        return seconds
