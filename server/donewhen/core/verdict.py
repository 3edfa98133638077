"""The findings of a judge or a check. Construction is strict: nothing is coerced."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from donewhen.core.evidence import Outcome
from donewhen.core.work import UNKNOWN, Usage

Finding = Literal["met", "unmet", "unverified"]
DecidedBy = Literal["check", "judge", "person"]
RequirementStatus = Literal["met", "unmet", "unverified", "stale", "waived", "regressed"]

Grade = Literal["own", "worker", "judge", "weak_judge", "person", "untried"]
"""What a proof is worth: the proof as it was agreed on; one that the worker wrote, and that fails without the work; the
judge's word; that of a weak one; a person's; checks that nothing could try, though their proof changed."""

GRADES: dict[Grade, str] = {
    "own": "proven by your own proof",
    "worker": "proven by what the worker wrote, which fails without the work",
    "judge": "proven by a judge",
    "weak_judge": "on the word of a weak judge",
    "person": "on a person's word",
    "untried": "passes, but could not be tried",
}
"""In words, for receipts."""

FINDINGS: tuple[Finding, ...] = get_args(Finding)
PROVEN: tuple[RequirementStatus, ...] = ("met", "waived")


@dataclass(frozen=True, slots=True)
class RequirementVerdict:
    """A judge's finding for one requirement: `met` only with cited evidence."""

    requirement_id: str
    finding: Finding
    reason: str
    evidence_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.finding not in FINDINGS:
            raise ValueError(f"a finding is one of {', '.join(FINDINGS)}; it is {self.finding!r}")
        if not all(isinstance(part, str) for part in (self.requirement_id, self.reason, *self.evidence_ids)):  # pyright: ignore[reportUnnecessaryIsInstance]  # a judge's reply is data
            raise ValueError("a verdict's id, reason and citations must be text")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's findings for every requirement that it was asked about, each exactly once."""

    findings: tuple[RequirementVerdict, ...]

    def answers(self, requirement_ids: tuple[str, ...]) -> bool:
        """True if it names exactly the requirements asked about, each once."""
        return sorted(f.requirement_id for f in self.findings) == sorted(requirement_ids)


@dataclass(frozen=True, slots=True)
class RequirementView:
    """The status of one requirement now, with its reason and the evidence that it cites."""

    requirement_id: str
    number: int
    status: RequirementStatus
    reason: str
    evidence_ids: tuple[str, ...] = ()
    decided_by: DecidedBy | None = None
    flaky: bool = False
    renewing: bool = False
    grade: Grade | None = None
    """None if it isn't proven, or its checks were not tried."""
    refused: bool = False
    """A trial refuses its proof, and no person accepted that: it is met, and not proven."""

    @property
    def on_a_persons_word(self) -> bool:
        """Met, but only since a person accepted a proof that was refused: never told as proven."""
        return self.status == "met" and self.grade == "person"


def graded(views: Sequence[RequirementView]) -> list[str]:
    """`R1, R3: proven by your own proof`, a line for each grade that something has."""
    named = [(text, [f"R{one.number}" for one in views if one.grade == grade]) for grade, text in GRADES.items()]
    return [f"{', '.join(labels)}: {text}" for text, labels in named if labels]


@dataclass(frozen=True, slots=True)
class GoalVerdict:
    """A judge's verdict on a goal. `score` is the share of requirements that are met, 0 to 1; `complete` is true only
    where every one is met, with what proves it cited; `missing` says what is missing, empty if nothing is.

    >>> from donewhen import GoalVerdict
    >>> GoalVerdict(0.5, False, "R2: no test").complete
    False

    `usage` is what asking cost, unknown unless the judge says so. The evidence ids of `findings` count what was given
    in `evidence`, diffs apart, in order (E1, E2, ...), then what the judge was shown besides.
    """

    score: float
    complete: bool
    missing: str
    findings: tuple[RequirementVerdict, ...] = ()
    usage: Usage = UNKNOWN


# Whether the judge is a different model from the worker's.


_DATE = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_VARIANT = re.compile(r"-v\d+:\d+$|:(?:free|beta|nitro|floor|thinking|extended|online|latest)$")


def same_model(worker: str | None, judge: str | None) -> bool:
    """True if both names are one model's, whichever provider serves it, by whichever date or spelling."""
    if not worker or not judge:
        return False
    return _bare_model_name(worker) == _bare_model_name(judge)


def is_editors(model: str) -> bool:
    """True for `editor/VENDOR/ID`: a model that the person's editor offers, which nothing here calls by itself."""
    return model.startswith("editor/")


def _bare_model_name(name: str) -> str:
    """Without provider prefixes (`openrouter/anthropic/`, `us.anthropic.`), date and version suffixes."""
    last = name.strip().casefold().rstrip("/").rpartition("/")[2]
    last = re.sub(r"^(?:[a-z]{2,4}\.)?(?:anthropic|meta|amazon|mistral|cohere|deepseek|openai|google)\.", "", last)
    last = _VARIANT.sub("", last)
    return _DATE.sub("", last).replace(".", "-").replace("_", "-")


# The members of a panel of judges, as settings and goal files name them.


MOST = 9
"""More judges than this cost more than they are worth."""

_MEMBER = re.compile(r"(?:(\d{1,2})\s*\*\s*)?([^\s,;*\x00-\x1f\x7f\ud800-\udfff]{1,200})")


def panel(text: str) -> tuple[str, ...] | None:
    """The models of a panel written as `A`, `A,B` or `3*A`, one for each member; None for what can't be one."""
    members: list[str] = []
    for part in text.split(","):
        found = _MEMBER.fullmatch(part.strip())
        if found is None or found[1] in ("0", "00"):
            return None
        members += [found[2]] * int(found[1] or 1)
    return tuple(members) if len(members) <= MOST else None


# What a Python callable that proves something says.


def judged(found: Any) -> tuple[Outcome, str]:
    """What a validator's value says. Nothing is coerced: a value of any other type is an error, never a pass."""
    passed, feedback = found, None
    if isinstance(found, Mapping):
        record = cast("Mapping[str, Any]", found)
        passed, feedback = record.get("passed"), record.get("feedback")
    elif not isinstance(found, bool) and hasattr(found, "passed"):
        passed, feedback = found.passed, getattr(found, "feedback", None)
    if not isinstance(passed, bool) or not (feedback is None or isinstance(feedback, str)):
        return Outcome.NOT_RUN, f"the validator returned {found!r}: True, False, or `passed` and `feedback` is expected"
    return (Outcome.PASSED, "passed") if passed else (Outcome.FAILED, feedback or "the validator says no")
