"""The receipt of a run: requirement, proof, command, revision and cost, for people, programs and CI.

Overrides are shown as what they are, never as proven. A format is a name here, which the command line and the language
server read, and a module of that name with `render(view, root, evidence)`, imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from donewhen.core.errors import UnknownName

if TYPE_CHECKING:
    from donewhen.core.evidence import Evidence
    from donewhen.engine.api import FileEdit, Runs, RunView

ReportFormat = Literal["markdown", "short", "html", "json", "junit", "sarif", "github", "gitlab", "in-toto"]


class Format(NamedTuple):
    """What the name of a format doesn't say, if anything, and what its file is called by default."""

    about: str
    file: str


FORMATS: Mapping[ReportFormat, Format] = {
    "markdown": Format("for a pull request, with the evidence folded away", "donewhen.md"),
    "short": Format("a few lines of Markdown for a pull request", "donewhen.short.md"),
    "html": Format("a page with the timeline, to read or print, that needs no network", "donewhen.html"),
    "json": Format("", "donewhen.json"),
    "junit": Format("", "donewhen.xml"),
    "sarif": Format("", "donewhen.sarif"),
    "github": Format("annotations for a GitHub Actions job", "donewhen.github.txt"),
    "gitlab": Format("a Code Quality report", "gl-code-quality-report.json"),
    "in-toto": Format("a test result to sign", "donewhen.intoto.json"),
}
"""Every format: the one list that the command line and the extension offer."""


async def receipt(runs: Runs, run_id: str, form: ReportFormat, root: Path) -> str:
    """The receipt of a run on record, as text. Raises what `Runs.report` raises."""
    return (await receipts(runs, run_id, [form], root))[0]


async def receipts(runs: Runs, run_id: str, forms: Sequence[ReportFormat], root: Path) -> list[str]:
    """Several receipts of one moment."""
    view = await runs.report(run_id)
    if "in-toto" in forms:
        view = replace(view, commit=await runs.commit(run_id))
    if view.state.progress.iterations and "markdown" in forms:
        view = replace(view, steps=(await runs.steps(run_id, 0)).steps)
    if view.state.progress.iterations and not view.stale:
        with suppress(UnknownName):
            view = replace(view, edits=file_edits(await runs.diff(run_id)))
    found = [await runs.evidence(run_id, one) for one in cited(view)]
    evidence = [one for one in found if one is not None]
    return [render(form, view, root, evidence) for form in forms]


def file_edits(diff: str) -> tuple[FileEdit, ...]:
    """How many lines of each file came and went, by a unified diff."""
    from donewhen.engine.api import FileEdit  # not above: the command line reads the list of formats before all else

    found: list[FileEdit] = []
    hunks = False
    for line in diff.splitlines():
        if line.startswith("diff --git a/"):
            path = line.removeprefix("diff --git a/")
            found.append(FileEdit(path[: (len(path) - len(" b/")) // 2]))
            hunks = False
        elif line.startswith("@@"):
            hunks = True
        elif hunks and found and line[:1] in ("+", "-"):
            one = found[-1]
            found[-1] = replace(one, added=one.added + (line[0] == "+"), removed=one.removed + (line[0] == "-"))
    return tuple(found)


def render(form: ReportFormat, view: RunView, root: Path, evidence: Sequence[Evidence]) -> str:
    """The receipt as text. `evidence` is what `cited` names, as far as it is still on record."""
    rendered = cast("Callable[[RunView, Path, Mapping[str, Evidence]], str]", import_module(module_of(form)).render)
    return rendered(view, root, {one.id: one for one in evidence})


def module_of(form: ReportFormat) -> str:
    """The module that renders a format."""
    return f"{__name__}.{form.replace('-', '_')}"


def cited(view: RunView) -> tuple[str, ...]:
    """The ids of the evidence that a receipt shows: what requirements cite, the latest result of each check, and
    what the last trials saw."""
    ids = dict.fromkeys(identity for one in view.views for identity in one.evidence_ids)
    ids.update(dict.fromkeys(evidence.id for evidence in view.state.check_evidence))
    ids.update(dict.fromkeys(view.state.trial.evidence_ids))
    return tuple(ids)
