"""Between JSON and the types of LSP: pygls' converter, made strict.

pygls turns 3 into "3" and "3" into 3, and takes a text for a list of its letters; this one refuses all of it.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar, cast, get_args
from urllib.parse import unquote_to_bytes

import cattrs
from cattrs.cols import is_sequence, list_structure_factory
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.protocol import default_converter

# attrs keeps the source of every method that it generated for lsprotocol's classes: 1.4 MB that nothing reads.
linecache.clearcache()

_NAMED = re.compile(r"(?:^|[a-z])uris?$|^(?:root|file)?[pP]aths?$", re.IGNORECASE)
JsonObject = Mapping[str, Any]
AttrsT = TypeVar("AttrsT")


def strict_converter() -> cattrs.Converter:
    """The converter of lsprotocol, but one that never changes a value's type."""
    converter = default_converter()
    for primitive in (str, int, bool):
        converter.register_structure_hook(primitive, _exactly(primitive))
    converter.register_structure_hook_factory(is_sequence, _lists_only)
    converter.register_structure_hook(types.DidChangeConfigurationParams, _configuration)
    # Numbers and words that LSP gives names are read as they came, and are sent back so, as in a diagnostic.
    converter.register_unstructure_hook_func(_is_enum, lambda value: value.value if isinstance(value, Enum) else value)
    return converter


def _is_enum(wanted: object) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Enum)


def _exactly(wanted: type) -> Callable[[object, object], object]:
    def structure(value: object, _: object) -> object:
        if type(value) is not wanted:
            raise ValueError(f"not {wanted.__name__}")
        return value

    return structure


def _lists_only(wanted: Any, converter: cattrs.Converter) -> Callable[[object, Any], object]:
    structure = list_structure_factory(wanted, converter)

    def checked(value: object, kind: Any) -> object:
        if not isinstance(value, list):
            raise ValueError("not a list")
        return structure(cast("list[object]", value), kind)

    return checked


def _configuration(given: Mapping[str, Any], _: object) -> types.DidChangeConfigurationParams:
    """Clients that have nothing to push leave the settings out: they are then asked for them."""
    return types.DidChangeConfigurationParams(given.get("settings"))


def initialize_params(params: object, converter: cattrs.Converter) -> types.InitializeParams:
    """What a client says of itself. A capability that is odd counts as absent, so that no client is refused for it, and
    none for a field that LSP requires and nothing depends on. Raises JsonRpcInvalidParams if what must be
    understood is malformed."""
    if not isinstance(params, dict):
        raise JsonRpcInvalidParams("initialize: params must be an object")
    given = cast("dict[str, Any]", params)
    for name, kind, wanted in _UNDERSTOOD:
        value: object = given.get(name)
        if value is not None and type(value) is not kind:
            raise JsonRpcInvalidParams(f"initialize: {name} must be {wanted} or null")
    folders = cast("list[object]", given.get("workspaceFolders") or [])
    return types.InitializeParams(
        capabilities=_as_far_as_it_fits(given.get("capabilities") or {}, types.ClientCapabilities, converter),
        process_id=given.get("processId"),
        root_uri=given.get("rootUri") or None,
        root_path=given.get("rootPath") or None,
        workspace_folders=[folder for one in folders if (folder := _folder(one)) is not None],
        initialization_options=given.get("initializationOptions") or {},
    )


_UNDERSTOOD: tuple[tuple[str, type, str], ...] = (
    ("capabilities", dict, "an object"),
    ("processId", int, "a whole number"),
    ("rootUri", str, "text"),
    ("rootPath", str, "text"),
    ("workspaceFolders", list, "a list"),
    ("initializationOptions", dict, "an object"),
)


def _folder(given: object) -> types.WorkspaceFolder | None:
    uri: object = cast("dict[str, object]", given).get("uri") if isinstance(given, dict) else None
    return types.WorkspaceFolder(uri, "") if isinstance(uri, str) and uri else None


def _as_far_as_it_fits(given: Mapping[str, Any], wanted: type[AttrsT], converter: cattrs.Converter) -> AttrsT:
    """LSP grows, and clients err: each part that doesn't fit counts as absent, and the rest is kept."""
    found: dict[str, Any] = {}
    for field in cast("Any", wanted).__attrs_attrs__:
        value = given.get(re.sub(r"_([a-z])", lambda match: match[1].upper(), field.name))
        inner = next((one for one in get_args(field.type) if hasattr(one, "__attrs_attrs__")), None)
        try:
            if isinstance(value, dict) and inner is not None:
                found[field.name] = _as_far_as_it_fits(cast("JsonObject", value), inner, converter)
            else:
                found[field.name] = None if value is None else converter.structure(value, field.type)
        except Exception:  # noqa: BLE001 - whatever is odd about it
            found[field.name] = None
    return wanted(**found)


def where(problem: BaseException) -> str:
    """The field that is wrong, said without Python's type names or paths."""
    found = path_of(problem)
    return f"the value of {'.'.join(found)} is missing or of the wrong type" if found else "the params are not valid"


def path_of(problem: BaseException) -> list[str]:
    path: list[str] = []
    while isinstance(problem, cattrs.BaseValidationError) and problem.exceptions:
        problem = problem.exceptions[0]
        notes = cast("list[Any]", getattr(problem, "__notes__", []))
        names = [getattr(note, "name", getattr(note, "index", None)) for note in notes]
        path += [str(name) for name in names if name is not None]
    if isinstance(problem, KeyError) and problem.args:
        path.append(str(problem.args[0]))
    return path


def refuse_unusable(params: object) -> None:
    """Params that no method can take: no object or list, or with the uri of a file that no file can have, at any
    depth. Raises JsonRpcInvalidParams, which names the field."""
    if params is not None and not isinstance(params, dict | list):
        raise JsonRpcInvalidParams("params must be an object or a list")
    waiting: list[tuple[str, Any]] = [("params", cast("Any", params))]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += cast("Iterable[tuple[str, Any]]", value.items())  # pyright: ignore[reportUnknownMemberType]  # a client's JSON
        elif isinstance(value, list):
            waiting += ((name, one) for one in cast("list[Any]", value))
        elif isinstance(value, str) and _NAMED.search(name) and not _is_usable(value):
            raise JsonRpcInvalidParams(f"{name}: {value[:200]!r} can't be the name of a file")


def _is_usable(text: str) -> bool:
    try:
        if not text.startswith("file:"):
            return "\0" not in text and bool(os.fsencode(text) or True)
        name = unquote_to_bytes(text)
        return b"\0" not in name and bool(name.decode("utf-8") or True)
    except UnicodeError:
        return False
