"""LSP's types and their strict reading: pygls' converter turns 3 into "3" and "3" into 3, ours refuses both.

Importing this module imports lsprotocol, which takes a third of a second: only the conversation does, in a thread.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, cast

import cattrs
from lsprotocol import types
from pygls.protocol import default_converter

from donewhen.lsp.failures import InvalidParams

_MESSAGE_TYPES: Mapping[str, tuple[Any, ...]] = vars(types)["METHOD_TO_TYPES"]

# attrs keeps the source of every method that it generated for lsprotocol's classes: 1.4 MB that nothing reads.
linecache.clearcache()


class LspTypes:
    """Between JSON and the types of lsprotocol."""

    def __init__(self) -> None:
        self._converter = strict_converter()

    def params(self, message: Mapping[str, Any]) -> Any:
        """The typed params of a method that LSP knows; as they came for any other. Raises InvalidParams."""
        method = message["method"]
        known = _MESSAGE_TYPES.get(method)
        if known is None:
            return message.get("params")
        try:
            return self._converter.structure(message, known[0]).params
        except Exception as problem:
            raise InvalidParams(f"{method}: {_where(problem)}") from problem

    def result(self, method: str, result: Any) -> Any:
        """The typed result of a request of ours; as it came for methods that LSP does not know."""
        known = _MESSAGE_TYPES.get(method)
        if known is None or known[1] is None:
            return result
        message = {"jsonrpc": "2.0", "id": 0, "result": result}
        return self._converter.structure(message, known[1]).result

    def plain(self, value: Any) -> Any:
        """A typed value as JSON. Raises TypeError for one that can't be written."""
        try:
            return self._converter.unstructure(value)
        except Exception as problem:
            raise TypeError(f"{type(value).__name__} can't be written: {problem}") from problem


def strict_converter() -> cattrs.Converter:
    """The converter of lsprotocol, but one that never changes a value's type."""
    converter = default_converter()
    for primitive in (str, int, bool):
        converter.register_structure_hook(primitive, _exactly(primitive))
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


def _where(problem: BaseException) -> str:
    """The field that is wrong, said without Python's type names or paths."""
    found = _first_path(problem)
    return f"the value of {'.'.join(found)} is missing or of the wrong type" if found else "the params are not valid"


def _first_path(problem: BaseException) -> list[str]:
    path: list[str] = []
    while isinstance(problem, cattrs.BaseValidationError) and problem.exceptions:
        problem = problem.exceptions[0]
        notes = cast("list[Any]", getattr(problem, "__notes__", []))
        names = [getattr(note, "name", getattr(note, "index", None)) for note in notes]
        path += [str(name) for name in names if name is not None]
    if isinstance(problem, KeyError) and problem.args:
        path.append(str(problem.args[0]))
    return path
