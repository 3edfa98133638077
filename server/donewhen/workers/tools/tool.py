"""What a tool is: a name, arguments that are checked, and what it does at the desk of one turn."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from donewhen.core.work import Claim
from donewhen.ports import FileText, GuardedFiles, Processes, ToolSpec, Turn, TurnContext
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.arguments import Argument, Arguments, schema

LARGEST_RESULT = 60_000
SMALLEST_RESULT = 2_000


@dataclass(slots=True)
class Desk:
    """What the tools of one turn work with. `known` is what the model has seen of each file: the digest of its bytes;
    `largest` bounds one result, in characters; `mask` hides the secrets of what the model is told."""

    turn: Turn
    context: TurnContext
    files: GuardedFiles
    processes: Processes
    environment: Callable[[], Mapping[str, str]]
    largest: int = LARGEST_RESULT
    known: dict[str, str] = field(default_factory=dict[str, str])
    mask: Callable[[str], str] = lambda text: text

    def saw(self, file: FileText) -> None:
        """The model has seen this content of the file: it may replace it."""
        self.known[file.path] = file.digest

    def unsaved(self, names: Sequence[str]) -> str | None:
        """The text of a file that an editor holds and nobody saved, under one of its names."""
        held = (self.context.unsaved(name) for name in names)
        return next((text for text in held if text is not None), None)


def names_of(name: str, path: str) -> tuple[str, ...]:
    """What a file is called: its path with links resolved, and the name that was given, which may be a link's."""
    given = posixpath.normpath(name.replace("\\", "/") if os.name == "nt" else name)
    return (path,) if given == path else (path, given)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool did. `text` is for the model: its first line says how it went, all by itself; `summary` is a line
    for people. `claim` ends the turn. `repeats` tells whether two results are the same, where their texts differ for
    nothing, as in times."""

    text: str
    summary: str
    ok: bool = True
    claim: Claim | None = None
    repeats: str | None = None

    @property
    def digest(self) -> str:
        told = self.text if self.repeats is None else self.repeats
        return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()


def refused(reason: str, summary: str, repeats: str | None = None) -> ToolResult:
    """A call that had no effect; the model is told why."""
    return ToolResult(f"error: {reason}", f"{summary}: {activity_line(reason)}", ok=False, repeats=repeats)


def counted(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `line` says in a line what a call does, for people; `does` raises WorkspaceError for what can't be
    done, which the model is told."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    line: Callable[[Arguments], str]
    does: Callable[[Desk, Arguments], Awaitable[ToolResult]]

    def spec(self) -> ToolSpec:
        parameters: dict[str, Any] = schema(self.arguments)
        return ToolSpec(self.name, self.description, parameters)
