"""One simple command and nothing else: the only kind of command line that a rule may let through unasked."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MAX_LENGTH = 10_000

_QUOTES = "'\""
_SPECIAL = frozenset("|&;<>()$`\\*?[]#~{}!^\n\r")
"""What a shell may take for more than a letter of a word where it is not quoted; `^` was a pipe once and escapes on
Windows, braces and brackets are patterns to some shells."""
_SPECIAL_WITHIN = frozenset("$`\\")
_WINDOWS = frozenset("'%")
"""There single quotes quote nothing, and `%` names variables even within double ones."""
_NOT_TEXT = frozenset(("Cc", "Cf", "Cs", "Cn", "Zl", "Zp"))
_MORE_THAN_ITS_WORDS = frozenset((
    "", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "select",
    "function", "time", "coproc", ".", "source", "eval", "exec", "trap", "alias", "unalias", "builtin",
))  # fmt: skip
"""Control words, and what makes the shell read or run something else."""
SHELL_WORDS = frozenset((
    *":.[", "break", "cd", "command", "continue", "echo", "eval", "exec", "exit", "export", "false", "getopts", "hash",
    "printf", "pwd", "read", "readonly", "return", "set", "shift", "test", "times", "trap", "true", "type", "ulimit",
    "umask", "unset", "wait",
))  # fmt: skip
"""What a shell does itself: no program of that name need be there."""


def simple(command: str, *, windows: bool = False) -> tuple[str, ...] | None:
    """The words of a text that is one simple command, exactly as its program will get them; None for anything else.

    Chaining, substitution, redirection, variables, assignments, globs, braces, tildes, comments, escapes, unbalanced
    quotes, control words and control characters are something else. `windows`: the shell is `cmd`.
    """
    if len(command) > MAX_LENGTH or not all(_is_plain_text(char, windows) for char in command):
        return None
    words = _split_words(command)
    if not words or "=" in words[0] or words[0] in _MORE_THAN_ITS_WORDS:
        return None
    return words


def written(words: Sequence[str]) -> str:
    """A command line that is `words` again for `simple`."""
    return " ".join(_quoted(word) for word in words)


def follows(words: Sequence[str], pattern: str) -> bool:
    """Whether a command is what a pattern describes: `pytest *` is pytest with any further words, none included,
    `git status` exactly these two words, `*` any command."""
    wanted = pattern.strip()
    if wanted == "*":
        return True
    begun = simple(wanted.removesuffix(" *"))
    if begun is None:
        return False
    return tuple(words[: len(begun)]) == begun if wanted.endswith(" *") else tuple(words) == begun


def is_pattern(text: str) -> bool:
    """False for a pattern that no command could follow."""
    return text.strip() == "*" or simple(text.strip().removesuffix(" *")) is not None


def _is_plain_text(char: str, windows: bool) -> bool:
    if "!" <= char <= "~" or char == " ":
        return not windows or char not in _WINDOWS
    category = unicodedata.category(char)
    # A no-break space is a blank to some shells and a letter to others.
    return char == "\t" or not (category in _NOT_TEXT or category == "Zs")


def _split_words(text: str) -> tuple[str, ...] | None:
    words: list[str] = []
    current: list[str] = []
    begun = False
    at = 0
    while at < len(text):
        char = text[at]
        if char in " \t":
            words += ["".join(current)] if begun else []
            current, begun = [], False
        elif char in _QUOTES:
            end = text.find(char, at + 1)
            inside = text[at + 1 : end]
            if end == -1 or (char == '"' and _SPECIAL_WITHIN & set(inside)):
                return None
            current.append(inside)
            at, begun = end, True
        elif char in _SPECIAL:
            return None
        else:
            current.append(char)
            begun = True
        at += 1
    return (*words, "".join(current)) if begun else tuple(words)


def _quoted(word: str) -> str:
    if word and word.isascii() and not (_SPECIAL | set("'\"% \t")) & set(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
