"""The places in the workspace that the latest evidence names."""

from __future__ import annotations

from collections.abc import Mapping

from donewhen.core.evidence import CheckResult, EditorReport, Problem
from donewhen.core.goal import Requirement
from donewhen.core.state import RunState


def locations(state: RunState) -> Mapping[str, tuple[Problem, ...]]:
    """By requirement id: where its failing checks, or the editor, point. Paths are relative to the workspace."""
    return {requirement.id: _places(state, requirement) for requirement in state.goal.requirements}


def _places(state: RunState, requirement: Requirement) -> tuple[Problem, ...]:
    found: dict[tuple[str, int, str], Problem] = {}
    for check in requirement.checks:
        evidence = state.results.get(check.id)
        if evidence is not None and isinstance(evidence.observation, CheckResult) and not evidence.observation.passed:
            found.update({(p.path, p.line, p.message): p for p in evidence.observation.problems})
    report = state.editor.get(requirement.id)
    if report is not None and isinstance(report.observation, EditorReport):
        errors = [p for p in report.observation.problems if p.severity == "error"]
        found.update({(p.path, p.line, p.message): p for p in errors})
    return tuple(found.values())
