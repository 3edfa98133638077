"""Reads a judge's reply strictly: anything that is not exactly a verdict is refused, and nothing is coerced."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from donewhen.core.evidence import Evidence
from donewhen.core.verdict import FINDINGS, RequirementVerdict, Verdict
from donewhen.core.work import Usage
from donewhen.ports import Judgement

_CITATION_KEYS = ("evidence_ids", "evidence", "evidenceIds")
_VERDICT_KEYS = frozenset(("requirements", "score", "complete", "missing"))
VERDICT_MARKS = _VERDICT_KEYS - {"missing"}
CLAIM_MARKS = frozenset(("confirmed",))
"""Of the objects in a reply, only one with any of these keys can be meant."""
_CLAIM_KEYS = frozenset(("confirmed", "reason", *_CITATION_KEYS))
_NOTHING = re.compile(
    r"(?:none|nothing(?: else)?(?: is)?(?: missing)?|no(?: gaps?| issues?)?|n/?a|-+)?\.?", re.IGNORECASE
)
_SAYS_NOTHING = re.compile(r"\W*(?:\Z|(?:none|nothing|nil|null|no|all|every\w*|n/?a)\b)", re.IGNORECASE)
"""How a text begins by which a judge says of all requirements that nothing is missing."""
MAX_REASON = 1_000
_MAX_BRACKETS = 500
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


class InvalidReply(Exception):
    """The reply can't be used; the message says why, so that the model can correct it."""


class NoObject(InvalidReply):
    """The reply doesn't contain any object that could be meant."""


@dataclass(frozen=True, slots=True)
class Citable:
    """What a reply may name: `requirements` maps labels and ids to ids; `evidence` maps the prompt's ids to the real
    ones; `old` are ids of the prompt that can't be cited, because they are older than the last edit. `evidence` and
    `old` grow while the judge looks."""

    requirements: Mapping[str, str]
    evidence: dict[str, str] = field(default_factory=dict[str, str])
    old: set[str] = field(default_factory=set[str])
    others: frozenset[str] = frozenset()
    """Labels and ids of the goal's other requirements: findings on them are checked, and then left out."""

    def add(self, key: str, evidence: Evidence, revision: str) -> None:
        self.evidence[key] = evidence.id
        if not evidence.fresh(revision):
            self.old.add(key)

    def fault(self, cited: Sequence[str]) -> str | None:
        """Why these citations can't prove anything; None if they can."""
        if not cited:
            return "it cites no evidence"
        if unknown := [key for key in cited if key not in self.evidence]:
            return f"it cites evidence that does not exist: {_values_text(unknown)}"
        if old := [key for key in cited if key in self.old]:
            return f"it cites evidence that is older than the last edit: {_values_text(old)}"
        return None

    def real(self, cited: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.evidence[key] for key in cited if key in self.evidence))


@dataclass(frozen=True, slots=True)
class ReadVerdict:
    """A verdict with real evidence ids. `faults` says by requirement id what is wrong with its citations, or what
    contradicts it: such a requirement counts as `unverified`."""

    verdict: Verdict
    faults: Mapping[str, str] = field(default_factory=dict[str, str])


def read_verdict(value: Mapping[str, Any], citable: Citable) -> ReadVerdict:
    """The verdict in a JSON object. Raises InvalidReply."""
    _only_keys(value, _VERDICT_KEYS, "the object")
    _check_whole(value)
    entries = value["requirements"]
    if not isinstance(entries, list) or not entries:
        raise InvalidReply("`requirements` must be a list that names every requirement")
    findings = [_read_entry(entry, citable) for entry in cast("list[object]", entries)]
    all_met = all(finding.finding == "met" for finding, _ in findings)
    if value["complete"] and not all_met:
        raise InvalidReply("`complete` is true, but a requirement is not met")
    if all_met and not value["complete"]:
        raise InvalidReply("`complete` is false, but every requirement is met")
    wanted = [one for one in findings if one[0].requirement_id not in citable.others]
    named = [finding.requirement_id for finding, _ in wanted]
    if len(set(named)) != len(named):
        raise InvalidReply(f"a requirement is named twice; name each exactly once: {_labels(citable)}")
    if set(named) != set(citable.requirements.values()):
        raise InvalidReply(f"a requirement is missing; name each exactly once: {_labels(citable)}")
    return _with_faults(wanted, citable)


