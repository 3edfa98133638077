"""The test runners that are known, as data.

A *runner* makes a check a test run by its name alone. A *carrier* (tox, npm test, make) may run one: what that one
prints counts, but a carrier that reports no test is judged by its exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from donewhen.evidence.commandline import Segment


@dataclass(frozen=True, slots=True)
class Runner:
    """`words` begin its command line. `totals` names the forms (totals.py) that it prints its totals in.

    `always_reports`: the report that the server asks for is written whenever it really ran, so that what is printed
    proves nothing. `no_tests_exit`: the exit code that says that there was no test.
    """

    name: str
    words: tuple[str, ...]
    totals: tuple[str, ...] = ()
    needs: str = ""
    always_reports: bool = False
    no_tests_exit: int | None = None


RUNNERS: tuple[Runner, ...] = (
    Runner("pytest", ("pytest",), ("pytest",), always_reports=True, no_tests_exit=5),
    Runner("pytest", ("py.test",), ("pytest",), always_reports=True, no_tests_exit=5),
    Runner("unittest", ("unittest",), ("unittest",), no_tests_exit=5),
    Runner("nose2", ("nose2",), ("unittest",)),
    Runner("trial", ("trial",), ("unittest",)),
    Runner("stestr", ("stestr", "run"), ("stestr",)),
    Runner("cargo test", ("cargo", "test"), ("cargo",)),
    Runner("cargo test", ("cargo", "t"), ("cargo",)),
    Runner("cargo nextest", ("cargo", "nextest", "run"), ("nextest",)),
    Runner("go test", ("go", "test"), ("go",)),
    Runner("gotestsum", ("gotestsum",), ("gotestsum", "go")),
    Runner("jest", ("jest",), ("jest",)),
    Runner("jest", ("react-scripts", "test"), ("jest",)),
    Runner("vitest", ("vitest",), ("vitest",)),
    Runner("mocha", ("mocha",), ("mocha", "tap")),
    Runner("ava", ("ava",), ("ava", "tap")),
    Runner("tap", ("tap",), ("tap",)),
    Runner("tape", ("tape",), ("tap",)),
    Runner("node --test", ("node",), ("node", "tap"), needs="--test"),
    Runner("bun test", ("bun", "test"), ("bun",)),
    Runner("deno test", ("deno", "test"), ("deno",)),
    Runner("playwright", ("playwright", "test"), ("playwright",)),
    Runner("dotnet test", ("dotnet", "test"), ("dotnet",)),
    Runner("ctest", ("ctest",), ("ctest",)),
    Runner("rspec", ("rspec",), ("rspec",)),
    Runner("phpunit", ("phpunit",), ("phpunit",)),
    Runner("mix test", ("mix", "test"), ("mix",)),
    Runner("bats", ("bats",), ("tap", "bats")),
    Runner("prove", ("prove",), ("prove", "tap")),
)

_ANY = ("pytest", "unittest", "cargo", "go", "jest", "vitest", "mocha", "node", "ava", "tap")
_PYTHON = ("pytest", "unittest")
CARRIERS: tuple[Runner, ...] = (
    Runner("tox", ("tox",), _PYTHON),
    Runner("nox", ("nox",), _PYTHON),
    *(
        Runner(f"{tool} {verb}", (tool, verb), _ANY)
        for tool in ("npm", "pnpm", "yarn", "bun")
        for verb in ("test", "run", "t")
    ),
    Runner("hatch test", ("hatch", "test"), _PYTHON),
    Runner("just", ("just",), _ANY),
    Runner("task", ("task",), _ANY),
    Runner("make", ("make",), _ANY),
)

# Words that print nothing of their own, and so can't pretend to be a runner.
_SILENT = frozenset({"cd", "export", "set", "unset", "source", ".", "ulimit", "umask", "mkdir", "rm", "true", "sleep"})
_FILTERS = frozenset({"tail", "head", "tee", "cat"})


@dataclass(frozen=True, slots=True)
class Runs:
    """What a command line runs: `runner` where it names one (then it is a test run), `totals` the printed forms that
    count, none where some other program of the line could have printed them."""

    runner: Runner | None
    totals: tuple[str, ...]
    runners: int = 0


def what_runs(parts: Sequence[Segment], *, asked: bool = True) -> Runs:
    """`asked` is false where runners can't be asked for a report: then even theirs is counted by what they print."""
    runners = [runner for part in parts if (runner := _named(part, RUNNERS)) is not None]
    known = [tool for part in parts if (tool := _named(part, RUNNERS) or _named(part, CARRIERS)) is not None]
    quiet = sum(1 for part in parts if part.tool[:1] and part.tool[0] in _SILENT | _FILTERS)
    trusted = len(known) + quiet == len(parts)
    forms = dict.fromkeys(form for runner in known if not (asked and runner.always_reports) for form in runner.totals)
    return Runs(runners[0] if runners else None, tuple(forms) if trusted else (), len(runners))


def _named(part: Segment, table: Sequence[Runner]) -> Runner | None:
    for runner in table:
        if part.tool[: len(runner.words)] == runner.words and (not runner.needs or runner.needs in part.tool):
            return runner
    return None
