"""Reads a command line that a project runs somewhere (in its CI, in tox, in a recipe) as a check of ours, or as none.

Only what is one simple command, of a tool that is known to check something, is taken: nothing that installs, publishes
or deploys, nothing that edits files, nothing with variables in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from donewhen.core.commands.risks import always_asks
from donewhen.core.commands.simple import simple, written
from donewhen.core.commands.wrapped import all_commands, program_name
from donewhen.goalfile.detect.checks import CheckPurpose, DetectedCheck

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands for what is only known where the line really runs."""
MOST_LINES = 200
_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that checks. `verb`: only with one of these words first. `needs`: only with one of these options, as it
    edits files without; `edits`: never with one of these. `module`: as a module of Python it is called so."""

    purpose: CheckPurpose
    group: str = "python"
    verbs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    module: str = ""
    only_module: bool = False


_FIX = ("--fix", "--fix-only", "--unsafe-fixes", "--add-noqa", "--write", "-w", "--in-place", "-i", "--update")
TOOLS: dict[str, Tool] = {
    "pytest": Tool("test", module="pytest"),
    "py.test": Tool("test", module="pytest"),
    "unittest": Tool("test", module="unittest", only_module=True),
    "nose2": Tool("test", module="nose2"),
    "trial": Tool("test", module="twisted.trial"),
    "ruff": Tool("lint", verbs=("check",), edits=_FIX, module="ruff"),
    "flake8": Tool("lint", module="flake8"),
    "pylint": Tool("lint", module="pylint"),
    "pycodestyle": Tool("lint", module="pycodestyle"),
    "pydocstyle": Tool("lint", module="pydocstyle"),
    "black": Tool("lint", needs=("--check",), module="black"),
    "isort": Tool("lint", needs=("--check", "--check-only", "-c"), module="isort"),
    "mypy": Tool("types", edits=("--install-types",), module="mypy"),
    "pyright": Tool("types", edits=("--createstub", "--verifytypes"), module="pyright"),
    "basedpyright": Tool("types", edits=("--writebaseline", "--verifytypes"), module="basedpyright"),
    "ty": Tool("types", verbs=("check",)),
    "pyrefly": Tool("types", verbs=("check",)),
    "vitest": Tool("test", "node", edits=("-u", "--update", "--watch")),
    "jest": Tool("test", "node", edits=("-u", "--updateSnapshot", "--watch", "--watchAll")),
    "mocha": Tool("test", "node", edits=("--watch", "-w")),
    "ava": Tool("test", "node", edits=("-u", "--update-snapshots", "--watch", "-w")),
    "tap": Tool("test", "node"),
    "tape": Tool("test", "node"),
    "eslint": Tool("lint", "node", edits=_FIX),
    "biome": Tool("lint", "node", verbs=("check", "ci", "lint"), edits=_FIX),
    "prettier": Tool("lint", "node", needs=("--check", "-c"), edits=_FIX),
    "tsc": Tool("types", "node", needs=("--noEmit",)),
    "cargo": Tool("test", "rust", verbs=("test",)),
    "go": Tool("test", "go", verbs=("test",)),
}
_FORMAT = Tool("lint", verbs=("format",), needs=("--check", "--diff"), module="ruff")
_ENVIRONMENTS = frozenset(("uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi"))
_MEASURING = re.compile(r"--(?:no-)?cov(?:-[a-z-]+)?(?:=.*)?")
_MEASURES_WITH_VALUE = frozenset(("--cov-report", "--cov-config", "--cov-fail-under", "--cov-context"))
_SELECTING = frozenset(("-k", "-m", "--deselect", "--lf", "--last-failed", "--ff", "--collect-only", "--co"))


def checks_in(text: str, why: str) -> Iterator[DetectedCheck]:
    """The checks of a text of one or more lines; `why` says where it stands."""
    joined = re.sub(r"[ \t]*\\\r?\n[ \t]*", " ", text[:20_000])
    for line in joined.splitlines()[:MOST_LINES]:
        parts = [part.strip() for part in line.split("&&")]
        if any(part.split(" ")[0] in ("cd", "pushd", "export", "source", ".") for part in parts):
            continue  # what follows runs elsewhere, or with something else
        for part in parts:
            check = check_of(part, why)
            if check is not None:
                yield check


def check_of(line: str, why: str) -> DetectedCheck | None:
    """The check that one line is; None for everything else."""
    words = simple(line) if len(line) <= _LONGEST and UNKNOWN not in line else None
    if words is None or always_asks(line, lambda path: False) is not None:
        return None
    for inner in all_commands(line) or ():
        check = _of_tool(words, inner, why)
        if check is not None:
            return check
    return None


def is_harmless(line: str) -> bool:
    """Whether a line of a recipe or script installs, publishes and deletes nothing, and edits no source, as far as can
    be told."""
    return always_asks(line, lambda path: False) is None and not any(map(_edits, all_commands(line) or ()))


def _edits(words: tuple[str, ...]) -> bool:
    """Whether it is a linter or formatter that is let to change what it looks at."""
    tool = TOOLS.get(program_name(words[0]))
    if tool is None or tool.purpose == "test":
        return False
    given = {word.partition("=")[0] for word in words[1:]}
    if words[1:2] == ("format",):
        tool = _FORMAT
    return bool(given & set(tool.edits)) or (
        bool(tool.needs) and not given & set(tool.needs) and tool.group == "python"
    )


def narrows(check: DetectedCheck) -> bool:
    """Whether a test command picks some of the tests by name or mark, or names single files."""
    words = check.command.removeprefix("python -m ").split(" ")[1:]
    return any(word in _SELECTING or word.startswith("-k") or "::" in word or word.endswith(".py") for word in words)


def _of_tool(words: tuple[str, ...], inner: tuple[str, ...], why: str) -> DetectedCheck | None:
    name = program_name(inner[0])
    tool = TOOLS.get(name)
    if tool is None or (tool.only_module and ("-m", inner[0]) not in pairwise(words)):
        return None
    rest = list(inner[1:])
    if name == "ruff" and rest[:1] == ["format"]:
        tool, name = _FORMAT, "ruff format"
    if tool.verbs and (not rest or rest[0] not in tool.verbs):
        return None
    given = {word.partition("=")[0] for word in rest}
    if (tool.needs and not given & set(tool.needs)) or given & {*tool.edits, "--version", "--help", "-h"}:
        return None
    if tool.group != "python":
        return DetectedCheck(written(words), why, tool.purpose, tool.group, True, name, (words[0],))
    return _of_python(name, tool, words, inner[0], _unmeasured(rest), why)


def _of_python(name: str, tool: Tool, words: Sequence[str], program: str, rest: list[str], why: str) -> DetectedCheck:
    """As its people run it, but for what only measures; then as a module; then behind the wrapper (`uv run`) that makes
    an environment for it."""

    def way(line: Sequence[str], modules: tuple[str, ...] = ()) -> DetectedCheck:
        return DetectedCheck(written(line), why, tool.purpose, "python", True, name, (line[0],), modules)

    ways: list[DetectedCheck] = []
    # `coverage run -m pytest` measures `python -m pytest`.
    if ("-m", program) not in pairwise(words):
        ways.append(way([program, *rest]))
    if tool.module:
        ways.append(way(["python", "-m", tool.module, *rest], (tool.module.partition(".")[0],)))
    if program_name(words[0]) in _ENVIRONMENTS:
        ways.append(way(words))
    return replace(ways[0], others=tuple(ways[1:]))


def _unmeasured(words: list[str]) -> list[str]:
    """Without pytest-cov's options: they decide nothing about the tests, and write files."""
    kept: list[str] = []
    skip = False
    for at, word in enumerate(words):
        if skip:
            skip = False
        elif _MEASURING.fullmatch(word):
            following = words[at + 1] if at + 1 < len(words) else "-"
            bare_value = word == "--cov" and not following.startswith("-") and "/" not in following
            skip = "=" not in word and (word in _MEASURES_WITH_VALUE or bare_value)
        else:
            kept.append(word)
    return kept
