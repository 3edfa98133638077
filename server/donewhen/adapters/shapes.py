"""Telling objects by what they have, without importing who made them, and without running their code."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

_MISSING = object()


def has(value: Any, *names: str) -> bool:
    """Whether it really has these: what it only makes up when it is asked, as mocks and proxies do, doesn't count."""
    return all(inspect.getattr_static(value, name, _MISSING) is not _MISSING for name in names)


def part(value: Any, *path: str) -> Any:
    """What stands at the end of the path of attributes or keys; None if it breaks off or can't be read."""
    for name in path:
        try:
            value = cast("Mapping[str, Any]", value)[name] if isinstance(value, Mapping) else getattr(value, name, None)
        except Exception:  # noqa: BLE001  # a property of somebody else's may raise anything
            return None
        if value is None:
            return None
    return value


def text(value: Any, *path: str) -> str:
    """As `part`, where that is a text, or a secret that tells its text; else empty."""
    found = part(value, *path)
    secret = part(found, "get_secret_value")
    found = secret() if callable(secret) else found
    return found.strip() if isinstance(found, str) else ""


def count(value: Any, *path: str) -> int:
    """As `part`, where that is a count; else 0."""
    found = part(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def several(value: Any) -> Sequence[Any]:
    """The parts of a list; none where it isn't one."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        return ()
    return cast("Sequence[Any]", value)


def texts(content: Any) -> str:
    """The text of a message's content: a text, or blocks, as objects or mappings, that have one each."""
    if isinstance(content, str):
        return content
    found = [one if isinstance(one, str) else part(one, "text") for one in several(content)]
    return "\n".join(one for one in found if isinstance(one, str) and one)


def as_json(value: Any) -> str:
    """Arguments of a tool call as JSON text; a text is taken for that."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def message(role: str, content: str, calls: Iterable[tuple[str, str, Any]] = (), answers: str = "") -> dict[str, Any]:
    """A message in the one shape in which all others are read: role, content, `tool_calls`, `tool_call_id`. `calls` are
    id, name and arguments."""
    made: dict[str, Any] = {"role": role, "content": content}
    called = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": as_json(arguments)}}
        for call_id, name, arguments in calls
    ]
    if called:
        made["tool_calls"] = called
    if answers:
        made["tool_call_id"] = answers
    return made


def called(value: Any, name: str, *given: Any) -> Any:
    """What a method returns; None if there is none."""
    method: Callable[..., Any] | None = part(value, name)
    return method(*given) if callable(method) else None
