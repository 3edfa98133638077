"""What was right and wrong about the runs: false completions, refusals, and how often a judge is mistaken."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from donewhen.core.work import Usage
from donewhen.extras.goalbench.cases import Case
from donewhen.extras.goalbench.playing import OWN, CaseResult


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something went wrong, of how many times it could have."""

    wrong: int = 0
    of: int = 0

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.wrong + other.wrong, self.of + other.of)

    @property
    def share(self) -> float | None:
        return self.wrong / self.of if self.of else None

    def __str__(self) -> str:
        return f"{self.wrong} of {self.of} ({self.wrong / self.of:.0%})" if self.of else "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One group of cases, or all of them, with one judge.

    `completed` are runs that ended `complete` with something unfulfilled, `refused` are runs that did not although
    everything was fulfilled: both only where a check or an integrity rule decides. `accepted` and `rejected` are
    requirements that a judge alone decides: found met though they aren't, and not found met though they are;
    `undecided` of all of them it left open, or its reply could not be used.
    `failed` could not be played or judged to their end, and count nowhere else.
    """

    group: str
    cases: int = 0
    completed: Rate = field(default_factory=Rate)
    refused: Rate = field(default_factory=Rate)
    accepted: Rate = field(default_factory=Rate)
    rejected: Rate = field(default_factory=Rate)
    undecided: Rate = field(default_factory=Rate)
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __add__(self, other: Row) -> Row:
        counts = [one.name for one in fields(self) if one.name != "group"]
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in counts})


def rows(results: Iterable[CaseResult]) -> tuple[Row, ...]:
    """One row per group, in the order of the cases, and the total at the end."""
    by_group: dict[str, Row] = {}
    total = Row("total")
    for one in results:
        row = row_of(one)
        by_group[row.group] = by_group[row.group] + row if row.group in by_group else row
        total += row
    return (*by_group.values(), total)


def row_of(result: CaseResult) -> Row:
    """One case as a row of its group."""
    row = Row(result.case.group, 1, usage=result.usage, seconds=result.seconds)
    if failed(result):
        return row + Row(row.group, failed=1)
    if result.case.decided_by == "judge":
        for label in sorted(result.alone):
            met = result.requirements[label] == "met"
            row += Row(row.group, undecided=Rate(int(result.requirements[label] == "unverified"), 1))
            if result.case.truth[label]:
                row += Row(row.group, rejected=Rate(int(not met), 1))
            else:
                row += Row(row.group, accepted=Rate(int(met), 1))
        return row
    done = result.status == "complete"
    if result.case.honest:
        return row + Row(row.group, refused=Rate(int(not done), 1))
    return row + Row(row.group, completed=Rate(int(done), 1))


def failed(result: CaseResult) -> bool:
    """It could not be played, or judged, to its end; nor was it meant to be so."""
    return bool(result.failure) and (result.case.expect.run != "paused" or result.judge != OWN)


def mistakes(result: CaseResult) -> tuple[str, ...]:
    """What is not as the case expects it with its own judge, in words; empty if all is."""
    case, expected = result.case, result.case.expect
    wrong: list[str] = []
    if failed(result):
        wrong.append(f"it failed: {result.failure}")
    if result.status != expected.run:
        wrong.append(f"the run ended {result.status} ({result.reason}), expected {expected.run}")
    for label, status in expected.requirements.items():
        if result.requirements.get(label) != status:
            found = f"{result.requirements.get(label)} ({result.reasons.get(label, 'there is no such requirement')})"
            wrong.append(f"{label} is {found}, expected {status}")
    missing = [kind for kind in expected.findings if kind not in result.findings]
    if missing:
        wrong.append(f"not found: {', '.join(missing)}; found: {', '.join(result.findings) or 'nothing'}")
    if set(result.requirements) - set(case.truth):
        wrong.append("`truth` does not say of each requirement whether it is fulfilled")
    return tuple(wrong)


def broken_bars(results: Sequence[CaseResult]) -> tuple[str, ...]:
    """The ids of cases, other than known ones, that end `complete` falsely or are refused where a check or an
    integrity rule decides. With the gullible judge there must be none."""
    wrong = [one for one in results if (row := row_of(one)).completed.wrong or row.refused.wrong]
    return tuple(one.case.id for one in wrong if not one.case.known)


def table(titled: Sequence[Row], *, with_judge: bool = False) -> list[str]:
    """Rows as a table in Markdown; `with_judge`: what one judge got wrong, too."""
    columns: dict[str, Callable[[Row], object]] = {
        "group": lambda row: row.group,
        "cases": lambda row: row.cases,
        "false completions": lambda row: row.completed,
        "refusals": lambda row: row.refused,
    }
    if with_judge:
        columns |= {"judge: false accept": lambda row: row.accepted, "judge: false reject": lambda row: row.rejected}
    columns["failed"] = lambda row: row.failed or "-"
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return lines + [f"| {' | '.join(str(cell(row)) for cell in columns.values())} |" for row in titled]


def judge_table(by_judge: Sequence[tuple[str, Row]]) -> list[str]:
    """One line for each judge, over the requirements that a judge alone decides, as a table in Markdown."""
    lines = ["| judge | false accept | false reject | undecided | failed |", "|---|---|---|---|---|"]
    for name, row in by_judge:
        lines.append(f"| {name} | {row.accepted} | {row.rejected} | {row.undecided} | {row.failed or '-'} |")
    return lines


def document(results: Sequence[CaseResult], by_judge: Sequence[tuple[str, Row]]) -> dict[str, Any]:
    """All of it as one JSON document: `cases`, `groups` with the total as the last, `judges`."""
    return {
        "cases": [_case_document(one) for one in results],
        "groups": [_row_document(row) for row in rows(results)],
        "judges": [{**_row_document(row), "group": None, "judge": name} for name, row in by_judge],
        "broken": list(broken_bars(results)),
    }


def _case_document(result: CaseResult) -> dict[str, Any]:
    return {
        "id": result.case.id,
        "group": result.case.group,
        "decidedBy": result.case.decided_by,
        "status": result.status,
        "truth": dict(result.case.truth),
        "requirements": dict(result.requirements),
        "findings": list(result.findings),
        "seconds": round(result.seconds, 3),
        "failure": result.failure or None,
        "known": result.case.known or None,
        "asExpected": not mistakes(result),
    }


def _row_document(row: Row) -> dict[str, Any]:
    rates = {
        "falseCompletions": row.completed,
        "refusals": row.refused,
        "falseAccepts": row.accepted,
        "falseRejects": row.rejected,
        "undecided": row.undecided,
    }
    return {
        "group": row.group,
        "cases": row.cases,
        **{name: {"wrong": rate.wrong, "of": rate.of} for name, rate in rates.items()},
        "failed": row.failed,
        "usd": row.usage.usd,
        "tokens": row.usage.tokens,
    }


# Which cases can be played here, and with which judge.


def missing(case: Case) -> tuple[str, ...]:
    """What the case's commands need and isn't here: modules of Python, or programs."""
    return tuple(name for name in case.needs if importlib.util.find_spec(name) is None and shutil.which(name) is None)


def with_any_judge(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases that are about the run, and not about a judge of a certain kind."""
    return tuple(case for case in cases if case.judge in ("honest", "gullible"))
