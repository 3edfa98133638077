"""What is not proven, each thing with its place: what SARIF, GitHub's annotations and GitLab's Code Quality show."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from donewhen.core.decide import held_out_untried
from donewhen.core.goal import Requirement
from donewhen.core.state import KnownFinding
from donewhen.core.verdict import GRADES, RequirementView
from donewhen.engine.api import RunView
from donewhen.wire.reports.markdown import accepted_text

Level = Literal["error", "warning", "note"]

RULES: Mapping[str, tuple[Level, str]] = {
    "requirement/unmet": ("error", "A requirement of the goal is not met."),
    "requirement/regressed": ("error", "A requirement that was met has failed since an edit."),
    "requirement/refused": ("error", "A requirement's checks pass, and a trial refuses them as its proof."),
    "requirement/unverified": ("warning", "Nothing could decide a requirement of the goal."),
    "requirement/stale": ("warning", "Files changed since a requirement was proven."),
    "requirement/waived": ("note", "A person waived a requirement: it is not proven."),
    "requirement/persons-word": ("note", "A requirement is met on a person's word: it is not proven."),
}
"""The rules about requirements. Those about integrity findings are named by their kind: `integrity/goal_file`."""

INTEGRITY = "integrity/"
UNTRIED = "hidden-checks/untried"
MAX_PLACES = 10
"""Places of one requirement that are shown."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that is not proven. `path` is relative to the repository that holds the workspace, `line` and `column`
    are 1-based; None where that isn't known. `fingerprint` stays when lines move. `accepted` says which person's
    decision it is, or that it is undone: it blocks nothing then."""

    rule: str
    level: Level
    title: str
    message: str
    path: str
    line: int | None
    column: int | None
    fingerprint: str
    accepted: str = ""


def alerts(view: RunView, root: Path) -> tuple[Alert, ...]:
    """All of them, errors first. An alert stands in a file that is there; what has no such place stands at its line of
    the goal file."""
    found: list[Alert] = []
    known = {one.id: one for one in view.state.goal.requirements}
    for one in view.views:
        rule = rule_of(one)
        if rule is not None:
            found += _requirement_alerts(view, root, known[one.requirement_id], one, rule)
    for finding in view.state.present_findings:
        if not finding.accepted or finding.by_a_person:  # else it stood there before the run, and blocks nothing
            found.append(_finding_alert(view, root, finding))
    return _placed(found, root)


def past_alerts(view: RunView, root: Path) -> tuple[Alert, ...]:
    """The findings that refused the proof on the way and stand no more: nothing that is missing."""
    found: list[Alert] = []
    for one in view.state.undone_findings:
        alert = _finding_alert(view, root, KnownFinding(one.id, one.finding))
        undone = f"undone in iteration {one.undone}" if one.undone is not None else "not tried again since"
        found.append(replace(alert, level="note", accepted=f"raised after iteration {one.iteration}, {undone}"))
    return _placed(found, root)


def untried_alert(view: RunView, root: Path) -> tuple[Alert, ...]:
    """That an audit tried no hidden check, for a form that has no other place for it; empty where there are none."""
    said = held_out_untried(view.state)
    path, line = _in_goal(view, 0)
    return _placed([Alert(UNTRIED, "note", said, said, path, line, None, _fingerprint(UNTRIED))], root) if said else ()


def _placed(found: Sequence[Alert], root: Path) -> tuple[Alert, ...]:
    prefix = prefix_of(root)
    seen: Counter[str] = Counter()
    told: list[Alert] = []
    for one in found:
        seen[one.fingerprint] += 1
        times = seen[one.fingerprint]
        mark = one.fingerprint if times == 1 else _fingerprint(one.fingerprint, str(times))
        told.append(replace(one, path=f"{prefix}{one.path}", fingerprint=mark))
    return tuple(sorted(told, key=lambda one: ("error", "warning", "note").index(one.level)))


def prefix_of(root: Path) -> str:
    """The workspace's path in the repository that holds it, with a slash; empty for its top, and without a repository.
    Both forges name files from there."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            inside = root.relative_to(folder).as_posix()
            return "" if inside == "." else f"{inside}/"
    return ""


def rule_of(one: RequirementView) -> str | None:
    """The rule that a requirement breaks; None for one that is proven."""
    if one.refused:
        return "requirement/refused"
    if one.on_a_persons_word:
        return "requirement/persons-word"
    return None if one.status == "met" else f"requirement/{one.status}"


def _requirement_alerts(
    view: RunView, root: Path, requirement: Requirement, one: RequirementView, rule: str
) -> Iterator[Alert]:
    """At each place that the evidence names, and at the goal file's line if it names none that is there."""
    level, _ = RULES[rule]
    title = f"{requirement.label} is {'refused' if one.refused else one.status}: {requirement.text}"
    accepted = view.state.waived.get(requirement.id, one.reason) if one.status == "waived" else ""
    if one.on_a_persons_word:
        title, accepted = f"{requirement.label} is met on a person's word: {requirement.text}", GRADES["person"]
    named = () if level == "note" else view.locations.get(requirement.id, ())
    shown = 0
    for place in named:
        if shown < MAX_PLACES and is_there(root, place.path):
            shown += 1
            mark = _fingerprint(rule, requirement.id, place.path, place.message)
            message = place.message or one.reason
            yield Alert(rule, level, title, message, place.path, place.line + 1, place.column + 1, mark)
    if not shown:
        mark = _fingerprint(rule, requirement.id)
        path, line = _in_goal(view, requirement.line)
        yield Alert(rule, level, title, one.reason or title, path, line, None, mark, accepted)


def _finding_alert(view: RunView, root: Path, known: KnownFinding) -> Alert:
    found = known.finding
    path, line = (found.path, found.line + 1) if is_there(root, found.path) else _in_goal(view, 0)
    return Alert(
        rule=f"{INTEGRITY}{found.kind}",
        level="note" if known.accepted else "error",
        title=f"{known.id} {found.kind.replace('_', ' ')}",
        message=found.message,
        path=path,
        line=line,
        column=None,
        fingerprint=_fingerprint(found.kind, found.key),
        accepted=accepted_text(view.state, known) if known.accepted else "",
    )


def _in_goal(view: RunView, line: int) -> tuple[str, int]:
    """A goal without a file is the program's: the place is the workspace's own folder."""
    return (view.state.goal.path, line + 1) if view.state.goal.path is not None else (".", 1)


def is_there(root: Path, path: str) -> bool:
    """Whether a path that something printed is a file of the workspace."""
    parts = PurePosixPath(path)
    if not path or parts.is_absolute() or ".." in parts.parts:
        return False
    try:
        return (root / path).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()
