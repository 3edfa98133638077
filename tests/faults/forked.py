"""`donewhen` as a process that is forked from one which has imported it: that spares most of the CPU of its start, and
leaves all else as it is (a process id, a session, streams, signals and an exit code of its own)."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

IMPORTED = (
    "donewhen.__main__", "donewhen.app.engine", "donewhen.app.services", "donewhen.cli.display", "donewhen.cli.main",
    "donewhen.cli.person_commands", "donewhen.cli.pursuing", "donewhen.cli.record_commands",
    "donewhen.cli.run_commands", "donewhen.store.sqlite", "donewhen.wire.snapshot", "donewhen.workers.command",
    "donewhen.workers.scripted", "rich.live", "rich.markup",
)  # fmt: skip
"""What the processes are forked with; the rest they import themselves."""


def call(
    arguments: Sequence[str], *, cwd: Path, variables: Mapping[str, str], out: Path, errors: Path, within: float
) -> int | None:
    """Runs a command; its exit code, which is negative for a signal. After `within` seconds it is killed: None."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    process = context.Process(target=_live, args=(list(arguments), str(cwd), dict(variables), str(out), str(errors)))
    process.start()
    process.join(within)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    process.close()
    return code


def _live(arguments: list[str], cwd: str, variables: dict[str, str], out: str, errors: str) -> None:
    """The whole life of the process."""
    os.setsid()
    for place, number in ((os.devnull, 0), (out, 1), (errors, 2)):
        opened = os.open(place, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # as long as the process lives
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(cwd)
    from donewhen.__main__ import main  # the process that forks has imported it, and this test's has no need to

    raise SystemExit(main(arguments))
