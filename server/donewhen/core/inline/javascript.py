"""Tests in JavaScript and TypeScript sources: Vitest's `if (import.meta.vitest) {...}` blocks, and the `test` section
of vite's configuration. `import.meta.vitest` anywhere else is fixed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from donewhen.core.inline.places import Container, Source, SourceEntry, entry_or_comment, items, line_start, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_VITEST = re.compile(rb"import\s*\.\s*meta\s*\.\s*vitest")
_ASKED = re.compile(r"\(\s*(?:!!\s*)?import\s*\.\s*meta\s*\.\s*vitest\s*(?:!==?\s*(?:undefined|null)\s*)?\)")
_TEST_KEY = re.compile(r"""["']?test["']?""")
CONFIG = "config"


def read(root: Node, content: bytes, *, config: bool) -> Source:
    """`config`: it is one of vite's."""
    source = Source(content)
    entries: list[SourceEntry] = []
    for item in items(root.children, content, entry_or_comment):
        test = _is_test(item.node)
        entries.append(SourceEntry(_declaration_key(item.node), item.start, test))
        if not test and item.node.type != "comment" and _VITEST.search(item.node.text or b""):
            source.fixed.append(words(item.node.text or b""))
    source.places[()] = Container(tuple(entries), len(content))
    if config:
        objects = list(_configured(root))
        sections: list[Node] = []
        left = [root]
        while left:
            one = left.pop()
            if one.type == "object":
                sections += (pair for pair in one.children if _is_test_section(pair))
            left += one.children
        if len(objects) == 1 and all(pair.parent == objects[0] for pair in sections):
            source.places[(CONFIG,)] = _section(objects[0], content)
        else:
            source.fixed += [words(pair.text or b"") for pair in sections]
    return source


def _is_test(node: Node) -> bool:
    asked = node.child_by_field_name("condition") if node.type == "if_statement" else None
    alone = node.child_by_field_name("alternative") is None
    return asked is not None and alone and _ASKED.fullmatch((asked.text or b"").decode()) is not None


def _declaration_key(node: Node) -> str:
    declared = node.child_by_field_name("declaration") or node
    name = declared.child_by_field_name("name")
    return f"{declared.type} {words(name.text or b'')}" if name is not None else words(node.text or b"")[:200]


def _configured(root: Node) -> Iterator[Node]:
    """The objects that are exported as they stand, or as what a function is called with."""
    for statement in root.children:
        exported = statement.child_by_field_name("value") if statement.type == "export_statement" else None
        while exported is not None and exported.type in ("call_expression", "satisfies_expression", "as_expression"):
            arguments = exported.child_by_field_name("arguments")
            exported = next(iter(arguments.named_children if arguments is not None else exported.named_children), None)
        if exported is not None and exported.type == "object":
            yield exported


def _is_test_section(node: Node) -> bool:
    key = node.child_by_field_name("key") if node.type in ("pair", "method_definition") else None
    return key is not None and _TEST_KEY.fullmatch((key.text or b"").decode()) is not None


def _section(of: Node, content: bytes) -> Container:
    nodes = [node for node in of.children[1:-1] if node.type != ","]
    entries: list[SourceEntry] = []
    for item in items(nodes, content, entry_or_comment):
        key = item.node.child_by_field_name("key") or item.node
        entries.append(SourceEntry(words(key.text or b"")[:200], item.start, _is_test_section(item.node)))
    commas = [node for node in of.children if node.type == ","]
    last = next((node for node in reversed(nodes) if node.type != "comment"), None)
    closed = last is None or (bool(commas) and commas[-1].start_byte >= last.end_byte)
    return Container(tuple(entries), line_start(content, of.end_byte - 1), glue=b"" if closed else b",")
