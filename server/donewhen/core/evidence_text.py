"""Evidence as Markdown, for people."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from donewhen.core.evidence import CheckResult, EditorReport, Evidence, ObservedCommand, ObservedDiff, ObservedFile


def evidence_markdown(evidence: Evidence) -> str:
    """The whole record; what ran, what it said, and for which content of the workspace it holds."""
    observation = evidence.observation
    lines = [f"# Evidence {evidence.id}", "", *_body(observation), "", _holds(evidence), ""]
    return "\n".join(lines)


def _holds(evidence: Evidence) -> str:
    if evidence.revision == evidence.revision_after:
        return f"Observed at revision `{evidence.revision}`."
    return (
        f"Files changed meanwhile (revision `{evidence.revision}` before, `{evidence.revision_after}` after): "
        "it proves nothing."
    )


def _body(observation: object) -> list[str]:
    if isinstance(observation, CheckResult):
        return _check(observation)
    if isinstance(observation, EditorReport):
        problems = [f"- {p.path}:{p.line + 1}: {p.severity}: {p.message}" for p in observation.problems]
        doubt = [f"They prove nothing: {observation.doubt}.", ""] if observation.doubt else []
        return ["The editor's own diagnostics.", "", *doubt, *(problems or ["None."])]
    if isinstance(observation, ObservedCommand):
        return [f"Ran `{observation.command}`: exit code {observation.exit_code}", "", _fenced(observation.output)]
    if isinstance(observation, ObservedDiff):
        return [f"Changes since `{observation.base}`: {', '.join(observation.paths)}", "", _fenced(observation.text)]
    if isinstance(observation, ObservedFile):
        return [f"`{observation.path}` ({observation.size} bytes)", "", _fenced(observation.excerpt)]
    return [str(observation)]


def _check(result: CheckResult) -> list[str]:
    started = datetime.fromtimestamp(result.started_at, UTC).isoformat(timespec="seconds")
    lines = [
        f"Check `{result.command}`: **{'passed' if result.passed else result.outcome.value}**",
        "",
        f"- {result.reason}",
        f"- exit code: {result.exit_code}",
        f"- program: `{result.program}`",
        f"- started {started}, took {result.seconds:.2f} s",
        f"- output: {result.output_bytes} bytes, sha256 `{result.output_digest}`",
    ]
    if result.totals is not None:
        totals = result.totals
        lines.append(
            f"- tests: {totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped ({totals.source})"
        )
    failed = [test for test in result.tests if test.outcome in ("failed", "error")]
    lines += [f"- failed: `{test.name}`" for test in failed[:100]]
    lines += [f"- {p.path}:{p.line + 1}: {p.message}" for p in result.problems[:100]]
    return [*lines, "", _fenced(result.output)]


def _fenced(text: str) -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
