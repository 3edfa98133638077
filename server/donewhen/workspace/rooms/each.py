"""Commands that have a room each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from donewhen.ports import Grants, LiveRooms, ProcessResult


class EachInARoom:
    """`ports.Processes` that opens a room for every command. Raises WorkspaceError where none can be opened."""

    def __init__(self, rooms: LiveRooms, grants: Grants) -> None:
        self._rooms = rooms
        self._grants = grants

    async def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        token: str,
        timeout: float | None = None,
        stdin: bytes | None = None,
        on_line: Callable[[str], None] | None = None,
        output_limit: int = 262_144,
    ) -> ProcessResult:
        """See `ports.Processes`."""
        async with self._rooms.open(self._grants) as room:
            return await room.processes.run(
                command,
                cwd=cwd,
                environment=environment,
                token=token,
                timeout=timeout,
                stdin=stdin,
                on_line=on_line,
                output_limit=output_limit,
            )
