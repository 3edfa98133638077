"""Commands that have a room each."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.ports import Grants, LiveRooms, ProcessResult


class EachInARoom:
    """`ports.Processes` that opens a room for every command. Raises WorkspaceError if none can be opened."""

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
        line = command if isinstance(command, str) else shlex.join(command)
        granted = replace(self._grants, commands=(*self._grants.commands, line))
        async with self._rooms.open(granted) as room:
            result = await room.processes.run(
                command,
                cwd=cwd,
                environment=environment,
                token=token,
                timeout=timeout,
                stdin=stdin,
                on_line=on_line,
                output_limit=output_limit,
            )
            # Whoever reads what it printed should not look for the reason outside of the room.
            hint = room.hint(result)
            return replace(result, output=f"{result.output.rstrip()}\n({hint})\n") if hint else result
