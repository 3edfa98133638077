"""The configurations that decide what a runner proves: which files hold them, and which part of each counts."""

from __future__ import annotations

import ast
import configparser
import fnmatch
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from donewhen.core.integrity import FileFact
from donewhen.regular import read_text

_TEXT_LIMIT = 8000  # characters kept for showing a person what changed; the digest is of everything
_LEVELS = 12  # folders above the workspace: pytest and ruff look in all of them
_PYTEST_ROOT = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_LOOKED_UP = (*_PYTEST_ROOT, "ruff.toml", ".ruff.toml")
_NPM = (".npmrc", ".yarnrc", ".yarnrc.yml")
_NPM_RUNS = re.compile(r"\s*[\"']?(?:script-?shell|shell-emulator|node-?options|ignore-?scripts|yarn-?path)\b", re.I)
Part = tuple[str, int, str]  # what is compared, the first line, the text shown


@dataclass(frozen=True, slots=True)
class ConfigRule:
    """Files of these names configure `runner`, by the part that `part` takes of their text; None: nothing in there."""

    runner: str
    names: str
    part: Callable[[str], Part | None]


def configs_in(path: str, text: str) -> tuple[FileFact, ...]:
    """The facts of one file: one for each runner that it configures."""
    name = path.rpartition("/")[2]
    found: dict[str, list[Part]] = {}
    for rule in RULES:
        if _matches(rule.names, name) and (part := rule.part(text)) is not None:
            found.setdefault(rule.runner, []).append(part)
    return tuple(_fact(path, runner, parts) for runner, parts in found.items())


def is_config(name: str) -> bool:
    """By its name, without its folder."""
    return _ANY_NAME.fullmatch(name) is not None


def excerpt(lines: Sequence[str], picked: Iterable[int]) -> tuple[int, str]:
    """The first of the picked lines and the text from there to the last, lines between that weren't picked blank."""
    wanted = set(picked)
    if not wanted:
        return 0, ""
    start, end = min(wanted), max(wanted)
    text = "\n".join(lines[i] if i in wanted else "" for i in range(start, end + 1))
    return start, text[:_TEXT_LIMIT]


def unlisted_configs(root: Path, listed: Collection[str]) -> tuple[str, ...]:
    """Configurations that runners find although the revision doesn't cover them: git-ignored ones in the root, and
    those of folders above it, as `../pytest.ini`. pytest loads each `conftest.py` from its root on down."""
    found = [name for name in (*_LOOKED_UP, "conftest.py", *_NPM) if name not in listed and (root / name).is_file()]
    folder, above = root, ""
    passed: list[str] = []  # conftest.py in folders that may turn out to be below pytest's root
    for _ in range(_LEVELS):
        if folder.parent == folder:
            break
        folder, above = folder.parent, f"../{above}"
        found += [f"{above}{name}" for name in _LOOKED_UP if (folder / name).is_file()]
        passed += [f"{above}conftest.py"] if (folder / "conftest.py").is_file() else []
        if any((folder / name).is_file() for name in (*_PYTEST_ROOT, "setup.py")):
            found, passed = found + passed, []
    return tuple(found)


def plugin_modules(configs: Iterable[FileFact]) -> tuple[str, ...]:
    """The files of the workspace that pytest would load as plugins: `pytest_plugins` of conftest.py, `-p NAME`."""
    found: list[str] = []
    for fact in configs:
        if fact.path.endswith("conftest.py"):
            for block in re.findall(r"^pytest_plugins\b[^=]*=\s*([\[(][^\])]*[\])]|[^\n]*)", fact.text, re.M):
                found += re.findall(r"[\"']([\w.]+)[\"']", block)
        elif fact.runner == "pytest":
            found += re.findall(r"(?<![\w-])-p\s*[\"',\s]*([A-Za-z_][\w.]*)", fact.text)
    return tuple(f"{name.replace('.', '/')}.py" for name in dict.fromkeys(found))


def plugin_fact(path: str, text: str) -> FileFact:
    return _fact(path, "pytest", [python_part(text)])


def _fact(path: str, runner: str, parts: Sequence[Part]) -> FileFact:
    digest = hashlib.sha256("\0".join(p[0] for p in parts).encode()).hexdigest()[:16]
    first = min(parts, key=lambda p: p[1])
    return FileFact(path, digest, first[1], first[2], runner)


# ------------------------------------------------------------------------------------ parts of a file


def _whole(text: str) -> Part:
    lines = text.splitlines()
    kept = [line.strip() for line in lines if line.strip() and not line.strip().startswith(("#", ";", "//"))]
    return "\n".join(kept), 0, text[:_TEXT_LIMIT]


