"""How a value of an annotated type is written as JSON and read back strictly.

`shape_of(annotation)` compiles an annotation once into a pair of functions. Dataclasses become objects with all of
their fields; a member of a union of dataclasses carries its class name under `type`. Reading coerces nothing,
ignores unknown fields and gives missing ones their defaults, so that a reader of the same version can handle fields
that it doesn't know yet.

Not cattrs: with hooks as strict as these it takes 0.84 of the time to read an event (3.5 instead of 4.1 microseconds),
but importing it and generating its code takes 0.11 to 0.15 s, where this takes 0.01 to 0.02 s. A command would have to
read 150,000 events to benefit, and the hooks are most of this file.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

TAG = "type"

Convert = Callable[[Any], Any]


class ShapeError(ValueError):
    """A value that its annotation doesn't allow; the message says where it is and what it should be."""


class Shape(NamedTuple):
    """Functions to plain JSON values and back. Both raise ShapeError."""

    write: Convert
    read: Convert


@cache
def shape_of(annotation: Any) -> Shape:
    """The shape of an annotation. Raises TypeError if it has none: that is a defect of the events, not of data."""
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if dataclasses.is_dataclass(annotation):
        return _record(cast("type[Any]", annotation))
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return _enum(annotation)
    compound = _COMPOUNDS.get(get_origin(annotation))
    if compound is None:
        raise TypeError(f"no way to store {annotation!r}")
    return compound(annotation)


def tagged(members: tuple[type[Any], ...]) -> Shape:
    """A closed union of dataclasses, each an object whose `type` is the class name."""
    by_name = {member.__name__: shape_of(member) for member in members}
    known = frozenset(members)

    def write(value: Any) -> Any:
        if type(value) not in known:
            raise ShapeError(f"one of {', '.join(by_name)} is needed, not {type(value).__name__}")
        name = type(value).__name__
        return {TAG: name, **by_name[name].write(value)}

    def read(value: Any) -> Any:
        name = cast("dict[str, Any]", value).get(TAG) if isinstance(value, dict) else None
        shape = by_name.get(name) if isinstance(name, str) else None
        if shape is None:
            raise ShapeError(f"{name!r} is not one of {', '.join(by_name)}")
        return shape.read(value)

    return Shape(write, read)


# ------------------------------------------------------------------------------------------ dataclasses


def _record(cls: type[Any]) -> Shape:
    hints = get_type_hints(cls)
    fields = [field for field in dataclasses.fields(cls) if field.init]
    if any(field.name == TAG for field in fields):
        raise TypeError(f"{cls.__name__} has a field called {TAG!r}, which names its class where it is stored")
    shapes = [(field.name, shape_of(hints[field.name])) for field in fields]
    missing = dataclasses.MISSING
    required = frozenset(one.name for one in fields if one.default is missing and one.default_factory is missing)
    return Shape(_record_writer(cls, shapes), _record_reader(cls, shapes, required))


def _record_writer(cls: type[Any], shapes: list[tuple[str, Shape]]) -> Convert:
    writers = [(name, shape.write) for name, shape in shapes]

    def write(value: Any) -> Any:
        if type(value) is not cls:
            raise ShapeError(f"{cls.__name__} is needed, not {type(value).__name__}")
        name = ""
        try:
            written: dict[str, Any] = {}
            for name, convert in writers:
                written[name] = convert(getattr(value, name))
        except ShapeError as error:
            raise ShapeError(f"{cls.__name__}.{name}: {error}") from None
        return written

    return write


def _record_reader(cls: type[Any], shapes: list[tuple[str, Shape]], required: frozenset[str]) -> Convert:
    readers = [(name, shape.read) for name, shape in shapes]

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ShapeError(f"an object is needed for {cls.__name__}, not {value!r:.60}")
        fields = cast("dict[str, Any]", value)
        if not required <= fields.keys():
            raise ShapeError(f"{cls.__name__} lacks {', '.join(sorted(required - fields.keys()))}")
        name = ""
        try:
            arguments: dict[str, Any] = {}
            for name, convert in readers:
                if name in fields:
                    arguments[name] = convert(fields[name])
        except ShapeError as error:
            raise ShapeError(f"{cls.__name__}.{name}: {error}") from None
        return cls(**arguments)

    return read


# ---------------------------------------------------------------------------------------------- scalars


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ShapeError(f"text is needed, not {value!r:.60}")
    return value


