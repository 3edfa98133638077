"""What is one simple command. Texts are only read here; what the property runs can reach no program but `printf`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from donewhen.core.commands.simple import follows, is_pattern, simple, written
from tests.tools import each_row, examples

SIMPLE = [
    ("pytest", ("pytest",)),
    ("  pytest   -q\ttests ", ("pytest", "-q", "tests")),
    ("git commit -m 'a; b'", ("git", "commit", "-m", "a; b")),
    ('git commit -m "it\'s | done"', ("git", "commit", "-m", "it's | done")),
    ("pytest 'a'\"b\"c", ("pytest", "abc")),
    ("pytest '' \"\"", ("pytest", "", "")),
    ("pytest -k 'a and $b'", ("pytest", "-k", "a and $b")),
    ("grep -r '\\n' .", ("grep", "-r", "\\n", ".")),
    ("./run --level=3 +x @y a,b c:d %e", ("./run", "--level=3", "+x", "@y", "a,b", "c:d", "%e")),
    ("grep é src", ("grep", "é", "src")),
]
NOT_SIMPLE = [
    "",
    "   ",
    "pytest;x",
    "pytest ; y x",
    "pytest && y x",
    "pytest || y x",
    "pytest | tee log",
    "pytest &",
    "pytest\ny x",
    "pytest\n y",
    "pytest\r\ny x",
    "pytest\ry x",
    "pytest $(x)",
    'pytest "$(x)"',
    "pytest `x`",
    'pytest "`x`"',
    "pytest <(x)",
    "pytest > log",
    "pytest 2>&1",
    "pytest < in",
    "pytest $HOME",
    'pytest "$HOME"',
    "pytest ${HOME}",
    "$pytest",
    "A=b pytest",
    "A= pytest",
    "PATH+=:x pytest",
    "pytest *.py",
    "pytest tests/?.py",
    "pytest [ab].py",
    "pytest {a,b}",
    "pytest ~/x",
    "pytest --root=~/x",
    "pytest # comment",
    "pytest 'a",
    'pytest "a',
    "pytest a'b",
    "pytest a\\ b",
    "pytest \\\n x",
    'pytest "a\\"b"',
    "(pytest)",
    "{ pytest; }",
    "! pytest",
    "if pytest",
    "time pytest",
    "while pytest",
    "eval pytest",
    ". ./env",
    "source env",
    "exec pytest",
    "'' pytest",
    "f() pytest",
    "pytest\x00y",
    "pytest\x0by",
    "pytest\x0cy x",
    "pytest\u00a0y",
    "pytest\u2003y",
    "pytest\u2028y x",
    "pytest\u0085y x",
    "pytest \u202ex y",
    "pytest\u200b-q",
    "pytest \ud800",
    "pytest ^ y",
    "x" * 10_001,
]


@each_row("command, words", SIMPLE)
def test_a_simple_command_is_its_words(command: str, words: tuple[str, ...]) -> None:
    assert simple(command) == words
    assert simple(written(words)) == words


@each_row("command", NOT_SIMPLE)
def test_what_could_do_more_than_its_words_is_not_simple(command: str) -> None:
    assert simple(command) is None


@pytest.mark.parametrize("command", ["pytest 'a & y x'", "pytest %PATH%", 'pytest "%PATH%"'])
def test_windows_reads_quotes_and_percent_signs_in_its_own_way(command: str) -> None:
    assert simple(command) is not None
    assert simple(command, windows=True) is None
    assert simple('pytest "a & b"', windows=True) == ("pytest", "a & b")


@each_row(
    "pattern, command, expected",
    [
        ("pytest *", "pytest", True),
        ("pytest *", "pytest -q tests", True),
        ("pytest *", "pytest-watch", False),
        ("pytest *", "python -m pytest", False),
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git log *", "git logs", False),
        ("ls '*'", "ls '*'", True),
        ("ls '*'", "ls a", False),
        ("ls 'a *'", "ls 'a *'", True),
        ("ls 'a *'", "ls a b", False),
        ("*", "anything at all", True),
        ("py* -q", "pytest -q", False),
        ("* -q", "pytest -q", False),
        (" pytest * ", "pytest", True),
    ],
)
def test_a_pattern_is_words_with_a_star_at_the_end(pattern: str, command: str, expected: bool) -> None:
    words = simple(command)
    assert words is not None
    assert follows(words, pattern) is expected


@each_row("text", ["pytest *", "*", "git status", "ls 'a b' *"])
def test_a_pattern_is_a_simple_command(text: str) -> None:
    assert is_pattern(text)


@each_row("text", ["py* x", "a; b", "", "a | *", "A=b *", "a\n*"])
def test_what_no_command_could_follow_is_no_pattern(text: str) -> None:
    assert not is_pattern(text)


# Without letters but a and b, and without a slash, no text names a program, a builtin or a file elsewhere.
HARMLESS = st.text(st.sampled_from("ab -.'\"$`\\;&|<>()*?[]{}~#!^=%,:\t\n\r\x00\x7fé\u00a0\u2028"), max_size=40)


@pytest.mark.skipif(os.name == "nt", reason="the shell of POSIX systems")
@pytest.mark.hypothesis  # the property stands inside
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_gives_a_program_exactly_these_words(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    for name in ("a", "b", "ab", "-b"):
        (tmp_path / name).touch()

    @examples(1_000, database=None)
    @example("'*' \"a  b\" a''b")
    @given(HARMLESS)
    def holds(text: str) -> None:
        command = f"printf '%s\\0' first {text}"
        words = simple(command)
        if words is None:
            return
        ran = subprocess.run(
            [program, "-c", command], capture_output=True, cwd=tmp_path, env={"PATH": "", "LC_ALL": "C.UTF-8"}
        )
        assert ran.returncode == 0, ran.stderr
        assert tuple(ran.stdout.decode().split("\0")[:-1]) == words[2:]
        assert simple(written(words)) == words

    holds()
