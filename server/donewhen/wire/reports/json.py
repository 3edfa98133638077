"""The receipt for programs: the snapshot, with the evidence that it cites in full; and its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from donewhen.core.evidence import Evidence
from donewhen.engine.api import FileEdit, RunView
from donewhen.wire.plain import plain_evidence
from donewhen.wire.snapshot import Snapshot, snapshot

SCHEMA_ID = "https://github.com/donewhen/donewhen/blob/main/docs/reference/receipt.schema.json"


class Receipt(Snapshot):
    """A snapshot with the evidence in full, by its id, and what the run changed where that is known."""

    evidence: dict[str, Evidence]
    edits: list[FileEdit] | None = None


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """The snapshot, with the evidence in full by id under `evidence`."""
    document = snapshot(view, root).model_dump(by_alias=True, mode="json")
    document["evidence"] = {identity: plain_evidence(one) for identity, one in evidence.items()}
    document["edits"] = [asdict(one) for one in view.edits] if view.edits is not None else None
    return json.dumps(document, ensure_ascii=False)


def schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of a receipt. Readers accept fields that it doesn't name: later versions add some."""
    document = Receipt.model_json_schema(by_alias=True, mode="serialization")
    shapes = document["$defs"]
    kinds: list[str] = []
    for one in shapes["Evidence"]["properties"]["observation"]["anyOf"]:
        name = one["$ref"].rpartition("/")[2]
        kinds.append(f"{name[0].lower()}{name[1:]}")
        # Not required: the result that a trial holds is known by its place.
        shapes[name]["properties"]["kind"] = {"const": kinds[-1], "title": "Kind"}
    shapes["Evidence"]["properties"]["kind"] = {"enum": kinds, "title": "Kind"}
    shapes["Evidence"]["required"].append("kind")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **document}
