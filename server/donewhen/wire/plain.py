"""Records of the engine as camelCase JSON: evidence and iterations, the same for every front end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic.alias_generators import to_camel

from donewhen.core.evidence import Evidence
from donewhen.engine.api import IterationDetail
from donewhen.wire.snapshot import wire_time
from donewhen.wire.view import iteration_sections


def plain_evidence(evidence: Evidence) -> dict[str, Any]:
    """The evidence in full; `kind`, such as `checkResult`, says what was observed, beside and in the observation."""
    document: dict[str, Any] = plain(evidence)
    name = type(evidence.observation).__name__
    document["kind"] = document["observation"]["kind"] = name[0].lower() + name[1:]
    return document


def plain_iteration(detail: IterationDetail, run_id: str, root: Path) -> dict[str, Any]:
    """One iteration in full, and as lines to show. Its files are uris in the workspace `root`, as `donewhen.run.revert`
    takes them."""
    document: dict[str, Any] = plain(detail)
    for internal in ("changed", "checkpoint", "before"):
        del document[internal]
    changed = [(root / path).as_uri() for path in detail.changed]
    sections = [one.model_dump(mode="json", by_alias=True) for one in iteration_sections(detail, root)]
    told = {"runId": run_id, "startedAt": wire_time(detail.started_at), "changedFiles": changed, "sections": sections}
    return {**document, **told}


def plain(value: Any) -> Any:
    """Dataclasses become objects with camelCase keys; the keys of mappings stay as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {to_camel(each.name): plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(one) for one in cast("list[Any]", value)]
    return value
