"""Where the command line reads and writes: results on standard output, messages for people on standard error."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Awaitable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol, TextIO, TypeVar

T = TypeVar("T")
_COMMAND = re.compile(r": (?P<command>donewhen [^;]*)$")
"""What to type next, at the end of a line."""


class OutputClosed(Exception):
    """Nobody reads standard output any more: a pipe was closed."""


class Lines(Protocol):
    """Lines that a person types."""

    async def next(self) -> str | None:
        """The next line without its end; None at the end of input. Cancelling it loses no line."""
        ...


@dataclass(frozen=True, slots=True)
class Terminal:
    """`interactive`: a person can see and answer here. `live`: standard output can be redrawn."""

    stdout: TextIO
    stderr: TextIO
    lines: Lines
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    interactive: bool = False
    live: bool = False

    def result(self, text: str) -> None:
        """A result for a person, or one JSON document. Raises OutputClosed."""
        try:
            self.stdout.write(text + "\n")
            self.stdout.flush()
        except (OSError, ValueError) as closed:  # a closed pipe, a terminal that is gone (EIO), a full disk
            raise OutputClosed from closed

    def document(self, value: object) -> None:
        """One JSON document on one line."""
        self.result(json.dumps(value, ensure_ascii=False))

    def message(self, text: str) -> None:
        """A message for a person; dropped if standard error is closed."""
        try:
            self.stderr.write("\n".join(map(self._fitted, text.split("\n"))) + "\n")
            self.stderr.flush()
        except (OSError, ValueError):
            return

    def _fitted(self, line: str) -> str:
        """Wrapped between words for people; an indented line is a command, which is kept whole so that it can be
        copied, and so is one at the end of a line, which gets a line of its own."""
        width = max(shutil.get_terminal_size().columns, 20)
        if not self.interactive or line.startswith(" ") or len(line) <= width:
            return line
        if (ends := _COMMAND.search(line)) is not None:
            return f"{self._fitted(line[: ends.start() + 1])}\n  {ends['command']}"
        return "\n".join(textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)) or line


class TypedLines:
    """Lines from a file descriptor, read by a daemon thread that starts with the first question.

    The thread is needed because a blocking read can't be cancelled; it reads the descriptor itself, because a buffered
    reader that is held by a daemon thread prevents the interpreter from ending.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._started = False

    async def next(self) -> str | None:
        if not self._started:
            self._started = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._read_input, args=(loop,), name="typed-lines", daemon=True).start()
        return await self._queue.get()

    def _read_input(self, loop: asyncio.AbstractEventLoop) -> None:
        pending = b""
        while True:
            try:
                part = os.read(self._descriptor, 4096)
            except OSError:
                part = b""
            *lines, pending = (pending + part).split(b"\n")
            if not part and pending:
                lines.append(pending)
            texts: list[str | None] = [line.decode(errors="replace").rstrip("\r") for line in lines]
            try:
                for text in texts if part else [*texts, None]:
                    loop.call_soon_threadsafe(self._queue.put_nowait, text)
            except RuntimeError:  # the loop is closed: nobody asks any more
                return
            if not part:
                return


def process_terminal() -> Terminal:
    """The terminal of this process."""
    environ = dict(os.environ)
    seen = _is_terminal(sys.stdout) and environ.get("TERM") != "dumb"
    interactive = _is_terminal(sys.stdin) and _is_terminal(sys.stderr)
    _show_all(sys.stdout)
    _show_all(sys.stderr)
    return Terminal(sys.stdout, sys.stderr, TypedLines(0), environ, interactive, seen)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


ASCII = {
    **{"✓": "ok", "✗": "x", "·": "-", "…": "...", "→": "->", "–": "-", "—": "-", "“": '"', "”": '"', "’": "'"},
    # A receipt's, as `status` shows the same in SYMBOLS.
    **{"✅": "ok", "❌": "x", "❔": "?", "⏳": "~", "📉": "x", "✋": "!", "⛔": "x"},
}
"""What our own marks become where the locale can't show them."""


def _in_ascii(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lost = problem.object[problem.start : problem.end]
    shown = (ASCII.get(one) or one.encode("ascii", "backslashreplace").decode() for one in lost)
    return "".join(shown), problem.end


codecs.register_error("donewhen", _in_ascii)


def _show_all(stream: TextIO) -> None:
    """A character that the locale can't show must not end the command: our marks become ASCII, others escapes."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="donewhen")


# Signals that ask a command to end: they pause a run, and never lose anything.


class Ending:
    """Set by the first Ctrl-C, SIGTERM or SIGHUP; later ones change nothing, because pausing has already begun."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.signal: signal.Signals | None = None

    @property
    def by_ctrl_c(self) -> bool:
        return self.signal is signal.SIGINT

    @property
    def reason(self) -> str:
        return "Ctrl-C" if self.by_ctrl_c else (self.signal.name if self.signal else "")

    def set(self, number: signal.Signals) -> None:
        if self.signal is None:
            self.signal = number
            self._event.set()

    async def wait(self) -> None:
        await self._event.wait()

    async def unless_set(self, work: Awaitable[T]) -> T | None:
        """Its result; None if a signal came first, by which it is cancelled."""
        working, signalled = asyncio.ensure_future(work), asyncio.create_task(self.wait())
        try:
            await asyncio.wait({working, signalled}, return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            working.cancel()
            signalled.cancel()
            await asyncio.gather(working, signalled, return_exceptions=True)


@contextmanager
def ending_signals() -> Generator[Ending]:
    """Turns the signals that end a process into an `Ending` of the running loop, until the block is left."""
    loop, ending = asyncio.get_running_loop(), Ending()

    def received(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(ending.set, signal.Signals(number))

    # SIGHUP is absent on Windows, SIGBREAK elsewhere.
    known = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
    # Signals that the caller ignores (nohup, a shell's background job) stay ignored.
    before = {number: signal.getsignal(number) for number in known}
    taken = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in taken:
            signal.signal(number, received)
        yield ending
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
