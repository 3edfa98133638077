"""Evidence as Markdown, for people."""

from __future__ import annotations

from datetime import UTC, datetime

from donewhen.core.evidence import (
    CheckResult,
    EditorReport,
    Evidence,
    ObservedCommand,
    ObservedDiff,
    ObservedFile,
    Problem,
)
from donewhen.core.markdown import block, code, prose


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
        problems = [f"- {_place(p)}: {p.severity}: {prose(p.message)}" for p in observation.problems]
        doubt = [f"They prove nothing: {prose(observation.doubt)}.", ""] if observation.doubt else []
        return ["The editor's own diagnostics.", "", *doubt, *(problems or ["None."])]
    if isinstance(observation, ObservedCommand):
        return [f"Ran {code(observation.command)}: exit code {observation.exit_code}", "", block(observation.output)]
    if isinstance(observation, ObservedDiff):
        return [
            f"Changes since `{observation.base}`: {prose(', '.join(observation.paths))}",
            "",
            block(observation.text),
        ]
    if isinstance(observation, ObservedFile):
        return [f"{code(observation.path)} ({observation.size} bytes)", "", block(observation.excerpt)]
    return [str(observation)]


def _check(result: CheckResult) -> list[str]:
    started = datetime.fromtimestamp(result.started_at, UTC).isoformat(timespec="seconds")
    lines = [
        f"Check {code(result.command)}: **{'passed' if result.passed else result.outcome.value}**",
        "",
        f"- {prose(result.reason)}",
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
    failed = [test for test in result.tests if test.outcome in ("failed", "error")]
    lines += [f"- failed: {code(test.name)}" for test in failed[:100]]
    lines += [f"- {_place(p)}: {prose(p.message)}" for p in result.problems[:100]]
    return [*lines, "", block(result.output)]


def _place(problem: Problem) -> str:
    return f"{prose(problem.path)}:{problem.line + 1}"
