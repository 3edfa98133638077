"""A check that a workspace seems to have, and the choice of checks for a draft."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from donewhen.core.commands.risks import always_asks
from donewhen.core.commands.simple import simple, written
from donewhen.core.commands.wrapped import all_commands, program_name
from donewhen.core.ecosystems import ECOSYSTEMS, Ecosystem, Tool
from donewhen.core.ecosystems.python import PYTHON
from donewhen.core.ecosystems.table import Line, Purpose

CheckPurpose = Purpose
Missing = Callable[["DetectedCheck"], str | None]
"""What a check needs and is missing; None if nothing is known to be missing."""


@dataclass(frozen=True, slots=True)
class DetectedCheck:
    """A command that checks this workspace; `why` says where it was found.

    `purpose` and `group` (python, node, rust, ...; runner for make, just, tox) serve to choose one of each. `own`: the
    project runs it itself, for example in its CI; else it is a guess from its files. `programs` must be on the PATH,
    and the `python` there must know `modules`; `lacking` says what the workspace itself lacks, or why it
    isn't run. `beside`: it stands beside the other commands of the same place, and none replaces another. `others` are
    alternative commands for the same check, in order.
    """

    command: str
    why: str
    purpose: CheckPurpose = "other"
    group: str = ""
    own: bool = False
    tool: str = ""
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    lacking: str = ""
    beside: bool = False
    others: tuple[DetectedCheck, ...] = ()

    @property
    def ways(self) -> tuple[DetectedCheck, ...]:
        """This one first, then the others."""
        return (self, *self.others)

    @property
    def decides(self) -> str:
        """The command without what only reports: the same for two checks that decide the same."""
        words = simple(self.command) if self.own and (self.group, self.purpose) == ("python", "test") else None
        return self.command if words is None else written(_without(_REPORTING, words)).removeprefix("python -m ")

    def with_python(self, name: str) -> DetectedCheck:
        """The same check for an interpreter with another name."""
        named = tuple(name if program == "python" else program for program in self.programs)
        changed = self.command.startswith("python ") and "python" in self.programs
        command = f"{name} {self.command.removeprefix('python ')}" if changed else self.command
        others = tuple(other.with_python(name) for other in self.others)
        return replace(self, command=command, programs=named, others=others)


def slots(checks: Sequence[DetectedCheck]) -> tuple[tuple[DetectedCheck, ...], ...]:
    """What a draft should contain: for each slot, the first check that can be run.

    One test for each group; the linters and type checkers that the project runs itself, else one of each; task runners
    and builds only for what is still missing.
    """
    direct = {check.purpose for check in checks if check.group != "runner"}
    own = {(check.group, check.purpose) for check in checks if check.own and check.group != "runner"}
    found: dict[tuple[str, str, str], list[DetectedCheck]] = {}
    for check in _with_recipes(checks):
        if check.purpose == "other" or (check.purpose == "build" and "test" in direct):
            continue
        if check.group == "runner" and check.purpose in direct:
            continue
        several = check.purpose != "test" and (check.group, check.purpose) in own
        key = (check.group, check.purpose, check.tool if several else "")
        if check.beside and not (check.purpose == "test" and narrows(check)):
            first = found.get(key, [check])[0]
            if first is not check and first.why == check.why:
                found[check.group, check.purpose, check.command] = [check]
                continue
        # A guess, or a recipe, in addition to what the project runs of another tool.
        if several and (not check.own or not check.tool) and key not in found:
            continue
        found.setdefault(key, []).append(check)
    in_order = (sorted(slot, key=lambda check: not check.own) for slot in found.values())
    return tuple(tuple(way for check in slot for way in check.ways) for slot in in_order)


def suggested(checks: Sequence[DetectedCheck], missing: Missing = lambda check: None) -> tuple[DetectedCheck, ...]:
    """The few checks for a draft, as far as they can be chosen without running them."""
    chosen = (next((one for one in slot if missing(one) is None), None) for slot in slots(checks))
    return tuple(one for one in chosen if one is not None)


def _with_recipes(checks: Sequence[DetectedCheck]) -> Iterator[DetectedCheck]:
    """Puts a recipe of the project's own (`make test`) before a guess, if its subject is clear: only one group has
    checks of that purpose."""
    groups: dict[str, set[str]] = {}
    for check in checks:
        if check.group != "runner":
            groups.setdefault(check.purpose, set()).add(check.group)
    for check in checks:
        about = groups.get(check.purpose, set())
        if check.group == "runner" and check.own and len(about) == 1:
            yield replace(check, group=next(iter(about)))
        else:
            yield check


# Reads a command line that a project runs somewhere (in its CI, in tox, in a recipe); it is a check of ours, or None.
#
# It must be one simple command of a tool that is known to check something: nothing that installs, publishes or deploys,
# nothing that edits files, nothing with variables in it.


UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Replaces values that are known only where the line really runs."""
MOST_LINES = 200
_LONGEST = 2_000


