"""Starts long-lived processes that exchange lines (`ports.Companions`); ends them with all their children."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.ports import CompanionEnd
from donewhen.workspace.processes.leftovers import Family
from donewhen.workspace.processes.running import STEP_TOKEN

_GOES_BY_ITSELF = 0.5
_ERRORS_KEPT = 8_192
_WINDOWS = os.name == "nt"


class SystemCompanions:
    """`ports.Companions` on the operating system's own processes."""

    async def start(
        self, argv: Sequence[str], *, environment: Mapping[str, str], on_line: Callable[[bytes], None]
    ) -> SystemCompanion:
        mark = secrets.token_hex(8)
        family = Family(f"{STEP_TOKEN}={mark}")
        companion = SystemCompanion(family, on_line)
        options = _options({**environment, STEP_TOKEN: mark}, family.descriptors())
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.subprocess_exec(lambda: companion, *argv, **options)  # pyright: ignore[reportArgumentType]  # the options are Popen's
        except (OSError, ValueError) as error:
            family.close()
            raise WorkspaceError(f"`{argv[0]}` can't be started: {error}") from error
        family.begin(transport.get_pid())
        companion.began(transport)
        return companion


class SystemCompanion(asyncio.SubprocessProtocol):
    """One companion: `ports.Companion`."""

    def __init__(self, family: Family, on_line: Callable[[bytes], None]) -> None:
        self._family = family
        self._lines = _Lines(on_line)
        self._errors = bytearray()
        self._open = {1, 2}
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self._input: asyncio.WriteTransport | None = None
        self._closing: asyncio.Task[None] | None = None

    def began(self, transport: asyncio.SubprocessTransport) -> None:
        self._transport = transport
        pipe = transport.get_pipe_transport(0)
        self._input = pipe if isinstance(pipe, asyncio.WriteTransport) else None

    @property
    def pid(self) -> int:
        assert self._transport is not None
        return self._transport.get_pid()

    def send(self, line: bytes) -> None:
        if self._input is not None and not self._input.is_closing():
            self._input.write(line)

    async def ended(self) -> CompanionEnd:
        await self._exited.wait()
        await _happens(self._drained, _GOES_BY_ITSELF)
        code = self._transport.get_returncode() if self._transport is not None else None
        return CompanionEnd(code, self._errors.decode(errors="replace"))

    async def close(self) -> None:
        """Finishes even if the caller is cancelled: the ending is a separate task."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._end())
        await asyncio.shield(self._closing)

    async def _end(self) -> None:
        try:
            if self._input is not None:
                self._input.close()
            await _happens(self._exited, _GOES_BY_ITSELF)
            await self._family.end(running=not self._exited.is_set())
            await _happens(self._exited, _GOES_BY_ITSELF)
        finally:
            self._family.kill_now()
            self._family.close()
            if self._transport is not None:
                self._transport.close()

    # The callbacks of asyncio.SubprocessProtocol.

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._lines.add(data)
        else:
            self._errors += data
            del self._errors[:-_ERRORS_KEPT]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self._drained.set()

    def process_exited(self) -> None:
        self._exited.set()


class _Lines:
    """Cuts incoming data into lines; a long line that comes in pieces is scanned only once."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._pieces: list[bytes] = []

    def add(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._on_line(b"".join([*self._pieces, line]))
            self._pieces.clear()
        if rest:
            self._pieces.append(rest)


def _options(variables: Mapping[str, str], descriptors: tuple[int, ...]) -> dict[str, object]:
    options: dict[str, object] = {
        "cwd": str(Path(sys.executable).parent),
        "env": dict(variables),
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    if _WINDOWS:
        options["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    else:
        options["start_new_session"] = True
        options["pass_fds"] = descriptors
    return options


async def _happens(event: asyncio.Event, within: float) -> None:
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        pass
