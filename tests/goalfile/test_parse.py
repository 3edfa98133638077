"""What a goal file means: task lists, checks, files, prose and titles, with their places in the text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.core.goal import Check, Goal, Requirement, requirement_id
from donewhen.goalfile.markdown import Layout, Passage, Section, read_sections
from donewhen.goalfile.parse import parse
from donewhen.goalfile.source import ParsedGoalFile, Span
from tests.tools import each_row

EXAMPLE = """\
---
worker: agent
max_iterations: 10
timeout: 30m
budget: 5.00
protect: ["tests/**"]
---
# Ship the CSV exporter

Exports must open in a spreadsheet without a repair prompt.

- [ ] `python -m pytest -q` passes
- [ ] `ruff check .` passes
- [ ] Fields with commas, quotes or newlines are quoted
  - file: `src/export.py`
  - check: `python -m pytest -q tests/test_quotes.py`
- [ ] The README documents `--csv`
  - file: `README.md`
"""


def goal_of(text: str) -> Goal:
    parsed = parse(text, path="GOAL.md", name="GOAL")
    assert parsed.goal is not None, parsed.errors
    return parsed.goal


def only(text: str) -> Requirement:
    (requirement,) = goal_of(text).requirements
    return requirement


def cut(parsed: ParsedGoalFile, span: Span) -> str:
    """The text that a span covers."""
    lines = parsed.text.split("\n")[span.start_line : span.end_line + 1]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.start_column :]
    return "\n".join(lines)


def test_the_example_of_the_documentation() -> None:
    goal = goal_of(EXAMPLE)
    assert goal.title == "Ship the CSV exporter"
    assert goal.objective == "Exports must open in a spreadsheet without a repair prompt."
    assert (goal.worker, goal.protect, goal.path) == ("agent", ("tests/**",), "GOAL.md")
    assert (goal.limits.max_iterations, goal.limits.timeout, goal.limits.budget) == (10, 1800.0, 5.0)
    assert goal.explicit_limits == {"max_iterations", "timeout", "budget"}
    assert [r.label for r in goal.requirements] == ["R1", "R2", "R3", "R4"]
    assert [r.sole_check for r in goal.requirements] == [True, True, False, False]
    assert [r.line for r in goal.requirements] == [11, 12, 13, 16]
    assert goal.requirements[2].files == ("src/export.py",)
    assert goal.requirements[2].checks == (Check.of("python -m pytest -q tests/test_quotes.py"),)
    assert goal.requirements[3].text == "The README documents `--csv`"
    assert parse(EXAMPLE).problems == ()


@each_row(
    "text, expected",
    [
        ("- [ ] one\n- [ ] two", ["one", "two"]),
        ("* [ ] star", ["star"]),
        ("+ [ ] plus", ["plus"]),
        ("1. [ ] one\n2. [ ] two", ["one", "two"]),
        ("1) [ ] one", ["one"]),
        ("- [ ] in the first\n\nText.\n\n1. [ ] in the second", ["in the first", "in the second"]),
        ("## A\n- [ ] one\n## B\n* [x] two\n", ["one", "two"]),
        ("- a note\n- [ ] a requirement\n- another note", ["a requirement"]),
        ("- [ ] over\n  two lines", ["over two lines"]),
        ("- [ ]   spaced   out  ", ["spaced out"]),
        ("-\t[ ] after a tab", ["after a tab"]),
        ("- [ ] outer\n  - [ ] inner", ["outer"]),
        ("```\n- [ ] in a fence\n```\n- [ ] real", ["real"]),
        ("~~~markdown\n- [ ] in a fence\n~~~\n- [ ] real", ["real"]),
        ("Text.\n\n    - [ ] in a code block\n\n- [ ] real", ["real"]),
        ("<!--\n- [ ] in a comment\n-->\n- [ ] real", ["real"]),
        ("> - [ ] in a quotation\n\n- [ ] real", ["real"]),
        ("- [ ] a\r\n- [ ] b\r\n", ["a", "b"]),
        ("- [ ] a\r- [ ] b\r", ["a", "b"]),
        ("\ufeff- [ ] after a byte-order mark", ["after a byte-order mark"]),
        ("- [ ] 表を書き出す 🎉", ["表を書き出す 🎉"]),
    ],
)
def test_requirements_are_the_top_level_task_items(text: str, expected: list[str]) -> None:
    goal = goal_of(text)
    assert [r.text for r in goal.requirements] == expected
    assert [r.number for r in goal.requirements] == list(range(1, len(expected) + 1))


@each_row(
    "statement, command, exit_code",
    [
        ("`pytest -q` passes", "pytest -q", 0),
        ("`pytest -q` passes.", "pytest -q", 0),
        ("`make` succeeds", "make", 0),
        ("`ruff check .` is clean", "ruff check .", 0),
        ("`true` exits 0", "true", 0),
        ("`grep -q TODO src` exits 1", "grep -q TODO src", 1),
        ("`grep -q TODO src` exits with code 1.", "grep -q TODO src", 1),
        ("``echo `date` `` passes", "echo `date`", 0),
        ("`a | b && c` passes", "a | b && c", 0),
        ("`over\n  two` passes", "over two", 0),
    ],
)
def test_a_command_that_passes_is_decided_by_that_check_alone(statement: str, command: str, exit_code: int) -> None:
    requirement = only(f"- [ ] {statement}")
    assert requirement.sole_check
    assert requirement.checks == (Check.of(command, exit_code),)


@each_row(
    "statement",
    [
        "`pytest -q` passes on Windows", "pytest -q passes", "The suite `pytest` passes", "`pytest`", "`` ` passes",
        "` ` passes", "`a` and `b` passes", "`pytest passes",
    ],
)  # fmt: skip
def test_other_statements_are_not_decided_by_a_check(statement: str) -> None:
    requirement = only(f"- [ ] {statement}")
    assert not requirement.sole_check
    assert requirement.checks == ()


@each_row(
    "nested, checks, files, problems, details",
    [
        (["check: `a b`"], ["a b"], [], [], []),
        (["check: `a`", "check: `b`"], ["a", "b"], [], [], []),
        (["check: `a`, `b` and `c`"], ["a", "b", "c"], [], [], []),
        (["Check : `a`"], ["a"], [], [], []),
        (["check: `a` passes"], ["a"], [], [], []),
        (["check: npm test"], ["npm test"], [], [], []),
        (["file: `src/a.py`", "file: `src/**`"], [], ["src/a.py", "src/**"], [], []),
        (["file: `./src/a.py`, `README.md`"], [], ["src/a.py", "README.md"], [], []),
        (["file: src/a.py"], [], ["src/a.py"], [], []),
        (["problems: `src/**/*.ts`"], [], [], ["src/**/*.ts"], []),
        (["like RFC 4180", "[ ] ask about tabs"], [], [], [], ["like RFC 4180", "ask about tabs"]),
        (["note: `x`", "see https://example.org"], [], [], [], ["note: `x`", "see https://example.org"]),
        (["more\n    - check: `deep`"], ["deep"], [], [], ["more"]),
    ],
)
def test_nested_items_bind_checks_and_files(
    nested: list[str], checks: list[str], files: list[str], problems: list[str], details: list[str]
) -> None:
    requirement = only("- [ ] Exports are quoted\n" + "".join(f"  - {line}\n" for line in nested))
    assert [check.command for check in requirement.checks] == checks
    assert list(requirement.files) == files
    assert list(requirement.problems) == problems
    assert list(requirement.details) == details


@each_row(
    "nested, external, details",
    [
        ("external: true", True, ()),
        ("External: `True`", True, ()),
        ("external: false", False, ()),
        ("external: the page of our partner", False, ("external: the page of our partner",)),
    ],
)
def test_what_is_outside_of_the_workspace_is_said(nested: str, external: bool, details: tuple[str, ...]) -> None:
    requirement = only(f"- [ ] The site is up\n  - {nested}\n")
    assert (requirement.external, requirement.details) == (external, details)


@pytest.mark.parametrize("nested", ["external: yes", "external:"])
def test_external_is_true_or_false(nested: str) -> None:
    parsed = parse(f"- [ ] The site is up\n  - {nested}\n")
    assert len(parsed.errors) == 1
    assert parsed.goal is None


def test_a_nested_check_may_expect_another_exit_code() -> None:
    assert only("- [ ] No TODO is left\n  - check: `grep -rq TODO src` exits 1").checks[0].expected_exit == 1


def test_paragraphs_and_code_below_a_requirement_are_detail() -> None:
    requirement = only('- [ ] Quoted\n\n  As in\n  RFC 4180.\n\n  ```csv\n  a,"b\n  c"\n  ```\n\n      indented\n')
    assert requirement.details == ("As in RFC 4180.", 'a,"b\nc"', "indented")


def test_a_sole_check_takes_nested_checks_along() -> None:
    requirement = only("- [ ] `pytest` passes\n  - check: `ruff check`\n  - check: `pytest`\n")
    assert requirement.sole_check
    assert [check.command for check in requirement.checks] == ["pytest", "ruff check"]


@each_row(
    "text, title, objective",
    [
        ("# Title\n\nProse.\n\n- [ ] a", "Title", "Prose."),
        ("# Title\n- [ ] a\n\nText after it.", "Title", "Title"),
        ("Title\n=====\n\nProse.", "Title", "Prose."),
        ("Before.\n\n# Title #\n\nAfter.\n\n- [ ] a", "Title", "Before.\n\n\nAfter."),
        ("# Title\n\nProse.\n\n## Requirements\n\n- [ ] a", "Title", "Prose."),
        (
            "# Title\n\nProse.\n\n## Why\n\nBecause.\n\n## Requirements\n\n- [ ] a",
            "Title",
            "Prose.\n\n## Why\n\nBecause.",
        ),
        ("# Title\n\n<!-- a comment -->\n\n- [ ] a", "Title", "Title"),
        ("# Title\n\n---\n\nProse.\n\n* * *\n\n- [ ] a", "Title", "Prose."),
        ("# Title\n\n- a note\n- [ ] a", "Title", "- a note"),
        ("Just prose,\nof two lines.", "Just prose,", "Just prose,\nof two lines."),
        ("- [ ] a", "GOAL", ""),
        ("### Deep *title*", "Deep *title*", "Deep *title*"),
        ("# Title\n\n```\ncode\n```\n- [ ] a", "Title", "```\ncode\n```"),
    ],
)
def test_title_and_objective(text: str, title: str, objective: str) -> None:
    goal = goal_of(text)
    assert (goal.title, goal.objective) == (title, objective)


@each_row(
    "text, expected",
    [
        ("# Export handles quotes", "Export handles quotes"),
        ("Export handles\nquotes", "Export handles quotes"),
        ("# Export\n\nIt handles quotes.", "Export: It handles quotes."),
        ("# Export!\n\nIt handles quotes.", "Export! It handles quotes."),
        ("- a plain list\n- is prose", "- a plain list - is prose"),
    ],
)
def test_without_a_task_list_the_objective_is_the_requirement(text: str, expected: str) -> None:
    requirement = only(text)
    assert (requirement.text, requirement.label, requirement.id) == (expected, "R1", requirement_id(expected))
    assert parse(text).requirements[0].checkbox is None


def test_equal_texts_get_ids_of_their_own() -> None:
    goal = goal_of("- [ ] Same\n- [ ] other\n- [ ] same\n- [ ] SAME  ")
    assert [r.id for r in goal.requirements] == [
        requirement_id("same"), requirement_id("other"), requirement_id("same", 2), requirement_id("same", 3)
    ]  # fmt: skip
    assert len({r.id for r in goal.requirements}) == 4


def test_ticking_a_box_changes_nothing_but_the_tick() -> None:
    assert goal_of("- [x] a") == goal_of("- [X] a") == goal_of("- [ ] a")
    assert [only(f"- [{box}] a").ticked for box in " xX"] == [False, True, True]


def test_places_are_exact() -> None:
    text = dedent("""\
        # 🎉 Title

        - [x] Fields
          are quoted
          - file: `src/é.py`, `b`
          - check: `pytest -q`

        1. [ ] ``echo `x` `` passes
        """)
    parsed = parse(text)
    first, second = parsed.requirements
    assert parsed.title_span is not None
    assert cut(parsed, parsed.title_span) == "🎉 Title"
    assert first.checkbox is not None
    assert cut(parsed, first.checkbox) == "[x]"
    assert cut(parsed, first.text_span) == "Fields\n  are quoted"
    assert cut(parsed, first.span) == text[text.index("- [x]") : text.index("\n\n1.")]
    assert [cut(parsed, value.span) for value in first.files] == ["src/é.py", "b"]
    assert [cut(parsed, value.span) for value in first.commands] == ["pytest -q"]
    assert [cut(parsed, value.span).strip() for value in second.commands] == ["echo `x`"]
    assert parsed.requirement_at(5) is first
    assert parsed.requirement_at(6) is None


@pytest.mark.parametrize(("prefix", "column"), [("", 2), ("\ufeff", 3)])
def test_columns_count_a_byte_order_mark_that_the_text_still_has(prefix: str, column: int) -> None:
    checkbox = parse(f"{prefix}- [ ] a").requirements[0].checkbox
    assert checkbox == Span(0, column, 0, column + 3)


def test_a_broken_file_still_shows_its_requirements() -> None:
    parsed = parse("---\nworkr: agent\n---\n# T\n- [ ] a\n- [ ] b\n")
    assert parsed.goal is None
    assert [r.text for r in parsed.outline] == ["a", "b"]
    assert parsed.title == "T"


lines = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="<>"), min_size=1, max_size=30)
words = lines.map(str.strip).filter(lambda text: len(text.split()) > 0 and text[0].isalpha())


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(words, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_moving_requirements_keeps_their_ids(texts: list[str], random: object) -> None:
    unique = list({requirement_id(text): text for text in texts}.values())
    moved = list(unique)
    random.shuffle(moved)  # type: ignore[attr-defined]
    before = parse("".join(f"- [ ] {text}\n" for text in unique))
    after = parse("# Moved\n\nSome prose.\n\n" + "".join(f"1. [x] {text}\n" for text in moved))
    assert {r.id for r in before.outline} == {r.id for r in after.outline}
    assert len(before.outline) == len(unique)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    check_consistent(parse(text))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.binary())
def test_any_bytes_are_read_without_an_exception(content: bytes) -> None:
    check_consistent(parse(content))


fragments = st.sampled_from([
    "---\n", "- [ ] ", "  - check: `", "`", "``", "a", "\n", "# ", "worker: ", "agent", "max_iterations: 0\n",
    "protect: [", "]", "&a ", "*a", "  ", "\t", "```\n", "<!--", "-->", "> ", "1. ", "[x]", "file: ", "passes",
    " exits 1", "\r", "\ufeff", "\u2028", "\x85", "🎉", "'", '"', "{", ": ", "? ", "!!int ", "\\", "\ud800", "\x00",
])  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(fragments, max_size=40).map("".join))
def test_any_mixture_of_the_syntax_is_read_without_an_exception(text: str) -> None:
    check_consistent(parse(text))
    check_consistent(parse("---\n" + text + "\n---\n# T"))


pieces = st.sampled_from([
    "- [ ] a", "- [x] b `c` passes", "* [ ] d", "+ [ ] e", "1. [ ] f", "- g", "  - check: `h`", "   i", "  ", "",
    "# J", "k", "---", "===", "```", "  ```", "~~~", "<!--", "-->", "  <!-- l", "> m", "> - [ ] n", "    - [ ] o",
    " - [ ] p", "-    [ ] q", "<div>", "</div>", "<script>", "</script>", "\t- [ ] r", "- [ ]", "-", "- ",
    "  - [ ] s", "[t]: /u", "* * *", "\\", "|v|", "|-|",
])  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(pieces, max_size=14), st.booleans())
def test_a_text_is_read_the_same_in_sections_and_as_a_whole(rows: list[str], marked: bool) -> None:
    layout = Layout.of(("\ufeff" if marked else "") + "\n".join(rows))
    for first_line in range(min(2, len(layout.lines))):
        assert blocks_of(read_sections(layout, first_line)) == blocks_of(read_sections(layout, first_line, cut=False))


def blocks_of(sections: Sequence[Section]) -> list[object]:
    """All that is read of the sections, with lines of the file."""
    found: list[object] = []
    for at, blocks in sections:
        found += [("silent", at + first, at + end) for first, end in blocks.silent]
        found += [(at + one.first_line, at + one.end_line, placed(one.passage, at)) for one in blocks.headings]
        for item in blocks.items:
            parts = [(part.depth, part.opens_item, part.code, *placed(part.passage, at)) for part in item.parts]
            found.append((at + item.first_line, at + item.end_line, parts))
    return sorted(found, key=repr)


def placed(passage: Passage, at: int) -> tuple[str, Span | None]:
    """The text and where it is; what is empty, such as a fence without a line, is nowhere."""
    return passage.text, passage.span(0, len(passage.text)).down(at) if passage.text else None


def check_consistent(parsed: ParsedGoalFile) -> None:
    """A goal exactly where there is no error, every span inside of the text."""
    assert (parsed.goal is None) == bool(parsed.errors)
    lines = parsed.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    spans = [problem.span for problem in parsed.problems]
    spans += [value.span for source in parsed.requirements for value in (*source.commands, *source.files)]
    spans += [source.checkbox for source in parsed.requirements if source.checkbox]
    for span in spans:
        assert (span.start_line, span.start_column) <= (span.end_line, span.end_column)
        assert span.end_line < len(lines)
        if parsed.text:
            assert span.end_column <= max(len(lines[span.end_line]), 1)
    for source in parsed.requirements:
        if source.checkbox:
            line = lines[source.checkbox.start_line]
            assert line[source.checkbox.start_column] == "["
            assert line[source.checkbox.end_column - 1] == "]"
