"""Edits that code actions offer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.goalfile.edits import (
    add_check_edit,
    add_line_edit,
    apply_edits,
    code_span,
    suggested_edit,
    tick_edits,
)
from donewhen.goalfile.parse import parse


def test_proven_boxes_are_ticked_and_nothing_else_changes() -> None:
    text = "# 🎉\r\n- [ ] a\r\n- [x] b\r\n1. [ ] c\r\n   - [ ] detail\r\n- [ ] d\r\n"
    parsed = parse(text)
    proven = [requirement.id for requirement in parsed.outline if requirement.text in ("a", "b", "c")]
    edits = tick_edits(parsed, proven)
    assert apply_edits(text, edits) == text.replace("[ ] a", "[x] a").replace("[ ] c", "[x] c")
    assert tick_edits(parse(apply_edits(text, edits)), proven) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [ ] a", "- [ ] a\n  - check: `x`"),
        ("- [ ] a\n\n- [ ] b", "- [ ] a\n  - check: `x`\n\n- [ ] b"),
        ("- [ ] a\r\n- [ ] b", "- [ ] a\r\n  - check: `x`\r\n- [ ] b"),
        ("1. [ ] a\n", "1. [ ] a\n   - check: `x`\n"),
        ("-\t[ ] a", "-\t[ ] a\n    - check: `x`"),
        ("\ufeff- [ ] a", "\ufeff- [ ] a\n  - check: `x`"),
        ("- [ ] a\n  over two lines\n  - file: `b`\n", "- [ ] a\n  over two lines\n  - file: `b`\n  - check: `x`\n"),
        ("- [ ] a\n\n  ```\n  code\n  ```\n", "- [ ] a\n\n  ```\n  code\n  ```\n  - check: `x`\n"),
    ],
)
def test_a_check_is_added_below_its_requirement(text: str, expected: str) -> None:
    parsed = parse(text)
    edit = add_check_edit(parsed, parsed.outline[0].id, "x")
    assert edit is not None
    after = apply_edits(text, [edit])
    assert after == expected
    assert [check.command for check in parse(after).outline[0].checks] == ["x"]


def test_a_file_line_is_added_too() -> None:
    parsed = parse("- [ ] a")
    edit = add_line_edit(parsed, parsed.outline[0].id, "file", "src/**")
    assert edit is not None
    assert parse(apply_edits("- [ ] a", [edit])).outline[0].files == ("src/**",)


def test_there_is_no_place_below_what_is_no_item() -> None:
    parsed = parse("# Only a title")
    assert add_check_edit(parsed, parsed.outline[0].id, "x") is None
    assert add_check_edit(parsed, "r-unknown", "x") is None
    assert tick_edits(parsed, [parsed.outline[0].id]) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nmax_iteration: 5\n---\n# T", "---\nmax_iterations: 5\n---\n# T"),
        ("- [ ] a\n  - chek: `b`", "- [ ] a\n  - check: `b`"),
        ("- [ ] a\n  - check: npm test", "- [ ] a\n  - check: `npm test`"),
        ("- []a", "- [ ] a"),
    ],
)
def test_what_was_probably_meant_can_be_applied(text: str, expected: str) -> None:
    edits = [edit for problem in parse(text).problems if (edit := suggested_edit(problem))]
    assert apply_edits(text, edits) == expected


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1).filter(lambda text: text.strip("`")))
def test_every_command_fits_into_backticks(command: str) -> None:
    parsed = parse(f"- [ ] {code_span(command)} passes")
    assert [check.command for check in parsed.outline[0].checks] == [command]
