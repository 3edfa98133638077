"""The receipt for programs: the snapshot, with the evidence that it cites in full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from donewhen.core.evidence import Evidence
from donewhen.engine.api import RunView
from donewhen.wire.plain import plain_evidence
from donewhen.wire.snapshot import snapshot


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """The snapshot, with the evidence in full by id under `evidence`."""
    document = snapshot(view, root).model_dump(by_alias=True, mode="json")
    document["evidence"] = {identity: plain_evidence(one) for identity, one in evidence.items()}
    return json.dumps(document, ensure_ascii=False)
