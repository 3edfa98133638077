"""The receipt of a run: requirement, proof, command, revision and cost, for people, programs and CI.

Overrides are shown as what they are, never as proven.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from donewhen.core.evidence import Evidence
from donewhen.engine.api import RunView
from donewhen.wire.plain import plain_evidence
from donewhen.wire.report_junit import junit
from donewhen.wire.report_markdown import markdown
from donewhen.wire.report_short import short
from donewhen.wire.snapshot import snapshot

ReportFormat = Literal["markdown", "short", "json", "junit"]
FORMATS: tuple[ReportFormat, ...] = ("markdown", "short", "json", "junit")


def render(form: ReportFormat, view: RunView, root: Path, evidence: Sequence[Evidence]) -> str:
    """The receipt as text. `evidence` is what `cited` names, as far as it is still on record."""
    by_id = {one.id: one for one in evidence}
    renderers: Mapping[str, Callable[[RunView, Path, Mapping[str, Evidence]], str]] = {
        "markdown": markdown,
        "short": short,
        "json": as_json,
        "junit": junit,
    }
    return renderers[form](view, root, by_id)


def cited(view: RunView) -> tuple[str, ...]:
    """The ids of the evidence that a receipt shows: what requirements cite, the latest result of each check, and
    what the last trials saw."""
    ids = dict.fromkeys(identity for one in view.views for identity in one.evidence_ids)
    ids.update(dict.fromkeys(evidence.id for evidence in view.state.results.values()))
    ids.update(dict.fromkeys(view.state.trials))
    return tuple(ids)


def as_json(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """The snapshot, with the evidence in full by id under `evidence`."""
    document = snapshot(view, root).model_dump(by_alias=True, mode="json")
    document["evidence"] = {identity: plain_evidence(one) for identity, one in evidence.items()}
    return json.dumps(document, ensure_ascii=False)
