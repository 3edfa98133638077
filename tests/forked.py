"""Processes of Python that are forked from one which has imported donewhen: that spares most of the CPU of their start,
and leaves all else as it is (a process id, streams, signals and an exit code of their own)."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any, Self

IMPORTED = (
    "donewhen.__main__", "donewhen.app.engine", "donewhen.app.services", "donewhen.cli.display", "donewhen.cli.main",
    "donewhen.cli.person_commands", "donewhen.cli.pursuing", "donewhen.cli.record_commands",
    "donewhen.cli.run_commands", "donewhen.lsp.host", "donewhen.lsp.server", "donewhen.store.sqlite",
    "donewhen.wire.snapshot", "donewhen.workers.command", "donewhen.workers.scripted", "rich.live", "rich.markup",
    "tests.forked",
)  # fmt: skip
"""What the processes are forked with; the rest they import themselves."""

Stream = int | IO[Any] | None


class Forked:
    """A `python -c CODE …`, `python -m MODULE …` or `python FILE …` that runs, with what tests use of a
    `subprocess.Popen`. Its parent is the process that it was forked from, and more is imported than it asked for: what
    is about either takes a real one."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        text: bool = False,
        start_new_session: bool = False,
    ) -> None:
        self.args = list(command)
        opened = [_opened(number, given) for number, given in enumerate((stdin, stdout, stderr))]
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(IMPORTED))
        self._process = context.Process(
            target=_live,
            args=(_Copies([theirs for theirs, _ in opened]), self.args[1:], str(cwd or Path.cwd()),
                  dict(os.environ if env is None else env), start_new_session),
            daemon=True,
        )  # fmt: skip
        self._process.start()
        for (theirs, _), given in zip(opened, (stdin, stdout, stderr), strict=True):
            if given in (subprocess.PIPE, subprocess.DEVNULL):
                os.close(theirs)
        self.pid = self._process.pid or 0
        mode, coding = ("", "utf-8") if text else ("b", None)
        self.stdin, self.stdout, self.stderr = (
            None if ours is None else os.fdopen(ours, ("w" if number == 0 else "r") + mode, encoding=coding)
            for number, (_, ours) in enumerate(opened)
        )

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.returncode
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Says this little to it, ends its input, and reads what it prints until it has ended."""
        until = None if timeout is None else time.monotonic() + timeout
        if self.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                if input is not None:
                    self.stdin.write(input)
                self.stdin.close()
        said: list[Any] = [None, None]

        def hear(number: int, stream: IO[Any]) -> None:
            said[number] = "" if stream.closed else stream.read()

        streams = [(number, one) for number, one in enumerate((self.stdout, self.stderr)) if one is not None]
        readers = [threading.Thread(target=hear, args=one, daemon=True) for one in streams]
        for one in readers:
            one.start()
        for one in readers:
            one.join(None if until is None else max(0.0, until - time.monotonic()))
        self.wait(None if until is None else max(0.0, until - time.monotonic()))
        for _, stream in streams:
            stream.close()
        return said[0], said[1]


def start(command: Sequence[str], **how: Any) -> Any:
    """What `subprocess.Popen` gives; forked, where the program is this Python."""
    return (Forked if command[0] == sys.executable else subprocess.Popen)(command, **how)


def run(command: Sequence[str], *, timeout: float, input: str = "", **how: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end with this little input. After `timeout` seconds it is killed: `TimeoutExpired`."""
    pipe = subprocess.PIPE
    process = start(command, stdin=pipe if input else subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, **how)
    try:
        out, errors = process.communicate(input or None, timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(list(command), process.returncode, out, errors)


def call(
    arguments: Sequence[str], *, cwd: Path, variables: Mapping[str, str], out: Path, errors: Path, within: float
) -> int | None:
    """Runs `donewhen` in a session of its own; its exit code, which is negative for a signal. After `within` seconds it
    is killed: None."""
    with out.open("w") as printed, errors.open("w") as said:
        command = [sys.executable, "-m", "donewhen", *arguments]
        process = Forked(
            command, cwd=cwd, env=variables, stdin=subprocess.DEVNULL, stdout=printed, stderr=said,
            start_new_session=True,
        )  # fmt: skip
    try:
        return process.wait(within)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _opened(number: int, given: Stream) -> tuple[int, int | None]:
    """What the process gets as this stream, and the other end of a pipe."""
    if given is None:
        return number, None
    if given == subprocess.DEVNULL:
        return os.open(os.devnull, os.O_RDWR), None
    if given == subprocess.PIPE:
        reads, writes = os.pipe()
        return (reads, writes) if number == 0 else (writes, reads)
    return given if isinstance(given, int) else given.fileno(), None


class _Copies:
    """Descriptors, of which the process that begins gets copies."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers

    def __reduce__(self) -> tuple[Callable[..., list[Any]], tuple[Any, ...]]:
        return _detached, tuple(DupFd(number) for number in self._numbers)


def _detached(*copies: Any) -> list[int]:
    return [one.detach() for one in copies]


def _live(streams: list[int], words: list[str], cwd: str, variables: Mapping[str, str], leads: bool) -> None:
    """The whole life of the process."""
    if leads:
        os.setsid()
    for number, opened in enumerate(streams):
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # as long as the process lives
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(cwd)
    try:
        _run(words)
    finally:
        atexit._run_exitfuncs()  # a process of multiprocessing leaves them out


def _run(words: list[str]) -> None:
    """As Python does with the words of its command line."""
    if words[0] in ("-c", "-m"):
        sys.path.insert(0, "")
        sys.argv[:] = ["-c", *words[2:]]
    if words[0] == "-c":
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    elif words[0] == "-m":
        sys.modules.pop(f"{words[1]}.__main__", None)  # else `runpy` warns that it is there already
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        assert words[0].endswith(".py"), words
        sys.path.insert(0, str(Path(words[0]).resolve().parent))
        sys.argv[:] = words
        runpy.run_path(words[0], run_name="__main__")
