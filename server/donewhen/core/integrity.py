"""Whether the proof is still the proof that was agreed on (A10).

`IntegrityFacts` is what probes read of a workspace: tests, protected files, what each check's name stands for, the
programs and the environment that it resolves to. `compare` holds the facts at the run's baseline against those now.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FindingKind = Literal[
    "test_deleted",
    "test_modified",
    "test_weakened",
    "test_skipped",
    "test_uncollected",
    "fewer_tests",
    "no_tests",
    "protected_file",
    "check_config",
    "check_program",
    "exit_masked",
    "environment",
    "goal_file",
    "prompt_injection",
]


@dataclass(frozen=True, slots=True)
class IntegrityFinding:
    """One way in which the proof was changed. `key` is its identity: the same finding again has the same key.

    `path` is relative to the workspace, `line` 0-based. `fact` is a digest of what is found now: an acceptance holds
    for that fact only.
    """

    key: str
    kind: FindingKind
    path: str
    line: int
    message: str
    fact: str = ""


@dataclass(frozen=True, slots=True)
class TestFact:
    """One test function as it stands in a file. `body` is a digest without comments and formatting."""

    __test__ = False

    name: str
    line: int
    body: str
    asserts: int
    skipped: bool


@dataclass(frozen=True, slots=True)
class TestFileFact:
    """A test file: its digest and its tests."""

    __test__ = False

    path: str
    digest: str
    tests: tuple[TestFact, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFact:
    """A file that decides what a check proves: a test configuration, a script, a protected file, the goal file."""

    path: str
    digest: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class DefinitionFact:
    """What a check's name stands for: a Makefile target, a package.json script, a tox environment, a program."""

    check_id: str
    kind: Literal["definition", "program"]
    name: str
    digest: str
    path: str = ""
    line: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class IntegrityFacts:
    """What the probes read at one moment."""

    tests: tuple[TestFileFact, ...] = ()
    configs: tuple[FileFact, ...] = ()
    protected: tuple[FileFact, ...] = ()
    definitions: tuple[DefinitionFact, ...] = ()
    environment: tuple[FileFact, ...] = ()
    goal_file: FileFact | None = None
    executed: tuple[tuple[str, str, str], ...] = field(default=())
    """(check id, test name, outcome) of the latest test runs."""
