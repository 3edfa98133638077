"""Tests among a product's code: takes a source apart into its product and its tests, and puts together the two of
different versions.

`divided` reads a source, `joined` makes one. A grammar says where tests stand (`rust`, `javascript`, `python`); each of
them only lists the places of a source (`places.Container`), and this module cuts and inserts. For every source that
`divided` can read, `joined(path, halves.product, halves.tests)` is that source again. What can't be read, or is neither
product nor test alone, is never guessed at: `divided` gives None for a text with a syntax error and for an unknown
language, and names in `fixed` what acts on tests and can't be moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from posixpath import basename, splitext

from donewhen.core.inline import javascript, python, rust
from donewhen.core.inline.places import Grammar, Path, Source, numbered, parsed

GRAMMARS: dict[str, Grammar] = {
    ".rs": "rust",
    ".py": "python",
    ".pyi": "python",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".tsx": "tsx",
}
PROSE = (".md", ".rst", ".txt")


@dataclass(frozen=True, slots=True)
class Piece:
    """A test of a source. `place` is what it stands in, from the outermost, `before` the code of the product that
    follows it there, empty at the end. `own_line`: nothing stands before it on its line."""

    place: tuple[str, ...]
    form: str
    before: str
    own_line: bool
    text: str

    @property
    def said(self) -> tuple[tuple[str, ...], str]:
        """What makes it the same test in another version of the source."""
        return self.place, self.text.strip()


@dataclass(frozen=True, slots=True)
class Halves:
    """A source without its tests, its tests in their order, and what of it is neither alone."""

    product: str
    tests: tuple[Piece, ...]
    fixed: tuple[str, ...] = ()

    @property
    def said(self) -> list[tuple[tuple[str, ...], str]]:
        """The tests, so that moving product code about makes no others of them."""
        return sorted((piece.said for piece in self.tests), key=lambda said: said[0])


def divided(path: str, text: str, *, tested: bool = False) -> Halves | None:
    """None if the language isn't known here, or the source can't be read. `tested`: a check runs the test functions
    of this Python module."""
    content = text.encode()
    source = _read_source(path, content, tested=tested)
    if source is None:
        return None
    pieces: list[tuple[int, int, Piece]] = []
    for place, of in source.places.items():
        keys = numbered(of.entries)
        starts = [*(entry.start for entry in of.entries), of.end]
        for at, entry in enumerate(of.entries):
            if entry.test:
                start, end = starts[at], starts[at + 1]
                before = next((key for key in keys[at + 1 :] if key), "")
                whole = not content[content.rfind(b"\n", 0, start) + 1 : start].strip()
                pieces.append((start, end, Piece(place, of.form, before, whole, content[start:end].decode())))
    pieces.sort(key=lambda piece: piece[0])
    product, at = list[bytes](), 0
    for start, end, _ in pieces:
        product.append(content[at:start])
        at = end
    product.append(content[at:])
    return Halves(b"".join(product).decode(), tuple(piece for _, _, piece in pieces), tuple(source.fixed))


def joined(path: str, product: str, tests: Sequence[Piece], *, tested: bool = False) -> str | None:
    """The product of one version with the tests of another, each where it stood. A test of something that this product
    doesn't have gets a place of its own. None if there can be none."""
    content = product.encode()
    source = _read_source(path, content, tested=tested)
    if source is None:
        return None
    added: list[tuple[int, Piece, bytes]] = []
    for piece in tests:
        found = _inserted(path, source, piece)
        if found is None:
            return None
        added.append((found[0], piece, found[1]))
    made, at = bytearray(), 0
    for offset, piece, text in sorted(added, key=lambda one: one[0]):
        made += content[at:offset]
        line = made[made.rfind(b"\n") + 1 :]
        if line.strip() and (piece.own_line or (piece.form and not line.endswith(piece.form.encode()))):
            made += b"\n"
        elif line.strip() and not (piece.form or line[-1:].isspace()):
            made += b" "
        made += text
        at = offset
    made += content[at:]
    return made.decode()


def lines_of_product(path: str, text: str) -> list[tuple[int, str]]:
    """The lines of a source with their numbers, without those of tests; all of them where it can't be read."""
    content = text.encode()
    source = _read_source(path, content, tested=False)
    tests: set[int] = set()
    for of in source.places.values() if source is not None else ():
        starts = [*(entry.start for entry in of.entries), of.end]
        for at, entry in enumerate(of.entries):
            if entry.test:
                first = content.count(b"\n", 0, starts[at])
                tests.update(range(first, content.count(b"\n", 0, starts[at + 1] - 1) + 1))
    return [(number, line) for number, line in enumerate(text.split("\n")) if number not in tests]


def _read_source(path: str, content: bytes, *, tested: bool) -> Source | None:
    suffix = splitext(path)[1]
    if suffix in PROSE:
        return Source(content, {(): python.examples(content, 0, len(content))})
    grammar = GRAMMARS.get(suffix)
    root = parsed(grammar, content) if grammar is not None else None
    if root is None:
        return None
    match grammar:
        case "rust":
            return rust.read(root, content)
        case "python":
            return python.read(root, content, tested=tested)
        case _:
            return javascript.read(root, content, config=basename(path).startswith("vite.config."))


_HOMES: dict[str, Callable[[str, Path, str], str | None]] = {
    ".rs": rust.home, ".py": python.home, ".pyi": python.home,
}  # fmt: skip


def _inserted(path: str, source: Source, piece: Piece) -> tuple[int, bytes] | None:
    """Where a piece goes, and as what."""
    of = source.places.get(piece.place)
    if of is not None and of.form == piece.form:
        keys = zip(numbered(of.entries), of.entries, strict=True)
        behind = next((entry for key, entry in keys if key and key == piece.before), None)
        text = piece.text.encode()
        return (of.end, of.glue + text) if behind is None else (behind.start, text)
    home = _HOMES.get(splitext(path)[1])
    if home is None:
        return None
    depth = next(depth for depth in range(len(piece.place) - 1, -1, -1) if piece.place[:depth] in source.places)
    made = home(piece.text, piece.place[depth:], piece.form)
    return None if made is None else (source.places[piece.place[:depth]].end, made.encode())