def _whole(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ShapeError(f"a whole number is needed, not {value!r:.60}")
    return value


def _number(value: Any) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ShapeError(f"a finite number is needed, not {value!r:.60}")
    return float(value)


def _truth(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ShapeError(f"true or false is needed, not {value!r:.60}")
    return value


def _nothing(value: Any) -> Any:
    if value is not None:
        raise ShapeError(f"null is needed, not {value!r:.60}")
    return None


def _json(value: Any) -> Any:
    """Any JSON value; tuples and other mappings are written as lists and objects."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        return [_json(item) for item in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {_text(key): _json(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    raise ShapeError(f"a JSON value is needed, not {type(value).__name__}")


_SCALARS: dict[Any, Shape] = {
    str: Shape(_text, _text),
    int: Shape(_whole, _whole),
    float: Shape(_number, _number),
    bool: Shape(_truth, _truth),
    type(None): Shape(_nothing, _nothing),
    Any: Shape(_json, _json),
    object: Shape(_json, _json),
}


def _enum(cls: type[StrEnum]) -> Shape:
    by_value = {member.value: member for member in cls}

    def write(value: Any) -> Any:
        if not isinstance(value, cls):
            raise ShapeError(f"a {cls.__name__} is needed, not {value!r:.60}")
        return value.value

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in by_value:
            raise ShapeError(f"{value!r:.60} is not a {cls.__name__}")
        return by_value[value]

    return Shape(write, read)


# -------------------------------------------------------------------------------------------- compounds


def _choice(annotation: Any) -> Shape:
    allowed = get_args(annotation)

    def same(value: Any) -> Any:
        if not isinstance(value, str) or value not in allowed:
            raise ShapeError(f"{value!r:.60} is not one of {', '.join(map(str, allowed))}")
        return value

    return Shape(same, same)


def _tuple(annotation: Any) -> Shape:
    items = get_args(annotation)
    if len(items) == 2 and items[1] is Ellipsis:
        return _sequence(shape_of(items[0]))
    return _row(tuple(map(shape_of, items)))


def _row(items: tuple[Shape, ...]) -> Shape:
    """A tuple whose places each have a meaning of their own."""

    def write(value: Any) -> Any:
        if not isinstance(value, tuple) or len(cast("tuple[Any, ...]", value)) != len(items):
            raise ShapeError(f"a tuple of {len(items)} is needed, not {value!r:.60}")
        return [item.write(each) for item, each in zip(items, cast("tuple[Any, ...]", value), strict=True)]

    def read(value: Any) -> Any:
        listed = _listed(value)
        if len(listed) != len(items):
            raise ShapeError(f"a list of {len(items)} is needed, not {value!r:.60}")
        return tuple(item.read(each) for item, each in zip(items, listed, strict=True))

    return Shape(write, read)


def _sequence(item: Shape) -> Shape:
    write_item, read_item = item

    def write(value: Any) -> Any:
        if not isinstance(value, tuple):
            raise ShapeError(f"a tuple is needed, not {type(value).__name__}")
        return [write_item(each) for each in cast("tuple[Any, ...]", value)]

    def read(value: Any) -> Any:
        return tuple(map(read_item, _listed(value)))

    return Shape(write, read)


def _set(annotation: Any) -> Shape:
    item = shape_of(get_args(annotation)[0])

    def write(value: Any) -> Any:
        if not isinstance(value, frozenset):
            raise ShapeError(f"a frozenset is needed, not {type(value).__name__}")
        # Sorted, so that equal events give equal bytes.
        return sorted(item.write(each) for each in cast("frozenset[Any]", value))

    def read(value: Any) -> Any:
        return frozenset(map(item.read, _listed(value)))

    return Shape(write, read)


def _mapping(annotation: Any) -> Shape:
    key, item = (shape_of(argument) for argument in get_args(annotation))

    def converter(convert_key: Convert, convert_item: Convert) -> Convert:
        def convert(value: Any) -> Any:
            if not isinstance(value, Mapping):
                raise ShapeError(f"an object is needed, not {value!r:.60}")
            pairs = cast("Mapping[Any, Any]", value).items()
            return {convert_key(name): convert_item(each) for name, each in pairs}

        return convert

    return Shape(converter(key.write, item.write), converter(key.read, item.read))


def _union(annotation: Any) -> Shape:
    members = tuple(member for member in get_args(annotation) if member is not type(None))
    if len(members) > 1 and not all(dataclasses.is_dataclass(member) for member in members):
        raise TypeError(f"no way to tell the members of {annotation!r} apart")
    inner = tagged(members) if len(members) > 1 else shape_of(next(iter(members)))
    if len(members) == len(get_args(annotation)):
        return inner

    def write(value: Any) -> Any:
        return None if value is None else inner.write(value)

    def read(value: Any) -> Any:
        return None if value is None else inner.read(value)

    return Shape(write, read)


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ShapeError(f"a list is needed, not {value!r:.60}")
    return cast("list[Any]", value)


_COMPOUNDS: dict[Any, Callable[[Any], Shape]] = {
    Literal: _choice,
    tuple: _tuple,
    frozenset: _set,
    Mapping: _mapping,
    Union: _union,
    types.UnionType: _union,
}