def read_claim(value: Mapping[str, Any], citable: Citable) -> Judgement:
    """The answer to the claim question. Raises InvalidReply, also if it confirms the claim without usable citations."""
    _only_keys(value, _CLAIM_KEYS, "the object")
    confirmed, reason = value.get("confirmed"), value.get("reason")
    if not isinstance(confirmed, bool):
        raise InvalidReply("`confirmed` must be true or false")
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidReply("`reason` must be text")
    cited = _citations(value, "the object")
    fault = citable.fault(cited)
    if confirmed and fault is not None:
        raise InvalidReply(f"`confirmed` is true, but {fault}")
    said = _bounded_reason(reason)
    return Judgement(None, Usage(), said, confirmed=confirmed, evidence_ids=citable.real(cited))


def only_object(text: str, marks: frozenset[str]) -> Mapping[str, Any]:
    """The one JSON object in a reply: bare, in a code fence or in prose. Objects with none of these keys are ignored.
    Raises InvalidReply if there is no such object, or several that differ."""
    text = _THOUGHTS.sub("", text).strip()
    try:
        whole: object = strict_json(text)
    except InvalidReply:
        whole = None
    is_whole = isinstance(whole, dict | list)
    values: list[object] = [cast("object", whole)] if is_whole else _json_in(text)
    meant = [value for value in values if _is_meant(value, marks)]
    if not meant:
        raise NoObject("the reply contains no JSON object of the schema")
    if any(not same(value, meant[0]) for value in meant):
        raise InvalidReply("the reply contains several different JSON objects: give exactly one")
    if not isinstance(meant[0], dict):
        raise InvalidReply("the reply is a list: give the object itself")
    return cast("Mapping[str, Any]", meant[0])


def _is_meant(value: object, marks: frozenset[str]) -> bool:
    return not isinstance(value, dict) or bool(marks & set(cast("dict[str, Any]", value)))


def same(one: object, other: object) -> bool:
    """Equal as JSON: 1 does not equal true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def strict_json(text: str) -> Any:
    """JSON without what Python's reader also accepts: duplicate keys, NaN, Infinity. Raises InvalidReply."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidReply(f"it is not valid JSON: {error}") from None


