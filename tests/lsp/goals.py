"""Goal files and runs of them for the tests of features: text in, views out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from donewhen.core.events import EndStatus, RunOptions
from donewhen.core.evidence import CheckResult, Evidence, Outcome, Problem
from donewhen.core.goal import Requirement
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.state import CheckRecord, KnownFinding, Lifecycle, RunState
from donewhen.core.verdict import RequirementView
from donewhen.engine.api import RunView
from donewhen.goalfile.parse import parse
from donewhen.goalfile.source import ParsedGoalFile
from donewhen.lsp.goal_view import GoalView
from donewhen.lsp.positions import Encoding, FilePlace, split_lines
from donewhen.ports import Live
from tests.core.builders import changed

ROOT = Path("/w") if Path("/").exists() else Path("C:/w")

GOAL = """\
# Ship 🎯 it

- [ ] 🎯 `make test` passes
- [x] The README documents it
  - file: `README.md`
- [ ] `ruff check .` passes
"""


def parsed(text: str = GOAL) -> ParsedGoalFile:
    return parse(text, path="GOAL.md")


def evidence(number: int, requirement: Requirement, **observed: Any) -> Evidence:
    check = requirement.checks[0]
    given: dict[str, Any] = {"outcome": Outcome.FAILED, "reason": "exit code 1", "exit_code": 1, "started_at": 100.0}
    result = CheckResult(check.id, check.command, **(given | observed))
    return Evidence(f"E{number}", "rev", "rev", 0, result)


def run_view(
    statuses: Mapping[str, RequirementView | str],
    text: str = GOAL,
    *,
    ended: EndStatus | None = None,
    mode: Any = "pursue",
    places: Mapping[str, Sequence[Problem]] | None = None,
    findings: Sequence[KnownFinding] = (),
    judge: str | None = None,
    results: Mapping[str, Evidence] | None = None,
    **state: Any,
) -> RunView:
    """A run whose requirements stand as `statuses` says, by label: a status alone, or a whole view. `results` is by
    check id."""
    goal = parsed(text).goal
    assert goal is not None
    views: list[RequirementView] = []
    for requirement in goal.requirements:
        given = statuses.get(requirement.label, "met")
        if isinstance(given, str):
            reason = "" if given == "met" else f"because of {requirement.label}"
            given = RequirementView(requirement.id, requirement.number, given, reason, ())  # pyright: ignore[reportArgumentType]
        views.append(given)
    named = {r.id: tuple((places or {}).get(r.label, ())) for r in goal.requirements}
    checks = {key: CheckRecord(latest=one) for key, one in (results or {}).items()}
    run = RunState(
        "run1", mode, goal, RunOptions("human", judge=judge),
        lifecycle=Lifecycle(ended=ended is not None or mode == "audit", end_status=ended),
        findings={str(n): one for n, one in enumerate(findings)}, checks=checks,
    )  # fmt: skip
    run = changed(run, **state)
    view = RunView(run, Live(), (ROOT / "GOAL.md").as_uri())
    # In place of what the state adds up to: these tests are about what is shown of it.
    vars(view).update(views=tuple(views), locations=named)
    return view


def stands(label: str, status: Any, evidence_ids: Sequence[str] = (), text: str = GOAL, **more: Any) -> RequirementView:
    """One requirement's view with everything said."""
    goal = parsed(text).goal
    assert goal is not None
    requirement = goal.requirement(label)
    assert requirement is not None
    given: dict[str, Any] = {"reason": f"because of {label}"} | more
    return RequirementView(requirement.id, requirement.number, status, evidence_ids=tuple(evidence_ids), **given)


def live(view: RunView | None, text: str = GOAL, encoding: Encoding = "utf-16", **more: Any) -> GoalView:
    """The goal file as features see it."""
    place = FilePlace(more.pop("root", ROOT), "GOAL.md")
    return GoalView(place.absolute.as_uri(), place, parsed(text), view, split_lines(text), encoding, **more)


def finding(kind: Any = "test_skipped", path: str = "tests/test_a.py", **more: Any) -> KnownFinding:
    return KnownFinding("F1", IntegrityFinding("k", kind, path, 4, "a test was skipped"), **more)
