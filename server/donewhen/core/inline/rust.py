"""Tests in Rust sources: items under `#[cfg(test)]` or `#[test]`, and examples in documentation, which rustdoc runs.

What a macro makes isn't looked into, and an attribute inside an item (on a statement, a field, a match arm) acts on
tests from a spot of the product: both are fixed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from donewhen.core.inline.places import Container, Item, Part, Path, Source, SourceEntry, items, line_start, words

if TYPE_CHECKING:
    from tree_sitter import Node

_TESTS = frozenset(
    b"test bench rstest test_case test_matrix quickcheck proptest property_test wasm_bindgen_test".split()
)
_TEST_MACROS = re.compile(rb"(?:\w+\s*::\s*)*(?:proptest|quickcheck)\s*!")
_COMMENTS = ("line_comment", "block_comment")
_FIXED = re.compile(
    rb"#!?\s*\[\s*(?:cfg\s*\(\s*(?:all\s*\(\s*)?test\b|(?:\w+\s*::\s*)*test\s*[\](]|cfg_attr\b[^\]]*\btest\b[^\]]*\bpath\b)"
    rb"|\bdoc\s*=[^\]]*(?:```|\binclude)|//[/!][^\n]*```|/\*[*!][^/]*```"
    rb"|\btest_runner\b|\breexport_test_harness_main\b"
)
"""What acts on tests in a spot where it can't be moved."""
_RUN = re.compile(
    r"rust|should_panic|no_run|compile_fail|ignore(?:-[\w-]+)?|edition\w*|standalone\w*|test_harness|E\d{4}"
)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([^`]*)$")


def read(root: Node, content: bytes) -> Source:
    source = Source(content)
    if any(_inner_cfg_test(child) for child in root.children):
        source.places[()] = Container((SourceEntry("", 0, test=True),), len(content))  # the whole file is for tests
    else:
        _container(root.children, (), len(content), source)
    return source


def home(text: str, missing: Path, form: str) -> str | None:
    """A test with what it stood in, where the product has no such place."""
    if form:
        name = f"Examples{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        lines = (f"/// {line.strip()[3:].removeprefix(' ')}" for line in text.splitlines() if line.strip())
        return "\n".join(("", *lines, "#[allow(dead_code)]", f"struct {name};", ""))
    headers = [re.sub(r" #\d+$", "", header) for header in missing]
    return "".join(f"{header} {{\n" for header in headers) + f"{text.rstrip()}\n" + "}\n" * len(headers)


def _container(nodes: Sequence[Node], path: Path, end: int, source: Source) -> None:
    """A module, an implementation or a trait, with the same in it."""
    entries: list[SourceEntry] = []
    inner: list[Node] = []
    for item in items(nodes, source.content, _item_part):
        if _is_inner(item.node):
            inner += [item.node]
            entries.append(SourceEntry("//!", item.start))
            continue
        test = _is_test(item)
        key = "//" if item.node.type in (*_COMMENTS, "attribute_item") else _item_key(item.node)
        entries.append(SourceEntry(key, item.start, test))
        if not test:
            _product(item, (*path, key), source)
    source.places[_own(path, source.places)] = Container(tuple(entries), end)
    docs = [node for node in inner if node.type == "line_comment"]
    _documentation(docs, (*path, "//!"), entries[0].start if entries else end, source)
    others = (_node_text(node) for node in inner if node.type != "line_comment")
    source.fixed += (words(text) for text in others if _fixed(text))


def _product(item: Item, path: Path, source: Source) -> None:
    docs = [node for node in item.lead if _is_doc(node)]
    # Examples go before the attributes: where documentation stands among or behind them, they stay.
    behind = next((node for node in item.lead if node.type == "attribute_item"), item.node)
    first = item.lead.index(docs[0]) if docs else 0
    if not docs or [*docs, behind] == [*item.lead, item.node][first : first + len(docs) + 1]:
        _documentation(docs, (*path, "///"), line_start(source.content, behind.start_byte), source)
    else:
        source.fixed += [words(_node_text(node)) for node in docs if b"```" in _node_text(node)]
    others = (_node_text(node) for node in item.lead if node not in docs)
    source.fixed += [words(text) for text in others if _fixed(text)]
    body = item.node.child_by_field_name("body")
    if item.node.type in ("mod_item", "impl_item", "trait_item") and body is not None:
        _container(body.children[1:-1], path, line_start(source.content, body.end_byte - 1), source)
        return
    if body is not None and body.type in ("field_declaration_list", "enum_variant_list"):
        for field in items(body.children[1:-1], source.content, _item_part):
            named = field.node.child_by_field_name("name")
            if named is not None:
                _product(field, (*path, words(_node_text(named))), source)
        return
    source.fixed += _test_effects(item.node)


def _documentation(docs: Sequence[Node], path: Path, end: int, source: Source) -> None:
    """Documentation by lines: each code block is a test, unless it says that it is of another language. The last part
    of its path is the mark that its lines begin with."""
    content = source.content
    lines = [node for node in docs if node.type == "line_comment"]
    rows = [node.start_point.row for node in lines]
    if len(lines) < len(docs) or rows != list(range(rows[0], rows[0] + len(rows)) if rows else ()):
        source.fixed += [words(_node_text(node)) for node in docs if b"```" in _node_text(node)]
        return
    entries: list[SourceEntry] = []
    fence = ""
    blank, test, indented = True, False, False
    for node in lines:
        said = _node_text(node).decode().rstrip("\n").lstrip()[3:]
        opened = _FENCE.match(said)
        start = line_start(content, node.start_byte)
        if fence:
            if opened and opened[1].startswith(fence) and not opened[2].strip():
                fence = ""
            if not test:
                entries.append(SourceEntry(said.strip(), start))
            blank = False
            continue
        if opened:
            fence = opened[1]
            test = all(_RUN.fullmatch(word) for word in re.split(r"[\s,]+", opened[2].strip("{} \t")) if word)
            entries.append(SourceEntry(said.strip(), start, test))
        elif said.strip():
            within = indented
            indented = (blank or indented) and said.removeprefix(" ").startswith("    ")
            if not (within and indented):
                entries.append(SourceEntry(said.strip(), start, indented))
        else:
            indented = False
        blank = not said.strip()
    last = lines[-1].end_byte if lines else end
    if lines and content[last - 1 : last] != b"\n":
        last = content.find(b"\n", last) + 1 or len(content)
    source.places[_own(path, source.places)] = Container(tuple(entries), last, path[-1])


def _own(path: Path, places: dict[Path, Container]) -> Path:
    """A path that no other place has."""
    if path not in places:
        return path
    number = next(number for number in range(2, len(places) + 3) if (*path[:-1], f"{path[-1]} #{number}") not in places)
    return (*path[:-1], f"{path[-1]} #{number}")


def _item_part(node: Node) -> Part:
    if node.type in _COMMENTS:
        return "entry" if _is_inner(node) else "comment"
    return "lead" if node.type == "attribute_item" else "entry"


def _is_inner(node: Node) -> bool:
    return node.type == "inner_attribute_item" or any(c.type == "inner_doc_comment_marker" for c in node.children)


def _is_doc(node: Node) -> bool:
    return any(child.type == "outer_doc_comment_marker" for child in node.children)


def _is_test(item: Item) -> bool:
    if any(_says_test(node) for node in item.lead if node.type == "attribute_item"):
        return True
    body = item.node.child_by_field_name("body")
    if item.node.type == "mod_item" and body is not None and any(_inner_cfg_test(child) for child in body.children):
        return True
    return _TEST_MACROS.match(_node_text(item.node)) is not None


def _says_test(attribute_item: Node) -> bool:
    attribute = next((child for child in attribute_item.children if child.type == "attribute"), None)
    if attribute is None or not attribute.children:
        return False
    name = _node_text(attribute.children[0])
    tree = next((child for child in attribute.children if child.type == "token_tree"), None)
    if name == b"cfg":
        return tree is not None and any(_means_test(part) for part in _predicates(tree))
    return words(name.replace(b"::", b" ")).split()[-1].encode() in _TESTS


def _inner_cfg_test(node: Node) -> bool:
    return node.type == "inner_attribute_item" and _says_test(node)


def _predicates(tree: Node) -> Iterator[list[Node]]:
    part: list[Node] = []
    for child in tree.children[1:-1]:
        if child.type == ",":
            yield part
            part = []
        else:
            part.append(child)
    if part:
        yield part


def _means_test(part: Sequence[Node]) -> bool:
    """True if the predicate holds for tests alone."""
    name = _node_text(part[0]) if part else b""
    if len(part) == 1:
        return name in (b"test", b"doctest")
    if len(part) != 2 or part[1].type != "token_tree":
        return False
    each = [_means_test(one) for one in _predicates(part[1])]
    return any(each) if name == b"all" else name == b"any" and bool(each) and all(each)


def _item_key(node: Node) -> str:
    """A declaration by its head, anything else by its text."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if node.type == "impl_item" and body is not None:
        return words(_node_text(node)[: body.start_byte - node.start_byte])
    if node.type == "mod_item" and name is not None:
        return f"mod {words(_node_text(name))}"
    return f"{node.type} {words(_node_text(name))}" if name is not None else words(_node_text(node))[:200]


def _test_effects(node: Node) -> list[str]:
    """What acts on tests inside an item of the product."""
    found: list[str] = []
    if b"test" not in _node_text(node) and not _fixed(_node_text(node)):
        return found
    left = [node]
    while left:
        one = left.pop()
        text = _node_text(one)
        if one.type in ("macro_invocation", "macro_definition"):
            found += [words(text)] if _fixed(text) else []
        elif one.type in ("attribute_item", "inner_attribute_item"):
            of = one.next_named_sibling
            acts = _says_test(one) or _fixed(text)
            found += [words(text + (_node_text(of) if of is not None else b""))] if acts else []
        elif _is_doc(one):
            found += [words(text)] if b"```" in text else []
        else:
            left += reversed(one.children)
    return found


def _fixed(text: bytes) -> bool:
    return _FIXED.search(text) is not None


def _node_text(node: Node) -> bytes:
    return node.text or b""
