"""What is kept of each version of the format: the shape of every stored class, golden files, and seals.

`shapes/vN.json` holds the shapes, a line for each field, so that two changes of different classes merge. A version that
was released is sealed in `sealed.json`: a digest of its shapes and one of its golden files, which never change again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import types
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from donewhen.core.events import Event
from donewhen.core.shapes import shape_of
from donewhen.store.codec import CODEC_VERSION

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
SHAPES = HERE / "shapes"
SEALED = HERE / "sealed.json"

Shapes = dict[str, dict[str, str]]


def shapes_of(union: Any = Event) -> Shapes:
    """By class, its fields as text: type and, where there is one, the default that a missing field gets.

    Everything that an event can hold is in it: nested classes, enums, literals, members of unions.
    """
    found: Shapes = {}
    found["Event"] = {member.__name__: _described(member, found) for member in get_args(union)}
    return found


def _described(annotation: Any, found: Shapes) -> str:
    if dataclasses.is_dataclass(annotation):
        return _record(cast("type[Any]", annotation), found)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        found[annotation.__name__] = {member.value: "member" for member in annotation}
        return annotation.__name__
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(sorted(repr(one) for one in arguments))
    if origin in (Union, types.UnionType):
        return " | ".join(sorted(_described(one, found) for one in arguments))
    if origin is None:
        return annotation.__name__
    inner = ", ".join("..." if one is Ellipsis else _described(one, found) for one in arguments)
    return f"{origin.__name__}[{inner}]"


def _record(cls: type[Any], found: Shapes) -> str:
    name = cls.__name__
    if name not in found:
        found[name] = {}
        hints = get_type_hints(cls)
        for field in dataclasses.fields(cls):
            if field.init:
                found[name][field.name] = _described(hints[field.name], found) + _default(field, hints[field.name])
    return name


def _default(field: dataclasses.Field[Any], annotation: Any) -> str:
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    elif field.default is not dataclasses.MISSING:
        value = field.default
    else:
        return ""
    return f" = {json.dumps(shape_of(annotation).write(value))}"


def written(shapes: Shapes) -> str:
    return json.dumps(shapes, indent=1, sort_keys=True) + "\n"


def kept_shapes(version: int = CODEC_VERSION) -> Shapes:
    file = SHAPES / f"v{version}.json"
    return json.loads(file.read_text("ascii")) if file.exists() else {}


def differences(old: Shapes, new: Shapes) -> list[str]:
    """`Class.field: old -> new`, a line each."""
    lines: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name, {}), new.get(name, {})
        for field in sorted(before.keys() | after.keys()):
            if before.get(field) != after.get(field):
                lines.append(f"{name}.{field}: {before.get(field, 'absent')} -> {after.get(field, 'absent')}")
    return lines


def sealed() -> Mapping[str, Mapping[str, str]]:
    return json.loads(SEALED.read_text("ascii"))


def seal_of(version: int) -> dict[str, str]:
    """Digests over what is kept of a version."""
    golden = "".join(f"{file.name}\n{file.read_text('ascii')}" for file in sorted((GOLDEN / f"v{version}").iterdir()))
    return {"shapes": _digest((SHAPES / f"v{version}.json").read_text("ascii")), "golden": _digest(golden)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def advice(version: int = CODEC_VERSION) -> str:
    """What to do about a shape that changed."""
    if str(version) not in sealed():
        return (
            f"Version {version} of the format has not been released: run `python tests/store/write_golden.py` and "
            f"commit what it writes; where a default doesn't say what entries of version {version - 1} mean, extend "
            f"UPGRADES[{version - 1}] in store/codec.py, with a test."
        )
    return (
        f"Version {version} of the format was released: raise CODEC_VERSION in store/codec.py to {version + 1}, add "
        f"UPGRADES[{version}] that lifts entries of version {version}, then run `python tests/store/write_golden.py` "
        "and commit what it writes."
    )
