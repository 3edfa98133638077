"""Text of others in Markdown: it is shown as it stands, whatever marks it holds."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from donewhen.core.evidence import (
    AffectedRun,
    CheckResult,
    EditorReport,
    Evidence,
    Observation,
    ObservedCommand,
    ObservedDiff,
    ObservedFile,
    Problem,
)

_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_MARKS = re.compile(r"[\\`*\[\]<~@]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|:(?=//)|(?<=www)\.")
_START = re.compile(r"^(\d*)([#+\-=>:|]|(?<=\d)[.)])")


def prose(text: str) -> str:
    """A paragraph of the same lines. What stands between backticks is code, as the server's own messages have it;
    all else is text: no link, no address, no HTML, no list or heading."""
    lines: list[str] = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        parts, end = list[str](), 0
        for span in _SPAN.finditer(line):
            parts += [_escaped(line[end : span.start()]), span.group()]
            end = span.end()
        lines.append(_START.sub(r"\1\\\2", "".join([*parts, _escaped(line[end:])])))
    return "  \n".join(lines)


def code(text: str) -> str:
    """A span of code on one line."""
    line = " ".join(text.splitlines())
    ticks = "`" * (_longest(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def block(text: str) -> str:
    """Lines of output: the fence is longer than any run of backticks inside."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _escaped(text: str) -> str:
    return _MARKS.sub(lambda found: f"\\{found.group()}", text)


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


# Evidence as Markdown, for people.


def evidence_markdown(evidence: Evidence) -> str:
    """The whole record; what ran, what it said, and for which content of the workspace it holds."""
    holds = f"Observed at revision `{evidence.revision}`."
    if evidence.revision != evidence.revision_after:
        between = f"revision `{evidence.revision}` before, `{evidence.revision_after}` after"
        holds = f"Files changed meanwhile ({between}): it proves nothing."
    return "\n".join([f"# Evidence {evidence.id}", "", *_observed_lines(evidence.observation), "", holds, ""])


def _observed_lines(observation: Observation) -> list[str]:
    match observation:
        case CheckResult():
            return _check_lines(observation)
        case EditorReport():
            problems = [f"- {_problem_link(p)}: {p.severity}: {prose(p.message)}" for p in observation.problems]
            doubt = [f"They prove nothing: {prose(observation.doubt)}.", ""] if observation.doubt else []
            return ["The editor's own diagnostics.", "", *doubt, *(problems or ["None."])]
        case ObservedCommand(command, exit_code, _, output):
            return [f"Ran {code(command)}: exit code {exit_code}", "", block(output)]
        case ObservedDiff(base, paths, text):
            return [f"Changes since `{base}`: {prose(', '.join(paths))}", "", block(text)]
        case AffectedRun(_, command, result, changed):
            affected = ", ".join(map(code, changed[:20])) or "nothing in particular"
            told = f"Some tests of {code(command)}, which this may affect: {affected}."
            return [f"{told} They prove nothing; the whole check does.", "", *_check_lines(result)]
        case ObservedFile(path, _, size, excerpt):
            return [f"{code(path)} ({size} bytes)", "", block(excerpt)]
        case _:
            return [str(observation)]


def _check_lines(result: CheckResult) -> list[str]:
    started = datetime.fromtimestamp(result.started_at, UTC).isoformat(timespec="seconds")
    lines = [
        f"Check {code(result.command)}: **{'passed' if result.passed else result.outcome.value}**",
        "",
        *([] if result.reason == f"exit code {result.exit_code}" else [f"- {prose(result.reason)}"]),
        f"- exit code: {result.exit_code}",
        f"- program: {code(result.program or 'unknown')}",
        f"- started {started}, took {result.seconds:.2f} s",
        f"- output: {result.output_bytes} bytes, sha256 `{result.output_digest}`",
    ]
    if result.totals is not None:
        totals = result.totals
        lines.append(
            f"- tests: {totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped ({totals.source})"
        )
    failed = [test for test in result.tests if test.failed]
    lines += [f"- failed: {code(test.name)}" for test in failed[:100]]
    lines += [f"- {_problem_link(p)}: {prose(p.message)}" for p in result.problems[:100]]
    return [*lines, "", block(result.output)]


def _problem_link(problem: Problem) -> str:
    return f"{prose(problem.path)}:{problem.line + 1}"
