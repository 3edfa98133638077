"""Finds the checks that a workspace already has, as its people would type them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from donewhen.goalfile.folder import Folder, as_table

CheckPurpose = Literal["test", "lint", "types", "build", "other"]


@dataclass(frozen=True, slots=True)
class DetectedCheck:
    """A command that checks this workspace, and `why` it is known: what it was found in.

    `purpose` and `group` (python, node, rust, ...; runner for make, just, tox) serve to suggest one of each.
    """

    command: str
    why: str
    purpose: CheckPurpose = "other"
    group: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table: the command, if one of these files or TOML tables (`pyproject.toml`) is there."""

    command: str
    purpose: CheckPurpose
    group: str
    files: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    """(file, text that it must hold), such as a section of setup.cfg."""

    def found(self, folder: Folder) -> str | None:
        """What shows that the workspace uses it."""
        if file := folder.has(*self.files):
            return f"{file} is here"
        for table in self.tables:
            if folder.has_section(table):
                return f"[{table}] in pyproject.toml"
        return next((f"{text} in {file}" for file, text in self.sections if folder.mentions(file, text)), None)


RULES = (
    Rule("ruff check .", "lint", "python", ("ruff.toml", ".ruff.toml"), ("tool.ruff",)),
    Rule("ruff format --check .", "other", "python", (), ("tool.ruff.format",)),
    Rule("black --check .", "other", "python", (), ("tool.black",)),
    Rule("flake8", "lint", "python", (".flake8",), (), (("setup.cfg", "[flake8]"), ("tox.ini", "[flake8]"))),
    Rule("pyright", "types", "python", ("pyrightconfig.json",), ("tool.pyright",)),
    Rule("tox", "test", "runner", (), ("tool.tox",), (("tox.ini", "[tox]"), ("tox.ini", "[testenv"))),
    Rule("nox", "test", "runner", ("noxfile.py",)),
    Rule("deno test", "test", "deno", ("deno.json", "deno.jsonc")),
    Rule("cargo test", "test", "rust", ("Cargo.toml",)),
    Rule("cargo clippy --all-targets -- -D warnings", "lint", "rust", ("Cargo.toml",)),
    Rule("go test ./...", "test", "go", ("go.mod",)),
    Rule("go vet ./...", "lint", "go", ("go.mod",)),
    Rule("mvn -q test", "test", "java", ("pom.xml",)),
    Rule("gradlew test" if os.name == "nt" else "./gradlew test", "test", "java", ("gradlew",)),
    Rule("dotnet test", "test", "dotnet", ("*.sln", "*.csproj")),
    Rule("mix test", "test", "elixir", ("mix.exs",)),
    Rule("bundle exec rspec", "test", "ruby", (".rspec",)),
    Rule("pre-commit run --all-files", "lint", "runner", (".pre-commit-config.yaml",)),
)  # fmt: skip


def detect(root: Path) -> tuple[DetectedCheck, ...]:
    """The checks of the workspace at `root`, each command once, tests first. Nothing is executed."""
    folder = Folder(root)
    found = [check for source in SOURCES for check in source(folder)]
    unique = {check.command: check for check in reversed(found)}
    order = {command: number for number, command in enumerate(dict.fromkeys(check.command for check in found))}
    return tuple(sorted(unique.values(), key=lambda check: (check.purpose != "test", order[check.command])))


def suggested(checks: Sequence[DetectedCheck]) -> tuple[DetectedCheck, ...]:
    """The few for a draft: of each group one test, one linter, one type checker; task runners only for what lacks."""
    chosen: dict[tuple[str, str], DetectedCheck] = {}
    direct = {check.purpose for check in checks if check.group != "runner"}
    for check in checks:
        if check.purpose == "other" or (check.purpose == "build" and "test" in direct):
            continue
        if check.group == "runner" and (check.purpose in direct or ("runner", check.purpose) in chosen):
            continue
        chosen.setdefault((check.group, check.purpose), check)
    return tuple(chosen.values())


# ---------------------------------------------------------------------------------------------- tables


def _from_rules(folder: Folder) -> Iterator[DetectedCheck]:
    for rule in RULES:
        if why := rule.found(folder):
            yield DetectedCheck(rule.command, why, rule.purpose, rule.group)


# ---------------------------------------------------------------------------------------------- Python

_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_PYTEST = re.compile(r"^\s*(?:import pytest|from pytest|(?:async )?def test_|@pytest)", re.MULTILINE)
_UNITTEST = re.compile(r"^\s*(?:import unittest|from unittest|from django\.test)", re.MULTILINE)
_PYTEST_SIGNS = (
    ("pytest.ini", ""), ("pyproject.toml", "pytest"), ("setup.cfg", "pytest"), ("tox.ini", "pytest"),
    ("requirements.txt", "pytest"), ("requirements-dev.txt", "pytest"), ("dev-requirements.txt", "pytest"),
    ("Pipfile", "pytest"), ("noxfile.py", "pytest"), ("conftest.py", ""), ("tests/conftest.py", ""),
)  # fmt: skip
_SAMPLE = 20


def _python_tests(folder: Folder) -> Iterator[DetectedCheck]:
    found = (file for file in folder.files if _TEST_FILE.search(file))
    tests = sorted(found, key=lambda file: (file.count("/"), file))
    if not tests:
        return
    why = f"{tests[0]}" if len(tests) == 1 else f"{tests[0]} and {len(tests) - 1} more"
    texts = [folder.text(file) for file in tests[:_SAMPLE]]
    if _uses_pytest(folder) or any(map(_has_plain_tests, texts)):
        yield DetectedCheck("python -m pytest -q", f"tests: {why}", "test", "python")
    elif any(map(_UNITTEST.search, texts)):
        yield DetectedCheck(_unittest_command(folder, tests[0]), f"tests: {why}", "test", "python")


