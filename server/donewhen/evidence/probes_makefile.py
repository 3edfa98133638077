"""What a target of a Makefile stands for: its recipe, those of its prerequisites, and the variables that they use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_RULE = re.compile(r"^([^\s#:=][^:=]*?)\s*::?(?!=)\s*([^=;]*?)(?:;(.*))?$")
_VARIABLE = re.compile(r"^(?:export\s+|override\s+)*([A-Za-z_.][\w.-]*)\s*(?:[:?+!]?|:::?)=(.*)$")
_REFERENCE = re.compile(r"\$[({]([^)}\s]+)[)}]|\$(\w)")
_INCLUDE = re.compile(r"^-?s?include\s+(.+)$")
# They change how every recipe runs.
_GLOBAL = re.compile(
    r"^(?:\.IGNORE|\.SILENT|\.ONESHELL|\.SHELLFLAGS|SHELL|MAKEFLAGS|\.DEFAULT|export\s|unexport\s|\.EXPORT)"
)


@dataclass(frozen=True, slots=True)
class MakeTarget:
    """`lines` are the 0-based lines that count, `counted` their text without comments and spaces around it."""

    lines: tuple[int, ...] = ()
    counted: str = ""
    commands: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Makefile:
    rules: dict[str, list[tuple[list[int], list[str]]]] = field(
        default_factory=dict[str, list[tuple[list[int], list[str]]]]
    )
    variables: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    everywhere: list[int] = field(default_factory=list[int])
    includes: list[str] = field(default_factory=list[str])
    first: str = ""


def makefile_definition(text: str, target: str) -> MakeTarget:
    """What `make TARGET` runs; `counted` is empty where there is no such target. An empty target is the first one."""
    lines = text.splitlines()
    makefile = _read(lines)
    picked = _recipes(makefile, target or makefile.first)
    if not picked:
        return MakeTarget(includes=tuple(makefile.includes))
    picked = sorted({*picked, *makefile.everywhere})
    picked = _with_variables(makefile, lines, picked)
    kept = [lines[i].strip() for i in picked if lines[i].strip() and not lines[i].strip().startswith("#")]
    # The prefix of a recipe line decides whether its failure counts, so it belongs to what is compared.
    commands = tuple(lines[i].strip().lstrip("@-+").strip() for i in picked if lines[i].startswith("\t"))
    return MakeTarget(tuple(picked), "\n".join(kept), commands, tuple(makefile.includes))


def _read(lines: Sequence[str]) -> _Makefile:
    makefile = _Makefile()
    current: list[int] | None = None
    for number, line in enumerate(lines):
        if number and lines[number - 1].endswith("\\") and current is not None:
            current.append(number)
        elif line.startswith("\t"):
            if current is not None:
                current.append(number)
        elif line.strip() and not line.startswith("#"):
            current = _statement(makefile, number, line)
    return makefile


def _statement(makefile: _Makefile, number: int, line: str) -> list[int] | None:
    """Notes a rule, a variable or an include; returns the list that the following lines of it belong to."""
    block = [number]
    if _GLOBAL.match(line):
        makefile.everywhere.append(number)
    if include := _INCLUDE.match(line):
        makefile.includes += include[1].split()
    elif variable := _VARIABLE.match(line):
        makefile.variables.setdefault(variable[1], [])
        block = makefile.variables[variable[1]]
        block.append(number)
    elif rule := _RULE.match(line):
        for name in rule[1].split():
            makefile.rules.setdefault(name, []).append((block, rule[2].replace("|", " ").split()))
            if not makefile.first and not name.startswith("."):
                makefile.first = name
    else:
        return None
    return block


def _recipes(makefile: _Makefile, target: str) -> list[int]:
    picked: list[int] = []
    waiting, seen = [target], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for block, prerequisites in makefile.rules.get(name, []):
            picked += block
            waiting += prerequisites
    return picked


def _with_variables(makefile: _Makefile, lines: Sequence[str], picked: Sequence[int]) -> list[int]:
    everything = set(picked)
    waiting = list(picked)
    while waiting:
        for match in _REFERENCE.finditer(lines[waiting.pop()]):
            new = set(makefile.variables.get(match[1] or match[2], [])) - everything
            everything |= new
            waiting += new
    return sorted(everything)
