"""The receipt for code scanning: SARIF 2.1.0, a result for each thing that is not proven.

What is proven is not a result, since a forge shows each result as an alert: it stands with its grade in the properties
of the run. What a person waived or accepted, and a finding that the worker undid, is a result that is suppressed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from donewhen.core.decide import with_untried
from donewhen.core.evidence import Evidence
from donewhen.core.verdict import GRADES
from donewhen.engine.api import RunView
from donewhen.version import __version__
from donewhen.wire.reports.alerts import INTEGRITY, RULES, Alert, alerts, past_alerts
from donewhen.wire.reports.markdown import verdict
from donewhen.wire.snapshot import wire_time

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
HOME = "https://github.com/donewhen/donewhen"
FINGERPRINT = "donewhen/v1"
MAX_RESULTS = 5_000
"""What GitHub takes of one run."""


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """One run of one tool. Paths are relative to the repository (`%SRCROOT%`), lines and columns 1-based."""
    found = alerts(view, root)[:MAX_RESULTS]
    results = [*found, *past_alerts(view, root)][:MAX_RESULTS]
    rules = list(dict.fromkeys([*RULES, *(one.rule for one in results)]))
    state = view.state
    run = {
        "tool": {
            "driver": {
                "name": "Done When",
                "semanticVersion": __version__,
                "informationUri": HOME,
                "rules": [_reporting_rule(name) for name in rules],
            }
        },
        "automationDetails": {"id": f"donewhen/{quote(state.goal.path or 'goal')}/{state.run_id}"},
        "invocations": [
            {
                "executionSuccessful": state.status != "crashed" and not state.lifecycle.broken,
                "endTimeUtc": wire_time(state.updated_at),
            }
        ],
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The repository that holds the workspace."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, rules) for one in results],
        "properties": {
            "donewhen": {
                "goal": state.goal.title,
                "verdict": with_untried(verdict(state), state),
                "proven": not found and not state.lifecycle.broken,
                "revision": state.revision,
                "requirements": _requirement_properties(view),
            }
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1)


def _requirement_properties(view: RunView) -> list[dict[str, Any]]:
    known = {one.id: one for one in view.state.goal.requirements}
    return [
        {
            "id": one.requirement_id,
            "label": f"R{one.number}",
            "text": known[one.requirement_id].text,
            "status": one.status,
            "refused": one.refused,
            "decidedBy": one.decided_by,
            "grade": one.grade,
            "gradeText": GRADES[one.grade] if one.grade is not None else None,
            "evidenceIds": list(one.evidence_ids),
        }
        for one in view.views
    ]


def _reporting_rule(name: str) -> dict[str, Any]:
    level, text = RULES.get(name, ("error", f"An integrity finding: {name.removeprefix(INTEGRITY).replace('_', ' ')}."))
    return {
        "id": name,
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": level},
        "helpUri": f"{HOME}/blob/main/docs/how-to/ci.md",
    }


def _result(one: Alert, rules: Sequence[str]) -> dict[str, Any]:
    region: dict[str, Any] = {} if one.line is None else {"startLine": one.line}
    if one.column is not None:
        region["startColumn"] = one.column
    result: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": rules.index(one.rule),
        "level": one.level,
        "message": {"text": one.title if one.message in one.title else f"{one.title}\n{one.message}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(one.path), "uriBaseId": "%SRCROOT%"},
                    **({"region": region} if region else {}),
                }
            }
        ],
        "partialFingerprints": {FINGERPRINT: one.fingerprint},
    }
    if one.accepted:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": one.accepted}]
    return result
