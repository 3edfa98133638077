"""Tests in Python modules: doctest's examples in docstrings, and the test functions of a module that a check runs.

Examples count where doctest finds them: in the docstrings of a module, its classes and their functions. Those in a
string that isn't written over lines of its own, or that is put into `__doc__` or `__test__`, are fixed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from donewhen.core.inline.places import Container, Path, Source, SourceEntry, entry_or_comment, items, line_start, words

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST_CLASS = re.compile(rb"class\s+(?:Test\w*|\w+\s*\([^)]*\bTestCase\b)")
_TEST_FUNCTION = re.compile(
    rb"(?:async\s+)?def\s+(?:test_?\w*|load_tests|(?:setup|teardown|setUp|tearDown)\w*|pytest_\w+)\b"
)
_FIXTURE = re.compile(rb"@\s*(?:\w+\.)*fixture\b")
_MARK = re.compile(rb"pytestmark\b|pytest_plugins\b")
_DEFINITIONS = ("class_definition", "function_definition", "decorated_definition")
_LINES = re.compile(r"[rRuU]?(?:\"\"\"|''')")


def read(root: Node, content: bytes, *, tested: bool) -> Source:
    """`tested`: a check runs the test functions of this module."""
    entries: list[SourceEntry] = []
    source = Source(content)
    _docstring(root, "", source)
    for item in items(root.children, content, entry_or_comment):
        test = tested and _is_test(item.node)
        entries.append(SourceEntry(_definition_key(item.node), item.start, test))
        if not test:
            _product(item.node, "", source, tested=tested)
    source.places[()] = Container(tuple(entries), len(content))
    return source


def home(text: str, missing: Path, form: str) -> str | None:
    """Examples whose docstring isn't there, where doctest finds them, too."""
    if not form:
        return None  # the module itself is always there
    quotes = form[-3:]
    return f'\n__test__ = {{**globals().get("__test__", {{}}), {missing[0]!r}: {form}\n{text.rstrip()}\n{quotes}}}\n'


def examples(content: bytes, start: int, end: int, form: str = "") -> Container:
    """A text by lines: each example, from its prompt to the next blank line, is a test."""
    entries: list[SourceEntry] = []
    at, within = start, False
    for line in content[start:end].splitlines(keepends=True):
        said = line.strip()
        if said.startswith(b">>> ") or said == b">>>":
            entries.append(SourceEntry("", at, test=True))
            within = True
        elif said and not within:
            entries.append(SourceEntry(words(said), at))
        elif not said:
            within = False
        at += len(line)
    return Container(tuple(entries), max(start, line_start(content, end)), form)


def _is_test(node: Node) -> bool:
    text = node.text or b""
    bare = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
    said = bare.text or b"" if bare is not None else b""
    if node.type == "expression_statement":
        return _MARK.match(text) is not None
    if bare is None or bare.type not in _DEFINITIONS:
        return False
    decorators = text[: len(text) - len(said)]
    return any(mark.match(said) for mark in (_TEST_CLASS, _TEST_FUNCTION)) or _FIXTURE.search(decorators) is not None


def _definition_key(node: Node) -> str:
    """By its name, or its first line: examples may stand in the others."""
    bare = node.child_by_field_name("definition") or node
    name = bare.child_by_field_name("name")
    return (
        f"{bare.type} {words(name.text or b'')}" if name is not None else words((node.text or b"").partition(b"\n")[0])
    )


def _product(node: Node, inside: str, source: Source, *, tested: bool) -> None:
    """Looks for docstrings, and for tests where they can't be taken out."""
    text = node.text or b""
    bare = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
    if bare is None:
        return
    if bare.type in ("class_definition", "function_definition"):
        name = bare.child_by_field_name("name")
        body = bare.child_by_field_name("body")
        own = f"{inside}{words(name.text or b'') if name is not None else ''}"
        if body is not None:
            _docstring(body, own, source)
        if body is not None and bare.type == "class_definition":
            for child in body.children:
                _product(child, f"{own}.", source, tested=False)
        return
    if re.search(rb"\b__(?:doc|test)__\b", text) and b">>>" in text:
        source.fixed.append(words(text))
        return
    for child in node.children:  # what is defined under a condition
        if child.type in _DEFINITIONS and tested and _is_test(child):
            source.fixed.append(words(child.text or b""))
        elif child.type in (*_DEFINITIONS, "block") or child.type.endswith("_clause"):
            _product(child, inside, source, tested=tested)


def _docstring(body: Node, owner: str, source: Source) -> None:
    first = next((child for child in body.named_children if child.type != "comment"), None)
    if first is None or first.type != "expression_statement" or not first.named_children:
        return
    text, string = first.text or b"", first.named_children[0]
    if string.type not in ("string", "concatenated_string"):
        return
    opening = string.children[0].text if string.type == "string" and string.children else None
    form = (opening or b"").decode()
    if not _LINES.fullmatch(form):
        source.fixed += [words(text)] if b">>>" in text else []
        return
    start, end = string.children[0].end_byte, string.children[-1].start_byte
    key, number = owner, 2
    while (key,) in source.places:
        key, number = f"{owner} #{number}", number + 1
    source.places[(key,)] = examples(source.content, start, end, form)