def _uses_pytest(folder: Folder) -> bool:
    return any(folder.has(file) and (not sign or folder.mentions(file, sign)) for file, sign in _PYTEST_SIGNS)


def _has_plain_tests(text: str) -> bool:
    # Methods named test_... of a TestCase are unittest's.
    return bool(_PYTEST.search(text)) and not _UNITTEST.search(text)


def _unittest_command(folder: Folder, test: str) -> str:
    if test.endswith("_test.py"):
        return 'python -m unittest discover -p "*_test.py"'
    top = PurePosixPath(test).parts[0]
    # Without a package unittest finds nothing below the workspace folder unless it is told where to start.
    return f"python -m unittest discover -s {top}" if top != test and not folder.has(f"{top}/__init__.py") else (
        "python -m unittest"
    )  # fmt: skip


_MYPY = Rule("mypy", "types", "python", ("mypy.ini", ".mypy.ini"), ("tool.mypy",), (("setup.cfg", "[mypy]"),))
_MYPY_TARGETS = re.compile(r"^\s*(?:files|packages|modules)\s*=", re.MULTILINE)


def _mypy(folder: Folder) -> Iterator[DetectedCheck]:
    if why := _MYPY.found(folder):
        named = as_table(as_table(folder.toml("pyproject.toml").get("tool")).get("mypy"))
        texts = (folder.text(file) for file in ("mypy.ini", ".mypy.ini"))
        targets = any(key in named for key in ("files", "packages", "modules")) or any(map(_MYPY_TARGETS.search, texts))
        yield DetectedCheck("mypy" if targets else "mypy .", why, "types", "python")


# ------------------------------------------------------------------------------------------------ Node

_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"),
    ("package-lock.json", "npm"), ("npm-shrinkwrap.json", "npm"),
)  # fmt: skip
_RUN = {"npm": "npm run", "pnpm": "pnpm run", "yarn": "yarn run", "bun": "bun run"}
_EXECUTE = {"npm": "npx", "pnpm": "pnpm exec", "yarn": "yarn run", "bun": "bunx"}
_SCRIPTS: tuple[tuple[str, CheckPurpose], ...] = (
    ("test", "test"), ("lint", "lint"), ("typecheck", "types"), ("type-check", "types"), ("check-types", "types"),
    ("tsc", "types"), ("check", "other"), ("format:check", "other"), ("build", "build"),
)  # fmt: skip
_NO_TEST = "no test specified"


def _node(folder: Folder) -> Iterator[DetectedCheck]:
    package = folder.json("package.json")
    scripts = as_table(package.get("scripts"))
    manager = _manager(folder, package)
    purposes: set[str] = set()
    for name, purpose in _SCRIPTS:
        script = scripts.get(name)
        if isinstance(script, str) and script.strip() and _NO_TEST not in script:
            purposes.add(purpose)
            command = f"{manager} test" if name == "test" and manager != "bun" else f"{_RUN[manager]} {name}"
            yield DetectedCheck(command, f'script "{name}" in package.json', purpose, "node")
    if "types" not in purposes and folder.has("tsconfig.json"):
        yield DetectedCheck(f"{_EXECUTE[manager]} tsc --noEmit", "tsconfig.json is here", "types", "node")
    eslint = folder.has("eslint.config.*", ".eslintrc", ".eslintrc.*")
    if "lint" not in purposes and (eslint or "eslintConfig" in package):
        why = f"{eslint or 'eslintConfig in package.json'} is here"
        yield DetectedCheck(f"{_EXECUTE[manager]} eslint .", why, "lint", "node")


def _manager(folder: Folder, package: object) -> str:
    declared = str(as_table(package).get("packageManager", "")).split("@")[0]
    if declared in _RUN:
        return declared
    return next((manager for lock, manager in _LOCKS if folder.has(lock)), "npm")


# ---------------------------------------------------------------------------------------- task runners

_TARGETS: dict[str, CheckPurpose] = {
    "test": "test", "tests": "test", "check": "other", "lint": "lint", "typecheck": "types", "type-check": "types",
}  # fmt: skip
_MAKE_TARGET = re.compile(r"^([A-Za-z][\w-]*)(?:[ \t]+[\w-]+)*[ \t]*::?(?![:=])", re.MULTILINE)
_JUST_RECIPE = re.compile(r"^@?([A-Za-z][\w-]*)(?:[ \t]+[^:\n]+)?[ \t]*:(?!=)", re.MULTILINE)


def _make(folder: Folder) -> Iterator[DetectedCheck]:
    yield from _targets(folder, "make", _MAKE_TARGET, ("GNUmakefile", "makefile", "Makefile"))


def _just(folder: Folder) -> Iterator[DetectedCheck]:
    yield from _targets(folder, "just", _JUST_RECIPE, ("justfile", "Justfile", ".justfile"))


def _targets(folder: Folder, program: str, pattern: re.Pattern[str], files: tuple[str, ...]) -> Iterator[DetectedCheck]:
    file = folder.has(*files)
    names = pattern.findall(folder.text(file)) if file else []
    for name in dict.fromkeys(names):
        if name in _TARGETS:
            yield DetectedCheck(f"{program} {name}", f"target {name} in {file}", _TARGETS[name], "runner")


SOURCES: tuple[Callable[[Folder], Iterator[DetectedCheck]], ...] = (
    _python_tests, _node, _mypy, _from_rules, _make, _just,
)  # fmt: skip
"""Where checks come from, in the order in which they are offered."""
