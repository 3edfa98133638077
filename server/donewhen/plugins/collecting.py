"""What the plugins of a run registered: workers, judges, checks and tools, each name once."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from donewhen.core.errors import PluginConflict, UsageError
from donewhen.plugins.records import NewCheck, NewJudge, NewTool, NewWorker
from donewhen.plugins.registering import FAILURES, Hook, Registered, error_text

Record = TypeVar("Record", NewWorker, NewJudge, NewCheck, NewTool)


@dataclass(frozen=True, slots=True)
class Offered(Generic[Record]):
    """A record and the plugin that registered it."""

    plugin: str
    record: Record


def offered(
    found: Registered, point: str, kind: type[Record], known: Collection[str] = ()
) -> dict[str, Offered[Record]]:
    """Everything registered at that point, by name. `known` are names that are already taken. Raises PluginConflict
    if a name occurs twice, UsageError if a plugin's answer can't be used."""
    taken: dict[str, Offered[Record]] = {}
    what = point.removeprefix("register_")
    for hook in found.hooks[point]:
        for record in _records(hook, kind):
            name = record.name
            if name in known:
                raise PluginConflict(
                    f"the plugin {hook.plugin} registers the {what} {name}, which is built in: rename it"
                )
            if name in taken:
                raise PluginConflict(
                    f"the plugins {taken[name].plugin} and {hook.plugin} both register the {what} {name}: "
                    "remove one of them, or rename one"
                )
            taken[name] = Offered(hook.plugin, record)
    return taken


def _records(hook: Hook, kind: type[Record]) -> list[Record]:
    try:
        answer = hook.function()
    except FAILURES as error:
        raise UsageError(
            f"the plugin {hook.plugin} failed in {hook.point}: {error_text(error)}; fix it, or remove it"
        ) from error
    if answer is None:
        return []
    many = list(cast("Sequence[Any]", answer)) if isinstance(answer, (list, tuple)) else [answer]
    where = f"`{hook.point}` of the plugin {hook.plugin}"
    for one in many:
        if inspect.iscoroutine(one):
            one.close()
            raise UsageError(f"{where} is async: make it a plain function")
        if not isinstance(one, kind):
            raise UsageError(f"{where} returned {one!r}: a {kind.__name__}, or a list of them, is expected")
        if wrong := _wrong(one):
            raise UsageError(f"{where} returned {one!r}: {wrong}")
    return many


def _wrong(one: Any) -> str:
    """What is wrong with a record, empty if nothing is: plugins are not always type-checked."""
    if not isinstance(one.name, str) or not one.name or any(letter.isspace() for letter in one.name):
        return "a name without spaces is expected"
    if not callable(one.make if isinstance(one, (NewWorker, NewJudge)) else one.run):
        return "a function is expected that makes or runs it"
    if not isinstance(one, NewTool):
        return ""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one.name):
        return "a tool's name has 1 to 64 letters, digits, _ and -"
    try:
        json.dumps(one.parameters)
    except (TypeError, ValueError) as error:
        return f"its parameters are not a JSON schema: {error}"
    if not isinstance(one.parameters, Mapping) or one.parameters.get("type") != "object":  # pyright: ignore[reportUnnecessaryIsInstance]
        return 'its parameters must be the JSON schema of an object: {"type": "object", "properties": {...}}'
    return ""
