"""Modules that stand in for the code under test, because Python looks in the folder of the tests first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from posixpath import dirname

from donewhen.core.integrity import FileFact, TestFileFact

_PLACES = ("", "src", "lib", "python")  # where a project's own modules begin


def shadowing_modules(root: Path, covered: Iterable[str], tests: Sequence[TestFileFact]) -> Iterator[FileFact]:
    """Modules in a folder that pytest puts first, of a name that tests import and that the project has elsewhere."""
    imported = {what.lstrip(".").partition(".")[0] for file in tests for _, _, what in file.bindings}
    modules = _modules(covered, imported)
    folders = {_first_on_path(root, dirname(file.path)) for file in tests if file.collected} | {""}
    for folder in sorted(folders):
        for name, path in _importable(root, folder):
            later = _PLACES[_PLACES.index(folder) + 1 :] if folder in _PLACES else _PLACES
            if any((place, name) in modules for place in later):
                yield FileFact(path, "there")


def _modules(covered: Iterable[str], imported: set[str]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for path in covered:
        if path.endswith(".py"):
            for place in _PLACES:
                inner = path[len(place) :].lstrip("/") if path.startswith(f"{place}/") or not place else ""
                name = inner.partition("/")[0].removesuffix(".py")
                if name in imported:
                    found.add((place, name))
    return found


def _first_on_path(root: Path, folder: str) -> str:
    while folder and (root / folder / "__init__.py").is_file():
        folder = dirname(folder)
    return folder


def _importable(root: Path, folder: str) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(root / folder) as entries:
            listed = sorted(entries, key=lambda e: e.name)
    except OSError:
        return
    for entry in listed:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if entry.is_dir():
            if (root / path / "__init__.py").is_file():
                yield entry.name, f"{path}/__init__.py"
        elif entry.name.endswith((".py", ".pyc", ".so", ".pyd")):
            yield entry.name.partition(".")[0], path
