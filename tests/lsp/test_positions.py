"""Columns across encodings, with characters outside the basic plane."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from donewhen.lsp.documents import OpenDocuments
from donewhen.lsp.positions import Encoding, choose_encoding, from_client, split_keeping_ends, split_lines, to_client
from tests.tools import each_row, examples

LINE = "aé🎯b\u0301z"


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-32", [0, 1, 2, 3, 4, 5, 6]), ("utf-16", [0, 1, 2, 4, 5, 6, 7]), ("utf-8", [0, 1, 3, 7, 8, 10, 11])],
)
def test_columns_in_each_encoding(encoding: Encoding, expected: list[int]) -> None:
    assert [to_client(LINE, column, encoding) for column in range(len(LINE) + 1)] == expected
    assert [from_client(LINE, character, encoding) for character in expected] == list(range(len(LINE) + 1))


def test_a_position_within_a_character_is_its_start_and_past_the_end_the_end() -> None:
    assert from_client(LINE, 3, "utf-16") == 2
    assert from_client(LINE, 5, "utf-8") == 2
    assert from_client(LINE, 99, "utf-16") == len(LINE)
    assert to_client(LINE, 99, "utf-16") == 7


@examples(60)
@given(st.text(), st.integers(0, 40), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_there_and_back(line: str, column: int, encoding: Encoding) -> None:
    column = min(column, len(line))
    assert from_client(line, to_client(line, column, encoding), encoding) == column


@each_row(
    "offered, chosen",
    [([], "utf-16"), (["utf-8", "utf-16"], "utf-8"), (["utf-7", "utf-32"], "utf-32"), ([3, None], "utf-16")],
)
def test_the_clients_first_known_encoding_is_taken(offered: list[object], chosen: str) -> None:
    assert choose_encoding(offered) == chosen


def test_lines_end_as_lsp_says_and_nowhere_else() -> None:
    assert split_lines("a\r\nb\rc\nd\x0ce\u2028f\n") == ["a", "b", "c", "d\x0ce\u2028f", ""]


@given(st.text(alphabet="a🎯\n\r\x0c\u2028"))
def test_lines_with_their_ends_are_the_text(text: str) -> None:
    lines = split_keeping_ends(text)
    assert "".join(lines) == text
    assert [line.rstrip("\r\n") for line in lines] == (
        split_lines(text) if text[-1:] not in "\r\n" else split_lines(text)[:-1]
    )


EDITS = st.tuples(
    st.integers(0, 6), st.integers(0, 5), st.integers(0, 6), st.integers(0, 5), st.text("a🎯\n\r\x0c", max_size=5)
)


@given(st.text("a🎯\n\ré\u2028"), st.lists(EDITS, max_size=8), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_edits_one_after_another_make_the_text_that_the_client_has(
    text: str, edits: list[tuple[int, int, int, int, str]], encoding: Encoding
) -> None:
    documents = opened(text, encoding)
    for line, character, end_line, end_character, new in edits:
        first = offset_of(text, line, character, encoding)
        last = max(first, offset_of(text, end_line, end_character, encoding))
        text = text[:first] + new + text[last:]
        edit(documents, types.Position(line, character), types.Position(end_line, end_character), new)
        if new:  # the text is asked for after some edits, and not after others
            assert source(documents) == text
        assert lines_of(documents) == split_lines(text)
    assert source(documents) == text


def offset_of(text: str, line: int, character: int, encoding: Encoding) -> int:
    """The offset of a client's position, by the shortest way: the whole text is cut."""
    starts = [0, *(match.end() for match in re.finditer("\r\n|\n|\r", text))]
    if line >= len(starts):
        return len(text)
    return starts[line] + from_client(split_lines(text)[line], character, encoding)


def test_incremental_changes_land_behind_astral_characters() -> None:
    after = changed("# 🎯🎯 x\r\nb\r\n", types.Position(0, 7), types.Position(1, 1), "yes\n- 🎯")
    assert after == "# 🎯🎯 yes\n- 🎯\r\n"


def test_incremental_changes_count_lines_as_lsp_does() -> None:
    text = "a\x0cb\u2028c\nd\n"
    assert changed(text, types.Position(1, 0), types.Position(1, 1), "x") == "a\x0cb\u2028c\nx\n"


def test_what_is_past_the_end_of_a_line_or_of_the_text_is_its_end() -> None:
    assert changed("abc", types.Position(0, 99), types.Position(0, 99), "!") == "abc!"
    assert changed("abc\nd", types.Position(0, 99), types.Position(9, 0), "!") == "abc!"


def test_a_change_of_what_is_not_open_says_nothing() -> None:
    documents = OpenDocuments(None)
    documents.update_text_document(
        types.VersionedTextDocumentIdentifier(2, "file:///x"), types.TextDocumentContentChangeWholeDocument("y")
    )
    assert documents.open("file:///x") is None


def changed(text: str, start: types.Position, end: types.Position, new: str) -> str:
    documents = opened(text)
    edit(documents, start, end, new)
    after = documents.open(URI)
    assert after is not None
    assert after.version == 2
    return after.source


URI = "file:///GOAL.md"


def opened(text: str, encoding: Encoding = "utf-16") -> OpenDocuments:
    documents = OpenDocuments(None, position_encoding=types.PositionEncodingKind(encoding))
    documents.put_text_document(types.TextDocumentItem(URI, types.LanguageKind.Markdown, 1, text))
    return documents


def edit(documents: OpenDocuments, start: types.Position, end: types.Position, new: str) -> None:
    change = types.TextDocumentContentChangePartial(types.Range(start, end), new)
    documents.update_text_document(types.VersionedTextDocumentIdentifier(2, URI), change)


def lines_of(documents: OpenDocuments) -> list[str]:
    document = documents.open(URI)
    assert document is not None
    return document.bare_lines


def source(documents: OpenDocuments) -> str:
    document = documents.open(URI)
    assert document is not None
    return document.source
