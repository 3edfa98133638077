"""What a check's command line runs: which test runners, and whose totals in its output count.

A *runner* (a row of `core/ecosystems/`) makes a check a test run by its name alone. Any other command is one where its
output is a test runner's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from donewhen.core.commands.wrapped import Segment, segments, verbs_match
from donewhen.core.ecosystems import RUNNERS, TOOLS, Tool
from donewhen.core.evidence import TestTotals
from donewhen.evidence.reports.printed import all_totals, printed_totals, recognised, says_once


def read_line(command: str) -> tuple[Segment, ...]:
    """The simple commands of a check's line, as the shell of this system splits it."""
    return segments(command, windows=os.name == "nt")


_CARRIERS = frozenset(("tox", "nox", "npm", "pnpm", "yarn", "bun", "hatch", "rye", "just", "task", "make", "gmake"))
"""They print what the runners that they start print, and nothing similar of their own."""
_SILENT = frozenset(
    {"cd", "export", "set", "unset", "source", ".", "ulimit", "umask", "mkdir", "rm", "true", "false", "sleep", "exit",
     "return", "wait", "test", "[", "[[", ":", "for", "case", "pushd", "popd", "trap", "local", "declare", "touch"}
)  # fmt: skip
"""Words that print nothing of their own."""
_FILTERS = frozenset({"tail", "head", "tee", "cat", "grep", "egrep", "sed", "less", "tr"})
"""They print their input. Without input they print files."""
_READERS = frozenset({"cat", "sed", "awk", "head", "tail", "less", "more", "bat", "type"})
_PRINTERS = _READERS | {"echo", "printf", "grep", "egrep", "rg", "ag", "jq", "xq", "yq", "diff", "git", "curl", "wget"}
"""They print what a person or a file says: a claim, where it reads like a runner's totals."""
LINTERS = frozenset(
    name
    for tool in TOOLS
    if tool.purpose in ("lint", "types") and not tool.starts
    for name in (*tool.commands, *tool.programs)
    if " " not in name
)
"""What checks files, and runs no test on the way."""


@dataclass(frozen=True, slots=True)
class Runs:
    """What a command line runs. `runner`: it names one, and then it is a test run, `runners` how many. `forms` are the
    printed totals that count for them, none where some other program of the line could have printed them.

    `open`: no runner is named, but the line may run one. `hearsay`: it prints what stands in the line or in files, so
    that no totals in its output count. `asked`: the report that the server asks for reaches the runner. `once`: totals
    count only where there is one of them.
    """

    runner: Tool | None
    forms: tuple[str, ...] = ()
    runners: int = 0
    open: bool = False
    hearsay: bool = False
    asked: bool = True
    once: bool = False

    def form_of(self, output: str) -> tuple[str, ...]:
        """The forms of the runners whose output this is."""
        return recognised(output) if self.open else ()

    def totals(self, output: str) -> TestTotals | None:
        """The totals that runners printed, as far as they count."""
        if self.runner is not None:
            return printed_totals(
                output, tuple(form for form in self.forms if not self.once or says_once(output, form))
            )
        forms = self.form_of(output)
        return all_totals(output, forms) if forms and not self.hearsay else None

    def all_forms(self, output: str) -> tuple[str, ...]:
        """The forms in which tests may be named in the output."""
        if self.runner is not None:
            return self.forms
        return () if self.hearsay else self.form_of(output)


def what_runs(parts: Sequence[Segment], *, asked: bool = True) -> Runs:
    """`asked` is false where runners can't be asked for a report: then even theirs is counted by what they print."""
    outer = [part for part in parts if part.tool and not part.inner]
    named = {index: runner for index, part in enumerate(outer) if (runner := runner_of(part)) is not None}
    runners = list(named.values())
    asked = asked and not any(outer[index].apart for index in named)
    if not runners:
        linting = bool(outer) and all(part.tool[0] in LINTERS | _SILENT for part in outer)
        return Runs(None, open=not linting, hearsay=_hearsay(outer), asked=asked)
    names = [part.tool[0] for part in outer]
    # All others print nothing of their own.
    trusted = all(
        index in named or name in _SILENT | _CARRIERS or (name in _FILTERS and _fed(outer, index))
        for index, name in enumerate(names)
    )
    # A runner that surely ran has printed its own totals: where there is one of them, no other program forged it.
    alone = len(runners) == 1 and all(part.then in ("", "&&") for part in outer) and not _PRINTERS & set(names)
    forms = dict.fromkeys(form for runner in runners for form in runner.forms if not (asked and runner.always_reports))
    once = alone and not trusted
    return Runs(runners[0], tuple(forms) if trusted or once else (), len(runners), asked=asked, once=once)


def runner_of(part: Segment) -> Tool | None:
    """The runner that a simple command names."""
    for words in (part.tool, part.script):
        for runner in RUNNERS:
            named = any(verbs_match(words, command.split()) for command in runner.commands)
            if named and (not runner.needs or runner.needs in words):
                return runner
    return None


def _fed(parts: Sequence[Segment], index: int) -> bool:
    return index > 0 and parts[index - 1].then in ("|", "|&")


def _hearsay(parts: Sequence[Segment]) -> bool:
    """Whether a program of the line prints what it was told, or what stands in a file, and that reads like totals; or
    nothing else runs."""
    names = [part.tool[0] for part in parts]
    if all(name in _PRINTERS | _SILENT for name in names):
        return True
    said = ["\n".join(part.tool[1:]) for part in parts if part.tool[0] in ("echo", "printf")]
    shown = any(name in _READERS and not _fed(parts, index) for index, name in enumerate(names))
    return shown or any(map(recognised, said))


def names_go_tests(parts: Sequence[Segment]) -> bool:
    return any(runner is not None and runner.name == "go test" for runner in map(runner_of, parts))


def with_verbose(flags: str) -> str:
    """`GOFLAGS` with `-v`: without it a package whose tests were all skipped is printed like one whose tests passed."""
    return flags if {"-v", "-v=true", "-json"} & set(flags.split()) else f"{flags} -v".strip()


# Linters that pass because they found nothing to check: they say so, and exit with 0.


_SAID = "|".join(dict.fromkeys(said for tool in TOOLS for said in tool.nothing_checked))
_SAYS_SO = re.compile(rf"^\W*(?:(?:warning|error|info|note|go)\W+)*(?P<said>{_SAID}).*$", re.IGNORECASE | re.MULTILINE)


def checked_nothing(output: str, parts: Sequence[Segment], totals: TestTotals | None) -> str | None:
    """The line in which a linter says so; None if none does. Where tests ran, it counts only if the command line
    names a linter: a test may print anything."""
    linter = any(part.tool and part.tool[0] in LINTERS for part in parts)
    if totals is not None and totals.executed and not linter:
        return None
    found = _SAYS_SO.search(output)
    return found[0].strip()[:160] if found else None
