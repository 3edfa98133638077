"""YAML documents of ours, checked by pydantic models, with errors that name the line.

    class Turn(Shape):
        steps: Items[str]
        name: str = ""

    turn = read(Turn, "steps: [3]", "turn.yaml")

raises InvalidGoal: "turn.yaml line 1: item 1 of `steps` should be text".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from donewhen.core.errors import InvalidGoal
from donewhen.marked_yaml import BadYaml, compose

T = TypeVar("T")

Items = Annotated[tuple[T, ...], Field(strict=False)]
"""A list of values, kept as a tuple."""
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]

_TEXTS = {
    "missing": "{key} is missing",
    "string_type": "{key} should be text",
    **dict.fromkeys(("tuple_type", "list_type"), "{key} should be a list"),
    "dict_type": "{key} should be a mapping",
    "bool_type": "{key} should be true or false",
    **dict.fromkeys(
        ("float_type", "int_type", "greater_than_equal", "finite_number"), "{key} should be a number of at least 0"
    ),
}


class Shape(BaseModel):
    """A mapping of YAML. Keys that are not a field's are refused, and nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, value: object) -> object:
        if isinstance(value, cls):
            return value
        fields = {field.alias or name: field.is_required() for name, field in cls.model_fields.items()}
        if not isinstance(value, dict):
            names = listed([name for name, needed in fields.items() if needed] or fields)
            raise PydanticCustomError("not_a_mapping", "this should be a mapping with {names}", {"names": names})
        for key in map(str, cast("dict[object, object]", value)):
            if key not in fields:
                raise PydanticCustomError(
                    "unknown_key", "unknown key `{key}`{near}", {"key": key, "near": nearest(key, fields)}
                )
        return cast("object", value)


def read(shape: type[T], text: str, name: str) -> T:
    """A document of that type, a Shape or of Shapes; `name` is what errors call it.

    Raises InvalidGoal that names the line of a mistake.
    """
    try:
        root = compose(text)
        value = None if root is None else _construct(root)
    except BadYaml as error:
        raise InvalidGoal(f"{name} line {error.line}: this is not YAML: {error}") from error
    except yaml.YAMLError as error:
        mark: yaml.Mark | None = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or error
        raise InvalidGoal(f"{name} line {mark.line + 1 if mark else 1}: this value can't be read: {reason}") from error
    except (ValueError, OverflowError) as error:
        raise InvalidGoal(f"{name}: a value can't be read: {error}") from error
    except RecursionError as error:
        raise InvalidGoal(f"{name} is nested too deeply") from error
    _refuse_twins(root, name)
    try:
        return TypeAdapter(shape).validate_python(value)
    except ValidationError as error:
        mistakes = [_mistake(root, one) for one in error.errors(include_url=False)]
        line, message = min(mistakes, key=lambda mistake: mistake[0])
        raise InvalidGoal(f"{name} line {line}: {message}") from error


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that isn't known."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; known are {listed(names)}"


def _construct(node: yaml.Node) -> Any:
    loader: Any = yaml.SafeLoader("")  # its stubs leave the types of nodes open
    try:
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _refuse_twins(root: yaml.Node | None, name: str) -> None:
    """Raises InvalidGoal for a key that stands twice in a mapping: YAML would take the last."""
    open_nodes, seen = [root] if root is not None else [], set[int]()
    while open_nodes:
        node = open_nodes.pop()
        # Aliases make nodes appear in many places, their own inside among them.
        if id(node) in seen:
            continue
        seen.add(id(node))
        keys = set[str]()
        for key, value in _pairs(node):
            if key.value in keys:
                raise InvalidGoal(f"{name} line {_line_number(key)}: `{key.value}` is there twice")
            keys.add(str(key.value))
            open_nodes.append(value)
        open_nodes += _members(node)


def _mistake(root: yaml.Node | None, error: ErrorDetails) -> tuple[int, str]:
    """The line of a mistake, from 1, and what it says."""
    node, context = root, cast("Mapping[str, Any]", error.get("ctx", {}))
    for part in error["loc"]:
        # What a shape adds to the document (the `steps` of a turn that is a bare list) has no node of its own.
        node = _inner(node, part) or node
    if error["type"] == "unknown_key":
        node = next((key for key, _ in _pairs(node) if key.value == context["key"]), node)
    return _line_number(node), _fault_in_words(error, context)


def _fault_in_words(error: ErrorDetails, context: Mapping[str, Any]) -> str:
    if isinstance(problem := context.get("error"), ValueError):
        return str(problem)
    names = [part for part in error["loc"] if isinstance(part, str)]
    key = f"`{names[-1]}`" if names else "this"
    if error["loc"] and isinstance(number := error["loc"][-1], int):
        key = f"item {number + 1} of {key}"
    if error["type"] == "literal_error":
        known = [one.strip(" '") for one in context["expected"].replace(" or ", ", ").split(",")]
        wrong = error["input"]
        return f"{key} is one of {listed(known)}" + (nearest(wrong, known) if isinstance(wrong, str) else "")
    return _TEXTS.get(error["type"], error["msg"]).format(key=key)


def _inner(node: yaml.Node | None, part: str | int) -> yaml.Node | None:
    if isinstance(part, int) and isinstance(node, yaml.SequenceNode):
        members = _members(node)
        return members[part] if part < len(members) else None
    return next((value for key, value in _pairs(node) if key.value == str(part)), None)


def _pairs(node: yaml.Node | None) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The single keys of a mapping, and their values."""
    if isinstance(node, yaml.MappingNode):
        pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
        yield from ((key, value) for key, value in pairs if isinstance(key, yaml.ScalarNode))


def _members(node: yaml.Node | None) -> list[yaml.Node]:
    return cast("list[yaml.Node]", node.value) if isinstance(node, yaml.SequenceNode) else []


def _line_number(node: yaml.Node | None) -> int:
    mark = node.start_mark if node is not None else None
    return mark.line + 1 if mark else 1
