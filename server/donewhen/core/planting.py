"""Plants a test that must fail beside others (`ecosystem.Plant`)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from posixpath import dirname, join

from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.globs import any_matches


@dataclass(frozen=True, slots=True)
class Planted:
    """A file with a failing test called `name` (its case may differ): the file `beside` with the test at its end, or a
    new one in the same folder. `taken` are names of its own tests that fail there too."""

    path: str
    content: bytes
    name: str
    beside: str
    taken: tuple[str, ...] = ()


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


def _taken(pattern: str, text: str, passing: Collection[str]) -> list[str]:
    """Names that stand once in the file, and each for one test that passes."""
    if not pattern:
        return []
    there = Counter(match["name"] for match in re.finditer(pattern, text))
    alone: dict[str, set[str]] = {}
    for whole in passing:
        alone.setdefault(leaf(whole), set()).add(_BRACKETS.sub("", whole))
    return [name for name, owners in alone.items() if there[name] == 1 and len(owners) == 1][:MAX_TAKEN]


def leaf(name: str) -> str:
    """The own name of a test, without its file, class, suites and parameters."""
    return re.split(r"::|\.(?=\w+$)|\s[>›]\s", _BRACKETS.sub("", name))[-1]


_BRACKETS = re.compile(r"\[.*\]$", re.DOTALL)
