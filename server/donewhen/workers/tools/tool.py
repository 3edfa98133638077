"""What a tool is: a name, checked arguments, and what it does in one turn."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from donewhen.core.plugging import ToolOutcome, ToolUse
from donewhen.core.words import shortened
from donewhen.ports import FileText, GuardedFiles, LiveRoom, ToolSpec, Turn, TurnContext
from donewhen.workers.activity import activity_line

LARGEST_RESULT = 60_000
SMALLEST_RESULT = 2_000
VERSION = re.compile(r" \(version ([0-9a-f]{12})\)")
"""What the first line of an answer says of the file that the model has seen by it; a turn that goes on reads it."""


@dataclass(slots=True)
class ToolContext:
    """What the tools of one turn work with. `room` is where commands run. `known` is what the model has seen of each
    file: the digest of its bytes; `largest` bounds one result, in characters; `mask` hides the secrets of what the
    model is told."""

    turn: Turn
    turn_context: TurnContext
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
        held = (self.turn_context.unsaved(name) for name in names)
        return next((text for text in held if text is not None), None)


def version_of(file: FileText) -> str:
    """As `VERSION` reads it, at the end of a first line."""
    return f" (version {file.digest[:12]})"


def names_of(name: str, path: str) -> tuple[str, ...]:
    """What a file is called: its path with links resolved, and the name that was given, which may be a link's."""
    given = posixpath.normpath(name.replace("\\", "/") if os.name == "nt" else name)
    return (path,) if given == path else (path, given)


@dataclass(frozen=True, slots=True)
class Permission:
    """What a person was shown of a change that needs their permission: the file, and its digest at that time."""

    path: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class CallPreview:
    """What a person may want to know before a call is made. `sensitive` says why they should be asked even where the
    tool as such may run, empty otherwise; then `permission` is what `preview` was made of."""

    preview: str = ""
    sensitive: str = ""
    permission: Permission | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call as it is to be done now: `use.input` are its arguments, checked, which a plugin or a person may have made
    others of than the model `sent`."""

    use: ToolUse
    sent: Arguments
    permission: Permission | None = None

    @property
    def arguments(self) -> Arguments:
        return self.use.input

    @property
    def changed(self) -> bool:
        return dict(self.use.input) != dict(self.sent)


def refused(reason: str, summary: str, repeats: str | None = None) -> ToolOutcome:
    """A call that had no effect; the model is told why."""
    return ToolOutcome(f"error: {reason}", f"{summary}: {activity_line(reason)}", ok=False, repeats=repeats)


async def no_preview(context: ToolContext, arguments: Arguments) -> CallPreview:
    """For most calls, a person needs to know no more than their line says."""
    return CallPreview()


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `line` says in a line what a call does, for people; `run` raises WorkspaceError for what can't be
    done, which the model is told; `preview` has no effect."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    line: Callable[[Arguments], str]
    run: Callable[[ToolContext, Invocation], Awaitable[ToolOutcome]]
    preview: Callable[[ToolContext, Arguments], Awaitable[CallPreview]] = no_preview

    @property
    def spec(self) -> ToolSpec:
        properties: dict[str, Any] = {}
        for one in self.arguments:
            choices = {"enum": list(one.choices)} if one.choices else {}
            properties[one.name] = {"type": one.type, "description": one.description, **choices}
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": properties,
            "required": [one.name for one in self.arguments if one.needed],
            "additionalProperties": False,
        }
        return ToolSpec(self.name, self.description, parameters)

    def checked(self, given: Arguments) -> Arguments:
        """The arguments by their own names; those that were left out, or null, are absent. Raises WrongArguments."""
        known = {name: argument for argument in self.arguments for name in (argument.name, *argument.aliases)}
        told = ", ".join(f"{a.name} ({a.type}{'' if a.needed else ', may be left out'})" for a in self.arguments)
        found: dict[str, Any] = {}
        for name, value in given.items():
            argument = known.get(name)
            if argument is None:
                raise WrongArguments(f"there is no argument `{name}`; the arguments are: {told}")
            if argument.name in found:
                raise WrongArguments(f"`{argument.name}` is given twice, under two names; the arguments are: {told}")
            if value is not None or argument.needed:
                found[argument.name] = _checked_value(argument, value)
        missing = [argument.name for argument in self.arguments if argument.needed and argument.name not in found]
        if missing:
            raise WrongArguments(f"`{'`, `'.join(missing)}` is missing; the arguments are: {told}")
        return found


# The arguments of a tool call, as a model wrote them: checked strictly, and where they are wrong the message says
# how.


ArgumentType = Literal["string", "integer", "number", "boolean"]
Arguments = Mapping[str, Any]

_KINDS: Mapping[ArgumentType, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool. `aliases` are other names that models know it by; `least` bounds a number; a
    `filled` text says something."""

    name: str
    description: str
    type: ArgumentType = "string"
    needed: bool = True
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    least: float | None = None
    filled: bool = False


class WrongArguments(Exception):
    """The arguments can't be used; the message tells the model what to send."""


def read_object(text: str) -> Arguments:
    """What a model wrote for arguments, as the object it has to be. Raises WrongArguments."""
    try:
        value: Any = json.loads(text or "{}", strict=False)
    except (ValueError, RecursionError) as error:
        where = f" ({error.msg} at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        raise WrongArguments(
            f"the arguments are not valid JSON{where}: send one JSON object. If it was cut off, write less in one call"
        ) from error
    if not isinstance(value, dict):
        raise WrongArguments("the arguments are not a JSON object: send one, such as {" + '"path": "src/a.py"}')
    return cast("Arguments", value)


def _checked_value(argument: Argument, value: Any) -> Any:
    right = isinstance(value, _KINDS[argument.type]) and (argument.type == "boolean" or not isinstance(value, bool))
    if not right or value in (float("inf"), float("-inf")) or value != value:
        raise WrongArguments(f"`{argument.name}` should be a JSON {argument.type}; it is {_value_text(value)}")
    if argument.choices and value not in argument.choices:
        raise WrongArguments(f"`{argument.name}` is one of {', '.join(argument.choices)}; it is {_value_text(value)}")
    if argument.least is not None and value < argument.least:
        raise WrongArguments(f"`{argument.name}` should be at least {argument.least:g}; it is {_value_text(value)}")
    if argument.filled and isinstance(value, str) and not value.strip():
        raise WrongArguments(f"the {argument.name} is empty: send what is to be done")
    try:
        if isinstance(value, str):
            value.encode()
    except UnicodeEncodeError as error:
        wrong = f"`{argument.name}` holds half a surrogate pair: send whole Unicode characters"
        raise WrongArguments(wrong) from error
    return value


def _value_text(value: Any) -> str:
    return shortened(json.dumps(value, default=repr), 80)
