"""The options that pytest's configuration in the workspace's root adds to each run."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path
from typing import Any

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
            text = read_text(root / name)
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