class _NotStrict(ValueError):
    """Valid for Python's reader, but not for us."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotStrict("a key appears twice in one object")
    return found


def _constant(name: str) -> Any:
    raise _NotStrict(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)


def _json_in(text: str) -> list[object]:
    """All JSON objects, and lists of objects, in prose. JSON that fails only our strict rules is an error."""
    found: list[object] = []
    at = failed = 0
    while (match := re.compile(r"[\[{]").search(text, at)) is not None:
        at = match.start()
        try:
            value, at = _DECODER.raw_decode(text, at)
        except _NotStrict as error:
            raise InvalidReply(f"it is not valid JSON: {error}") from None
        except (ValueError, RecursionError):
            at, failed = at + 1, failed + 1
            if failed > _MAX_BRACKETS:
                raise NoObject("the reply contains no JSON object of the schema") from None
            continue
        entries = cast("list[object]", value) if isinstance(value, list) else []
        if isinstance(value, dict) or any(isinstance(one, dict) for one in entries):
            found.append(cast("object", value))
    return found


def _only_keys(value: Mapping[str, Any], allowed: frozenset[str], what: str) -> None:
    if unknown := sorted(set(value) - allowed):
        raise InvalidReply(f"{what} has keys that are not in the schema: {_values_text(unknown)}")


def _check_whole(value: Mapping[str, Any]) -> None:
    if missing := sorted(_VERDICT_KEYS - set(value)):
        raise InvalidReply(f"the object lacks {_values_text(missing)}")
    score = value["score"]
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score) or not 0 <= score <= 1:
        raise InvalidReply("`score` must be a number from 0 to 1")
    if not isinstance(value["complete"], bool):
        raise InvalidReply("`complete` must be true or false")
    if not isinstance(value["missing"], str):
        raise InvalidReply("`missing` must be text")
    if value["complete"] and score == 0:
        raise InvalidReply("`complete` is true, but `score` is 0")
    if value["complete"] and not _SAYS_NOTHING.match(value["missing"]):
        raise InvalidReply("`complete` is true, but `missing` says what is missing")


def _read_entry(entry: object, citable: Citable) -> tuple[RequirementVerdict, str]:
    """One entry, with its citations as the prompt names them, and what contradicts it. `missing` is asked for before
    the status, so that a verdict is the end of the thought; a reply without it is read as one that lacks nothing."""
    if not isinstance(entry, dict):
        raise InvalidReply("each entry of `requirements` must be an object")
    fields = cast("dict[str, Any]", entry)
    name = fields.get("id")
    if not isinstance(name, str) or (name not in citable.requirements and name not in citable.others):
        raise InvalidReply(f"there is no requirement {_values_text([name])}: the ids are {_labels(citable)}")
    _only_keys(fields, frozenset(("id", "missing", "status", "reason", *_CITATION_KEYS)), name)
    status, reason = fields.get("status"), fields.get("reason")
    if status not in FINDINGS:
        raise InvalidReply(f"{name}: `status` must be one of {', '.join(FINDINGS)}")
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidReply(f"{name}: `reason` must be text")
    missing = fields.get("missing", "")
    if not isinstance(missing, str):
        raise InvalidReply(f"{name}: `missing` must be text")
    if _NOTHING.fullmatch(missing.strip()):
        missing = ""
    if status != "met" and missing.strip() not in reason:
        reason = f"{reason.strip()} Missing: {missing}"
    cited = _citations(fields, name)
    contradiction = _contradiction(name, missing, reason) if status == "met" else ""
    return RequirementVerdict(
        citable.requirements.get(name, name), status, _bounded_reason(reason), cited
    ), contradiction


_OPPOSITE = (
    r"(?:un(?:met|verified|satisfied|fulfilled)|(?:not (?:yet |fully |actually |really )?|(?:only )?part(?:ial)?ly )"
    r"(?:met|satisfied|fulfilled))"
)
_DENIES = re.compile(
    r"\b(?:R\d+|(?:the|this) requirement|it)\s+(?:is|remains|stays)\s+"
    rf"(?:(?:still|clearly|currently|therefore|thus)\s+)?{_OPPOSITE}\b|^\W*(?:R\d+\W+)?{_OPPOSITE}\s*(?:[.:;,!]|$)",
    re.IGNORECASE,
)
"""Of the requirement itself: what a program does where something else is unmet may be the very thing that is proven."""
_DENIED_OR_PAST = re.compile(
    r"\b(?:no|nothing|none|not|never|nor|without|was|were|been|previously|before|initially|earlier|if|would|unless|when"
    r"|whenever|where|while|once|until|that|which|who|whose)\b",
    re.IGNORECASE,
)
_SO = re.compile(r"\b(?:so|thus|hence|therefore|consequently)\b", re.IGNORECASE)
"""What follows says it of the requirement, whatever is said before."""
_LABEL = re.compile(r"\bR\d+\b")


def _contradiction(name: str, missing: str, reason: str) -> str:
    """What stands against `met` in the same entry; empty if nothing does."""
    if missing:
        return f"it says that something is missing: {_bounded_reason(missing)}"
    for sentence in re.split(r"(?<=[.;!?])\s+", reason):
        denied = _DENIES.search(sentence)
        labels = set(_LABEL.findall(sentence))
        before = _SO.split(sentence[: denied.start()])[-1] if denied else ""
        if denied and not _DENIED_OR_PAST.search(before) and (not labels or name in labels):
            return f"its reason says that it is not: {_bounded_reason(sentence)}"
    return ""


def _citations(fields: Mapping[str, Any], what: str) -> tuple[str, ...]:
    given = [key for key in _CITATION_KEYS if key in fields]
    if len(given) != 1:
        raise InvalidReply(f"{what}: give `evidence_ids` exactly once")
    cited = fields[given[0]]
    if not isinstance(cited, list) or not all(isinstance(one, str) for one in cast("list[object]", cited)):
        raise InvalidReply(f'{what}: `evidence_ids` must be a list of ids, such as ["E1"]')
    return tuple(dict.fromkeys(cast("list[str]", cited)))


def _with_faults(findings: Sequence[tuple[RequirementVerdict, str]], citable: Citable) -> ReadVerdict:
    """Replaces the prompt's ids by real ones; `met` without usable citations, or where something is missing, becomes
    `unverified`, with a fault."""
    faults: dict[str, str] = {}
    read: list[RequirementVerdict] = []
    for finding, contradiction in findings:
        cited = finding.evidence_ids
        status, reason, fault = finding.finding, finding.reason, contradiction or citable.fault(cited)
        invented = any(key not in citable.evidence for key in cited)
        if fault is not None and (status == "met" or invented):
            faults[finding.requirement_id] = fault
        if fault is not None and status == "met":
            status, reason = "unverified", f"the judge says that it is met, but {fault}"
        ids = () if status == "unverified" and finding.finding == "met" else citable.real(cited)
        read.append(RequirementVerdict(finding.requirement_id, status, reason, ids))
    return ReadVerdict(Verdict(tuple(read)), faults)


def _bounded_reason(reason: str) -> str:
    text = reason.strip()
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]} ..."


def _labels(citable: Citable) -> str:
    return ", ".join(key for key in citable.requirements if key.startswith("R"))


def _values_text(values: Sequence[object]) -> str:
    """Values of a reply for a message: short, and as JSON."""
    shown = [json.dumps(value, default=str)[:40] for value in values[:5]]
    return ", ".join(shown) + (", ..." if len(values) > 5 else "")
