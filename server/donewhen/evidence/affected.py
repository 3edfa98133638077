"""The command that runs the tests which a change may affect, made of a check's own command: what a person saved is
answered by them before the whole check has run.

It is a first answer, and never a proof: the soundness rule knows nothing of it. So it need not be complete, but it must
be safe: it is made only of a line that is one simple command of a runner whose options are known, and what comes to
these words are options of the runner's row in `core/ecosystems/` and names of files that are there, as places. A
workspace gives it no other word. Where it can't be made there is none, and nothing is said.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from donewhen.core.commands.simple import simple, written
from donewhen.core.commands.wrapped import folders, verbs_match
from donewhen.core.ecosystems.table import Affected
from donewhen.core.evidence import CheckResult
from donewhen.core.globs import any_matches
from donewhen.evidence.known_runners import read_line, runner_of

MAX_PLACES = 100
"""More is most of what the check runs anyway."""
MAX_LENGTH = 6_000
"""Characters of the command: Windows takes 8,191."""
MAX_COVERAGE = 200_000_000
"""Bytes of coverage data that are read."""
_REPEATED = re.compile(r"\[#\d+\]$")
"""What the name of a test that ran several times ends with in our records (`evidence/reports/junit.py`)."""
_MEANS_MORE = ("-", "@")
"""An option, or a file of arguments."""
MAX_READING = 0.5
"""Seconds for that: a query of a file that others made may never end by itself."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A command line that is understood: `head` up to the runner's own words, `options` with their values, `places`
    where it looks for tests, and whether a word for all tests stood there."""

    head: tuple[str, ...]
    row: Affected
    options: tuple[str, ...]
    places: tuple[str, ...]
    whole: bool


def affected_command(root: Path, last: CheckResult, changed: Sequence[str], *, windows: bool = os.name == "nt") -> str:
    """The command for the tests that these changes (paths relative to `root`) may affect, of the check whose last whole
    run was `last`; empty if there is none."""
    line = _understood(last.command, windows=windows)
    if line is None:
        return ""
    sources = [path for path in changed if any_matches(line.row.sources, path) and (root / path).is_file()]
    words = _narrowed_words(root, line, last, sources)
    if not words:
        return ""
    command = written(words)
    # `cmd` knows no single quotes, which is how words are written that need some.
    return command if len(command) <= MAX_LENGTH and not (windows and "'" in command) else ""


def _narrowed_words(root: Path, line: _Line, last: CheckResult, sources: Sequence[str]) -> tuple[str, ...]:
    row = line.row
    if row.by == "tests" and sources and row.record and (root / row.record).is_file():
        return (*line.head, *line.options, *row.by_record, *line.places)
    if row.by == "tests":
        places = _affected_tests(root, line, last, sources)
    elif row.by == "sources":
        places = () if line.places else tuple(map(_literal_path, sources))
    elif line.places or not line.whole:
        places = ()
    else:
        places = _parts_of_sources(root, row, sources)
    if not 0 < len(places) <= MAX_PLACES:
        return ()
    return (*line.head, *((row.verb,) if row.verb else ()), *line.options, *row.adds, *places)


def _understood(command: str, *, windows: bool) -> _Line | None:
    words, parts = simple(command, windows=windows), read_line(command)
    if words is None or len(parts) != 1 or parts[0].apart or parts[0].assignments or folders(parts):
        return None
    runner, tool = runner_of(parts[0]), parts[0].tool
    if runner is None or runner.affected is None:
        return None
    named = next((one.split() for one in runner.commands if verbs_match(tool, one.split())), None)
    # The verbs stand right behind the program, and what the runner gets is how the line ends.
    if named is None or tool[1 : len(named)] != tuple(named[1:]):
        return None
    arguments = tool[len(named) :]
    head = words[: len(words) - len(arguments)]
    if words[len(head) :] != arguments:
        return None
    read = _sorted_words(arguments, runner.affected)
    return None if read is None else _Line(head, runner.affected, *read)


def _sorted_words(words: Sequence[str], row: Affected) -> tuple[tuple[str, ...], tuple[str, ...], bool] | None:
    """Options, places and whether a word for all tests stood there; None where it isn't known what belongs to what."""
    options: list[str] = []
    places: list[str] = []
    whole, at = False, 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in row.whole:
            whole = True
            continue
        if not word.startswith("-"):
            places.append(word)
            continue
        name, equals, _ = word.partition("=")
        taken: tuple[str, ...] = ()
        if not equals and name in row.values:
            taken = tuple(words[at : at + 1])
            at += 1
        else:
            # A flag, or several of one letter in one word (`-qx`).
            flag = word in row.flags or (word[1:].isalpha() and all(f"-{letter}" in row.flags for letter in word[1:]))
            alone = at == len(words) or words[at].startswith("-")  # no word follows that could be the option's value
            if word in ("-", "--") or not (equals or flag or alone):
                return None
        if name not in row.drops:
            options += [word, *taken]
    return tuple(options), tuple(places), whole


