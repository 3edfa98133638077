"""The clocks of the machine."""

from __future__ import annotations

import time


class SystemClock:
    """Implements `ports.Clock`."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
