"""What git knows about the workspace: tracked files, rules from above the workspace, its object store. Runs no hook."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.ignoring import Rules, compiled
from donewhen.workspace.scanning import read_rules

_SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "safe.directory=*")
"""An untrusted repository's configuration may name programs: none of them is run."""


@dataclass(frozen=True)
class Repository:
    """`prefix` is the workspace's path in the repository, empty for its top; `objects` its object store; `lock` is
    there as long as git writes the index, and files for it."""

    prefix: str
    objects: Path
    lock: Path
    tracked: frozenset[str]
    above: tuple[tuple[str, Rules], ...]


async def find_repository(root: Path) -> Repository | None:
    """The repository that is, or contains, the workspace; None if there is none or git is not installed."""
    if shutil.which("git") is None:
        return None
    asked = ["rev-parse", "--show-toplevel"]
    for part in ("objects", "info/exclude", "index.lock"):
        asked += ["--git-path", part]
    code, said = await run_git(asked, cwd=root, check=False)
    lines = os.fsdecode(said).splitlines()
    if code != 0 or len(lines) != 4:
        return None
    top = Path(lines[0])
    try:
        prefix = _prefix(root, top)
    except ValueError:
        return None
    (_, listed), excludes = await asyncio.gather(
        run_git(["ls-files", "-z", "--cached"], cwd=root), _global_excludes(root)
    )
    if prefix and not listed:
        ignored, _ = await run_git(["check-ignore", "-q", "."], cwd=root, check=False)
        if ignored == 0:
            return None  # the repository ignores the workspace itself: its rules don't apply to it
    above = [("", compiled(excludes)), (prefix, compiled(read_rules(os.fspath(root / lines[2]))))]
    above += _rules_between(top, prefix)
    tracked = frozenset(os.fsdecode(listed).split("\0")) - {""}
    return Repository(prefix, root / lines[1], root / lines[3], tracked, ((prefix, above[0][1]), *above[1:]))


async def committed(root: Path, covered: frozenset[str]) -> str | None:
    """The commit that HEAD names, if each covered file is as it has it and none is missing; None otherwise, and where
    files are hidden from git's comparison. Raises WorkspaceError."""
    if shutil.which("git") is None:
        return None
    before = await _head(root)
    if before is None:
        return None
    _, flagged = await run_git(["ls-files", "-z", "-v"], cwd=root)
    # Marked to be taken as unchanged, or as not checked out: git would not look at them.
    if any(line[:1].islower() or line[:1] == "S" for line in os.fsdecode(flagged).split("\0")):
        return None
    status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=traditional", "--no-renames", "."]
    _, said = await run_git(status, cwd=root)
    _, prefix = await run_git(["rev-parse", "--show-prefix"], cwd=root)
    within = os.fsdecode(prefix).rstrip("\n")
    for line in filter(None, os.fsdecode(said).split("\0")):
        path = line[3:].removeprefix(within)
        # An untracked folder that is ignored as a whole ends in a slash.
        inside = path.endswith("/") and any(one.startswith(path) for one in covered)
        if line[:2] not in ("??", "!!") or path in covered or inside:
            return None
    return before if await _head(root) == before else None


async def _head(root: Path) -> str | None:
    code, said = await run_git(["rev-parse", "--verify", "-q", "HEAD^{commit}"], cwd=root, check=False)
    return said.decode().strip() if code == 0 else None


def _prefix(root: Path, top: Path) -> str:
    inside = root.resolve().relative_to(top.resolve()).as_posix()
    return "" if inside == "." else f"{inside}/"


def _rules_between(top: Path, prefix: str) -> list[tuple[str, Rules]]:
    found: list[tuple[str, Rules]] = []
    parts = prefix.rstrip("/").split("/") if prefix else []
    for depth in range(len(parts)):
        rest = "/".join(parts[depth:]) + "/"
        found.append((rest, compiled(read_rules(os.fspath(top.joinpath(*parts[:depth], ".gitignore"))))))
    return found


async def _global_excludes(root: Path) -> str:
    code, said = await run_git(["config", "--path", "--get", "core.excludesFile"], cwd=root, check=False)
    if code == 0:
        return read_rules(os.fsdecode(said).rstrip("\n"))
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111, ASYNC240 # never raises
    return read_rules(str(Path(home) / "git" / "ignore"))


async def run_git(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    check: bool = True,
) -> tuple[int, bytes]:
    """Runs git to its end; returns exit code and stdout. If it fails, raises WorkspaceError with git's message."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *_SAFE,
            *arguments,
            cwd=cwd,
            env={**inherited, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **(environment or {})},
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise WorkspaceError(f"git can't be run in {cwd}: {error.strerror}") from error
    try:
        out, err = await process.communicate(stdin)
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            process.kill()
        await process.wait()
        raise
    code = process.returncode or 0
    if check and code != 0:
        raise WorkspaceError(f"git {arguments[0]} failed: {err.decode(errors='replace').strip()[:500]}")
    return code, out