def _literal_path(path: str) -> str:
    return f"./{path}" if path.startswith(_MEANS_MORE) else path


# ------------------------------------------------------------------------------------ which tests of the check


def _affected_tests(root: Path, line: _Line, last: CheckResult, sources: Sequence[str]) -> tuple[str, ...]:
    """Tests by the names that the runner gave them: those that failed last, those of test files that changed, and those
    which coverage data says ran what changed, else those that are named like it. Only files of which the last whole run
    reported tests: what else lies there may be none of this check's."""
    named = [test for test in last.tests if "::" in test.name]
    known = {_file(test.name) for test in named}
    failed = [_REPEATED.sub("", test.name) for test in named if test.failed]
    files = [path for path in sources if path in known or _new_test(path, line, known)]
    rest = [path for path in sources if path not in files]
    ran = [name for name in _covered(root, rest) if _file(name) in known] if rest else []
    if rest and not ran:
        like = {pattern.replace("{name}", PurePosixPath(one).stem) for one in rest for pattern in line.row.named}
        files += sorted(path for path in known if PurePosixPath(path).name in like)
    single = [name for name in (*failed, *ran) if _file(name) not in files]
    there = {
        path for path in {*files, *map(_file, single)} if (root / path).is_file() and not path.startswith(_MEANS_MORE)
    }
    return tuple(dict.fromkeys(name for name in (*files, *single) if _file(name) in there))


def _file(name: str) -> str:
    return name.partition("::")[0]


def _new_test(path: str, line: _Line, known: Iterable[str]) -> bool:
    """True for a test file that the last run didn't know, beside others that it did, where all are looked for."""
    patterns = tuple(one.replace("{name}", "*") for one in line.row.named)
    beside = PurePosixPath(path).parent
    return (
        not line.places
        and any_matches(patterns, PurePosixPath(path).name)
        and any(PurePosixPath(one).parent == beside for one in known)
    )


def _covered(root: Path, sources: Sequence[str]) -> list[str]:
    """The tests that ran these files, by the contexts of `.coverage` (pytest-cov's `--cov-context=test`)."""
    data = root / ".coverage"
    with contextlib.suppress(OSError, sqlite3.Error, ValueError):
        if data.is_file() and data.stat().st_size <= MAX_COVERAGE:
            return list(dict.fromkeys(_contexts(root, data, sources)))
    return []


_RAN = (
    "select distinct context.context from file join TABLE on TABLE.file_id = file.id"
    " join context on context.id = TABLE.context_id where file.path in (?, ?) limit ?"
)


def _contexts(root: Path, data: Path, sources: Sequence[str]) -> Iterator[str]:
    address = f"{data.resolve().as_uri()}?mode=ro&immutable=1"  # nothing is written beside it
    with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
        until = time.monotonic() + MAX_READING
        database.set_progress_handler(lambda: time.monotonic() > until, 10_000)
        for source in sources:
            for table in ("line_bits", "arc"):
                query = _RAN.replace("TABLE", table)
                found = database.execute(query, (str(root / source), source, 50 * MAX_PLACES))
                for (context,) in found:
                    name, _, when = str(context).rpartition("|")
                    if name and when == "run":
                        yield name


# ------------------------------------------------------------------------------------ which part of the sources


def _parts_of_sources(root: Path, row: Affected, sources: Sequence[str]) -> tuple[str, ...]:
    """The folders of the sources, where all belong to what the manifest in the root describes; or the manifest of the
    one package that all are in."""
    # By source, the nearest folder above it in which the manifest lies.
    nearest = {
        next((str(one) for one in PurePosixPath(path).parents if (root / one / row.manifest).is_file()), None)
        for path in sources
    }
    if row.by == "folders":
        inside = dict.fromkeys(str(PurePosixPath(path).parent) for path in sources)
        return tuple("." if one == "." else f"./{one}" for one in inside) if nearest <= {"."} else ()
    folder = nearest.pop() if len(nearest) == 1 else None
    return () if folder in (None, ".") else (_literal_path(f"{folder}/{row.manifest}"),)
