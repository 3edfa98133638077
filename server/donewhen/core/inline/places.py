"""Where tests may stand in a source: its places, what they hold, and the grammars that find them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Language, Node


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """Something that stands in a place, from `start` to where the next one starts, or the place ends. `key` is what it
    is known by in another version of the source."""

    key: str
    start: int
    test: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """A part of a source that holds entries side by side and nothing between them. `end` is where one more would go,
    `form` what a place must be like to take its tests, `glue` what must come before one at the end."""

    entries: tuple[SourceEntry, ...]
    end: int
    form: str = ""
    glue: bytes = b""


Path = tuple[str, ...]


@dataclass(slots=True)
class Source:
    """What was found in a source: its places by their paths, the whole of it is `()`; `fixed` is what acts on tests, or
    is one, in a spot from which it can't be taken."""

    content: bytes
    places: dict[Path, Container] = field(default_factory=dict[Path, Container])
    fixed: list[str] = field(default_factory=list[str])


def numbered(entries: Sequence[SourceEntry]) -> list[str]:
    """The keys of product entries, each one's own; empty for tests."""
    seen: Counter[str] = Counter()
    keys: list[str] = []
    for entry in entries:
        if not entry.test:
            seen[entry.key] += 1
        keys.append("" if entry.test else f"{entry.key} #{seen[entry.key]}")
    return keys


Part = Literal["comment", "lead", "entry"]


def entry_or_comment(node: Node) -> Part:
    """For languages without attributes."""
    return "comment" if node.type == "comment" else "entry"


@dataclass(frozen=True, slots=True)
class Item:
    """A statement or declaration with the comments and attributes before it, which belong to it."""

    node: Node
    lead: tuple[Node, ...]
    start: int


def items(nodes: Iterable[Node], content: bytes, part: Callable[[Node], Part]) -> list[Item]:
    """The items among the children of a node. Comments at the end are one, too; one behind an item belongs to it."""
    found: list[Item] = []
    lead: list[Node] = []
    row = -1
    for node in nodes:
        kind = part(node)
        if kind == "comment" and node.start_point.row == row and not lead:
            continue
        if kind != "entry":
            lead.append(node)
            continue
        found.append(Item(node, tuple(lead), line_start(content, (lead or [node])[0].start_byte)))
        lead = []
        row = node.end_point.row - (node.end_point.column == 0)  # a comment of Rust's may end with its line
    if lead:
        found.append(Item(lead[-1], tuple(lead[:-1]), line_start(content, lead[0].start_byte)))
    return found


def line_start(content: bytes, at: int) -> int:
    """The start of the line, where nothing else stands before this on it."""
    start = at
    while start and content[start - 1] in b" \t\r\f\v":  # a line may be long, and hold much
        start -= 1
    return start if not start or content[start - 1] == 0x0A else at


def words(text: bytes) -> str:
    """A text as it is whatever its lines and indentation are."""
    return " ".join(text.decode().split())


# The tree-sitter grammars, each loaded when a text of its language is first parsed.


Grammar = Literal["javascript", "python", "rust", "tsx", "typescript"]

_PLACES: dict[Grammar, tuple[str, str]] = {
    "javascript": ("tree_sitter_javascript", "language"),
    "python": ("tree_sitter_python", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}


def parsed(grammar: Grammar, text: bytes) -> Node | None:
    """The root of the syntax tree; None for a text that the grammar can't read whole."""
    from tree_sitter import Parser  # as below

    root = Parser(_language(grammar)).parse(text).root_node  # one for each text: threads can't share it
    return None if root.has_error else root


@cache
def _language(grammar: Grammar) -> Language:
    # Imported here: it takes 15 ms and 5 ms more for each grammar, and most processes need none of them.
    from tree_sitter import Language

    module, name = _PLACES[grammar]
    capsule: object = getattr(import_module(module), name)()
    return Language(capsule)
