"""Edits of a JSON file that leave all else as it is written: comments, order, spaces. A file of settings may hold
comments and trailing commas, as some agents allow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')


class NotJson(ValueError):
    """The text is not JSON, with or without comments, or doesn't have the shape that it must have."""


def with_item(text: str, path: Sequence[str], item: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """The text with `item` as the last one of the list at `path`; what is missing on the way there is made. A blank
    text becomes an object with `base`. Raises NotJson."""
    if not text.strip():
        text = json.dumps(base, indent=2, ensure_ascii=False) + "\n"
    node, left = _root(text), list(path)
    while left:
        found = node.values.get(left[0])
        if found is None:
            value: Any = [item]
            for name in reversed(left[1:]):
                value = {name: value}
            return _put(text, node, f"{json.dumps(left[0])}: {_indented_json(value, text, node)}")
        wanted = "[" if len(left) == 1 else "{"
        if found.kind != wanted:
            here = ".".join(path[: len(path) - len(left) + 1])
            raise NotJson(f"`{here}` must be {'a list' if wanted == '[' else 'an object'}")
        node = found
        left.pop(0)
    return _put(text, node, _indented_json(item, text, node))


def without_items(text: str, path: Sequence[str], ours: Callable[[str], bool]) -> str:
    """The text without the items that are `ours` of the lists in the object at `path`, and without what is empty then,
    up to the first name of `path`. Raises NotJson."""
    while (shorter := _without_one(text, path, ours)) is not None:
        text = shorter
    return text


# ---- reading


@dataclass(slots=True)
class _Node:
    """A value: `kind` is `{`, `[`, or empty for a scalar. `spans` are those of its items, with their keys; `values` the
    values of an object."""

    kind: str
    start: int
    end: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    values: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    keys: list[str] = field(default_factory=list[str])


def _root(text: str) -> _Node:
    try:
        root = _value(text, _blank(text, 0))
        if root.kind != "{" or _blank(text, root.end) != len(text):
            raise NotJson("it is not one JSON object")
    except (IndexError, RecursionError) as error:
        raise NotJson("it ends in the middle") from error
    return root


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int) -> _Node:
    if text[at] not in "{[":
        found = _SCALAR.match(text, at)
        if found is None:
            raise NotJson(f"line {text.count(chr(10), 0, at) + 1} is not JSON")
        return _Node("", at, found.end())
    node, end = _Node(text[at], at), "}" if text[at] == "{" else "]"
    at = _blank(text, at + 1)
    while text[at] != end:
        start = at
        if node.kind == "{":
            key = _value(text, at)
            at = _blank(text, key.end)
            if key.kind or text[key.start] != '"' or text[at] != ":":
                raise NotJson(f"line {text.count(chr(10), 0, start) + 1} is not JSON")
            value = _value(text, _blank(text, at + 1))
            node.values[json.loads(text[key.start : key.end])] = value
            node.keys.append(json.loads(text[key.start : key.end]))
        else:
            value = _value(text, at)
        node.spans.append((start, value.end))
        at = _blank(text, value.end)
        if text[at] == ",":
            at = _blank(text, at + 1)
        elif text[at] != end:
            raise NotJson(f"line {text.count(chr(10), 0, at) + 1} is not JSON")
    node.end = at + 1
    return node


# ---- putting in


def _put(text: str, node: _Node, item: str) -> str:
    """One more item at the end of a list or an object."""
    indent = _indent(text, node.start)
    if not node.spans:
        inner = text[node.start + 1 : node.end - 1].rstrip()
        return f"{text[: node.start + 1]}{inner}\n{indent}  {item}\n{indent}{text[node.end - 1 :]}"
    first, (_, last) = node.spans[0][0], node.spans[-1]
    rest = text[last : node.end - 1]
    comma = _comma(text, last)
    said = rest.rstrip()
    before = text[node.start + 1 : first]
    step = f"\n{_indent(text, first)}" if "\n" in before else " "
    put = f"{step}{item}" + ("" if comma is None else ",")
    return text[:last] + ("," if comma is None else "") + said + put + rest[len(said) :] + text[node.end - 1 :]


def _indented_json(value: Any, text: str, node: _Node) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{_indent(text, node.start)}  ")


def _indent(text: str, at: int) -> str:
    """The indentation of the line that holds this place."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _comma(text: str, at: int) -> int | None:
    """The end of the comma that follows, past comments."""
    at = _blank(text, at)
    return at + 1 if text[at : at + 1] == "," else None


# ---- taking out


def _without_one(text: str, path: Sequence[str], ours: Callable[[str], bool]) -> str | None:
    chain = [_root(text)]
    for name in path:
        found = chain[-1].values.get(name)
        if found is None or found.kind != "{":
            return None
        chain.append(found)
    for name in chain[-1].keys:
        listed = chain[-1].values[name]
        if listed.kind != "[":
            continue
        mine = [at for at, (start, end) in enumerate(listed.spans) if ours(text[start:end])]
        if mine:
            return _without_item(text, [*chain, listed], [*path, name], mine[0])
    return None


def _without_item(text: str, chain: list[_Node], path: list[str], at: int) -> str:
    """The innermost that keeps something loses its item; what would be empty goes too, unless it has comments."""
    node = chain[-1]
    while len(node.spans) == 1 and len(chain) > 1 and not _comments(text, node):
        chain.pop()
        node, at = chain[-1], chain[-1].keys.index(path.pop())
    start, end = node.spans[at]
    comma = _comma(text, end)
    if at + 1 < len(node.spans):
        return text[:start] + text[comma:].lstrip()
    after = text[comma or end : node.end - 1]
    if at == 0:
        inner = text[node.start + 1 : start].rstrip() + after.rstrip()
        closing = f"\n{_indent(text, node.start)}" if inner else ""
        return text[: node.start + 1] + inner + closing + text[node.end - 1 :]
    before = node.spans[at - 1][1]
    parted = _comma(text, before)
    assert parted is not None  # an item stands before it
    kept = text[parted:start].rstrip() + after + text[node.end - 1 :]
    # Where the last item has a comma of its own, so had the one before.
    return text[: parted if comma is not None else parted - 1] + kept


def _comments(text: str, node: _Node) -> bool:
    (start, end), *_ = node.spans
    around = text[node.start + 1 : start] + text[end : node.end - 1]
    return bool(around.replace(",", "").strip())
