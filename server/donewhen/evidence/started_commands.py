"""The commands that a goal's checks start: their own, and those of the tasks and scripts that they name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from donewhen.core.commands.wrapped import Segment
from donewhen.core.goal import Goal
from donewhen.evidence.known_runners import read_line
from donewhen.evidence.tasks import Task, tasks_of, text_of

_DEEPEST = 5  # a target that runs a script that runs a target ...: no honest project nests deeper
_MOST = 500  # commands of one check
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "source", "."})
_SHELL_SCRIPT = re.compile(r".*\.(?:sh|bash|zsh)")

_segments = lru_cache(maxsize=4096)(read_line)  # the same few lines, audit after audit


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command and the folder that it runs in, relative to the workspace. `nested`: a task or a script has
    it."""

    check_id: str
    segment: Segment
    folder: str
    nested: bool = False


def started_commands(root: Path, goal: Goal) -> tuple[Command, ...]:
    """Level by level. Reads only small files of the workspace."""
    found: list[Command] = []
    for check in goal.checks:
        if check.kind == "command":
            own: list[Command] = []
            _add(root, check.id, check.command, "", 0, own)
            found += own
    return tuple(found)


def _add(root: Path, check_id: str, line: str, folder: str, depth: int, found: list[Command]) -> None:
    for segment in _segments(line):
        if segment.words[:1] == ("cd",) and len(segment.words) > 1:
            folder = posixpath.normpath(posixpath.join(folder, segment.words[1]))
            continue
        # What a substitution runs is what the script looks at: most often the product itself.
        if not segment.words or segment.inner or len(found) >= _MOST:
            continue
        command = Command(check_id, segment, "" if folder == "." else folder, depth > 0)
        found.append(command)
        if depth < _DEEPEST:
            for task in (*tasks_of(root, segment, command.folder), *_script(root, command)):
                for one in task.commands:
                    _add(root, check_id, one, task.folder, depth + 1, found)


def _script(root: Path, command: Command) -> Iterator[Task]:
    """The lines of a shell script of the workspace that is run."""
    words = command.segment.words
    by_shell = words[0].rpartition("/")[2] in _SHELLS
    named = next((w for w in words[1:] if not w.startswith("-")), None) if by_shell else words[0]
    if named is None or named.startswith(("/", "~", "$")) or ("/" not in named and not by_shell):
        return
    text = text_of(root / posixpath.normpath(posixpath.join(command.folder, named))) or ""
    if (
        by_shell
        or _SHELL_SCRIPT.fullmatch(named)
        or text.startswith(("#!/bin/", "#!/usr/bin/env bash", "#!/usr/bin/env sh"))
    ):
        lines = (line.strip() for line in text.splitlines())
        yield Task(tuple(line for line in lines if line and not line.startswith("#")), command.folder)
