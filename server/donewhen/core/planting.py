"""Plants a test that must fail beside others (`ecosystem.Plant`)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from posixpath import basename, dirname, join

from donewhen.core.globs import any_matches
from donewhen.ecosystems import ECOSYSTEMS, Plant


@dataclass(frozen=True, slots=True)
class Planted:
    """A file with a failing test called `name` (its case may differ): the file `beside` with the test at its end, or a
    new one in the same folder. `taken` are names of its own tests that fail there too. Where it is a script that
    sources some `helpers`, these alone are as they were when it is said whether it failed at the start."""

    path: str
    content: bytes
    name: str
    beside: str
    taken: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()


MAX_TAKEN = 20


def plant(path: str, content: bytes, name: str, passing: Collection[str] = ()) -> Planted | None:
    """A failing test beside those of a file; None if no table says how. `name` is an identifier in small letters,
    `passing` the names of tests that pass now, as their runner tells them, the most telling ones first."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    for ecosystem in ECOSYSTEMS:
        for one in ecosystem.plants:
            if any_matches(one.files, path) and all(re.search(mark, text) for mark in one.marks):
                if one.expects:
                    text, taken = _falsified(one, text, name, passing)
                else:
                    taken = _taken(one.names, text, passing)
                names = {"name": name, "Name": name.capitalize(), "taken": json.dumps(taken)}
                added = one.append.format(**names)
                if one.beside:
                    package = re.match(r"\s*package\s+[\w.]+;", text)
                    head = f"{package[0].strip()}\n" if package else ""
                    beside = join(dirname(path), one.beside.format(**names))
                    return Planted(beside, f"{head}{added}".encode(), name, path)
                whole = f"{text}{'' if text.endswith(chr(10)) else chr(10)}{added}"
                return Planted(path, whole.encode(), name, path, tuple(taken))
    return None


def plant_in_script(path: str, text: str, name: str, helpers: Mapping[str, str]) -> Planted | None:
    """A script of a shell in which whatever it hands to functions of the files that it sources, to be compared with
    what a program prints, is something else: it must fail, and says its name then. `helpers` are those files as they
    were. None where it sources none of them, or hands them nothing that stands in the script."""
    sourced = {one: was for one, was in helpers.items() if basename(one) in " ".join(_SOURCED.findall(text))}
    functions = "|".join({re.escape(found) for was in sourced.values() for found in _FUNCTION.findall(was)})
    if not functions:
        return None
    calls = re.compile(rf"(?:^|[;&|]|\b(?:do|then|if|!))\s*(?:{functions})\s")
    lines = [_with_another_value(line, name) if calls.search(line) else line for line in text.splitlines(keepends=True)]
    if "".join(lines) == text:
        return None
    first = 1 if text.startswith("#!") else 0
    lines.insert(first, f"trap '[ $? = 0 ] || echo {name}' EXIT\n")
    return Planted(path, "".join(lines).encode(), name, path, helpers=tuple(sourced))


_SOURCED = re.compile(r"(?m)^\s*(?:\.|source)\s+(\S.*)$")
_FUNCTION = re.compile(r"(?m)^\s*(?:function\s+)?(\w+)\s*\(\)")
_PRINTED = re.compile(r"\"?\$\((?:[^()]|\([^()]*\))*\)\"?")
_VALUE = re.compile(r"""(?<=\s)(?:'[^'\n]+'|"[^"$`\n]+"|[A-Za-z0-9][^\s"'$`;&|()\[\]]*)(?=[\s;)]|$)""")


def _with_another_value(line: str, name: str) -> str:
    """Another value in the place of the one beside what a program prints: the first after it, or the last before it."""
    printed = _PRINTED.search(line)
    if printed is None:
        return line
    command = re.match(r"\s*\S+\s", line)
    before = [*_VALUE.finditer(line, command.end() - 1 if command is not None else 0, printed.start())][-1:]
    value = _VALUE.search(line, printed.end()) or next(iter(before), None)
    return line if value is None else f"{line[: value.start()]}{name}{line[value.end() :]}"


def _taken(pattern: str, text: str, passing: Collection[str]) -> list[str]:
    """Names that stand once in the file, and each for one test that passes."""
    if not pattern:
        return []
    there = Counter(match["name"] for match in re.finditer(pattern, text))
    alone: dict[str, set[str]] = {}
    for whole in passing:
        alone.setdefault(leaf(whole), set()).add(_BRACKETS.sub("", whole))
    return [name for name, owners in alone.items() if there[name] == 1 and len(owners) == 1][:MAX_TAKEN]


def _falsified(one: Plant, text: str, name: str, passing: Collection[str]) -> tuple[str, list[str]]:
    """The text with another value in the first expectation of each test, and the names of these tests. Not every runner
    names the tests that pass: then all of the file are meant."""
    known = set(_taken(one.names, text, passing))
    starts = list(re.finditer(one.names, text))
    made, taken = [text[: starts[0].start()] if starts else text], list[str]()
    for at, match in enumerate(starts):
        body = text[match.start() : starts[at + 1].start() if at + 1 < len(starts) else len(text)]
        other = re.sub(one.expects, rf"\g<1>\g<2>{name}", body, count=1)
        if other != body and len(taken) < MAX_TAKEN and (match["name"] in known or not passing):
            taken.append(match["name"])
            body = other
        made.append(body)
    return "".join(made), taken


def leaf(name: str) -> str:
    """The own name of a test, without its file, class, suites and parameters."""
    return re.split(r"::|\.(?=\w+$)|\s[>›]\s", _BRACKETS.sub("", name))[-1]


_BRACKETS = re.compile(r"\[.*\]$", re.DOTALL)
