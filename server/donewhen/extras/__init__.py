"""Features beside the loop, a folder each, with what no other part of the house needs.

A row of EXTRAS is all that the rest knows of an extra: without its folder and its row, everything else works as before.
Nothing of an extra is imported before it is used.

Invariant: extras import the rest of the house, and never each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple


class Extra(NamedTuple):
    """A folder. One with a `command` has its arguments in `arguments.py` and performs it in `command.py`; `group`,
    `about` and `after` say where it stands in the help: after that command, else last. One that `extends` another
    command has options of that in `arguments.py` too, and performs it in `command.py` where they are `asked`. `editor`
    names its commands in an editor, each with its function in `editor.py`. `provides` names what the folder's front
    page has for a place in the loop that asks for it, `public` what it has for `donewhen` to export."""

    folder: str
    command: str = ""
    group: str = ""
    about: str = ""
    after: str = ""
    extends: str = ""
    editor: Mapping[str, str] = MappingProxyType({})
    provides: str = ""
    public: tuple[str, ...] = ()

    @property
    def editor_module(self) -> str:
        """Where the functions of `editor` are."""
        return f"{__name__}.{self.folder}.editor"


PROGRAMS, MANY = "For programs", "Many at once"
EXTRAS: tuple[Extra, ...] = (
    Extra(
        "attempts", "attempts", MANY, "compare attempts that ran side by side, and apply, resume or drop them",
        after="gc", extends="run", provides="resumed_by",
        editor={"list": "compare", "changes": "changes", "apply": "apply", "drop": "drop"},
    ),
    Extra("mcp", "mcp", PROGRAMS, "serve the goal and its evidence as MCP tools", after="gate"),
    Extra("goalbench", "bench", PROGRAMS, "measure judges: how often they accept what isn't done and reject what is"),
    Extra("fleet", "fleet", MANY, "pursue many goals in many workspaces, on this machine or on Temporal"),
    Extra("tracing", provides="make_tracer"),
    Extra("adapters", provides="PACKAGES"),
    Extra(
        "lookalikes",
        public=(
            "GoalAttempt", "GoalContinue", "GoalController", "GoalDone", "GoalLoop", "GoalMiddleware", "GoalResult",
            "ValidationOutcome",
        ),
    ),
)  # fmt: skip
PUBLIC = tuple(name for one in EXTRAS for name in one.public)
COMMANDS = {one.command: one for one in EXTRAS if one.command}


def part_of(extra: Extra, module: str, name: str) -> Any:
    """What a module of an extra has under a name."""
    return getattr(import_module(f"{__name__}.{extra.folder}.{module}"), name)


def provided(name: str) -> Any | None:
    """What an extra provides under that name; None where none does."""
    folder = next((one.folder for one in EXTRAS if name == one.provides or name in one.public), None)
    return None if folder is None else getattr(import_module(f"{__name__}.{folder}"), name)