def _npm_part(text: str) -> Part | None:
    """What decides how scripts run; never the lines that hold keys of a registry."""
    lines = text.splitlines()
    start, shown = excerpt(lines, (i for i, line in enumerate(lines) if _NPM_RUNS.match(line)))
    return (_whole(shown)[0], start, shown) if shown else None


def python_part(text: str) -> Part:
    """Python counts without its comments and formatting."""
    try:
        return ast.dump(ast.parse(text)), 0, text[:_TEXT_LIMIT]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _whole(text)


def _sections(*names: str) -> Callable[[str], Part | None]:
    """The sections of an INI file whose names match a pattern."""

    def part(text: str) -> Part | None:
        return _picked(text, re.compile(r"\[([^\]]+)\]"), names)

    return part


def _tables(*names: str) -> Callable[[str], Part | None]:
    """The tables of a TOML file whose dotted names match a pattern, and all below them."""

    def part(text: str) -> Part | None:
        found = _picked(text, re.compile(r"\[\[?\s*([^\]]+?)\s*\]\]?"), (*names, *(f"{n}.*" for n in names)))
        try:
            tables = _values(tomllib.loads(text), names)
        except tomllib.TOMLDecodeError:
            return found
        if not tables:
            return None
        line, shown = found[1:] if found is not None else (0, "")
        return json.dumps(tables, sort_keys=True, default=str), line, shown

    return part


def _picked(text: str, header: re.Pattern[str], names: Sequence[str]) -> Part | None:
    lines = text.splitlines()
    picked: list[int] = []
    inside = False
    for number, line in enumerate(lines):
        match = header.match(line.strip()) if not line[:1].isspace() else None
        if match is not None:
            inside = any(fnmatch.fnmatchcase(match[1].replace('"', ""), n) for n in names)
        if inside:
            picked.append(number)
    if not picked:
        return None
    start, shown = excerpt(lines, picked)
    return _whole("\n".join(lines[i] for i in picked))[0], start, shown


def _values(document: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        value: Any = document
        for key in name.split("."):
            value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, dict) else None
        if value is not None:
            found[name] = value
    return found


def _keys(*names: str) -> Callable[[str], Part | None]:
    """Top-level keys of a JSON file."""

    def part(text: str) -> Part | None:
        try:
            document: Any = json.loads(text)
        except ValueError:
            return None
        found = _values(cast("Mapping[str, Any]", document), names) if isinstance(document, dict) else {}
        if not found:
            return None
        lines = text.splitlines()
        at = next((i for i, line in enumerate(lines) if any(f'"{n}"' in line for n in found)), 0)
        return json.dumps(found, sort_keys=True), at, "\n".join(lines[at:])[:_TEXT_LIMIT]

    return part


RULES: tuple[ConfigRule, ...] = (
    ConfigRule("pytest", "conftest.py", python_part),
    ConfigRule("pytest", "pytest.ini|.pytest.ini|pytest.toml|.pytest.toml|.coveragerc", _whole),
    ConfigRule("pytest", "pyproject.toml", _tables("tool.pytest", "tool.coverage")),
    ConfigRule("pytest", "setup.cfg", _sections("tool:pytest", "pytest", "coverage:*")),
    ConfigRule("pytest", "tox.ini", _sections("pytest", "coverage:*")),
    ConfigRule("unittest", ".unittest.cfg|unittest.cfg|nose2.cfg", _whole),
    ConfigRule("ruff", "ruff.toml|.ruff.toml", _whole),
    ConfigRule("ruff", "pyproject.toml", _tables("tool.ruff")),
    ConfigRule("mypy", "mypy.ini|.mypy.ini", _whole),
    ConfigRule("mypy", "pyproject.toml", _tables("tool.mypy")),
    ConfigRule("mypy", "setup.cfg", _sections("mypy", "mypy-*")),
    ConfigRule("pyright", "pyrightconfig.json", _whole),
    ConfigRule("pyright", "pyproject.toml", _tables("tool.pyright", "tool.basedpyright")),
    ConfigRule("flake8", ".flake8", _whole),
    ConfigRule("flake8", "setup.cfg|tox.ini", _sections("flake8", "pycodestyle")),
    ConfigRule("pylint", ".pylintrc|pylintrc", _whole),
    ConfigRule("pylint", "pyproject.toml", _tables("tool.pylint")),
    ConfigRule("black", "pyproject.toml", _tables("tool.black")),
    ConfigRule("isort", ".isort.cfg", _whole),
    ConfigRule("isort", "pyproject.toml", _tables("tool.isort")),
    ConfigRule("npm", ".npmrc|.yarnrc|.yarnrc.yml", _npm_part),
    ConfigRule("jest", "jest.config.*", _whole),
    ConfigRule("jest", "package.json", _keys("jest")),
    ConfigRule("vitest", "vitest.config.*|vite.config.*|vitest.workspace.*", _whole),
    ConfigRule("mocha", ".mocharc*", _whole),
    ConfigRule("mocha", "package.json", _keys("mocha")),
    ConfigRule("ava", "ava.config.*", _whole),
    ConfigRule("ava", "package.json", _keys("ava")),
    ConfigRule("playwright", "playwright.config.*", _whole),
    ConfigRule("cypress", "cypress.config.*", _whole),
    ConfigRule("karma", "karma.conf.*", _whole),
    ConfigRule("tsc", "tsconfig*.json", _whole),
    ConfigRule("eslint", "eslint.config.*|.eslintrc*|.eslintignore", _whole),
    ConfigRule("eslint", "package.json", _keys("eslintConfig", "eslintIgnore")),
    ConfigRule("biome", "biome.json*", _whole),
    ConfigRule("prettier", ".prettierrc*|.prettierignore|prettier.config.*", _whole),
    ConfigRule(
        "cargo", "Cargo.toml", _tables("profile.test", "profile.dev", "test", "lints", "lib.test", "lib.doctest")
    ),
    ConfigRule("cargo", "clippy.toml|.clippy.toml|nextest.toml", _whole),
    ConfigRule("golangci-lint", ".golangci.*", _whole),
    ConfigRule("phpunit", "phpunit.xml|phpunit.xml.dist", _whole),
    ConfigRule("rspec", ".rspec|spec_helper.rb", _whole),
)
# Under other names, or through other programs, these are read as well.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "py.test": ("pytest",),
    "pnpm": ("npm",),
    "yarn": ("npm",),
    "vue-tsc": ("tsc",),
    "ts-jest": ("tsc", "jest"),
    "react-scripts": ("jest",),
    "cargo-nextest": ("cargo",),
    "basedpyright": ("pyright",),
    "xo": ("eslint",),
}
RUNNER_NAMES = frozenset({r.runner for r in RULES} | set(SYNONYMS))


