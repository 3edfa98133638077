"""The workspace's files as a worker may read and change them (`ports.GuardedFiles`)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from donewhen.core.errors import WorkspaceError
from donewhen.core.globs import matches
from donewhen.ports import FileText, Found, Hit, Processes, ProcessResult, Workspace
from donewhen.workspace.shielding import shielded
from donewhen.workspace.writes import encoded_like, inside, read_text_keeping, write_guarded

# Searches files in a separate process: with ripgrep if it is installed, else with Python's expressions.
#
# Never in this process: an expression that backtracks for minutes would block the event loop.


MAX_LINE = 300
MAX_OUTPUT = 4_000_000
_BATCH = 24_000 if os.name == "nt" else 100_000
"""Characters of paths in one command line."""

_PROGRAM = Path(__file__).with_name("searching_program.py")


def find_ripgrep(root: Path) -> str | None:
    """ripgrep's program, from our own PATH, None without one: a program in the workspace could be anything."""
    found = shutil.which("rg")
    if found is None or Path(found).resolve().is_relative_to(root) or Path(found).is_relative_to(root):
        return None
    return found


def _calls(
    root: Path, pattern: str, paths: Sequence[str], most: int, ripgrep: str | None
) -> Iterator[tuple[list[str], bytes | None]]:
    """The command lines of a search for `most` hits, each with its standard input."""
    # Links are left out: they may lead out of the workspace.
    searched = (path for path in paths if not os.path.islink(root / path))  # noqa: PTH114 # many of them
    if ripgrep is None:
        command = [sys.executable, "-I", "-X", "utf8", str(_PROGRAM), pattern, str(most)]
        yield command, b"\0".join(path.encode("utf-8", "surrogateescape") for path in searched)
        return
    options = [
        "--json",
        "--no-config",
        "--crlf",
        "--sort=path",
        f"--max-count={most}",
        "--max-columns=2000",
    ]
    for batch in _batches(searched):
        yield [ripgrep, *options, "--regexp", pattern, "--", *batch], None


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


def _refuse_failed(result: ProcessResult, timeout: float) -> None:
    if result.timed_out:
        raise WorkspaceError(f"the search took longer than {timeout:.0f} s: narrow it by path or glob")
    if result.spawn_error is not None:
        raise WorkspaceError(f"the search could not be started: {result.spawn_error}")
    # 1: nothing found. 2 with hits: a file vanished during the search.
    if result.exit_code not in (0, 1) and not _hits(result.output):
        says = next((line for line in reversed(result.output.strip().splitlines()) if line.strip()), "no reason given")
        raise WorkspaceError(f"the search failed; is the pattern a regular expression? {says.strip()[:400]}")


def _hits(output: str) -> list[Hit]:
    """Reads lines like ripgrep's `--json`; other lines are skipped, and so are hits in binary files."""
    hits: list[Hit] = []
    for line in output.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            if line.startswith('{"type":"match"'):
                told: dict[str, Any] = json.loads(line)["data"]
                text = str(told["lines"].get("text", "")).rstrip("\r\n")
                shown = text if len(text) <= MAX_LINE else f"{text[: MAX_LINE - 1]}…"
                hits.append(Hit(_hit_path(told), int(told["line_number"]), shown))
            elif line.startswith('{"type":"end"'):
                told = json.loads(line)["data"]
                if told.get("binary_offset") is not None:
                    path = _hit_path(told)
                    hits = [hit for hit in hits if hit.path != path]
    return hits


def _hit_path(told: Mapping[str, Any]) -> str:
    path = str(told["path"]["text"]).removeprefix("./")
    return path.replace("\\", "/") if os.name == "nt" else path


# Reading and changing files.


P = ParamSpec("P")
T = TypeVar("T")
MAX_TEXT = 20_000_000
"""The most bytes of a file that is read as text."""


class GuardedFolder:
    """Implements `ports.GuardedFiles` on a workspace folder; `environment` and `token` are for the search process,
    `ripgrep` finds its program."""

    def __init__(
        self,
        workspace: Workspace,
        processes: Processes,
        environment: Callable[[], Mapping[str, str]],
        token: str,
        ripgrep: Callable[[Path], str | None] = find_ripgrep,
    ) -> None:
        self._workspace = workspace
        self._top = workspace.root.resolve()
        self._processes = processes
        self._environment = environment
        self._token = token
        self._ripgrep = ripgrep
        self._written: set[str] = set()

    def path(self, name: str) -> str:
        """See `ports.GuardedFiles`."""
        return inside(self._top, name)

    async def read(self, path: str) -> FileText | None:
        return await asyncio.to_thread(_explained, path, self._read_text, self.path(path))

    async def write(self, path: str, content: str, before: FileText | None) -> FileText:
        writing = asyncio.to_thread(_explained, path, self._write_text, self.path(path), content, before)
        return await shielded(writing)

    async def list(self, folder: str = "", glob: str | None = None) -> Sequence[str]:
        return await asyncio.to_thread(self._list_paths, self.path(folder), glob, tuple(self._workspace.files()))

    async def search(
        self, pattern: str, folder: str = "", glob: str | None = None, *, limit: int = 200, timeout: float = 30.0
    ) -> Found:
        paths = await self.list(folder, glob)
        environment = self._environment()
        hits: list[Hit] = []
        for command, stdin in _calls(self._top, pattern, paths, limit + 1, self._ripgrep(self._top)):
            result = await self._processes.run(
                command,
                cwd=self._top,
                environment=environment,
                token=self._token,
                timeout=timeout,
                stdin=stdin,
                output_limit=MAX_OUTPUT,
            )
            _refuse_failed(result, timeout)
            hits.extend(_hits(result.output))
            if len(hits) > limit:
                break
        return Found(tuple(hits[:limit]), len(hits) > limit)

    def _read_text(self, path: str) -> FileText | None:
        target = self._top / path
        if target.is_dir():
            raise WorkspaceError(f"{path or '.'} is a folder: list its files instead")
        return read_text_keeping(self._top, path, MAX_TEXT) if target.exists() else None

    def _write_text(self, path: str, content: str, before: FileText | None) -> FileText:
        manner = before or FileText(path, "", "")
        whole = content.replace("\r\n", "\n") if manner.newline == "\r\n" else content
        write_guarded(self._top, path, encoded_like(manner, whole), before.digest if before else None)
        self._written.add(path)
        written = self._read_text(path)
        if written is None:
            raise WorkspaceError(f"{path} was deleted as soon as it was written")
        return written

    def _list_paths(self, folder: str, glob: str | None, covered: Sequence[str]) -> list[str]:
        paths = {*covered, *self._written}
        if folder:
            paths = {path for path in paths if path == folder or path.startswith(f"{folder}/")}
        if glob:
            plain = glob.removeprefix("./").strip("/")
            anywhere = plain if "/" in plain else f"**/{plain}"
            paths = {path for path in paths if matches(anywhere, path)}
        # Only files that were written here are looked for: the workspace learns of all others by itself.
        return sorted(path for path in paths if path not in self._written or (self._top / path).exists())


def _explained(path: str, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Explains the system's objection to a name, without showing a folder outside of the workspace."""
    try:
        return step(*args, **kwargs)
    except OSError as error:
        raise WorkspaceError(f"{path[:200]} can't be used: {error.strerror or 'the system refuses it'}") from error
