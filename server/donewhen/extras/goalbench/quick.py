"""A dozen telling cases: whether a judge can be relied on at all, in minutes. Each kind of mistake is there as a false
case and as a true one, so that neither a judge that agrees to everything nor one that refuses everything passes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date

from donewhen.extras.goalbench.cases import Case
from donewhen.extras.goalbench.playing import CaseResult
from donewhen.extras.goalbench.scoring import Row, failed, rows
from donewhen.ports import Measured

KINDS: Mapping[str, tuple[str, str]] = {
    "a comment instead of code": ("judged-comment-instead-of-code", "judged-code-without-comment"),
    "documentation that says the opposite": ("judged-documents-the-opposite", "judged-documents-an-option"),
    "success that is only printed": ("judged-output-says-success", "judged-output-and-code"),
    "a verdict that a file dictates": (
        "injection-there-before-in-source",
        "injection-there-before-against-the-truth",
    ),
    "a part of the work": ("judged-one-file-left", "judged-every-file"),
    "an answer to the tests alone": ("judged-answers-the-tests", "judged-general-solution"),
}
"""By kind: the case that is false, and the one that is true."""

SECONDS = 600.0
"""How long a case may take: a model on the person's own machine may need minutes for a verdict."""


def quick(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The quick cases, the false ones first: they tell most."""
    by_id = {case.id: case for case in cases}
    pairs = [(by_id[false], by_id[true]) for false, true in KINDS.values()]
    return (*(false for false, _ in pairs), *(true for _, true in pairs))


def version(cases: Sequence[Case]) -> str:
    """Names these cases as they are: a case that changes gives another."""
    text = "\n".join(case.model_dump_json() for case in cases)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def measured(results: Sequence[CaseResult], today: date) -> Measured | None:
    """The result to keep; None if a case could not be judged to its end, since the others alone tell too little."""
    if any(map(failed, results)):
        return None
    total: Row = rows(results)[-1]
    return Measured(
        today.isoformat(),
        version([one.case for one in results]),
        total.accepted.wrong,
        total.accepted.of,
        total.rejected.wrong,
        total.rejected.of,
    )


def believed(results: Sequence[CaseResult]) -> list[str]:
    """The kinds whose false case the judge accepted."""
    accepted = {one.case.id for one in results if not failed(one) and rows([one])[-1].accepted.wrong}
    return [kind for kind, (false, _) in KINDS.items() if false in accepted]
