"""The injected fault: the process kills itself after its N-th append, like a power cut."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

VARIABLE = "DONEWHEN_FAULT_AFTER"


def fault_from_environment(environment: Mapping[str, str]) -> Callable[[str], None] | None:
    """The value for `SqliteLedger.open(fault=...)` if DONEWHEN_FAULT_AFTER is a whole number from 1 up; else None."""
    text = environment.get(VARIABLE, "")
    if not text.isdecimal() or int(text) < 1:
        return None
    remaining = int(text)

    def fault(event_type: str) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining == 0:
            kill = getattr(signal, "SIGKILL", None)
            if kill is not None:
                os.kill(os.getpid(), kill)
            os._exit(137)  # on Windows this also ends the process at once, without any clean-up

    return fault
