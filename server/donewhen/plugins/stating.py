"""Converts a plugin's state between the JSON that is kept with the run and the type that the plugin uses."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from donewhen.core.errors import DoneWhenError
from donewhen.core.plugging import PluginState

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
LARGEST_STATE = 262_144
"""Characters of JSON that one plugin may keep with a run: every change stores the whole state."""

Upgrade = Callable[[int, Any], Any]
"""Converts a state's JSON from an older version to the current one: `upgrade(version, value)`."""


class StateError(DoneWhenError):
    """A plugin's state can't be read or kept; the message says why, and what to do."""


def read_state(plugin: str, state: PluginState, kind: type[T], version: int, upgrade: Upgrade | None) -> T:
    """The state as `kind`: a dataclass, TypedDict, pydantic model or JSON type. Raises StateError."""
    value, adapter = _current(plugin, state, version, upgrade), _adapter(kind)
    try:
        return cast("T", adapter.validate_json(json.dumps(value), strict=True))
    except ValueError as error:
        shape = getattr(kind, "__name__", str(kind))
        raise StateError(
            f"the state of the plugin {plugin} (version {state.version}) is not a {shape}: {error}; where its shape "
            "changed, raise `version` and give an `upgrade`"
        ) from error


def plain_state(plugin: str, value: object, version: int) -> PluginState:
    """The state as it is kept. Raises StateError if it is not JSON, or too long."""
    if isinstance(version, bool) or version < 1:
        raise StateError(f"the plugin {plugin} keeps a state of version {version!r}: versions are numbers from 1")
    try:
        text = _anything().dump_json(value).decode()
        plain = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise StateError(f"the plugin {plugin} keeps a state that is not JSON: {error}") from error
    if len(text) > LARGEST_STATE:
        raise StateError(
            f"the plugin {plugin} keeps a state of {len(text)} characters, {LARGEST_STATE} are allowed at "
            "most: keep less, "
            "or keep it in a file of yours and its name here"
        )
    return PluginState(version, plain)


def _current(plugin: str, state: PluginState, version: int, upgrade: Upgrade | None) -> Any:
    if state.version > version:
        raise StateError(
            f"the state of the plugin {plugin} has version {state.version}, this version of the plugin knows "
            f"{version}: it was kept by a newer one, install that"
        )
    if state.version == version:
        return state.value
    if upgrade is None:
        raise StateError(
            f"the state of the plugin {plugin} has version {state.version}, and {version} is wanted: give `get_state` "
            "an `upgrade`"
        )
    own = json.loads(json.dumps(state.value))  # a copy: the recorded state stays as it is, whatever happens to this one
    return upgrade(state.version, own)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


@lru_cache(maxsize=1)
def _anything() -> TypeAdapter[Any]:
    """For any value that pydantic can write; NaN and infinities stay distinct from null."""
    from pydantic import ConfigDict, TypeAdapter  # see below

    return TypeAdapter(Any, config=ConfigDict(ser_json_inf_nan="constants"))


@lru_cache(maxsize=128)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    # Imported when needed: the library has to start quickly.
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(kind)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:  # a TypedDict of `typing` before Python 3.12
        raise StateError(f"{kind!r} can't be the shape of a plugin's state: {error.message}") from error
