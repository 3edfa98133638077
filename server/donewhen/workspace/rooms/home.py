"""What a room shows of the person's own folder: toolchains and their caches. Keys and settings stay hidden."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from donewhen.core.ecosystems import ECOSYSTEMS

_FILES = (".gitconfig", ".config/git/config", ".cargo/config.toml")
_KEYS = tuple(name for table in ECOSYSTEMS for name in table.keys)
"""Files below toolchains that contain keys."""
_SHARED = (".local", ".config", ".cache")
"""Folders shared by many programs: a command found there doesn't make the others visible."""
_PREFIXES = tuple(name for table in ECOSYSTEMS for name in table.variables)


def home_of(variables: Mapping[str, str]) -> Path | None:
    """The folder to hide; None if the person doesn't have a separate one."""
    named = variables.get("HOME", "")
    home = Path(named)
    return home if home.is_absolute() and is_folder(home) and len(home.parts) > 1 else None


def toolchains(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders below `home` that programs need, outermost first: those in the tables, and those that PATH and the
    variables of toolchains lead to."""
    named = {home / name for table in ECOSYSTEMS for name in table.toolchains}
    for entry in variables.get("PATH", "").split(os.pathsep):
        place = Path(entry)
        if entry and place.is_absolute() and _below(place, home):
            # A tool's libraries are next to its folder of programs.
            beside = place.parent
            alone = not _below(beside, home) or beside.relative_to(home).as_posix() in _SHARED
            named.add(beside if place.name in ("bin", "Scripts") and not alone else place)
    named.update(Path(value) for name in _PREFIXES if (value := variables.get(name)))
    return _outermost(place for place in named if _below(place, home) and is_folder(place))


def plain_files(home: Path) -> tuple[Path, ...]:
    """Files that programs expect, and that contain no keys."""
    return tuple(home / name for name in _FILES if is_file(home / name))


def key_files(home: Path) -> tuple[Path, ...]:
    """Files that contain keys, among those that toolchains keep."""
    return tuple(home / name for name in _KEYS if is_file(home / name))


def interpreters(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """The installations behind virtual environments on PATH, below `home` and not among its toolchains."""
    found: list[Path] = []
    for entry in variables.get("PATH", "").split(os.pathsep):
        program = Path(entry) / "python"
        if entry and Path(entry).is_absolute() and is_there(program):
            found.append(program.resolve().parent.parent)
    shown = toolchains(home, variables)
    needed = [one for one in found if _below(one, home) and not any(one.is_relative_to(place) for place in shown)]
    return _outermost(needed)


def installations(program: Path) -> tuple[Path, ...]:
    """The folders that a program needs to run: those of its installation, or of its virtual environment and of the
    interpreter behind that."""
    found: list[Path] = []
    for one in dict.fromkeys((program, program.resolve())):
        beside = one.parent.parent
        whole = one.parent.name in ("bin", "Scripts") and beside.name not in _SHARED
        found.append(beside if whole else one.parent)
    return tuple(found)


def elsewhere(places: tuple[Path, ...], variables: Mapping[str, str]) -> tuple[Path, ...]:
    """The places that PATH and the variables of toolchains name below folders that a room hides."""
    entries = [Path(entry) for entry in variables.get("PATH", "").split(os.pathsep) if entry]
    prefixes = [entry.parent if entry.name in ("bin", "Scripts") else entry for entry in entries]
    prefixes += [Path(value) for name in _PREFIXES if (value := variables.get(name))]
    return _outermost(one for one in prefixes if any(_below(one, place) for place in places) and is_folder(one))


def _below(place: Path, above: Path) -> bool:
    return place != above and place.is_relative_to(above)


def _outermost(places: Iterable[Path]) -> tuple[Path, ...]:
    found: list[Path] = []
    for place in sorted(places):
        if not any(place.is_relative_to(one) for one in found):
            found.append(place)
    return tuple(found)


# What is at a path. A path that can't be examined counts as missing; `pathlib` would raise.


def is_there(place: Path) -> bool:
    return os.path.exists(place)  # noqa: PTH110


def is_folder(place: Path) -> bool:
    return os.path.isdir(place)  # noqa: PTH112


def is_file(place: Path) -> bool:
    return os.path.isfile(place)  # noqa: PTH113


def is_link(place: Path) -> bool:
    return os.path.islink(place)  # noqa: PTH114
