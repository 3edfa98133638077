"""Goal files as Markdown blocks: the top-level items, headings and comments, without their inline content."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token

from donewhen.goalfile.source import Span, Value

# Positions of text: lines of a goal file, and where the pieces that Markdown cuts out of them come from.


LINE_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a text without their ends. `shift` is added to columns of the first line: a byte-order mark."""

    lines: tuple[str, ...]
    shift: int = 0

    @classmethod
    def of(cls, text: str) -> Layout:
        marked = text.startswith("\ufeff")
        return cls(tuple(LINE_BREAK.split(text[1:] if marked else text)), 1 if marked else 0)

    def span(self, start: tuple[int, int], end: tuple[int, int]) -> Span:
        return Span(start[0], self._column(*start), end[0], self._column(*end))

    def line_span(self, line: int, last: int | None = None) -> Span:
        """From the first character of `line` that is not a space to the end of `last`."""
        end = line if last is None else last
        indent = len(self.lines[line]) - len(self.lines[line].lstrip())
        start = indent if indent < len(self.lines[line]) or end > line else 0
        return self.span((line, start), (end, len(self.lines[end].rstrip())))

    def last_filled(self, first: int, end: int) -> int:
        """The last line of [first, end) that is not blank, or `first` if all are."""
        for line in range(min(end, len(self.lines)) - 1, first, -1):
            if self.lines[line].strip():
                return line
        return first

    def _column(self, line: int, column: int) -> int:
        return column + self.shift if line == 0 else column


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that Markdown took from several lines, each stripped, joined with newlines; it knows its source
    positions."""

    layout: Layout
    first_line: int
    rows: tuple[str, ...]
    columns: tuple[int, ...]
    text: str = field(init=False)
    _starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", "\n".join(self.rows))
        lengths = (len(row) + 1 for row in self.rows[:-1])
        object.__setattr__(self, "_starts", tuple(accumulate(lengths, initial=0)))

    @classmethod
    def of(cls, layout: Layout, first_line: int, content: str) -> Passage:
        rows = tuple(row.strip() for row in content.split("\n"))
        columns: list[int] = []
        for row, raw in zip_longest(rows, layout.lines[first_line : first_line + len(rows)], fillvalue=""):
            bare = raw.rstrip()
            # Markdown removes prefixes (list markers, indentation): what remains ends at the end of the line.
            columns.append(len(bare) - len(row) if bare.endswith(row) else max(bare.find(row), 0))
        return cls(layout, first_line, rows, tuple(columns))

    def span(self, start: int, end: int) -> Span:
        """The position of text[start:end]."""
        return self.layout.span(self._position(start), self._position(end))

    def value(self, start: int, end: int, text: str | None = None) -> Value:
        return Value(self.text[start:end] if text is None else text, self.span(start, end))

    def _position(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._starts, offset) - 1
        return self.first_line + row, self.columns[row] + offset - self._starts[row]


# The blocks.


@dataclass(frozen=True, slots=True)
class Part:
    """A paragraph or code block inside a list item. `depth` is 0 for the item's own, 1 for a nested item's.

    `opens_item` is true for the first paragraph of a (nested) item.
    """

    passage: Passage
    depth: int
    opens_item: bool
    code: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A top-level list item: its lines [first_line, end_line) and its parts, in order."""

    first_line: int
    end_line: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    passage: Passage
    first_line: int
    end_line: int


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """A section's own blocks, not those inside others; line numbers are those of `layout`, the section's lines.
    `silent` lines have no content: HTML comments, rules."""

    layout: Layout
    headings: tuple[Heading, ...]
    items: tuple[Item, ...]
    silent: tuple[tuple[int, int], ...]


Section = tuple[int, Blocks]
"""The line of the file at which it begins, and its blocks."""

_TASK_AT_MARGIN = re.compile(r"([-*+]) {1,4}\[[ xX]\] +\S")


def read_sections(layout: Layout, first_line: int, *, cut: bool = True) -> list[Section]:
    """The Markdown from `first_line` on, in sections that can be read by themselves.

    A long list of requirements is read anew with each keystroke, so the text is `cut` before every task item at the
    margin, and what is known of a section is kept. Where a cut would change how something is read, as inside of a
    fence, the text is one section.
    """
    lines = layout.lines[first_line:]
    tasks = [number for number, line in enumerate(lines) if number and _TASK_AT_MARGIN.match(line)] if cut else []
    sections: list[Section] = []
    for start, end in zip([0, *tasks], [*tasks, len(lines)], strict=True):
        next_marker = lines[end][0] if end < len(lines) else None
        at = first_line + start
        blocks = _read_blocks(lines[start:end], 0 if at else layout.shift, next_marker)
        if blocks is None:
            return read_sections(layout, first_line, cut=False)
        sections.append((at, blocks))
    return sections


@lru_cache(maxsize=4096)
def _read_blocks(lines: tuple[str, ...], shift: int, next_marker: str | None) -> Blocks | None:
    """The blocks of these lines; None if a task item with that marker right below them would be part of one."""
    below = [] if next_marker is None else [f"{next_marker} [ ] x"]
    tokens = _markdown().parse("\n".join([*lines, *below]))
    if below:
        last = max((n for n, one in enumerate(tokens) if one.type == "list_item_open"), default=None)
        if last is None or tokens[last].level != 1 or _rows_of(tokens[last])[0] != len(lines):
            return None
        tokens = tokens[:last]
    layout = Layout(lines, shift)
    headings: list[Heading] = []
    silent: list[tuple[int, int]] = []
    for number, token in enumerate(tokens):
        comment = token.type == "html_block" and token.content.lstrip().startswith("<!--")
        if token.type == "heading_open" and token.level == 0:
            first, end = _rows_of(token)
            headings.append(Heading(Passage.of(layout, first, tokens[number + 1].content), first, end))
        elif comment or (token.type == "hr" and token.level == 0):
            silent.append(_rows_of(token))
    items = tuple(Item(*_rows_of(inside[0]), tuple(_parts(layout, inside))) for inside in _top_items(tokens))
    return Blocks(layout, tuple(headings), items, tuple(silent))


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    # Only blocks matter here: their inline content is read from the source text, which keeps positions exact. Link
    # definitions stay text, so that no line disappears.
    return MarkdownIt("commonmark").disable(["inline", "text_join", "reference"])


def _top_items(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The tokens of each item of the document's own lists."""
    start = 0
    inside = False
    for number, token in enumerate(tokens):
        if token.level == 0:
            inside = token.type in ("bullet_list_open", "ordered_list_open")
        elif inside and token.level == 1 and token.type == "list_item_open":
            start = number
        elif inside and token.level == 1 and token.type == "list_item_close":
            yield tokens[start : number + 1]


def _parts(layout: Layout, tokens: Sequence[Token]) -> Iterator[Part]:
    depth = -1
    opens_item = False
    for token in tokens:
        if token.type == "list_item_open":
            depth, opens_item = depth + 1, True
        elif token.type == "list_item_close":
            depth -= 1
        elif token.type in ("inline", "fence", "code_block"):
            code = token.type != "inline"
            first = _rows_of(token)[0] + (1 if token.type == "fence" else 0)
            content = token.content.rstrip("\n") if code else token.content
            yield Part(Passage.of(layout, first, content), depth, opens_item and not code, code)
            opens_item = False


def _rows_of(token: Token) -> tuple[int, int]:
    # Every block token that is read here has a map.
    assert token.map is not None
    return token.map[0], token.map[1]
