"""How the official clients connect: no proxy for this machine, nothing that the environment wants to be sent."""

from __future__ import annotations

import os

_HERE = ("localhost", "127.0.0.1", "[::1]")


def at_home() -> dict[str, None]:
    """The addresses that are reached without the environment's proxy, as a client's `mounts`."""
    return {f"all://{name}": None for name in _HERE}


def headers_to_leave_out(variable: str) -> list[str]:
    """The headers that a client would take from this variable: they may hold a key for another address."""
    lines = os.environ.get(variable, "").splitlines()
    return [name.strip() for name, colon, _ in (line.partition(":") for line in lines) if colon and name.strip()]
