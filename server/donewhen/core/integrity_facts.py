"""What the probes read of a workspace, as values: tests, configurations, definitions, programs, environment.

Facts are kept in the ledger as a run's baseline, so they are small: digests, lines, and short texts where a person
is to be shown what changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_PARTS = re.compile(r"::|[./\s>]")


def without_parameters(name: str) -> str:
    """A test's name without the case that it was run with (`test_add[1-2]`)."""
    return _PARAMETERS.sub("", name)


def simple_name(name: str) -> str:
    """The last word of a test's name: what its file and any runner's report both call it."""
    return _PARTS.split(without_parameters(name))[-1]


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


def enclosing(name: str) -> str:
    """The class or suite that a test stands in, empty for none."""
    return name.rpartition(" > " if " > " in name else ".")[0]


@dataclass(frozen=True, slots=True)
class IntegrityFinding:
    """One way in which the proof was changed. `key` is its identity: the same finding again has the same key.

    `path` is relative to the workspace, `line` 0-based. `fact` is a digest of what is found now: an acceptance holds
    for that fact only. `standing` says why it is shown but nobody's doing in this run: it counts as accepted. `diff`
    is how its file changed since the last tree that was kept before it, bounded; empty where that isn't known.
    """

    key: str
    kind: FindingKind
    path: str
    line: int
    message: str
    fact: str = ""
    standing: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True)
class TestFact:
    """One function of a test file as it stands there, tests and what is no test (`collected` false) alike.

    `name` is qualified by its classes or suites (`TestAdd.test_zero`), `body` a digest without comments and
    formatting. `asserts` counts the assertions that can fail and depend on no condition; `empty` says that the body
    does nothing. `expected` holds one text per assertion, on conditions too: its literals and comparisons, apart by
    unit separators; `lines` their lines, counted from `line`. `tokens` is a digest of all literals and comparisons of
    the body, `cases` the literal cases that it is run with.
    """

    __test__ = False

    name: str
    line: int
    body: str
    asserts: int
    skipped: bool
    collected: bool = True
    empty: bool = False
    expected: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    tokens: str = ""
    cases: tuple[str, ...] = ()

    @property
    def simple_name(self) -> str:
        return simple_name(self.name)


@dataclass(frozen=True, slots=True)
class SkipFact:
    """A mark or a call that skips tests. `scope` is a test's or class's name, empty for the whole file.

    `always` says that it concerns tests that were there before, whoever its scope is (`setUp`, an autouse fixture).
    """

    scope: str
    line: int
    text: str
    always: bool = False


@dataclass(frozen=True, slots=True)
class TestFileFact:
    """A test file. `collected` is false where its runner passes it over; `parsed` where it could be read at all.

    `bindings` are (name, line, what it stands for) of the names that it reads and that are imported or built in:
    `("add", 0, "calc.add")`.
    """

    __test__ = False

    path: str
    digest: str
    tests: tuple[TestFact, ...] = ()
    skips: tuple[SkipFact, ...] = ()
    collected: bool = True
    parsed: bool = True
    bindings: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FileFact:
    """A file that decides what a check proves: a test configuration, a protected file, the goal file, ...

    `digest` is of the part that counts, without comments where they are told apart; `text` is that part (bounded)
    and `line` where it begins. `runner` is the program that reads it, empty where that doesn't matter.
    """

    path: str
    digest: str
    line: int = 0
    text: str = ""
    runner: str = ""


@dataclass(frozen=True, slots=True)
class DefinitionFact:
    """What a check's name stands for: a Makefile target, a package.json script, a tox environment, a program.

    An empty `digest` says that the name stands for nothing. `path` is relative to the workspace, or absolute for a
    program outside of it.
    """

    check_id: str
    kind: Literal["definition", "program"]
    name: str
    digest: str
    path: str = ""
    line: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class CheckRunFact:
    """The latest run of a check that runs tests: whether it passed, and how many tests it executed."""

    check_id: str
    passed: bool
    executed: int
    command: str = ""


@dataclass(frozen=True, slots=True)
class AddressingFact:
    """Text that addresses the judge (A11), quoted so that it can do no harm.

    `source` is empty for a file's text, `name` for its name, `test` for a test's, and otherwise says what printed it;
    then `path` may be empty. `why` is half a sentence. `standing` is as in IntegrityFinding.
    """

    path: str
    line: int
    quote: str
    why: str
    source: str = ""
    standing: str = ""


@dataclass(frozen=True, slots=True)
class IntegrityFacts:
    """What the probes read at one moment.

    `shadows` are files of the workspace that would stand in for a runner (`pytest.py` in its root). `suppressions`
    are the lines of files that keep a linter from checking what it would (`# ruff: noqa`), and,
    with no runner, those that reach into a test runner (`import _pytest`). `runners` and `protect` say
    what was looked for: a configuration of a runner that was not looked for is no change.
    """

    tests: tuple[TestFileFact, ...] = ()
    configs: tuple[FileFact, ...] = ()
    protected: tuple[FileFact, ...] = ()
    definitions: tuple[DefinitionFact, ...] = ()
    environment: tuple[FileFact, ...] = ()
    goal_file: FileFact | None = None
    executed: tuple[tuple[str, str, str], ...] = field(default=())
    """(check id, test name, outcome) of the latest test runs, named as the runner does."""
    shadows: tuple[FileFact, ...] = ()
    runs: tuple[CheckRunFact, ...] = ()
    runners: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    suppressions: tuple[FileFact, ...] = ()
    addressing: tuple[AddressingFact, ...] = ()