_LINES: dict[str, list[tuple[Ecosystem, Tool, Line]]] = {}
for _ecosystem in ECOSYSTEMS:
    for _tool in _ecosystem.tools:
        if _tool.line is not None:
            for _name in _tool.line.programs or (_tool.name,):
                _LINES.setdefault(_name, []).append((_ecosystem, _tool, _tool.line))
_ENVIRONMENTS = frozenset(("uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi"))
_MEASURING = re.compile(r"--(?:no-)?cov(?:-[a-z-]+)?(?:=.*)?")
_REPORTING = re.compile(
    rf"{_MEASURING.pattern}|-[vq]+|-r\w*|--(?:verbose|quiet|tb|durations|color|junit-?xml|report-log|html)(?:=.*)?"
)
REPORTS_WITH_VALUE = frozenset((
    "--cov", "--cov-report", "--cov-config", "--cov-fail-under", "--cov-context", "-r", "--tb", "--durations",
    "--color", "--junitxml", "--junit-xml", "--report-log", "--html",
))  # fmt: skip
"""Options of pytest that decide nothing about the tests, and take the next word as their value."""
_SELECTING = frozenset(("-k", "-m", "--deselect", "--lf", "--last-failed", "--ff", "--collect-only", "--co"))


def checks_in(text: str, why: str) -> Iterator[DetectedCheck]:
    """The checks of a text of one or more lines; `why` says where the text is from."""
    joined = re.sub(r"[ \t]*\\\r?\n[ \t]*", " ", text[:20_000])
    for line in joined.splitlines()[:MOST_LINES]:
        parts = [part.strip() for part in line.split("&&")]
        if any(part.split(" ")[0] in ("cd", "pushd", "export", "source", ".") for part in parts):
            continue  # the next lines run elsewhere, or with something else
        for part in parts:
            check = check_of(part, why)
            if check is not None:
                yield check


def check_of(line: str, why: str) -> DetectedCheck | None:
    """The check on that line; None for everything else."""
    words = simple(line) if len(line) <= _LONGEST and UNKNOWN not in line else None
    if words is None or always_asks(line, lambda path: False) is not None:
        return None
    for inner in all_commands(line) or ():
        check = _of_tool(words, inner, why)
        if check is not None:
            return check
    return None


def is_harmless(line: str) -> bool:
    """Whether a line of a recipe or script installs, publishes and deletes nothing, and edits no source, as far as that
    can be seen."""
    return always_asks(line, lambda path: False) is None and not any(map(_edits, all_commands(line) or ()))


_FETCHES = re.compile(
    r"(?:^|[\s;&|/])(?:curl|wget|tox|nox|pre-commit|virtualenv|docker|podman)\s|-m\s+(?:venv|virtualenv|pip|tox|nox)\b"
    r"|\buv\s+(?:sync|venv|pip)\b|\bgit\s+clone\b|\bgo\s+(?:get|install|mod\s+download)\b|\bpip3?\s+install\b"
    r"|\b(?:apt|apt-get|brew|cargo|gem)\s+install\b|\b(?:npm|yarn|pnpm|bun|poetry|pdm|pipenv|bundle|composer)\s+(?:ci|i|install|sync)\b"
)


