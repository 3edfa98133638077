"""Searches files in a process of its own: with ripgrep where it is installed, else with Python's expressions.

Never in this process: an expression that backtracks for minutes would hold the event loop.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.core.errors import WorkspaceError
from donewhen.ports import Found, Hit, Processes, ProcessResult

MAX_LINE = 300
MAX_OUTPUT = 4_000_000
_BATCH = 24_000 if os.name == "nt" else 100_000
"""Characters of paths in one command line."""

_PROGRAM = Path(__file__).with_name("searching_program.py")


@dataclass(frozen=True, slots=True)
class Search:
    """A regular expression, and the files that it is searched for in. `timeout` is in seconds."""

    root: Path
    pattern: str
    paths: Sequence[str]
    limit: int
    timeout: float


async def search(
    wanted: Search, processes: Processes, environment: Mapping[str, str], token: str, ripgrep: str | None
) -> Found:
    """The hits, sorted; by the program `ripgrep`, else by Python's own expressions. Raises WorkspaceError for a pattern
    that is none, and where it takes too long."""
    hits: list[Hit] = []
    for command, stdin in _ripgrep_calls(ripgrep, wanted) if ripgrep else [_python_call(wanted)]:
        result = await processes.run(
            command,
            cwd=wanted.root,
            environment=environment,
            token=token,
            timeout=wanted.timeout,
            stdin=stdin,
            output_limit=MAX_OUTPUT,
        )
        _refuse_failed(result, wanted)
        hits.extend(_hits(result.output))
        if len(hits) > wanted.limit:
            break
    return Found(tuple(hits[: wanted.limit]), len(hits) > wanted.limit)


def find_ripgrep(root: Path) -> str | None:
    """ripgrep's program, from our own PATH, None without one: what lies in the workspace could be anything."""
    found = shutil.which("rg")
    if found is None or Path(found).resolve().is_relative_to(root) or Path(found).is_relative_to(root):
        return None
    return found


def _ripgrep_calls(program: str, wanted: Search) -> Iterator[tuple[list[str], bytes | None]]:
    options = [
        "--json",
        "--no-config",
        "--crlf",
        "--sort=path",
        f"--max-count={wanted.limit + 1}",
        "--max-columns=2000",
    ]
    for batch in _batches(_plain(wanted)):
        yield [program, *options, "--regexp", wanted.pattern, "--", *batch], None


def _python_call(wanted: Search) -> tuple[list[str], bytes | None]:
    command = [sys.executable, "-I", "-X", "utf8", str(_PROGRAM), wanted.pattern, str(wanted.limit + 1)]
    paths = b"\0".join(path.encode("utf-8", "surrogateescape") for path in _plain(wanted))
    return command, paths


def _plain(wanted: Search) -> Iterator[str]:
    """Without links, which may lead out of the workspace."""
    return (path for path in wanted.paths if not os.path.islink(wanted.root / path))  # noqa: PTH114 # many of them


def _batches(paths: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        batch.append(f"./{path}")
        size += len(path) + 3
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _refuse_failed(result: ProcessResult, wanted: Search) -> None:
    if result.timed_out:
        raise WorkspaceError(f"the search took longer than {wanted.timeout:.0f} s: narrow it by path or glob")
    if result.spawn_error is not None:
        raise WorkspaceError(f"the search could not be started: {result.spawn_error}")
    # 1: nothing found. 2 with hits: a file vanished meanwhile.
    if result.exit_code not in (0, 1) and not _hits(result.output):
        says = next((line for line in reversed(result.output.strip().splitlines()) if line.strip()), "no reason given")
        raise WorkspaceError(f"the search failed; is the pattern a regular expression? {says.strip()[:400]}")


def _hits(output: str) -> list[Hit]:
    """Reads lines like ripgrep's `--json`; others are passed over, and so is what stands in binary files."""
    hits: list[Hit] = []
    for line in output.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            if line.startswith('{"type":"match"'):
                hits.append(_hit(json.loads(line)["data"]))
            elif line.startswith('{"type":"end"'):
                told: dict[str, Any] = json.loads(line)["data"]
                if told.get("binary_offset") is not None:
                    path = _path(told)
                    hits = [hit for hit in hits if hit.path != path]
    return hits


def _hit(told: Mapping[str, Any]) -> Hit:
    text = str(told["lines"].get("text", "")).rstrip("\r\n")
    return Hit(_path(told), int(told["line_number"]), text if len(text) <= MAX_LINE else f"{text[: MAX_LINE - 1]}…")


def _path(told: Mapping[str, Any]) -> str:
    path = str(told["path"]["text"]).removeprefix("./")
    return path.replace("\\", "/") if os.name == "nt" else path
