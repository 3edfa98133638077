"""What `make TARGET` runs: the lines of its recipe and of those of its prerequisites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_RULE = re.compile(r"^([^\s#:=][^:=]*?)\s*::?(?!=)\s*([^=;]*?)(?:;(.*))?$")


@dataclass(slots=True)
class _Makefile:
    rules: dict[str, list[tuple[list[str], list[str]]]] = field(
        default_factory=dict[str, list[tuple[list[str], list[str]]]]
    )
    first: str = ""


def recipe(text: str, target: str) -> tuple[str, ...]:
    """The commands of the target, without make's prefixes; none where there is no such target. An empty target is the
    first one. Variables are left as they are written."""
    makefile = _read(text.splitlines())
    found: list[str] = []
    waiting, seen = [target or makefile.first], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for lines, prerequisites in makefile.rules.get(name, []):
            found += lines
            waiting += prerequisites
    return tuple(found)


def _read(lines: Sequence[str]) -> _Makefile:
    makefile = _Makefile()
    current: list[str] = []
    continued = False
    for line in lines:
        if continued and current:
            current[-1] = f"{current[-1][:-1]} {line.strip()}"
        elif line.startswith("\t"):
            if command := line.strip().lstrip("@-+").strip():
                current.append(command)
        elif line.strip() and not line.startswith("#"):
            current = _rule(makefile, line)
        continued = line.endswith("\\")
    return makefile


def _rule(makefile: _Makefile, line: str) -> list[str]:
    """Notes a rule, and returns the list that its recipe goes to; whatever else stands there has none."""
    commands: list[str] = []
    if rule := _RULE.match(line):
        commands += [rule[3].strip()] if rule[3] else []
        for name in rule[1].split():
            makefile.rules.setdefault(name, []).append((commands, rule[2].replace("|", " ").split()))
            if not makefile.first and not name.startswith("."):
                makefile.first = name
    return commands
