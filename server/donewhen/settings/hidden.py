"""Checks that a person holds out from workers: `[[hidden_checks]]` of their own settings, and of no other file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from donewhen.core.errors import InvalidGoal
from donewhen.regular import expanded

KEY = "hidden_checks"
_FIELDS = ("workspace", "name", "command")
_EXAMPLE = '[[hidden_checks]]; workspace = "~/shop"; name = "Quotes are doubled"; command = "pytest -q ~/held/test.py"'
_HOME = re.compile(r"(?<![^\s=:])~(?=/|\s|$)")


@dataclass(frozen=True, slots=True)
class HiddenCheck:
    """`name` is all that a worker hears of it. `command` is run in a room before a run completes."""

    name: str
    command: str


def take_hidden(table: dict[str, Any], root: Path | None, where: str) -> tuple[HiddenCheck, ...]:
    """Takes them out of a table of settings: those for the workspace folder `root`. `~` of a command is the person's
    home, which a room's own is not. Raises InvalidGoal that says how they are written."""
    given = table.pop(KEY, [])
    if not isinstance(given, list):
        raise InvalidGoal(f"{KEY} must be tables such as {_EXAMPLE}; it is {given!r} (in {where})")
    home = os.path.expanduser("~")  # noqa: PTH111 # never raises, for any user
    found: dict[str, HiddenCheck] = {}
    for number, entry in enumerate(cast("list[object]", given), start=1):
        workspace, name, command = _fields(entry, number, where)
        if root is None or expanded(workspace).resolve() != root.resolve():
            continue
        if name in found:
            raise InvalidGoal(f"{KEY} has two of the name {name!r} for {workspace}: give each its own (in {where})")
        found[name] = HiddenCheck(name, _HOME.sub(lambda _: home, command))
    return tuple(found.values())


def _fields(entry: object, number: int, where: str) -> tuple[str, str, str]:
    named = f"{KEY}, number {number}"
    if not isinstance(entry, dict):
        raise InvalidGoal(f"{named}, must be a table such as {_EXAMPLE}; it is {entry!r} (in {where})")
    values = cast("Mapping[str, object]", entry)
    for key in values:
        if key not in _FIELDS:
            raise InvalidGoal(f"{named}: {key!r} is not one of its fields; use {', '.join(_FIELDS)} (in {where})")
    texts = [values.get(field) for field in _FIELDS]
    for field, text in zip(_FIELDS, texts, strict=True):
        if not isinstance(text, str) or not text.strip() or "\n" in text:
            raise InvalidGoal(f"{named}: {field} must be a line of text, such as in {_EXAMPLE} (in {where})")
    workspace, name, command = (str(text).strip() for text in texts)
    return workspace, name, command
