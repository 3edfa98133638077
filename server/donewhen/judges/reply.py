"""Reads a judge's reply strictly: anything that is not exactly a verdict is refused, and nothing is coerced."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from donewhen.core.evidence import Evidence
from donewhen.core.verdict import Finding, RequirementVerdict, Verdict
from donewhen.core.work import Usage
from donewhen.ports import Judgement

VERDICT_MARKS = frozenset(("requirements", "score", "complete"))
CLAIM_MARKS = frozenset(("confirmed",))
"""Of the objects in a reply, only one with any of these keys can be meant."""
MAX_REASON = 1_000
_MAX_BRACKETS = 500
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_NOTHING = re.compile(
    r"(?:\W{0,9}(?:none|nothing(?: else)?(?: is)?(?: missing)?|no(?: gaps?| issues?)?|n/?a)\W{0,9}|-*\.?)",
    re.IGNORECASE,
)
"""What a judge says of one requirement where nothing is missing: not a word more, as `all but R1 is met` says more."""
_SAYS_NOTHING = re.compile(r"\W*(?:\Z|(?:none|nothing|nil|null|no|all|every\w*|n/?a)\b)", re.IGNORECASE)
"""How a text begins by which a judge says of all requirements that nothing is missing: each has its own
`missing` for that."""


class Reply(BaseModel):
    """A JSON object that a model must give exactly as declared: no other keys, nothing coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Text = Annotated[str, StringConstraints(pattern=r"[^\s\x1c-\x1f]")]
"""Not blank, by what Python takes for white space."""
_Cited = Annotated[list[str], Field(validation_alias=AliasChoices("evidence_ids", "evidence", "evidenceIds"))]
R = TypeVar("R", bound=Reply)


class _Entry(Reply):
    """`missing` is asked for before the status, so that a verdict is the end of the thought; a reply without it is read
    as one that lacks nothing."""

    id: str
    missing: str = ""
    status: Finding
    reason: Text
    evidence_ids: _Cited


class _Whole(Reply):
    requirements: Annotated[list[_Entry], Field(min_length=1)]
    score: Annotated[float, Field(ge=0, le=1)]
    complete: bool
    missing: str


class _Claim(Reply):
    confirmed: bool
    reason: Text
    evidence_ids: _Cited


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


def reply_of(kind: type[R], value: Mapping[str, Any]) -> R:
    """The object as a reply of that kind. Raises InvalidReply, which says what is wrong with it."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        faults: list[str] = []
        for one in error.errors()[:5]:
            place = ".".join(str(part)[:40] for part in one["loc"])  # a key is the model's, and may hold anything
            faults.append(f"`{json.dumps(place)[1:-1]}`: {one['msg']}")
        raise InvalidReply("; ".join(faults)) from None


def read_verdict(value: Mapping[str, Any], citable: Citable) -> ReadVerdict:
    """The verdict in a JSON object. Raises InvalidReply."""
    whole = reply_of(_Whole, value)
    all_met = all(one.status == "met" for one in whole.requirements)
    if whole.complete and not all_met:
        raise InvalidReply("`complete` is true, but a requirement is not met")
    if all_met and not whole.complete:
        raise InvalidReply("`complete` is false, but every requirement is met")
    if whole.complete and whole.score == 0:
        raise InvalidReply("`complete` is true, but `score` is 0")
    if whole.complete and not _SAYS_NOTHING.match(whole.missing):
        raise InvalidReply("`complete` is true, but `missing` says what is missing")
    ids = ", ".join(key for key in citable.requirements if key.startswith("R"))
    if unknown := [one.id for one in whole.requirements if one.id not in {*citable.requirements, *citable.others}]:
        raise InvalidReply(f"there is no requirement {_values_text(unknown)}: the ids are {ids}")
    wanted = {citable.requirements[one.id]: one for one in whole.requirements if one.id in citable.requirements}
    count = sum(one.id in citable.requirements for one in whole.requirements)
    if len(wanted) != count or set(wanted) != set(citable.requirements.values()):
        raise InvalidReply(f"a requirement is missing or named twice; name each exactly once: {ids}")
    faults: dict[str, str] = {}
    findings = tuple(_read_entry(key, one, citable, faults) for key, one in wanted.items())
    return ReadVerdict(Verdict(findings), faults)


def _read_entry(key: str, entry: _Entry, citable: Citable, faults: dict[str, str]) -> RequirementVerdict:
    """The finding with real ids of evidence. `met` without usable citations, or where something stands against it,
    becomes `unverified`, with a fault; any other status stays; evidence that does not exist is a fault."""
    missing = "" if _NOTHING.fullmatch(entry.missing.strip()) else entry.missing.strip()
    reason, cited = entry.reason.strip(), tuple(dict.fromkeys(entry.evidence_ids))
    fault = citable.fault(cited)
    if entry.status == "met":
        fault = _contradiction(entry.id, missing, reason) or fault
        if fault:
            faults[key] = fault
            return RequirementVerdict(key, "unverified", f"the judge says that it is met, but {fault}")
    elif fault and any(one not in citable.evidence for one in cited):
        faults[key] = fault
    if missing not in reason:
        reason = f"{reason} Missing: {missing}"
    return RequirementVerdict(key, entry.status, _bounded_reason(reason), citable.real(cited))


def read_claim(value: Mapping[str, Any], citable: Citable) -> Judgement:
    """The answer to the claim question. Raises InvalidReply, also if it confirms the claim without usable citations."""
    claim = reply_of(_Claim, value)
    fault = citable.fault(claim.evidence_ids)
    if claim.confirmed and fault is not None:
        raise InvalidReply(f"`confirmed` is true, but {fault}")
    said, ids = _bounded_reason(claim.reason), citable.real(claim.evidence_ids)
    return Judgement(None, Usage(), said, confirmed=claim.confirmed, evidence_ids=ids)


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


def _bounded_reason(reason: str) -> str:
    text = reason.strip()
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]} ..."


def _values_text(values: Sequence[object]) -> str:
    """Values of a reply for a message: short, and as JSON."""
    shown = [json.dumps(value, default=str)[:40] for value in values[:5]]
    return ", ".join(shown) + (", ..." if len(values) > 5 else "")
