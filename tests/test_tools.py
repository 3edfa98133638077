"""What tests are made with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools import each_row


def test_every_row_of_a_table_is_tried_and_each_that_fails_is_named() -> None:
    tried: list[tuple[int, str]] = []

    @each_row("number", [1, 2, pytest.param(3, id="third"), 4])
    @each_row("letter", ["a", "b"], ids=str.upper)
    def table(number: int, letter: str) -> None:
        tried.append((number, letter))
        assert number != 1 or letter != "b"
        if number == 3:
            pytest.skip("it is not installed")
        if number == 4:
            raise OSError("the disk is full")

    with pytest.raises(ExceptionGroup, match=r"3 of 4 rows:\n0: 1\n2: third\n3: 4\n") as told:
        table()
    assert tried == [(number, letter) for number in (1, 2, 3, 4) for letter in "ab"]
    assert [len(group.exceptions) for group in told.value.exceptions] == [1, 2, 2]
    assert "1 of 2 rows:\n1: B" in str(told.value.exceptions[0])


def test_a_row_with_marks_is_refused_and_so_is_a_table_without_rows() -> None:
    with pytest.raises(AssertionError, match="a test of its own"):
        each_row("number", [pytest.param(1, marks=pytest.mark.slow)])
    with pytest.raises(AssertionError, match="tests nothing"):
        each_row("number", [])(lambda number: None)


@each_row("name, text", [("a", "1"), ("a", "2")])
def test_each_row_has_a_folder_of_its_own(name: str, text: str, tmp_path: Path) -> None:
    assert not (tmp_path / name).exists()
    (tmp_path / name).write_text(text, "utf-8")
