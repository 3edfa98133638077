"""Guesses for Python: the existing tests, and the configured type checkers and linters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePosixPath
from typing import cast

from donewhen.core.ecosystems.python import PYTHON
from donewhen.core.words import listed
from donewhen.goalfile.detect.checks import DetectedCheck
from donewhen.goalfile.detect.folder import Folder, as_table, read_ini, shown_by
from donewhen.goalfile.detect.own import no_fix

_PYTEST = re.compile(r"^\s*(?:import pytest|from pytest|(?:async )?def test_|@pytest)", re.MULTILINE)
_UNITTEST = re.compile(r"^\s*(?:import unittest|from unittest|from django\.test)", re.MULTILINE)
_PYTEST_SIGNS = (
    ("pytest.ini", ""), (".pytest.ini", ""), ("pytest.toml", ""), ("pyproject.toml", "pytest"), ("setup.cfg", "pytest"),
    ("tox.ini", "pytest"), ("requirements.txt", "pytest"), ("requirements-dev.txt", "pytest"),
    ("dev-requirements.txt", "pytest"), ("Pipfile", "pytest"), ("noxfile.py", "pytest"), ("conftest.py", ""),
    ("tests/conftest.py", ""),
)  # fmt: skip
_SAMPLE = 20
_OTHERS = "test tests testing doc docs example examples bench benchmark benchmarks tools scripts tasks requirements"
_NO_PACKAGES = frozenset(_OTHERS.split())


@dataclass(frozen=True, slots=True)
class PytestSettings:
    """Where pytest looks: `testpaths` and `python_files`; `configured` if there is any setting at all."""

    configured: bool = False
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")


def pytest_settings(folder: Folder) -> PytestSettings:
    """The settings in the first of pytest's own files that has any, in pytest's order."""
    tool = as_table(folder.section("tool.pytest"))
    found = (
        as_table(folder.toml("pytest.toml").get("pytest")),
        *(as_table(read_ini(folder.file_text(file)).get("pytest")) for file in ("pytest.ini", ".pytest.ini")),
        as_table(tool.get("ini_options")) or {key: value for key, value in tool.items() if key != "ini_options"},
        as_table(read_ini(folder.file_text("tox.ini")).get("pytest")),
        as_table(read_ini(folder.file_text("setup.cfg")).get("tool:pytest")),
    )
    settings = next((one for one in found if one), None)
    if settings is None:
        return PytestSettings()
    patterns = _option_words(settings.get("python_files")) or PytestSettings().python_files
    return PytestSettings(True, _option_words(settings.get("testpaths")), patterns)


def _option_words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else ()


def python_tests(folder: Folder) -> Iterator[DetectedCheck]:
    settings = pytest_settings(folder)
    tests = _test_files(folder, settings)
    if not tests:
        return
    why = listed(tests, 1)
    texts = [folder.file_text(file) for file in tests[:_SAMPLE]]
    pytest = DetectedCheck(
        "python -m pytest -q", f"tests: {why}", "test", "python", tool="pytest", programs=("python",),
        modules=("pytest",),
    )  # fmt: skip
    cases = any(map(_UNITTEST.search, texts))
    unittest = DetectedCheck(
        _unittest_command(folder, tests[0]), f"tests: {why}", "test", "python", tool="unittest", programs=("python",)
    )
    named = any(folder.has(file) and (not sign or folder.mentions(file, sign)) for file, sign in _PYTEST_SIGNS)
    if settings.configured or named or any(map(_has_plain_tests, texts)):
        # If all of them are unittest's, its own runner works as well.
        other = cases and not any(map(_has_plain_tests, texts))
        yield replace(pytest, others=(unittest,) if other else ())
    elif cases:
        yield unittest


def _test_files(folder: Folder, settings: PytestSettings) -> list[str]:
    """The files with tests, the outermost first; all Python files in `testpaths` if no name shows that it is a test."""
    named = [file for file in folder.files if _is_named(file, settings)]
    if not named and settings.testpaths:
        inside = (file for path in settings.testpaths[:20] for file in folder.below(path))
        found = list(islice((file for file in inside if file.endswith((".py", ".txt", ".rst"))), 1_000))
        named = [file for file in found if _is_named(file, settings)] or found
    return sorted(named, key=lambda file: (file.count("/"), file))


def _is_named(file: str, settings: PytestSettings) -> bool:
    name = file.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in settings.python_files[:20])


def _has_plain_tests(text: str) -> bool:
    # Methods named test_... of a TestCase are unittest's.
    return bool(_PYTEST.search(text)) and not _UNITTEST.search(text)


def _unittest_command(folder: Folder, test: str) -> str:
    if test.endswith("_test.py"):
        return 'python -m unittest discover -p "*_test.py"'
    top = PurePosixPath(test).parts[0]
    # Without a package, unittest finds nothing below the workspace folder unless it gets a start folder.
    return f"python -m unittest discover -s {top}" if top != test and not folder.has(f"{top}/__init__.py") else (
        "python -m unittest"
    )  # fmt: skip


# ------------------------------------------------------------------------------------- types and linters


def python_tools(folder: Folder) -> Iterator[DetectedCheck]:
    """Type checkers, then linters, from the signs of Python's tools, each as a program or as a module. With the targets
    that the project names, else with the existing package: `.` would include code that isn't meant to be type-checked,
    such as the documentation's examples."""
    found: list[DetectedCheck] = []
    for tool in PYTHON.tools:
        for sign in tool.signs:
            shown = shown_by(sign, folder, PYTHON.tests) if not sign.group else None
            if shown is not None:
                why, settings = shown
                package = "" if any(settings.get(key) for key in sign.targets) else _package(folder)
                beside = "" if package == "." else package
                command = sign.command.format(package=package, beside=beside, no_fix=no_fix(folder)).rstrip()
                program, purpose = command.split(" ")[0], sign.purpose or tool.purpose
                direct = DetectedCheck(command, why, purpose, "python", tool=program, programs=(program,))
                module = replace(direct, command=f"python -m {command}", programs=("python",), modules=(program,))
                found.append(replace(direct, others=(module,)))
    yield from sorted(found, key=lambda check: check.purpose != "types")


def _package(folder: Folder) -> str:
    """The project's code in a type checker's terms: `src`, the packages beside pyproject.toml, or `.`."""
    inits = [file for file in folder.files if file.endswith(("/__init__.py", "/__init__.pyi"))]
    if any(file.startswith("src/") and file.count("/") == 2 for file in inits):
        return "src"
    tops = dict.fromkeys(file.split("/")[0] for file in inits if file.count("/") == 1)
    packages = [top for top in tops if top.casefold() not in _NO_PACKAGES and re.fullmatch(r"\w+", top)]
    if packages:
        return " ".join(packages[:5])
    name = str(as_table(folder.toml("pyproject.toml").get("project")).get("name", "")).replace("-", "_")
    return f"{name}.py" if re.fullmatch(r"\w+", name) and folder.has(f"{name}.py") else "."
