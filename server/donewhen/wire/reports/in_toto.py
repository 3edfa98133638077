"""The receipt for a policy: an in-toto statement with a test result about a commit, which `cosign` can sign.

The statement is of version 1, its predicate of https://in-toto.io/attestation/test-result/v0.1. Extensions stand where
that leaves room for them, in the annotations of the configuration, so that a strict reader takes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from donewhen.core.evidence import CheckResult, Evidence
from donewhen.core.goal import Goal
from donewhen.core.verdict import GRADES, RequirementView
from donewhen.engine.api import RunView
from donewhen.wire.reports.alerts import rule_of
from donewhen.wire.reports.markdown import undone_text, verdict
from donewhen.wire.snapshot import wire_time

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_WARNED = ("requirement/waived", "requirement/persons-word")
"""A person's decision stood in for proof."""


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """A requirement is a test: passed where it is proven, warned where a person's decision stood in for proof, failed
    otherwise. An open integrity finding is a test that failed, one that a person accepted one that warned. The subject
    is the commit where the files are as it has them, else the workspace by its revision."""
    state = view.state
    passed, warned, failed = _tests_by_outcome(view)
    # Nothing is said of a run that hasn't ended `complete`, nor of a result that is on record no more as it was.
    pursued = state.mode == "pursue" and state.lifecycle.end_status != "complete"
    unfinished = state.lifecycle.broken or not state.lifecycle.ended or pursued
    return json.dumps(
        {
            "_type": STATEMENT,
            "subject": [_subject(view, root)],
            "predicateType": PREDICATE,
            "predicate": {
                "result": "FAILED" if failed or unfinished else "WARNED" if warned else "PASSED",
                "configuration": _configuration(view, evidence),
                "passedTests": passed,
                "warnedTests": warned,
                "failedTests": failed,
            },
        },
        ensure_ascii=False,
        indent=1,
    )


def _tests_by_outcome(view: RunView) -> tuple[list[str], list[str], list[str]]:
    passed: list[str] = []
    warned: list[str] = []
    failed: list[str] = []
    known = {one.id: one for one in view.state.goal.requirements}
    for one in view.views:
        rule = rule_of(one)
        kind = passed if rule is None else warned if rule in _WARNED else failed
        kind.append(f"R{one.number} {known[one.requirement_id].text}")
    for finding in view.state.present_findings:
        name = f"{finding.id} {finding.finding.kind} {finding.finding.path}".rstrip()
        if not finding.accepted:
            failed.append(name)
        elif finding.by_a_person:
            warned.append(name)
    return passed, warned, failed


def _subject(view: RunView, root: Path) -> dict[str, Any]:
    name = root.name or "workspace"
    if view.commit is not None:
        return {"name": name, "digest": {"gitCommit": view.commit}}
    # A receipt is about the files as they are: what was proven before an edit is attested of neither content.
    revision = view.present.revision if view.present is not None else view.state.revision
    digest = revision if _SHA256.fullmatch(revision) else hashlib.sha256(revision.encode()).hexdigest()
    return {"name": name, "digest": {"sha256": digest}}


def _configuration(view: RunView, evidence: Mapping[str, Evidence]) -> list[dict[str, Any]]:
    """The goal as it was checked, with what each proof is worth; then each check that ran."""
    state = view.state
    content = _goal_text(state.goal).encode()
    goal = {
        "name": state.goal.path or state.goal.title,
        "digest": {"sha256": hashlib.sha256(content).hexdigest()},
        "content": b64encode(content).decode(),
        "mediaType": "application/json",
        "annotations": {
            "verdict": verdict(state),
            "reason": state.lifecycle.reason,
            "stale": view.stale,
            "run": state.run_id,
            "revision": state.revision,
            "judge": state.options.judge or "",
            "endedAt": wire_time(state.updated_at),
            "undone": [f"{undone_text(one)}: {one.finding.message}" for one in state.undone_findings],
            "requirements": {f"R{one.number}": _worth(one) for one in view.views},
        },
    }
    checks = [
        _check_material(one, one.observation) for one in evidence.values() if isinstance(one.observation, CheckResult)
    ]
    return [goal, *checks]


def _worth(one: RequirementView) -> dict[str, Any]:
    return {
        "status": one.status,
        "grade": one.grade or "",
        "gradeText": GRADES[one.grade] if one.grade is not None else "",
        "decidedBy": one.decided_by or "",
        "refused": one.refused,
        "reason": one.reason,
        "evidence": list(one.evidence_ids),
    }


def _goal_text(goal: Goal) -> str:
    """What had to be proven, letter by letter the same for the same goal."""
    wanted = [
        {
            "id": one.id,
            "label": one.label,
            "text": one.text,
            "checks": [{"command": each.command, "expectedExit": each.expected_exit} for each in one.checks],
        }
        for one in goal.requirements
    ]
    document = {"title": goal.title, "objective": goal.objective, "requirements": wanted}
    return json.dumps(document, ensure_ascii=True, sort_keys=True)


def _check_material(one: Evidence, result: CheckResult) -> dict[str, Any]:
    """Its digest is that of all that it printed, where that is on record."""
    digest = result.output_digest if _SHA256.fullmatch(result.output_digest) else None
    printed = digest or hashlib.sha256(result.output.encode(errors="replace")).hexdigest()
    return {
        "name": result.command,
        "digest": {"sha256": printed},
        "annotations": {
            "evidence": one.id,
            "outcome": str(result.outcome),
            "exitCode": result.exit_code if result.exit_code is not None else "",
            "seconds": round(result.seconds, 3),
            "revision": one.revision,
        },
    }
