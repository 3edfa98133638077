"""The receipt of a run: requirement, proof, command, revision and cost, for people, programs and CI.

Overrides are shown as what they are, never as proven. A format is a name here, which the command line and the language
server read, and a module of that name with `render(view, root, evidence)`, imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from donewhen.core.evidence import Evidence
    from donewhen.engine.api import RunView

ReportFormat = Literal["markdown", "short", "json", "junit"]
FORMATS: Mapping[ReportFormat, str] = {
    "markdown": "",
    "short": "a few lines of Markdown for a pull request",
    "json": "",
    "junit": "",
}
"""Every format, with what its name doesn't say."""


def render(form: ReportFormat, view: RunView, root: Path, evidence: Sequence[Evidence]) -> str:
    """The receipt as text. `evidence` is what `cited` names, as far as it is still on record."""
    rendered = cast(
        "Callable[[RunView, Path, Mapping[str, Evidence]], str]", import_module(f"{__name__}.{form}").render
    )
    return rendered(view, root, {one.id: one for one in evidence})


def cited(view: RunView) -> tuple[str, ...]:
    """The ids of the evidence that a receipt shows: what requirements cite, the latest result of each check, and
    what the last trials saw."""
    ids = dict.fromkeys(identity for one in view.views for identity in one.evidence_ids)
    ids.update(dict.fromkeys(evidence.id for evidence in view.state.results.values()))
    ids.update(dict.fromkeys(view.state.trials))
    return tuple(ids)
