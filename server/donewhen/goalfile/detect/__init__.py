"""Finds the checks that a workspace already has, as its people would type them.

First what the project runs itself (`own`), then guesses from its files (`python`, `node`, and the table here); `checks`
says which of them a draft holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from donewhen.goalfile.detect.checks import CheckPurpose, DetectedCheck, slots, suggested
from donewhen.goalfile.detect.folder import Folder
from donewhen.goalfile.detect.node import node_checks
from donewhen.goalfile.detect.own import own_checks, recipes
from donewhen.goalfile.detect.python import python_linters, python_tests, type_checkers


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
    Rule("tox", "test", "runner", ("tox.toml",), ("tool.tox",), (("tox.ini", "[tox]"), ("tox.ini", "[testenv"))),
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
    unique: dict[str, DetectedCheck] = {}
    for source in SOURCES:
        for check in source(folder):
            unique.setdefault(check.command, check)
    return tuple(sorted(unique.values(), key=lambda check: check.purpose != "test"))


def _from_rules(folder: Folder) -> Iterator[DetectedCheck]:
    for rule in RULES:
        if why := rule.found(folder):
            program = rule.command.split(" ")[0]
            yield DetectedCheck(rule.command, why, rule.purpose, rule.group, tool=program, programs=(program,))


SOURCES: tuple[Callable[[Folder], Iterator[DetectedCheck]], ...] = (
    own_checks, python_tests, node_checks, type_checkers, python_linters, recipes, _from_rules,
)  # fmt: skip
"""Where checks come from, in the order in which they are offered."""

__all__ = ["DetectedCheck", "detect", "slots", "suggested"]
