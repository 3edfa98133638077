"""Completion in goal files; `|` is the cursor."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.goalfile.complete import CompletionChoice, completions
from donewhen.goalfile.detect import DetectedCheck
from donewhen.goalfile.markdown import LINE_BREAK
from tests.tools import each_row

CHECKS = (DetectedCheck("python -m pytest -q", "tests: a"), DetectedCheck("ruff check .", "ruff.toml is here"))
FILES = ("README.md", "src/a.py", "src/deep/b.py", "tests/test_a.py")


def chosen(text: str, choice: CompletionChoice) -> str:
    """The text after a choice was taken."""
    starts = [0, *(found.end() for found in LINE_BREAK.finditer(text))]
    start = starts[choice.span.start_line] + choice.span.start_column
    end = starts[choice.span.end_line] + choice.span.end_column
    return text[:start] + choice.insert + text[end:]


def choices(marked: str) -> list[CompletionChoice]:
    cursor = marked.index("|")
    line = marked.count("\n", 0, cursor)
    column = cursor - (marked.rfind("\n", 0, cursor) + 1)
    return completions(marked.replace("|", "", 1), line, column, detected=CHECKS, files=FILES)


@each_row(
    "marked, first",
    [
        ("---\n|\n---\n", ["worker", "model", "judge_model", "max_iterations"]),
        ("---\nworker: agent\nmo|\n---\n", ["model", "judge_model", "max_iterations"]),
        ("---\nworker: |\n---\n", ["agent", "human", "command", "acp", "scripted"]),
        ("---\nworker: a|", ["agent", "human"]),
        ("---\ntimeout: |\n---\n", ["30m", "60m", "2h", "unlimited"]),
        ("---\ncheck_timeout: |\n---\n", ["10m", "90s"]),
        ("---\nmodel: |\n---\n", []),
        ("---\nprotect: [|]\n---\n", ["README.md", "src/**"]),
        ('---\nprotect: ["README.md", "te|"]\n---\n', ["tests/**", "tests/test_a.py"]),
        ("---\nprotect:\n  - s|\n---\n", ["src/**", "src/a.py"]),
        ("---\nworker:\n  - |\n---\n", []),
        ("- [ ] |", ["`python -m pytest -q` passes", "`ruff check .` passes"]),
        ("1. [ ] `ru|`", ["`python -m pytest -q` passes", "`ruff check .` passes"]),
        ("- [ ] a\n  - |", ["check:", "file:", "problems:", "external:"]),
        ("- [ ] a\n  - fi|", ["check:", "file:", "problems:", "external:"]),
        ("- [ ] a\n  - external: |", ["true", "false"]),
        ("- [ ] a\n  - check: |", ["python -m pytest -q", "ruff check ."]),
        ("- [ ] a\n  - file: `src/d|`", ["src/deep/**", "src/deep/b.py"]),
        ("- [ ] a\n  - problems: `READ|`", ["README.md"]),
        ("---\nworker: agent\n---\n- [ ] a\n  - file: `README.md`, `|`", ["README.md", "src/**"]),
        ("|", []),
        ("# Title|", []),
        ("Some prose: |", []),
    ],
)
def test_what_is_offered_where(marked: str, first: list[str]) -> None:
    found = [choice.label for choice in choices(marked)]
    assert found[: len(first)] == first
    assert bool(found) == bool(first)


@each_row(
    "marked, label, expected",
    [
        ("---\nwor|\n---\n", "worker", "---\nworker: \n---\n"),
        ("---\nwor|: agent\n---\n", "max_iterations", "---\nmax_iterations: agent\n---\n"),
        ("---\ntimeout: 3|\n---\n", "30m", "---\ntimeout: 30m\n---\n"),
        ('---\nprotect: ["te|"]\n---\n', "tests/**", '---\nprotect: ["tests/**"]\n---\n'),
        ("---\nprotect:\n  - te|\n---\n", "tests/**", '---\nprotect:\n  - "tests/**"\n---\n'),
        ("- [ ] `py|`", "`python -m pytest -q` passes", "- [ ] `python -m pytest -q` passes"),
        ("- [ ] 🎉\n  - check: `|`", "ruff check .", "- [ ] 🎉\n  - check: `ruff check .`"),
        ("- [ ] a\n  - file: `🎉`, s|", "src/a.py", "- [ ] a\n  - file: `🎉`, `src/a.py`"),
        ("- [ ] a\n  - ch|", "check:", "- [ ] a\n  - check: "),
    ],
)
def test_what_is_chosen_replaces_what_was_typed(marked: str, label: str, expected: str) -> None:
    choice = next(choice for choice in choices(marked) if choice.label == label)
    assert chosen(marked.replace("|", "", 1), choice) == expected


def test_keys_that_are_set_are_not_offered_again() -> None:
    labels = [choice.label for choice in choices("---\nworker: agent\nbudget: 1\n|\n---\n")]
    assert "worker" not in labels
    assert "budget" not in labels


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text("-[] `x:\n\"'checkfile,worker🎉\r", max_size=60), st.integers(-2, 10), st.integers(-2, 40))
def test_any_position_of_any_text_is_fine(text: str, line: int, column: int) -> None:
    for prefix in ("", "---\n"):
        completions(prefix + text, line, column, detected=CHECKS, files=FILES)
