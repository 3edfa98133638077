"""Plants a test that must fail beside others (`ecosystem.Plant`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from posixpath import dirname, join

from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.globs import any_matches


@dataclass(frozen=True, slots=True)
class Planted:
    """A file with a failing test called `name` (its case may differ): the file `beside` with the test at its end, or a
    new one in the same folder."""

    path: str
    content: bytes
    name: str
    beside: str


def plant(path: str, content: bytes, name: str) -> Planted | None:
    """A failing test beside those of a file; None where no table says how. `name` is an identifier in small letters."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    for ecosystem in ECOSYSTEMS:
        for one in ecosystem.plants:
            if any_matches(one.files, path) and all(re.search(mark, text) for mark in one.marks):
                names = {"name": name, "Name": name.capitalize()}
                added = one.append.format(**names)
                if one.beside:
                    package = re.match(r"\s*package\s+[\w.]+;", text)
                    head = f"{package[0].strip()}\n" if package else ""
                    beside = join(dirname(path), one.beside.format(**names))
                    return Planted(beside, f"{head}{added}".encode(), name, path)
                return Planted(path, f"{text}{'' if text.endswith(chr(10)) else chr(10)}{added}".encode(), name, path)
    return None
