"""What a tool is: a name, checked arguments, and what it does in one turn."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
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
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {
                one.name: {"type": one.type, "description": one.description, **one.bounds} for one in self.arguments
            },
            "required": [one.name for one in self.arguments if one.needed],
            "additionalProperties": False,
        }
        return ToolSpec(self.name, self.description, parameters)

    def checked(self, given: Arguments) -> Arguments:
        """The arguments by their own names; those that were left out, or null, are absent. Raises WrongArguments."""
        known = {alias: argument.name for argument in self.arguments for alias in (argument.name, *argument.aliases)}
        needed = {argument.name for argument in self.arguments if argument.needed}
        found: dict[str, Any] = {}
        for alias, value in given.items():
            name = known.get(alias, alias)
            if name in found:
                raise WrongArguments(f"`{name}` is given twice, under two names")
            if value is not None or name not in known.values() or name in needed:
                found[name] = value
        return fitting(self.spec.parameters, found)


# The arguments of a tool call, as a model wrote them: checked strictly, and where they are wrong the message says
# how.


ArgumentType = Literal["string", "integer", "number", "boolean"]
Arguments = Mapping[str, Any]

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool. `aliases` are other names that models know it by, `bounds` what its JSON schema says
    besides."""

    name: str
    description: str
    type: ArgumentType = "string"
    needed: bool = True
    aliases: tuple[str, ...] = ()
    bounds: Mapping[str, Any] = field(default_factory=dict[str, Any])


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


def fitting(parameters: Mapping[str, Any], given: Arguments) -> Arguments:
    """The arguments where they fit what a JSON schema says of them at its first level. Raises WrongArguments."""
    properties: Mapping[str, Any] = parameters.get("properties") or {}
    needed: Sequence[str] = parameters.get("required") or ()
    shown = [
        f"{name} ({_type_of(one)}{'' if name in needed else ', may be left out'})" for name, one in properties.items()
    ]
    told = f"the arguments are: {', '.join(shown)}"
    unknown = [name for name in given if name not in properties]
    if unknown and parameters.get("additionalProperties") is False:
        raise WrongArguments(f"there is no argument `{unknown[0]}`; {told}")
    missing = [name for name in needed if name not in given]
    if missing:
        raise WrongArguments(f"`{'`, `'.join(missing)}` is missing; {told}")
    for name, value in given.items():
        if isinstance(properties.get(name), Mapping):
            _check_value(name, value, properties[name])
    return given


def _check_value(name: str, value: Any, wanted: Mapping[str, Any]) -> None:
    kind, choices, least = _type_of(wanted), wanted.get("enum"), wanted.get("minimum")
    number = kind in ("integer", "number")
    odd = isinstance(value, bool) or (isinstance(value, float) and not isfinite(value))
    if not isinstance(value, _KINDS.get(kind, object)) or (number and odd):
        raise WrongArguments(f"`{name}` should be a JSON {kind}; it is {_value_text(value)}")
    if isinstance(choices, list) and value not in choices:
        known = ", ".join(map(str, cast("list[Any]", choices)))
        raise WrongArguments(f"`{name}` should be one of {known}; it is {_value_text(value)}")
    if number and isinstance(least, int | float) and value < least:
        raise WrongArguments(f"`{name}` should be at least {least:g}; it is {_value_text(value)}")
    if isinstance(value, str) and wanted.get("minLength") and not value.strip():
        raise WrongArguments(f"the {name} is empty: send a {name}")
    if isinstance(value, str) and value != value.encode(errors="ignore").decode():
        raise WrongArguments(f"`{name}` holds half a surrogate pair: send whole Unicode characters")


def _type_of(wanted: Any) -> str:
    kind = cast("Mapping[str, Any]", wanted).get("type") if isinstance(wanted, Mapping) else None
    return kind if isinstance(kind, str) else "value"


def _value_text(value: Any) -> str:
    return shortened(json.dumps(value, default=repr), 80)
