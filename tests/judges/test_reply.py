"""What is not exactly a verdict is none (A1, C10, C11)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from donewhen.judges.reply import (
    CLAIM_MARKS,
    VERDICT_MARKS,
    Citable,
    InvalidReply,
    only_object,
    read_claim,
    read_verdict,
)
from tests.judges.models import entry, verdict
from tests.tools import each_row

CITABLE = Citable({"R1": "r-1", "r-1": "r-1", "R2": "r-2", "r-2": "r-2"}, {"E1": "E7", "E2": "E8", "E3": "E9"}, {"E3"})
R1, R2 = entry("R1"), entry("R2")
GOOD = verdict(R1, R2)


def read(text: str) -> Any:
    return read_verdict(only_object(text, VERDICT_MARKS), CITABLE)


@each_row(
    "text",
    [
        GOOD,
        f"  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"Here is what I found (E1, [2]) for {{R1, R2}}:\n\n{GOOD}\n\nThat is all.",
        f"{GOOD}\n\nOnce more:\n{GOOD}",
        f"<think>maybe {verdict(entry('R1', 'unmet'), R2)}</think>{GOOD}",
        verdict(entry("r-1"), entry("R2")),
        verdict(entry("R1", missing="None."), entry("R2", missing="nothing")),
        verdict(R1, R2, missing="Nothing is missing."),
        verdict(R1, R2, missing="All requirements are met."),
        verdict(R1, R2, missing="None; E1 shows all of it."),
        verdict(R1, R2, missing=" (none) "),
        verdict({key: value for key, value in R1.items() if key != "missing"}, R2),
        GOOD.replace("evidence_ids", "evidence"),
        GOOD.replace("evidence_ids", "evidenceIds"),
    ],
)
@pytest.mark.conformance("C11")
def test_an_unambiguous_verdict_is_read_from_prose_and_fences(text: str) -> None:
    found = read(text)
    assert [(f.requirement_id, f.finding, f.evidence_ids) for f in found.verdict.findings] == [
        ("r-1", "met", ("E7",)),
        ("r-2", "met", ("E7",)),
    ]
    assert not found.faults


def test_what_the_model_called_a_key_is_told_on_one_line() -> None:
    with pytest.raises(InvalidReply) as told:
        read(verdict({**R1, "a\n\x1b[31m" + "b" * 500: 1}, R2))
    assert str(told.value).isprintable()
    assert len(str(told.value)) < 150


BAD: dict[str, str] = {
    "nothing": "",
    "prose": "All requirements are met.",
    "complete is a text": verdict(R1, R2, complete="true"),
    "complete says no in words": verdict(R1, R2, complete="no"),
    "complete is false in quotes": verdict(R1, R2, complete="false"),
    "complete is a number": verdict(R1, R2, complete=1),
    "complete is null": verdict(R1, R2, complete=None),
    "complete false though all is met": verdict(R1, R2, complete=False),
    "complete true though one is unmet": verdict(R1, entry("R2", "unmet"), complete=True),
    "complete true though one is unverified": verdict(R1, entry("R2", "unverified"), complete=True),
    "score 0 and complete": verdict(R1, R2, score=0),
    "score is NaN": verdict(R1, R2, score=float("nan")),
    "score is Infinity": verdict(R1, R2, score=float("inf")),
    "score overflows": GOOD.replace('"score": 1.0', '"score": 1e999'),
    "score above 1": verdict(R1, R2, score=1.5),
    "score below 0": verdict(R1, entry("R2", "unmet"), score=-0.5),
    "score is a text": verdict(R1, R2, score="1.0"),
    "score is a boolean": verdict(R1, R2, score=True),
    "score in percent": verdict(R1, R2, score=100),
    "missing is null": verdict(R1, R2, missing=None),
    "missing is a list": verdict(R1, R2, missing=[]),
    "complete although something is missing": verdict(R1, R2, missing="the greeting in R1 is missing"),
    "no requirements": verdict(score=1.0, complete=True),
    "requirements is an object": verdict(R1, R2, requirements={"R1": R1}),
    "requirements is null": verdict(R1, R2, requirements=None),
    "a list around it": f"[{GOOD}]",
    "a list around it, in prose": f"Here: [{GOOD}]",
    "a text around it": json.dumps(GOOD),
    "a requirement is missing": verdict(R1),
    "a requirement is named twice": verdict(R1, R1, R2),
    "a requirement under both its names": verdict(R1, entry("r-1"), R2),
    "an unknown requirement": verdict(R1, R2, entry("R3")),
    "an id in another case": verdict(entry("r1"), R2),
    "an id that is a number": verdict({**R1, "id": 1}, R2),
    "a status in capitals": verdict({**R1, "status": "MET"}, R2),
    "a status that is none": verdict({**R1, "status": "yes"}, R2),
    "a status that is a boolean": verdict({**R1, "status": True}, R2),
    "a status that is a list": verdict({**R1, "status": ["met"]}, R2),
    "waived is not the judge's to say": verdict({**R1, "status": "waived"}, R2),
    "missing is no text": verdict({**R1, "missing": None}, R2),
    "no reason": verdict({**R1, "reason": " "}, R2),
    "a reason that is a list": verdict({**R1, "reason": ["fine"]}, R2),
    "citations as text": verdict({**R1, "evidence_ids": "E1"}, R2),
    "citations as numbers": verdict({**R1, "evidence_ids": [1]}, R2),
    "no citations at all": verdict({k: v for k, v in R1.items() if k != "evidence_ids"}, R2),
    "citations under two names": verdict({**R1, "evidence": ["E2"]}, R2),
    "an unknown key of an entry": verdict({**R1, "verified": True}, R2),
    "an unknown key": verdict(R1, R2, override=True),
    "no score": json.dumps({k: v for k, v in json.loads(GOOD).items() if k != "score"}),
    "an entry that is a text": verdict(R1, R2, requirements=["R1 met", "R2 met"]),
    "two that contradict": f"{verdict(R1, entry('R2', 'unmet'))}\n{GOOD}",
    "two that differ in one word": f"{GOOD}\n{verdict(entry('R1', reason='other'), R2)}",
    "one and a stray answer": f'{{"complete": false}} {GOOD}',
    "1 for true in the second": f"{GOOD} {verdict(R1, R2, complete=1)}",
    "duplicate keys": GOOD.replace('"complete": true', '"complete": false, "complete": true'),
    "duplicate keys inside": GOOD.replace('"status": "met"', '"status": "unmet", "status": "met"', 1),
    "cut off": GOOD[:-20],
    "brackets without end": "[" * 100_000,
    "single quotes": str(json.loads(GOOD)),
}


@each_row("text", BAD.values(), ids=BAD.keys())
@pytest.mark.conformance("A1", "C10", "C11")
def test_anything_else_is_no_verdict(text: str) -> None:
    with pytest.raises(InvalidReply):
        read(text)


@each_row(
    "cited, says",
    [([], "cites no evidence"), (["E99"], "does not exist"), (["E1", "E99"], "does not exist"), (["E3"], "older")],
)
@pytest.mark.conformance("C10", "A9")
def test_met_without_usable_citations_is_unverified(cited: list[str], says: str) -> None:
    found = read(verdict(entry("R1", cited=cited), R2))
    first, second = found.verdict.findings
    assert (first.finding, first.evidence_ids) == ("unverified", ())
    assert says in first.reason
    assert says in found.faults["r-1"]
    assert second.finding == "met"


@each_row(
    "reason, contradicts",
    [
        ("R1 is unmet: the file holds no greeting.", True),
        ("The requirement is not met: the file does not say hello, it is missing.", True),
        ("E1 was read. It is not yet satisfied.", True),
        ("E1 shows it; no part of it is unmet.", False),
        ("It was not met before the last edit. E1 shows that it is now.", False),
        ("R2 is unmet, which is another matter: E1 shows this one.", False),
        ("E1 shows that an unmet dependency is reported.", False),
        ("R1: unmet, since E1 shows nothing.", True),
        ("Not met.", True),
        ("`slug()` raises ValueError when the minimum length is not met (E1).", False),
        ("Unverified users are rejected with 403, as E1 shows.", False),
        ("The CLI lists packages whose dependencies are unmet (E1).", False),
        ("All tests pass; accounts that are unverified get a banner.", False),
        ("slugify does not handle empty names, so the requirement is not met.", True),
        ("The requirement is only partially met.", True),
        ("Without the fix the requirement is not met; E1 shows that it is.", False),
    ],
)
def test_met_whose_reason_says_that_it_is_not_is_unverified(reason: str, contradicts: bool) -> None:
    found = read(verdict(entry("R1", reason=reason), R2))
    assert [one.finding for one in found.verdict.findings] == ["unverified" if contradicts else "met", "met"]
    assert ("its reason says that it is not" in found.faults.get("r-1", "")) is contradicts


@each_row(
    "missing",
    ["everything but the header is met", "all error paths are unmet", "every case but one is satisfied", "..."],
)
def test_met_although_something_is_missing_is_unverified(missing: str) -> None:
    found = read(verdict(entry("R1", missing=missing), R2))
    assert [one.finding for one in found.verdict.findings] == ["unverified", "met"]
    assert "it says that something is missing" in found.faults["r-1"]


def test_unmet_needs_no_citation_but_may_not_invent_one() -> None:
    found = read(verdict(entry("R1", "unmet", []), entry("R2", "unverified", ["E1", "E99"])))
    assert set(found.faults) == {"r-2"}
    assert [(f.finding, f.evidence_ids) for f in found.verdict.findings] == [("unmet", ()), ("unverified", ("E7",))]


def test_what_is_missing_is_part_of_the_reason() -> None:
    said = {"reason": "E1 shows half of it.", "missing": "empty names"}
    found = read(verdict(entry("R1", "unmet", **said), entry("R2", "unverified", **{**said, "missing": "half"})))
    assert [one.reason for one in found.verdict.findings] == [
        "E1 shows half of it. Missing: empty names",
        "E1 shows half of it.",
    ]


CLAIM = '{"confirmed": true, "reason": "E1 shows it", "evidence_ids": ["E1"]}'


def test_a_claim_is_confirmed_with_real_citations() -> None:
    found = read_claim(only_object(CLAIM, CLAIM_MARKS), CITABLE)
    assert (found.confirmed, found.evidence_ids) == (True, ("E7",))


@each_row(
    "text",
    [
        CLAIM.replace("true", '"true"'),
        CLAIM.replace("true", "1"),
        CLAIM.replace('"E1"]', "]").replace('["]', "[]"),
        CLAIM.replace('["E1"]', '["E99"]'),
        CLAIM.replace('["E1"]', '["E3"]'),
        CLAIM.replace('"E1 shows it"', '""'),
        f"{CLAIM} {CLAIM.replace('true', 'false')}",
        f"[{CLAIM}]",
        "confirmed",
    ],
)
@pytest.mark.conformance("A1", "C9")
def test_a_claim_is_not_confirmed_by_anything_else(text: str) -> None:
    with pytest.raises(InvalidReply):
        read_claim(only_object(text, CLAIM_MARKS), CITABLE)


@pytest.mark.conformance("C10")
def test_what_is_said_of_the_goals_other_requirements_is_checked_and_left_out() -> None:
    citable = Citable({"R1": "r-1"}, {"E1": "E7"}, others=frozenset({"R2", "r-2"}))
    found = read_verdict(only_object(verdict(R1, R2), VERDICT_MARKS), citable)
    assert [f.requirement_id for f in found.verdict.findings] == ["r-1"]
    for bad in (verdict(R2), verdict(R1, entry("R3")), verdict(R1, entry("R2", "unmet"), complete=True)):
        with pytest.raises(InvalidReply):
            read_verdict(only_object(bad, VERDICT_MARKS), citable)
