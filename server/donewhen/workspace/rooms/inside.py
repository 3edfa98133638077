"""Commands in a room: each begins with what mounts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from donewhen.ports import Processes, ProcessResult
from donewhen.workspace.rooms.mounting import Mounter, Shape


class Inside:
    """`ports.Processes` in a room. `around` are the words of a program that what mounts the room is given to, `before`
    those of one that each command is given to in the room."""

    def __init__(
        self,
        processes: Processes,
        mounter: Mounter,
        shape: Shape,
        *,
        around: Sequence[str] = (),
        before: Sequence[str] = (),
    ) -> None:
        self._processes = processes
        self._mounter = mounter
        self._shape = shape
        self._around = around
        self._before = before

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
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        return await self._processes.run(
            [*self._around, *self._mounter.words(self._shape, cwd, [*self._before, *words])],
            cwd=cwd,
            environment=environment,
            token=token,
            timeout=timeout,
            stdin=stdin,
            on_line=on_line,
            output_limit=output_limit,
        )