FETCHES = "it was not tried, because it installs or fetches something: `{}`"
"""Why a recipe is not drafted."""


_SYNCS = re.compile(r"\b(?:uv|pdm|poetry|pipenv|hatch|rye|pixi)\s+run\b")
"""What makes the environment that it runs in, where there is none."""


def fetches(lines: Sequence[str], *, has_environment: bool = True) -> str:
    """The first of a recipe's lines that installs or fetches something, or makes an environment; empty if none does."""
    return next((line for line in lines if _FETCHES.search(line) or (not has_environment and _SYNCS.search(line))), "")


def _edits(words: tuple[str, ...]) -> bool:
    """Whether the line lets a linter or formatter change the files that it examines."""
    row = _tool_row(program_name(words[0]), words[1:])
    if row is None or row[1].purpose == "test":
        return False
    ecosystem, _, line = row
    given = {word.partition("=")[0] for word in words[1:]}
    return bool(given & set(line.edits)) or (bool(line.needs) and not given & set(line.needs) and ecosystem is PYTHON)


def _tool_row(program: str, rest: Sequence[str]) -> tuple[Ecosystem, Tool, Line] | None:
    """The tool of a program followed by these words; if there are several, the one with that verb."""
    rows = _LINES.get(program, ())
    return next((row for row in rows if rest[:1] and rest[0] in row[2].verbs), rows[0] if rows else None)


def narrows(check: DetectedCheck) -> bool:
    """Whether a test command selects some of the tests by name or mark, or names single files."""
    words = check.command.removeprefix("python -m ").split(" ")[1:]
    return any(word in _SELECTING or word.startswith("-k") or "::" in word or word.endswith(".py") for word in words)


def _of_tool(words: tuple[str, ...], inner: tuple[str, ...], why: str) -> DetectedCheck | None:
    name, rest = program_name(inner[0]), list(inner[1:])
    row = _tool_row(name, rest)
    if row is None:
        return None
    ecosystem, tool, line = row
    if line.only_module and ("-m", inner[0]) not in pairwise(words):
        return None
    if line.verbs and (not rest or rest[0] not in line.verbs):
        return None
    given = {word.partition("=")[0] for word in rest}
    if (line.needs and not given & set(line.needs)) or given & {*line.edits, "--version", "--help", "-h"}:
        return None
    # If a program has several rows, each one is a separate tool: `ruff format`.
    name = name if tool is _LINES[name][0][1] else tool.name
    if ecosystem is not PYTHON:
        group = ecosystem.group or ecosystem.name
        return DetectedCheck(written(words), why, tool.purpose, group, True, name, (words[0],))
    return _of_python(name, tool.purpose, line, words, inner[0], _without(_MEASURING, rest), why)


def _of_python(
    name: str, purpose: CheckPurpose, line: Line, words: Sequence[str], program: str, rest: list[str], why: str
) -> DetectedCheck:
    """As the project's people run it, without options that only measure and write files; then as a module; then behind
    the wrapper (`uv run`) that makes an environment for it."""

    def way(typed: Sequence[str], modules: tuple[str, ...] = ()) -> DetectedCheck:
        return DetectedCheck(written(typed), why, purpose, "python", True, name, (typed[0],), modules)

    ways: list[DetectedCheck] = []
    # `coverage run -m pytest` measures `python -m pytest`.
    if ("-m", program) not in pairwise(words):
        ways.append(way([program, *rest]))
    if line.module:
        ways.append(way(["python", "-m", line.module, *rest], (line.module.partition(".")[0],)))
    if program_name(words[0]) in _ENVIRONMENTS:
        ways.append(way(words))
    return replace(ways[0], others=tuple(ways[1:]))


def _without(options: re.Pattern[str], words: Sequence[str]) -> list[str]:
    """The words without these options of pytest's and their values."""
    kept: list[str] = []
    skip = False
    for word, following in pairwise((*words, "-")):
        if skip:
            skip = False
        elif options.fullmatch(word):
            skip = word in REPORTS_WITH_VALUE and not following.startswith("-")
        else:
            kept.append(word)
    return kept
