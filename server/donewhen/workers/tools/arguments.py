"""The arguments of a tool call, as a model wrote them: checked strictly, and where they are wrong the message says
how."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

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


def schema(arguments: Sequence[Argument]) -> dict[str, Any]:
    """The JSON schema of a call's arguments."""
    return {
        "type": "object",
        "properties": {argument.name: _property(argument) for argument in arguments},
        "required": [argument.name for argument in arguments if argument.needed],
        "additionalProperties": False,
    }


def read_object(text: str) -> Arguments:
    """What a model wrote for arguments, as the object it has to be. Raises WrongArguments."""
    return _object(text or "{}")


def checked_arguments(given: Arguments, arguments: Sequence[Argument]) -> Arguments:
    """The arguments by their own names; those that were left out, or null, are absent. Raises WrongArguments."""
    known = {name: argument for argument in arguments for name in (argument.name, *argument.aliases)}
    found: dict[str, Any] = {}
    for name, value in given.items():
        argument = known.get(name)
        if argument is None:
            raise WrongArguments(f"there is no argument `{name}`; {_wanted(arguments)}")
        if argument.name in found:
            raise WrongArguments(f"`{argument.name}` is given twice, under two names; {_wanted(arguments)}")
        if value is not None or argument.needed:
            found[argument.name] = _checked(argument, value)
    missing = [argument.name for argument in arguments if argument.needed and argument.name not in found]
    if missing:
        raise WrongArguments(f"`{'`, `'.join(missing)}` is missing; {_wanted(arguments)}")
    return found


def _property(argument: Argument) -> dict[str, Any]:
    told: dict[str, Any] = {"type": argument.type, "description": argument.description}
    if argument.choices:
        told["enum"] = list(argument.choices)
    return told


def _object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        where = f" ({error.msg} at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        raise WrongArguments(
            f"the arguments are not valid JSON{where}: send one JSON object. If it was cut off, write less in one call"
        ) from error
    if not isinstance(value, dict):
        raise WrongArguments("the arguments are not a JSON object: send one, such as {" + '"path": "src/a.py"}')
    return cast("dict[str, Any]", value)


def _checked(argument: Argument, value: Any) -> Any:
    right = isinstance(value, _KINDS[argument.type]) and (argument.type == "boolean" or not isinstance(value, bool))
    if not right or value in (float("inf"), float("-inf")) or value != value:
        raise WrongArguments(f"`{argument.name}` should be a JSON {argument.type}; it is {_shown(value)}")
    if argument.choices and value not in argument.choices:
        raise WrongArguments(f"`{argument.name}` is one of {', '.join(argument.choices)}; it is {_shown(value)}")
    if argument.least is not None and value < argument.least:
        raise WrongArguments(f"`{argument.name}` should be at least {argument.least:g}; it is {_shown(value)}")
    if argument.filled and isinstance(value, str) and not value.strip():
        raise WrongArguments(f"the {argument.name} is empty: send what is to be done")
    if isinstance(value, str) and not _writable(value):
        raise WrongArguments(f"`{argument.name}` holds half a surrogate pair: send whole Unicode characters")
    return value


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wanted(arguments: Sequence[Argument]) -> str:
    told = ", ".join(f"{a.name} ({a.type}{'' if a.needed else ', may be left out'})" for a in arguments)
    return f"the arguments are: {told}"


def _shown(value: Any) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= 80 else f"{text[:79]}…"
