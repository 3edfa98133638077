"""Records of the engine as camelCase JSON: evidence and iterations, the same for every front end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from pydantic.alias_generators import to_camel

from donewhen.core.evidence import AffectedRun, CheckResult, Evidence
from donewhen.core.feedback import keep_ends
from donewhen.core.work import Usage
from donewhen.engine.api import IterationDetail, RunStep
from donewhen.wire.snapshot import Wire, wire_time, wire_usage
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
    del document["changed"]
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


# What a call outside of any run took, as JSON: what a person waited for costs money too.


def spent_json(usage: Usage) -> dict[str, float | None]:
    """The fields of a snapshot's `cost.judge`; `usd` is null if it is unknown, never 0."""
    return wire_usage(usage).model_dump(mode="json", by_alias=True)


# The tests that decide a requirement, as a list of tests shows them.

MOST_TESTS = 500


class WireTest(Wire):
    """`id` is the same for the same test of the same check; `standing` is how it ended, `message` why it failed."""

    id: str
    name: str
    uri: str | None
    standing: Literal["passed", "failed", "errored", "skipped"]
    message: str


class WireTests(Wire):
    """The tests that a requirement's checks ran, those that failed first; `output` is what the checks printed, for a
    terminal."""

    tests: list[WireTest]
    output: str
    milliseconds: int


def plain_tests(evidence: Sequence[Evidence], uri: Callable[[str], str]) -> dict[str, Any]:
    """The tests of the checks among the evidence, also of those that ran first since an edit may affect them. `uri`
    says how the client names a path of the workspace."""
    seen = [one.observation for one in evidence]
    results = [one.result if isinstance(one, AffectedRun) else one for one in seen]
    ran = [one for one in results if isinstance(one, CheckResult)]
    tests = [
        WireTest(
            id=f"{check.check_id} {one.name}",
            name=one.name,
            uri=None if one.path is None else uri(one.path),
            standing="errored" if one.outcome == "error" else one.outcome,
            message=one.message,
        )
        for check in ran
        for one in check.tests
    ]
    tests.sort(key=lambda one: one.standing not in ("failed", "errored"))
    printed = "\n".join(f"$ {one.command}\n{one.output.rstrip()}\n" for one in ran)
    milliseconds = round(sum(one.seconds for one in ran) * 1000)
    told = WireTests(tests=tests[:MOST_TESTS], output=printed.replace("\n", "\r\n"), milliseconds=milliseconds)
    return told.model_dump(mode="json", by_alias=True)


# What a run does, step by step, as clients get it: bounded, unless one step is asked for in full.


MAX_TEXT = 4_000
"""Characters of the text, and of the diff, of a step among others."""


class WireStep(Wire):
    """`id` stays while the step goes on: a later one of that id takes its place. `cut`: `text` or `diff` is not all
    that is kept of it. A hint is `running` until the worker reads it, and `failed` where the run ended before. `lead`
    is what kind of thing it is, where its title doesn't begin with that."""

    id: str
    order: int
    at: str
    iteration: int
    kind: Literal[
        "turn", "says", "reads", "runs", "edits", "tool", "reports", "check", "judge", "hint", "asks", "act", "end"
    ]
    lead: str
    title: str
    state: Literal["running", "done", "failed"]
    text: str
    diff: str
    cut: bool
    uri: str | None
    added: int
    removed: int
    evidence_id: str | None


def step_json(step: RunStep, root: Path, *, full: bool = False) -> dict[str, Any]:
    """A step as JSON; its texts bounded, unless `full`."""
    text, diff = (one if full else keep_ends(one, MAX_TEXT) for one in (step.text, step.diff))
    uri = None if step.path is None else (root / step.path).as_uri()
    cut = text != step.text or diff != step.diff
    shown = {"at": wire_time(step.at), "lead": _lead(step), "text": text, "diff": diff, "cut": cut, "uri": uri}
    return WireStep.model_validate({**plain(step), **shown}).model_dump(mode="json", by_alias=True)


def _lead(step: RunStep) -> str:
    if step.kind == "hint":
        return {"running": "your hint, not read yet", "done": "your hint, read"}.get(
            step.state, "your hint, never read"
        )
    if step.kind == "runs":
        return "" if step.title.startswith("run ") else "runs" if step.state == "running" else "ran"
    return {"says": "says", "reports": "reports", "check": "check", "asks": "asks you"}.get(step.kind, "")
