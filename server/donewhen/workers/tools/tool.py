"""What a tool is: a name, checked arguments, and what it does in one turn."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from donewhen.core.plugging import ToolOutcome, ToolUse
from donewhen.ports import FileText, GuardedFiles, LiveRoom, ToolSpec, Turn, TurnContext
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.arguments import Argument, Arguments, checked_arguments, schema

LARGEST_RESULT = 60_000
SMALLEST_RESULT = 2_000


@dataclass(slots=True)
class Desk:
    """What the tools of one turn work with. `room` is where commands run. `known` is what the model has seen of each
    file: the digest of its bytes; `largest` bounds one result, in characters; `mask` hides the secrets of what the
    model is told."""

    turn: Turn
    context: TurnContext
    files: GuardedFiles
    room: LiveRoom
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
class Leave:
    """What a person was shown of a change that needs their permission: the file, and its digest at that time."""

    path: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a person may want to know before a call is made. `sensitive` says why they should be asked even where the
    tool as such may run, empty otherwise; then `leave` is what `preview` was made of."""

    preview: str = ""
    sensitive: str = ""
    leave: Leave | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A call as it is to be done now: `use.input` are its arguments, checked, which a plugin or a person may have made
    others of than the model `sent`."""

    use: ToolUse
    sent: Arguments
    leave: Leave | None = None

    @property
    def arguments(self) -> Arguments:
        return self.use.input

    @property
    def changed(self) -> bool:
        return dict(self.use.input) != dict(self.sent)


def refused(reason: str, summary: str, repeats: str | None = None) -> ToolOutcome:
    """A call that had no effect; the model is told why."""
    return ToolOutcome(f"error: {reason}", f"{summary}: {activity_line(reason)}", ok=False, repeats=repeats)


def counted(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


async def nothing_ahead(desk: Desk, arguments: Arguments) -> Ahead:
    """For most calls, a person needs to know no more than their line says."""
    return Ahead()


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `line` says in a line what a call does, for people; `does` raises WorkspaceError for what can't be
    done, which the model is told; `looks` has no effect."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    line: Callable[[Arguments], str]
    does: Callable[[Desk, Job], Awaitable[ToolOutcome]]
    looks: Callable[[Desk, Arguments], Awaitable[Ahead]] = nothing_ahead

    @property
    def spec(self) -> ToolSpec:
        parameters: dict[str, Any] = schema(self.arguments)
        return ToolSpec(self.name, self.description, parameters)

    def checked(self, given: Arguments) -> Arguments:
        """The arguments by their own names. Raises WrongArguments."""
        return checked_arguments(given, self.arguments)


class OfferedTool(Protocol):
    """A tool as the agent uses it: a built-in one, or a plugin's."""

    @property
    def name(self) -> str: ...

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def line(self) -> Callable[[Arguments], str]: ...

    @property
    def does(self) -> Callable[[Desk, Job], Awaitable[ToolOutcome]]: ...

    @property
    def looks(self) -> Callable[[Desk, Arguments], Awaitable[Ahead]]: ...

    def checked(self, given: Arguments) -> Arguments: ...
