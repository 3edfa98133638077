"""A workspace folder for detection: reading is bounded, cached, and tolerant of broken files."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import cast

from donewhen.core.decoding import json_object
from donewhen.core.ecosystems import Sign
from donewhen.core.globs import any_matches
from donewhen.goalfile.files import walk_files
from donewhen.regular import read_start

_MOST_FILES = 20_000
_MOST_BYTES = 500_000
_MOST_TESTS = 20
_NO_SETTINGS: Mapping[str, object] = {}


class Folder:
    """Reads the files that show which tools a workspace uses; an unreadable file counts as empty."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._texts: dict[str, str] = {}

    @cached_property
    def files(self) -> tuple[str, ...]:
        return tuple(islice(walk_files(self._root), _MOST_FILES))

    def has(self, *names: str) -> str | None:
        """The first of these files that exists in the folder itself; `*` matches within a name."""
        for name in names:
            if "*" not in name and (self._root / name).is_file():
                return name
            if "*" in name and (found := next((f for f in self._own_files if fnmatchcase(f, name)), None)):
                return found
        return None

    def inside(self, folder: str, endings: tuple[str, ...]) -> list[str]:
        """The files of one folder with these endings, even if the folder is hidden."""
        try:
            names = sorted(entry.name for entry in islice((self._root / folder).iterdir(), _MOST_FILES))
        except OSError:
            return []
        return [
            f"{folder}/{name}" for name in names if name.endswith(endings) and (self._root / folder / name).is_file()
        ]

    def is_folder(self, name: str) -> bool:
        return (self._root / name).is_dir()

    def below(self, name: str) -> list[str]:
        """The files below one folder, or below those that match a glob, whatever their names."""
        found: list[str] = []
        try:
            places = [
                one for one in islice(self._root.glob(name.strip("/") or "."), 20) if one.is_relative_to(self._root)
            ]
        except (ValueError, NotImplementedError, OSError):
            return []
        for place in places:
            prefix = place.relative_to(self._root).as_posix()
            found += [f"{prefix}/{file}".removeprefix("./") for file in islice(walk_files(place), 2_000)]
        return found

    def file_text(self, name: str) -> str:
        if name not in self._texts:
            try:
                text = read_start(name, _MOST_BYTES, within=self._root).decode("utf-8-sig", errors="replace")
            except (OSError, ValueError):
                text = ""
            self._texts[name] = text
        return self._texts[name]

    def mentions(self, name: str, part: str) -> bool:
        return part in self.file_text(name)

    def toml(self, name: str) -> Mapping[str, object]:
        try:
            return tomllib.loads(self.file_text(name))
        except (ValueError, RecursionError):
            return {}

    def json(self, name: str) -> Mapping[str, object]:
        return json_object(self.file_text(name)) or {}

    def section(self, dotted: str) -> object:
        """The value under that name in pyproject.toml; None if there is none."""
        value: object = self.toml("pyproject.toml")
        for key in dotted.split("."):
            value = as_table(value).get(key)
        return value

    @cached_property
    def _own_files(self) -> tuple[str, ...]:
        try:
            return tuple(sorted(entry.name for entry in self._root.iterdir() if entry.is_file()))
        except OSError:
            return ()


def shown_by(sign: Sign, folder: Folder, tests: Sequence[str]) -> tuple[str, Mapping[str, object]] | None:
    """What shows that the workspace uses the tool, and its settings there; None if nothing does. `tests` are globs of
    its ecosystem's tests."""
    shown = next(_signs_found(sign, folder), None)
    if sign.tests and (shown or not (sign.files or sign.tables or sign.keys or sign.sections)):
        named = islice((file for file in folder.files if any_matches(tests, file)), _MOST_TESTS)
        file = next((file for file in named if re.search(sign.tests, folder.file_text(file))), None)
        shown = (f"tests: {file}", _NO_SETTINGS) if file else None
    return shown if shown and (not sign.setting or sign.setting in shown[1]) else None


def _signs_found(sign: Sign, folder: Folder) -> Iterator[tuple[str, Mapping[str, object]]]:
    if file := folder.has(*sign.files):
        yield f"{file} is here", folder.toml(file) if file.endswith(".toml") else folder.json(file)
    for file, text in sign.sections:
        if folder.mentions(file, text):
            yield f"{text} in {file}", as_table(read_ini(folder.file_text(file)).get(text.strip("[]")))
    for table in sign.tables:
        if (settings := folder.section(table)) is not None:
            yield f"[{table}] in pyproject.toml", as_table(settings)
    for key in sign.keys:
        if key in folder.json("package.json"):
            yield f"{key} in package.json is here", {}


def read_ini(text: str) -> Mapping[str, Mapping[str, str]]:
    """The sections of an ini file; none if it is broken."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, comment_prefixes=("#", ";"))
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: {key: value or "" for key, value in parser.items(name)} for name in parser.sections()}


def as_table(value: object) -> Mapping[str, object]:
    """The value if it is a mapping, else an empty one."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
