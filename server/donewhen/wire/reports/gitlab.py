"""The receipt for a merge request of GitLab: its Code Quality report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from donewhen.core.evidence import Evidence
from donewhen.engine.api import RunView
from donewhen.wire.reports.alerts import Level, alerts, past_alerts, untried_alert

SEVERITIES: Mapping[Level, str] = {"error": "critical", "warning": "major", "note": "info"}


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """An array with an entry for each thing that is not proven, and as information for each finding that was undone and
    for hidden checks that an audit doesn't try; empty where everything is proven and nothing else is to be said."""
    found = (*alerts(view, root), *past_alerts(view, root), *untried_alert(view, root))
    issues: list[dict[str, Any]] = []
    for one in found:
        said = one.title if one.message in one.title else f"{one.title}: {one.message}"
        issues.append(
            {
                "description": f"{said} ({one.accepted})" if one.accepted else said,
                "check_name": one.rule,
                "fingerprint": one.fingerprint,
                "severity": SEVERITIES[one.level],
                "location": {"path": one.path, "lines": {"begin": one.line or 1}},
            }
        )
    return json.dumps(issues, ensure_ascii=False, indent=1)
