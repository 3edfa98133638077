"""SARIF 2.1 logs of analysers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from donewhen.core.evidence import Problem, Severity
from donewhen.evidence.places import Places

_SEVERITY: dict[str, Severity] = {"error": "error", "warning": "warning", "note": "information", "none": "information"}


def read_sarif(text: str, places: Places) -> tuple[Problem, ...] | None:
    """The results that have a place in the workspace; None if the text is not SARIF."""
    try:
        log: Any = json.loads(text)
    except ValueError:
        return None
    try:
        return tuple(_problems_in_log(log, places))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # JSON, but of a different shape


def _problems_in_log(log: Any, places: Places) -> Iterator[Problem]:
    for run in _items(log["runs"]):
        tool = str(run.get("tool", {}).get("driver", {}).get("name", "sarif"))
        for result in _items(run.get("results")):
            if result.get("suppressions"):
                continue
            for location in _items(result.get("locations")):
                problem = _located_problem(result, location.get("physicalLocation", {}), tool, places)
                if problem is not None:
                    yield problem


def _items(value: Any) -> list[Any]:
    return list(value or ())


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
