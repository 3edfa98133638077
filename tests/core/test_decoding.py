"""Bytes from outside, as they come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.decoding import ByteLines


@given(st.lists(st.text(alphabet="ab\n", max_size=9).map(str.encode)))
def test_lines_are_the_same_however_they_come(pieces: list[bytes]) -> None:
    lines = ByteLines()
    *whole, begun = b"".join(pieces).split(b"\n")
    assert [line for piece in pieces for line in lines.add(piece)] == whole
    assert (lines.held, lines.rest(), lines.rest()) == (len(begun), begun, b"")


def test_of_a_line_without_an_end_only_so_much_is_kept() -> None:
    lines = ByteLines(longest=10)
    for _ in range(100):
        assert lines.add(b"12345678") == []
    assert lines.held == 16
    assert lines.add(b"end\nnext") == [b"1234567812345678end"]
    assert lines.rest() == b"next"
