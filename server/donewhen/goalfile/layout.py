"""Where text stands: lines of a goal file, and positions of what Markdown cut out of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from donewhen.goalfile.source import Span, Value

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
        """The last line of [first, end) that is not blank, `first` if all are."""
        for line in range(min(end, len(self.lines)) - 1, first, -1):
            if self.lines[line].strip():
                return line
        return first

    def _column(self, line: int, column: int) -> int:
        return column + self.shift if line == 0 else column


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that Markdown took from several lines, each stripped, joined with newlines; it knows where it came from."""

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
        raws = layout.lines[first_line : first_line + len(rows)]
        return cls(layout, first_line, rows, tuple(map(_column_of, rows, _padded(raws, len(rows)))))

    def span(self, start: int, end: int) -> Span:
        """The place of text[start:end]."""
        return self.layout.span(self._position(start), self._position(end))

    def value(self, start: int, end: int, text: str | None = None) -> Value:
        return Value(self.text[start:end] if text is None else text, self.span(start, end))

    def _position(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._starts, offset) - 1
        return self.first_line + row, self.columns[row] + offset - self._starts[row]


def _column_of(row: str, raw: str) -> int:
    bare = raw.rstrip()
    # Markdown cuts prefixes off (list markers, indentation): what it kept ends where the line ends.
    return len(bare) - len(row) if bare.endswith(row) else max(bare.find(row), 0)


def _padded(raws: Sequence[str], length: int) -> list[str]:
    return [*raws, *[""] * (length - len(raws))]
