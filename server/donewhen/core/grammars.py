"""The tree-sitter grammars, each loaded when a text of its language is first parsed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

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
    root = _parser(grammar).parse(text).root_node
    return None if root.has_error else root


@cache
def _parser(grammar: Grammar) -> Parser:
    # Imported here: it takes 15 ms and 5 ms more for each grammar, and most processes need none of them.
    from tree_sitter import Language, Parser

    module, name = _PLACES[grammar]
    capsule: object = getattr(import_module(module), name)()
    return Parser(Language(capsule))
