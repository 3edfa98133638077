"""Finds the report that a run wrote, never one that was left over from an earlier run."""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import secrets
import shlex
import shutil
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.core.commands.wrapped import Segment, option_values
from donewhen.core.ecosystems import TOOLS
from donewhen.regular import read_text

# In pytest's own order; the first that applies decides.
_SECTIONS = (
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", ""),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)


def configured_options(root: Path) -> str:
    """`addopts` of pytest's configuration; empty if there is none, or where it can't be read."""
    for name, section in _SECTIONS:
        try:
            text = read_text(name, within=root)
            found = _from_ini(text, section) if section else _from_toml(text)
        except (OSError, ValueError, configparser.Error):
            continue  # pytest itself will say what is wrong with it
        if found is not None:
            return found
    return ""


def _from_ini(text: str, section: str) -> str | None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser.get(section, "addopts", fallback="") if parser.has_section(section) else None


def _from_toml(text: str) -> str | None:
    table: Any = tomllib.loads(text)
    for key in ("tool", "pytest"):
        table = table.get(key) if isinstance(table, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # whatever TOML holds
    if not isinstance(table, dict):
        return None
    options: Any = {**table, **table.get("ini_options", {})}  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # whatever TOML holds
    found: Any = options.get("addopts", "")
    return found if isinstance(found, str) else " ".join(map(str, found))


_JUNIT_OPTIONS = (*(option for tool in TOOLS for option in tool.report_options), "--junit-output")
_OUTPUT_OPTIONS = (
    "--outputFile",
    "--outputFile.junit",
    "--output-file",
    "--test-reporter-destination",
    "-o",
    "--output",
)
_JUNIT_VARIABLES = tuple(variable for tool in TOOLS for variable in tool.report_variables)
_PYTEST_OPTION = re.compile(r"--junit-?xml(?:=|[\s\"',]+)([^\s\"',\]]+)")

_FORGOTTEN = 7 * 24 * 3600.0

Signature = tuple[int, int, int, int] | None


@dataclass(frozen=True, slots=True)
class Reports:
    """Where a run may write reports: `ours`, which nobody else knows, and those that the user asked for, with what was
    there before the run. `asked`: runners were asked for ours, or for theirs already."""

    ours: Path
    asked: bool
    theirs: tuple[tuple[Path, Signature], ...]
    sarif: tuple[tuple[Path, Signature], ...]

    def written(self) -> Path | None:
        """The JUnit report of this run, if one was written."""
        if self.ours.is_file():
            return self.ours
        return _first_new(self.theirs)

    def written_sarif(self) -> Path | None:
        return _first_new(self.sarif)

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            shutil.rmtree(self.ours.parent)


def prepare_reports(
    root: Path,
    scratch: Path,
    parts: Sequence[Segment],
    folders: Sequence[str],
    variables: dict[str, str],
    written: Path | None = None,
) -> Reports:
    """Asks pytest for a report through PYTEST_ADDOPTS (added to `variables`), unless the user's options name one.
    `written` is where what the check writes below the root is to be read from, where that isn't the root itself."""
    for left in scratch.glob("report-*"):  # by a crash: another process may be using the younger ones
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _FORGOTTEN:
                shutil.rmtree(left)
    folder = scratch / f"report-{secrets.token_hex(16)}"
    folder.mkdir(parents=True, mode=0o700)
    # `-p no:junitxml`: then pytest refuses the option.
    words = [word for part in parts for word in part.words]
    options = (variables.get("PYTEST_ADDOPTS", ""), configured_options(root), *words)
    asked = not any("no:junitxml" in text for text in options)
    reports = Reports(folder / "junit.xml", asked, *_declared_reports(root, parts, folders, variables, written))
    if asked and not _configured(root, variables):
        given = variables.get("PYTEST_ADDOPTS", "")
        named = any(option_values(part.words, ("--junitxml", "--junit-xml")) for part in parts)
        family = "" if named else " -o junit_family=xunit1"
        variables["PYTEST_ADDOPTS"] = f"{given} --junitxml={shlex.quote(str(reports.ours))}{family}".strip()
    return reports


def _declared_reports(
    root: Path,
    parts: Sequence[Segment],
    folders: Sequence[str],
    variables: Mapping[str, str],
    written: Path | None,
) -> tuple[tuple[tuple[Path, Signature], ...], tuple[tuple[Path, Signature], ...]]:
    junit = [value for part in parts for value in option_values(part.words, _JUNIT_OPTIONS)]
    outputs = [value for part in parts for value in option_values(part.words, _OUTPUT_OPTIONS)]
    junit += [value for value in outputs if value.endswith(".xml")]
    assigned = dict(pair.split("=", 1) for part in parts for pair in part.assignments)
    junit += [value for name in _JUNIT_VARIABLES if (value := assigned.get(name) or variables.get(name))]
    junit += _configured(root, variables)
    sarif = [value for value in outputs if value.endswith((".sarif", ".sarif.json"))]
    return _before(root, folders, junit, written), _before(root, folders, sarif, written)


def _before(
    root: Path, folders: Sequence[str], names: Sequence[str], written: Path | None
) -> tuple[tuple[Path, Signature], ...]:
    whole = [os.path.expanduser(name) for name in dict.fromkeys(names)]  # noqa: PTH111 # never raises, for any user
    paths = [root / folder / name for name in whole for folder in ("", *folders)]
    if written is not None:
        paths = [written / path.relative_to(root) if path.is_relative_to(root) else path for path in paths]
    return tuple((path, _signature(path)) for path in paths)


def _configured(root: Path, variables: Mapping[str, str]) -> list[str]:
    """The report that the user's own PYTEST_ADDOPTS, or pytest's configuration in the root, asks for."""
    for options in (variables.get("PYTEST_ADDOPTS", ""), configured_options(root)):
        found = _PYTEST_OPTION.findall(options)
        if found:
            return found[-1:]
    return []


def _first_new(candidates: Sequence[tuple[Path, Signature]]) -> Path | None:
    """A report whose file is not the one from before the run."""
    for path, before in candidates:
        now = _signature(path)
        if now is not None and now != before:
            return path
    return None


def _signature(path: Path) -> Signature:
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return None
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino
