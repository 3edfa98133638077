"""What a person allowed for good in a workspace: kept whole, private, and never guessed at."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.approval import ApprovalRule
from donewhen.store.allowances import FILE, MOST, Allowances
from tests.tools import each_row

MAKE = ApprovalRule("run_command", "make test", "allow")
EDIT = ApprovalRule("edit_file", ".github/x.yml", "allow")


def test_nothing_is_allowed_at_first(tmp_path: Path) -> None:
    kept = Allowances(tmp_path)
    assert (kept.rules(), kept.problem) == ((), "")
    assert list(tmp_path.iterdir()) == []


def test_what_is_allowed_is_there_for_everybody_at_once(tmp_path: Path) -> None:
    first, second = Allowances(tmp_path), Allowances(tmp_path)
    first.allow(MAKE)
    second.allow(EDIT)
    first.allow(MAKE)
    assert first.rules() == second.rules() == (EDIT, MAKE)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX systems")
def test_the_file_is_the_users_alone(tmp_path: Path) -> None:
    Allowances(tmp_path).allow(MAKE)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


GARBAGE = [
    "",
    "{",
    "[]",
    "null",
    '{"version": 2, "allowed": []}',
    '{"version": 1}',
    '{"version": 1, "allowed": {}}',
    '{"version": 1, "allowed": [3]}',
    '{"version": 1, "allowed": [{"tool": "run_command"}]}',
    '{"version": 1, "allowed": [{"tool": "run_command", "pattern": 3}]}',
    '{"version": 1, "allowed": [{"tool": "run_command", "pattern": "*"}]}',
    '{"version": 1, "allowed": [{"tool": "*", "pattern": "a"}]}',
    '{"version": 1, "allowed": [{"tool": "run_command", "pattern": "a; b"}]}',
    '{"version": 1, "allowed": [{"tool": "a", "pattern": "b", "action": "allow"}]}',
    "[" * 100_000,
]


@each_row("text", GARBAGE)
def test_garbage_allows_nothing_and_says_so(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    kept = Allowances(tmp_path)
    assert kept.rules() == ()
    assert str(tmp_path / FILE) in kept.problem
    kept.allow(MAKE)
    assert (kept.rules(), kept.problem) == ((MAKE,), "")
    assert (tmp_path / f"{FILE}.unreadable").read_text(encoding="utf-8") == text


def test_bytes_that_are_no_text_and_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe\x00")
    assert Allowances(tmp_path).rules() == ()
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    kept = Allowances(tmp_path)
    assert kept.rules() == ()
    assert kept.problem


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(" " * 2_000_000, encoding="utf-8")
    kept = Allowances(tmp_path)
    assert kept.rules() == ()
    assert "too large" in kept.problem


def test_of_too_many_the_oldest_go(tmp_path: Path) -> None:
    table = [{"tool": "run_command", "pattern": f"make {number}"} for number in range(MOST)]
    (tmp_path / FILE).write_text(json.dumps({"version": 1, "allowed": table}), encoding="utf-8")
    Allowances(tmp_path).allow(MAKE)
    rules = Allowances(tmp_path).rules()
    assert len(rules) == MOST
    assert (rules[0].pattern, rules[-1]) == ("make 1", MAKE)


def test_a_folder_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        Allowances(tmp_path / "gone").allow(MAKE)


@given(st.binary(max_size=200))
def test_any_bytes_allow_nothing(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / FILE).write_bytes(content)
    assert Allowances(folder).rules() == ()
