"""SARIF 2.1 logs of analysers."""

from __future__ import annotations

import json
from typing import Any

from donewhen.core.evidence import Problem, Severity
from donewhen.evidence.places import Places

_SEVERITY: dict[str, Severity] = {"error": "error", "warning": "warning", "note": "information", "none": "information"}


def read_sarif(text: str, places: Places) -> tuple[Problem, ...] | None:
    """The results that have a place in the workspace; None if the text is not SARIF."""
    problems: list[Problem] = []
    try:
        log: Any = json.loads(text)
        for run in log["runs"] or ():
            tool = str(run.get("tool", {}).get("driver", {}).get("name", "sarif"))
            for result in run.get("results") or ():
                if result.get("suppressions"):
                    continue
                for location in result.get("locations") or ():
                    problem = _located_problem(result, location.get("physicalLocation", {}), tool, places)
                    if problem is not None:
                        problems.append(problem)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # not JSON, or of a different shape
    return tuple(problems)


def _located_problem(result: Any, place: Any, tool: str, places: Places) -> Problem | None:
    path = places.find(str(place.get("artifactLocation", {}).get("uri", "")))
    if path is None:
        return None
    region = place.get("region", {})
    rule = result.get("ruleId")
    message = str(result.get("message", {}).get("text", "")) or "see the report"
    return Problem(
        path=path,
        line=max(int(region.get("startLine", 1)) - 1, 0),
        column=max(int(region.get("startColumn", 1)) - 1, 0),
        message=f"{message} ({rule})" if rule else message,
        severity=_SEVERITY.get(str(result.get("level", "warning")), "warning"),
        source=tool,
    )
