"""The record of a fleet on this machine. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """What somebody in another process asks of a fleet."""

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


class FleetRecord(Protocol):
    """What is kept of one fleet. One process drives it at a time, any may ask."""

    def board(self) -> Mapping[str, Any] | None:
        """The board as it was last kept, as JSON values; None for a fleet that never ran."""
        ...

    def keep(self, board: Mapping[str, Any]) -> None: ...

    def ask(self, request: FleetRequest) -> None:
        """Keeps a request until whoever drives the fleet takes it."""
        ...

    def take(self) -> Sequence[FleetRequest]:
        """All requests that nobody has taken, the oldest first; nobody else gets them."""
        ...

    def lead(self) -> None:
        """This process drives it, until `close`. Raises UsageError while another one does."""
        ...

    @property
    def led(self) -> bool:
        """Whether a live process drives it."""
        ...

    def close(self) -> None: ...
