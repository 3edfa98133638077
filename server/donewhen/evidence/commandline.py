"""What a command line says it runs, without running it.

A shell's language is not parsed in full: what can't be understood is left alone, and then nothing is claimed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_OPERATORS = {"&&", "||", ";", "|", "&", "|&", "\n"}
# They run the rest of their line in the same shell or environment, and are no proof by themselves.
_WRAPPERS: dict[tuple[str, ...], int] = {
    ("env",): 0,
    ("time",): 0,
    ("nice",): 0,
    ("exec",): 0,
    ("command",): 0,
    ("timeout",): 1,
    ("xvfb-run",): 0,
    ("uv", "run"): 0,
    ("poetry", "run"): 0,
    ("pipenv", "run"): 0,
    ("pdm", "run"): 0,
    ("hatch", "run"): 0,
    ("rye", "run"): 0,
    ("pixi", "run"): 0,
    ("npx",): 0,
    ("bunx",): 0,
    ("pnpm", "exec"): 0,
    ("pnpm", "dlx"): 0,
    ("yarn", "exec"): 0,
    ("npm", "exec"): 0,
    ("bundle", "exec"): 0,
    ("coverage", "run"): 0,
}
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*|py")


@dataclass(frozen=True, slots=True)
class Segment:
    """One simple command. `words` are without assignments; `then` is the operator after it, empty at the end.

    `tool` are the words of what it really runs: wrappers (`uv run`, `npx`) and `python -m` taken away, the program
    without its folder.
    """

    words: tuple[str, ...]
    tool: tuple[str, ...]
    assignments: tuple[str, ...] = ()
    then: str = ""


def segments(command: str) -> tuple[Segment, ...]:
    """The simple commands of a line; none where its quoting can't be understood."""
    if os.name == "nt":
        command = command.replace("\\", "/")  # a separator there, which the lexer would take for an escape
    try:
        lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=";&|()")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return ()
    found: list[Segment] = []
    current: list[str] = []
    for word in [*words, ""]:
        if word in _OPERATORS or word == "":
            if current:
                found.append(_segment(current, word))
            current = []
        elif word not in ("(", ")", "{", "}", "!"):
            current.append(word)
    return tuple(found)


def _segment(words: Sequence[str], then: str) -> Segment:
    count = 0
    while count < len(words) and _ASSIGNMENT.fullmatch(words[count]):
        count += 1
    rest = tuple(words[count:])
    return Segment(rest, _tool(rest), tuple(words[:count]), then)


def _tool(words: tuple[str, ...]) -> tuple[str, ...]:
    while words:
        words = (program_name(words[0]), *words[1:])
        shorter = _unwrapped(words)
        if shorter == words:
            return words
        words = shorter
    return words


def _unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    if _PYTHON.fullmatch(words[0]):
        return _module(words)
    for wrapper, arguments in _WRAPPERS.items():
        if words[: len(wrapper)] == wrapper:
            rest = words[len(wrapper) :]
            while rest and (rest[0].startswith("-") or _ASSIGNMENT.fullmatch(rest[0])):
                if rest[0] == "-m" and wrapper[0] == "coverage":
                    return rest[1:]
                rest = rest[1:]
            return rest[arguments:]
    return words


def _module(words: tuple[str, ...]) -> tuple[str, ...]:
    """`python -X dev -m pytest -q` runs `pytest -q`; anything else of Python's stays."""
    for index, word in enumerate(words[1:], start=1):
        if word == "-m" and index + 1 < len(words):
            return words[index + 1 :]
        if not word.startswith("-") and words[index - 1] not in ("-X", "-W"):
            break
    return words


def program_name(word: str) -> str:
    """`/usr/bin/python3` is `python3`, `pytest.exe` is `pytest`."""
    name = PurePath(word).name if "\\" not in word else word.rsplit("\\", 1)[-1]
    return re.sub(r"\.(?:exe|cmd|bat|ps1)$", "", name, flags=re.IGNORECASE)


def option_values(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """The values of options given as `--name=VALUE` or `--name VALUE`, in order."""
    found: list[str] = []
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            if equals:
                found.append(value)
            elif index + 1 < len(words):
                found.append(words[index + 1])
    return found


def folders(parts: Sequence[Segment]) -> tuple[str, ...]:
    """The folders that the line changes into (`cd`, `-C`, `--prefix`, `--cwd`), as written."""
    found: list[str] = []
    for part in parts:
        if part.words[:1] == ("cd",) and len(part.words) > 1:
            found.append(part.words[1])
        found += option_values(part.words, ("-C", "--prefix", "--cwd", "--directory", "--rootdir", "--project"))
    return tuple(found)
