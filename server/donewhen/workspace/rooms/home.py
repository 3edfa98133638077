"""What a room shows of the person's own folder: toolchains and their caches. Keys and settings stay hidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from donewhen.core.ecosystems import ECOSYSTEMS

_FILES = (".gitconfig", ".config/git/config", ".cargo/config.toml")
_KEYS = tuple(name for table in ECOSYSTEMS for name in table.keys)
"""Files below toolchains that contain keys."""
_SHARED = (".local", ".config", ".cache")
"""Folders shared by many programs: a command found there doesn't make the others visible."""
_INTERPRETER = re.compile(r"python|pypy|graalpy")
_PREFIXES = tuple(name for table in ECOSYSTEMS for name in table.variables)


def home_of(variables: Mapping[str, str]) -> Path | None:
    """The folder to hide; None if the person doesn't have a separate one."""
    named = variables.get("HOME", "")
    home = Path(named)
    return home if home.is_absolute() and is_folder(home) and len(home.parts) > 1 else None


def toolchains(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders below `home` that programs need, outermost first: those in the tables, and those that variables lead
    to."""
    named = {home / name for table in ECOSYSTEMS for name in table.toolchains}
    return _outermost(place for place in (*named, *led_to(home, variables)) if is_folder(place))


def led_to(hidden: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders below one that a room hides to which PATH and the variables of toolchains lead, outermost first, and
    the installations behind virtual environments on PATH."""
    home = home_of(variables)
    beyond = os.path.realpath(home or "/")

    def unlinked(place: Path) -> Path:
        """HOME may lead through a link, and what is hidden is hidden where that leads."""
        return beyond / place.relative_to(home) if home is not None and place.is_relative_to(home) else place

    named = [unlinked(Path(value)) for name in _PREFIXES if (value := variables.get(name))]
    entries = [unlinked(Path(entry)) for entry in variables.get("PATH", "").split(os.pathsep) if entry.startswith("/")]
    behind = [Path(os.path.realpath(entry / "python")) for entry in entries]  # links may lead in a circle
    entries += [program.parent for program in behind if _is_interpreter(program)]
    for entry in entries:
        # A tool's libraries are next to its folder of programs.
        beside = entry.parent
        alone = not _below(beside, hidden) or beside.relative_to(hidden).as_posix() in _SHARED
        named.append(beside if entry.name in ("bin", "Scripts") and not alone else entry)
    return _outermost(place for place in named if _below(place, hidden) and is_folder(place))


def plain_files(home: Path) -> tuple[Path, ...]:
    """Files that programs expect, and that contain no keys."""
    return tuple(home / name for name in _FILES if is_file(home / name))


def key_files(home: Path) -> tuple[Path, ...]:
    """Files that contain keys, among those that toolchains keep."""
    return tuple(home / name for name in _KEYS if is_file(home / name))


def _is_interpreter(program: Path) -> bool:
    """Whether a link of a virtual environment leads to an interpreter: a worker may lead one in the workspace anywhere,
    and then nothing is shown."""
    return program.parent.name == "bin" and _INTERPRETER.match(program.name) is not None and is_file(program)


def installations(program: Path, root: Path) -> tuple[Path, ...]:
    """The folders that a program needs to run: those of its installation, or of its virtual environment and of the
    interpreter behind that. `root` is the workspace, in which anybody may have made a link."""
    found: list[Path] = []
    behind = Path(os.path.realpath(program))
    trusted = not program.is_relative_to(root) or _is_interpreter(behind)
    for one in dict.fromkeys((program, behind) if trusted else (program,)):
        beside = one.parent.parent
        whole = one.parent.name in ("bin", "Scripts") and beside.name not in _SHARED
        found.append(beside if whole else one.parent)
    return tuple(found)


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
