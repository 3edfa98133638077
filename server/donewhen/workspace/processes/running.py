"""Starts every process of the project and ends all its children (`ports.Processes`).

A step is one such process with everything that it leaves behind. Each has its own token, DONEWHEN_STEP_TOKEN, so that
concurrent steps never end each other's children; DONEWHEN_RUN_TOKEN, which all steps of a run share, is for recovery
after a crash.
"""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from donewhen.ports import Dialogue, ProcessResult
from donewhen.workspace.processes.leftovers import Family

if TYPE_CHECKING:
    from donewhen.workspace.rooms.limits import RoomWatch

RUN_TOKEN = "DONEWHEN_RUN_TOKEN"  # noqa: S105 # the name of a variable
STEP_TOKEN = "DONEWHEN_STEP_TOKEN"  # noqa: S105 # the name of a variable

_EOF_GRACE = 0.25
_EXIT_IS_HEARD_OF = 1.0
"""Seconds, at most, until a busy machine has told that a process which was killed has ended."""
_WINDOWS = os.name == "nt"


class SystemProcesses:
    """`ports.Processes` on the operating system's own processes.

    `extra_descriptors` returns the file descriptors that every child inherits (POSIX), such as a run's lock. A step
    that exceeds a limit of its `watch` is ended.
    """

    def __init__(
        self, extra_descriptors: Callable[[], tuple[int, ...]] = lambda: (), watch: RoomWatch | None = None
    ) -> None:
        self._extra_descriptors = extra_descriptors
        self._watch = watch

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
        dialogue: Dialogue | None = None,
    ) -> ProcessResult:
        """Runs one step to its end; see `ports.Processes`. Cancelling returns once every child is gone."""
        mark = secrets.token_hex(8)
        step = _Step(mark, Output(output_limit), LineSplitter(on_line) if on_line else None, self._watch, dialogue)
        variables = {**environment, RUN_TOKEN: token, STEP_TOKEN: mark}
        options = self._options(cwd, variables, stdin, step.family.descriptors())
        if dialogue is not None:
            options |= {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
        task = asyncio.ensure_future(step.run(command, options, cwd, timeout, stdin))
        # A cancellation first ends the step, with all its children, and only then takes effect.
        cancelled: asyncio.CancelledError | None = None
        while True:
            try:
                result = await asyncio.shield(task)
                break
            except asyncio.CancelledError as error:
                if task.done():
                    raise
                cancelled = error
                step.stop.set()
        if cancelled is not None:
            raise cancelled
        return result

    def _options(
        self, cwd: Path, variables: Mapping[str, str], stdin: bytes | None, descriptors: tuple[int, ...]
    ) -> dict[str, object]:
        options: dict[str, object] = {
            "cwd": str(cwd),
            "env": dict(variables),
            "stdin": subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
        }
        if _WINDOWS:
            options["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        else:
            options["start_new_session"] = True
            options["pass_fds"] = (*self._extra_descriptors(), *descriptors)
        return options


class _Step(asyncio.SubprocessProtocol):
    """One process and its family, from start to the last descendant's end."""

    def __init__(
        self,
        mark: str,
        output: Output,
        lines: LineSplitter | None,
        watch: RoomWatch | None = None,
        dialogue: Dialogue | None = None,
    ) -> None:
        self.stop = asyncio.Event()
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._output = output
        self._lines = lines
        self.family = Family(f"{STEP_TOKEN}={mark}")
        self._timed_out = False
        self._watch = watch
        self._limit = ""
        self._dialogue = dialogue
        self._open = {1} if dialogue is None else {1, 2}

    # The callbacks of asyncio.SubprocessProtocol.

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1 and self._dialogue is not None:
            self._dialogue.heard(data)
            return
        self._output.add(data)
        if self._lines is not None:
            self._lines.add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1 and self._dialogue is not None:
            self._dialogue.ended()
        self._open.discard(fd)
        if not self._open:
            self._drained.set()

    def process_exited(self) -> None:
        self._exited.set()

    async def run(
        self,
        command: str | Sequence[str],
        options: Mapping[str, object],
        cwd: Path,
        timeout: float | None,
        stdin: bytes | None,
    ) -> ProcessResult:
        started_at, begun = time.time(), time.monotonic()
        try:
            transport = await self._spawn(command, options)
        except (OSError, ValueError) as error:
            self.family.close()
            return self._result(None, started_at, begun, _why_not_started(error, command, cwd))
        except asyncio.CancelledError:  # the loop is closing: asyncio ends the process that it starts, not its children
            self.family.kill_now()
            self.family.close()
            raise
        self.family.begin(transport.get_pid())
        try:
            _feed(transport, stdin)
            if self._dialogue is not None:
                self._dialogue.began(_sending(transport))
            await self._until_over(timeout, transport.get_pid())
            await self._end()
        finally:
            self.family.kill_now()
            self.family.close()
            # asyncio waits for its end in a thread, and complains if closing has heard of it before.
            await _happens(self._exited, _EXIT_IS_HEARD_OF)
            transport.close()
            if self._dialogue is not None:
                self._dialogue.ended()
        if self._lines is not None:
            self._lines.close()
        ended_by_itself = not self._timed_out and not self.stop.is_set() and not self._limit
        if self._watch is not None and ended_by_itself and transport.get_returncode() != 0:
            self._limit = self._watch.failed_of(self._output.kept_text())
        return self._result(transport.get_returncode(), started_at, begun)

    async def _spawn(self, command: str | Sequence[str], options: Mapping[str, object]) -> asyncio.SubprocessTransport:
        loop = asyncio.get_running_loop()
        if isinstance(command, str):
            transport, _ = await loop.subprocess_shell(lambda: self, command, **options)  # pyright: ignore[reportArgumentType]  # the options are Popen's
        else:
            transport, _ = await loop.subprocess_exec(lambda: self, *command, **options)  # pyright: ignore[reportArgumentType]  # the options are Popen's
        return transport

    async def _until_over(self, timeout: float | None, leader: int) -> None:
        """Waits until the process exits, the time is up, the step must stop, or it exceeds a limit."""
        waits = [asyncio.ensure_future(self._exited.wait()), asyncio.ensure_future(self.stop.wait())]
        if self._watch is not None:
            waits.append(asyncio.ensure_future(self._watched(self._watch, leader)))
        try:
            await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.stop.set()  # the whole loop is closing: end the children all the same
        finally:
            for wait in waits:
                wait.cancel()
        self._timed_out = not self._exited.is_set() and not self.stop.is_set() and not self._limit

    async def _watched(self, watch: RoomWatch, leader: int) -> Literal[True]:
        self._limit = await watch.exceeded(leader)
        return True

    async def _end(self) -> None:
        """Ends the group and all leftovers, then reads what is still in the pipe."""
        if self._exited.is_set():
            await _happens(self._drained, _EOF_GRACE)
        await self.family.end(running=not self._exited.is_set(), at_once=bool(self._limit))
        await _happens(self._exited, _EOF_GRACE)
        await _happens(self._drained, _EOF_GRACE)

    def _result(
        self, code: int | None, started_at: float, begun: float, spawn_error: str | None = None
    ) -> ProcessResult:
        ended_by_us = self._timed_out or self.stop.is_set() or bool(self._limit)
        signal = -code if code is not None and code < 0 and not ended_by_us else None
        return ProcessResult(
            exit_code=None if ended_by_us or signal is not None else code,
            output=self._output.kept_text(),
            output_bytes=self._output.size,
            output_digest=self._output.digest(),
            seconds=time.monotonic() - begun,
            started_at=started_at,
            signal=signal,
            timed_out=self._timed_out,
            spawn_error=spawn_error,
            limit=self._limit,
        )


async def _happens(event: asyncio.Event, within: float) -> None:
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        pass


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes | None) -> None:
    pipe = transport.get_pipe_transport(0)
    if stdin is not None and isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.close()  # after the bytes have gone: closing flushes


def _sending(transport: asyncio.SubprocessTransport) -> Callable[[bytes], None]:
    pipe = transport.get_pipe_transport(0)

    def send(data: bytes) -> None:
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.write(data)

    return send


def _why_not_started(error: OSError | ValueError, command: str | Sequence[str], cwd: Path) -> str:
    if not cwd.is_dir():
        return f"the folder {cwd} no longer exists"
    if isinstance(error, ValueError):
        return f"the command can't be started: {error}"
    program = "the shell" if isinstance(command, str) else f"`{command[0]}`"
    if isinstance(error, FileNotFoundError):
        return f"{program} was not found"
    if isinstance(error, PermissionError):
        return f"{program} may not be executed: {error.strerror}"
    return f"{program} can't be started: {error.strerror or error}"


# Output of any size in little memory: head and tail are kept, the cut is marked, and everything is digested.


_LONGEST_LINE = 65_536


class Output:
    """Collects bytes; keeps at most `limit` of them, half from the start and half from the end."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._hash = hashlib.sha256()
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self.size += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        # Trimmed only once it has doubled, so that a flood costs one move per half and not one per chunk.
        self._tail += chunk[-self._half :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def digest(self) -> str:
        """sha256 of all bytes, hexadecimal."""
        return self._hash.hexdigest()

    def kept_text(self) -> str:
        """The kept bytes: invalid UTF-8 replaced, NULs shown as ␀, and `[... N bytes cut ...]` at the cut."""
        tail = bytes(self._tail[-self._half :])
        if self.size <= len(self._head) + len(tail):
            return readable(bytes(self._head) + tail)
        head, tail = _whole_end(bytes(self._head)), _whole_start(tail)
        cut = self.size - len(head) - len(tail)
        return f"{readable(head)}\n[... {cut:,} bytes cut ...]\n{readable(tail)}"


def readable(data: bytes) -> str:
    """The bytes as text, without anything that breaks a database or a terminal's line."""
    return data.decode("utf-8", errors="replace").replace("\0", "␀")


def _whole_end(data: bytes) -> bytes:
    """Removes the first bytes of a character whose rest was cut."""
    kept = codecs.utf_8_decode(data[-4:], "ignore", False)[1] if len(data) >= 4 else len(data)
    return data if len(data) < 4 else data[: len(data) - 4 + kept]


def _whole_start(data: bytes) -> bytes:
    """Removes the last bytes of a character whose start was cut."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


class LineSplitter:
    """Passes complete lines to `on_line` as they come, without their ends; a line of 64 KiB is passed on in parts."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._rest = b""

    def add(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._on_line(readable(line.rstrip(b"\r")))
        if len(self._rest) > _LONGEST_LINE:
            self.close()

    def close(self) -> None:
        if self._rest:
            self._on_line(readable(self._rest.rstrip(b"\r")))
            self._rest = b""
