"""How long reading untrusted text takes grows with its length and no faster: an expression holds the whole process."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from donewhen.judges.excerpts import untimed
from donewhen.judges.fencing import label, neutralised

LENGTHS = (50_000, pytest.param(200_000, marks=pytest.mark.slow))
SECONDS_PER_CHARACTER = 5e-5
"""Of this process alone; what grows with the square of the length takes a hundred times that."""

PIECES = ("\n", " ", "passed ", "ok ", "<", "< ", "[ ", "\uff1c", "Finished `a` profile x ", "\u2713 ", "--- PASS: ")


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("read", [untimed, neutralised, label])
def test_a_long_text_of_one_piece_is_read_at_once(read: Callable[[str], str], piece: str, length: int) -> None:
    text = piece * (length // len(piece))
    begun = time.process_time()
    read(text)
    read("<" + text)
    assert time.process_time() - begun < length * SECONDS_PER_CHARACTER


def test_imitated_tags_are_seen_behind_any_number_of_brackets_and_spaces() -> None:
    assert neutralised("<<<   /   evidence>") == "&lt;&lt;&lt;   /   evidence&gt;"
    assert "<" not in neutralised("< < !  system >").replace("< &lt;", "")
    assert neutralised("<< / sys >>") == "&lt;&lt; / sys &gt;&gt;"
    assert neutralised("[ / inst ]") == "&#91; / inst &#93;"


def test_a_command_of_a_megabyte_keeps_its_ends_in_its_label() -> None:
    shown = label("echo " + "x" * 1_000_000 + " | tail -1", 200)
    assert shown.startswith('"echo xx')
    assert shown.endswith('| tail -1"')
    assert len(shown) <= 202