def _matches(names: str, name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, n) for n in names.split("|"))


_ANY_NAME = re.compile("|".join(fnmatch.translate(n) for r in RULES for n in r.names.split("|")))


# ------------------------------------------------------------------------------ what pytest collects


@dataclass(frozen=True, slots=True)
class PytestOptions:
    """What pytest's configuration says a test is; its own defaults where it says nothing."""

    files: tuple[str, ...] = ("test_*.py", "*_test.py")
    functions: tuple[str, ...] = ("test",)
    classes: tuple[str, ...] = ("Test",)
    skipped_folders: tuple[str, ...] = (
        "*.egg",
        ".*",
        "_darcs",
        "build",
        "CVS",
        "dist",
        "node_modules",
        "venv",
        "{arch}",
    )

    def collects(self, path: str, files: Sequence[str]) -> bool:
        *folders, name = path.split("/")
        if not (_any_of(tuple(files)).fullmatch(name) or _any_of(tuple(f for f in files if "/" in f)).fullmatch(path)):
            return False
        skipped = _any_of(self.skipped_folders)
        return not any(skipped.fullmatch(folder) for folder in folders)


@lru_cache(maxsize=64)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(p) for p in patterns) or r"(?!)")


def pytest_options(root: Path) -> PytestOptions:
    """Reads the configuration that pytest would choose in the workspace's root."""
    for name, section in (
        ("pytest.ini", "pytest"),
        (".pytest.ini", "pytest"),
        ("pyproject.toml", ""),
        ("tox.ini", "pytest"),
        ("setup.cfg", "tool:pytest"),
    ):
        try:
            text = read_text(root / name, "utf-8", "replace")
        except OSError:
            continue
        options = _toml_options(text) if not section else _ini_options(text, section)
        if options is not None:
            return _options(options)
    return PytestOptions()


@lru_cache(maxsize=8)
def _toml_options(text: str) -> Mapping[str, Any] | None:
    try:
        return _values(tomllib.loads(text), ("tool.pytest.ini_options",)).get("tool.pytest.ini_options")
    except tomllib.TOMLDecodeError:
        return None


def _ini_options(text: str, section: str) -> Mapping[str, Any] | None:
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return dict(parser[section]) if parser.has_section(section) else None


def _options(values: Mapping[str, Any]) -> PytestOptions:
    default = PytestOptions()
    return PytestOptions(
        _words(values.get("python_files")) or default.files,
        _words(values.get("python_functions")) or default.functions,
        _words(values.get("python_classes")) or default.classes,
        _words(values.get("norecursedirs")) or default.skipped_folders,
    )


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list):
        return tuple(str(v) for v in cast("list[object]", value))
    return ()
