"""Events as text and back: strict, versioned, and the same tomorrow as today."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, make_dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core import events as e
from donewhen.core.errors import LedgerTooNew
from donewhen.core.evidence import Observation
from donewhen.core.goal import Goal, Limits, Requirement
from donewhen.core.plugging import Halted, PluginState
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import UNKNOWN, Answer, Interrupt, Usage
from donewhen.store.codec import CODEC_VERSION, EVENT_TYPES, UnreadableEvent, decode, encode, upgrade
from tests.tools import each_row, examples

from .kept import GOLDEN, advice, differences, kept_shapes, seal_of, sealed, shapes_of
from .samples import NAMED, RESULT, SAMPLES, USAGE, evidence

CURRENT = GOLDEN / f"v{CODEC_VERSION}"
OLDER = [file for file in sorted(GOLDEN.glob("v*/*.json")) if file.parent != CURRENT]
EARLIER = sorted(GOLDEN.glob("earlier/*.json"))
RETYPED = {
    **dict.fromkeys(("StartAccepted", "InterruptClosed"), "InterruptAnswered"),
    "CheckFinished": "EvidenceRecorded",
    **dict.fromkeys(("TurnAbandoned", "AuditAbandoned", "TrialsAbandoned", "JudgeFailed"), "Abandoned"),
    "TurnRestored": "FilesReverted",
    **dict.fromkeys(("FindingAccepted", "RequirementWaived", "RequirementDisputed"), "PersonDecided"),
    "GuardLifted": "GuardSet",
    **dict.fromkeys(("PauseRequested", "StopRequested"), "Requested"),
}
"""Event types of earlier versions that are read as another one."""
LEFT_OUT = re.compile(
    r"\.facts\.(?:tests|configs|definitions|executed|shadows|runs|runners|suppressions|environment)(?:\W|$)"
    r"|\.facts\.(?:goal_file|protected\[\d+\])\.(?:line|runner)$"
)
"""What was read of a proof before it was tried, and is needed no more."""

# ----------------------------------------------------------------------------------------- golden files


def test_every_event_type_has_a_golden_file() -> None:
    assert {type(event) for event in SAMPLES} == set(EVENT_TYPES) == set(get_args(e.Event))
    names = {file.stem for file in CURRENT.glob("*.json")}
    assert names == set(NAMED), "run tests/store/write_golden.py"
    assert {f"EvidenceRecorded-{kind.__name__}" for kind in get_args(Observation)} <= names


def dataclasses_in(annotation: Any, found: set[type[Any]]) -> set[type[Any]]:
    if is_dataclass(annotation) and annotation not in found:
        found.add(cast("type[Any]", annotation))
        for inner in get_type_hints(annotation).values():
            dataclasses_in(inner, found)
    for inner in get_args(annotation):
        dataclasses_in(inner, found)
    return found


def values_in(value: Any) -> Iterator[Any]:
    yield value
    inner = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else value
    if isinstance(inner, dict):
        inner = list(inner.values())
    if isinstance(inner, list | tuple):
        for one in inner:
            yield from values_in(one)


def test_golden_files_hold_a_value_of_every_class_that_an_event_can_hold() -> None:
    held = {type(value) for event in NAMED.values() for value in values_in(event)}
    missing = {cls.__name__ for cls in dataclasses_in(e.Event, set())} - {cls.__name__ for cls in held}
    assert not missing, "add them to tests/store/samples.py, then run tests/store/write_golden.py"


@each_row("name", NAMED)
def test_golden_files_are_what_is_written_today(name: str) -> None:
    text = encode(NAMED[name])
    assert (CURRENT / f"{name}.json").read_text("ascii") == text + "\n", advice()
    assert decode(text) == NAMED[name]


def test_every_change_of_a_stored_shape_is_a_new_version() -> None:
    changed = differences(kept_shapes(), shapes_of())
    assert not changed, "\n".join([f"shapes of stored events changed in version {CODEC_VERSION}:", *changed, advice()])


def test_what_is_kept_of_released_versions_never_changes() -> None:
    versions = range(1, CODEC_VERSION)
    assert sealed().keys() >= {str(version) for version in versions}, advice(CODEC_VERSION)
    for version, seal in sealed().items():
        assert seal_of(int(version)) == seal, f"shapes and golden files of the released version {version} are final"


@dataclass
class Inner:
    a: int


@dataclass
class Changed:
    a: int
    b: str = ""


class Kind(StrEnum):
    ONE = "one"


class Kinds(StrEnum):
    ONE = "one"
    TWO = "two"


@each_row(
    "before, after",
    [
        (Inner, Changed),
        (int, float),
        (int, int | None),
        (Kind, Kinds),
        (Literal["a"], Literal["a", "b"]),
        (tuple[int, ...], tuple[int, int]),
        (Mapping[str, tuple[Literal["a"], ...]], Mapping[str, tuple[Literal["b"], ...]]),
        (tuple[Inner, ...], tuple[Changed, ...]),
        (Inner | Changed, Inner),
    ],
    ids=str,
)
def test_a_change_at_any_depth_is_a_change_of_the_shape(before: Any, after: Any) -> None:
    def shapes(annotation: Any) -> Any:
        nested = make_dataclass("Nested", [("value", annotation)])
        return shapes_of(Union[make_dataclass("First", [("nested", nested)]), make_dataclass("Second", [])])  # noqa: UP007

    assert shapes(before) == shapes(before)
    assert differences(shapes(before), shapes(after))


def test_a_default_is_part_of_the_shape() -> None:
    def shapes(value: int) -> Any:
        first = make_dataclass("First", [("value", int, value)])
        return shapes_of(Union[first, make_dataclass("Second", [])])  # noqa: UP007

    assert differences(shapes(1), shapes(2)) == ["First.value: int = 1 -> int = 2"]


def lost(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Where what an older entry says isn't said by the lifted one."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in cast("dict[str, Any]", old).items():
            if key not in new:
                yield f"{at}.{key}"
            else:
                yield from lost(value, new[key], f"{at}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(cast("list[Any]", old)) == len(cast("list[Any]", new)):
        for index, (one, other) in enumerate(zip(cast("list[Any]", old), cast("list[Any]", new), strict=True)):
            yield from lost(one, other, f"{at}[{index}]")
    elif old != new:
        yield at


@each_row("file", [*OLDER, *EARLIER], ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_entries_of_every_earlier_shape_say_what_they_said(file: Path) -> None:
    """Under version 1 fields were added, and an event type went, without a version of their own: `earlier` holds each
    form that entries of version 1 have had."""
    version = 1 if file in EARLIER else int(file.parent.name[1:])
    text = file.read_text("ascii")
    old, new = json.loads(text), json.loads(encode(decode(text, version)))
    if old["type"] in RETYPED:
        assert new["type"] == RETYPED[old["type"]]
    else:
        assert not [at for at in lost(old, new) if not LEFT_OUT.match(at)]


def test_who_accepted_a_start_is_read_from_an_event_of_its_own() -> None:
    for by, who in (("person", "a person"), ("auto", "the settings"), ("nobody", "nobody")):
        read = decode(json.dumps({"type": "StartAccepted", "by": by, "summary": "worker agent"}), 1)
        assert isinstance(read, e.InterruptAnswered)
        assert f"accepted by {who}" in read.reason


@each_row(
    "name, read",
    [
        ("CheckFinished", e.EvidenceRecorded(evidence(RESULT))),
        ("TurnAbandoned", e.Abandoned("turn", "stopped", USAGE)),
        ("AuditAbandoned", e.Abandoned("audit", "stopped")),
        ("TrialsAbandoned", e.Abandoned("trials", "files changed meanwhile")),
        ("JudgeFailed", e.Abandoned("judge", "no connection", Usage(10, 0, 0, None), final=True)),
        ("TurnRestored", e.FilesReverted(1, (), ("src/b.py",), "c2")),
        ("FindingAccepted", e.PersonDecided("accept", "F1", "meant", True)),
        ("RequirementWaived", e.PersonDecided("waive", "r-2", "later", True)),
        ("RequirementDisputed", e.PersonDecided("dispute", "r-2", "look again")),
        ("InterruptClosed", e.InterruptAnswered("I2", None, reason="gone")),
        ("GuardLifted", e.GuardSet(None, "a person lifted it")),
        ("PauseRequested", e.Requested("pause", "Ctrl-C", "person")),
    ],
)
def test_events_of_one_kind_are_read_as_one_type(name: str, read: e.Event) -> None:
    kept = [(one, GOLDEN / f"v{one}" / f"{name}.json") for one in (1, 2, 3)]
    found = [decode(file.read_text("ascii"), version) for version, file in kept if file.exists()]
    found = [replace(one, trouble=None) if isinstance(one, e.Abandoned) else one for one in found]
    assert set(found) == {read}, "but for the trouble, which version 3 says besides"


@pytest.mark.parametrize(
    ("mode", "worker", "tried"), [("pursue", "agent", True), ("pursue", "human", False), ("audit", None, False)]
)
def test_a_run_from_before_trials_is_tried_where_it_goes_on(mode: str, worker: str | None, tried: bool) -> None:
    old = json.loads((GOLDEN / "v2" / "RunStarted.json").read_text("ascii"))
    old["mode"], old["options"]["worker"] = mode, worker
    read = decode(json.dumps(old), 2)
    assert isinstance(read, e.RunStarted)
    assert read.options.trials is tried


# ------------------------------------------------------------------------------------------ round trips

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=3)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(min_value=1e-6, max_value=1e12)
COUNT = st.none() | st.integers(min_value=1)
TEXT = st.text(min_size=1).filter(str.strip)

st.register_type_strategy(float, FINITE)
st.register_type_strategy(
    Limits, st.builds(Limits, COUNT, st.none() | POSITIVE, st.none() | POSITIVE, COUNT, POSITIVE, COUNT)
)
st.register_type_strategy(
    Goal,
    st.builds(
        Goal,
        title=TEXT,
        requirements=st.lists(st.from_type(Requirement), min_size=1, max_size=2).map(tuple),
        path=st.none() | st.text(),
        explicit_limits=st.frozensets(st.text(), max_size=3),
    ),
)
st.register_type_strategy(Interrupt, st.builds(Interrupt, input=OBJECTS))
st.register_type_strategy(PluginState, st.builds(PluginState, value=JSON))
st.register_type_strategy(Halted, st.builds(Halted, data=OBJECTS))
st.register_type_strategy(Answer, st.builds(Answer, input=st.none() | OBJECTS))


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
@examples(12)
@given(data=st.data())
def test_every_event_comes_back_equal(kind: type[Any], data: st.DataObject) -> None:
    event = data.draw(st.from_type(kind))
    text = encode(event)
    assert decode(text) == event
    assert encode(decode(text)) == text
    assert text.isascii()
    assert "\n" not in text


def test_text_that_no_encoding_takes_comes_back_too() -> None:
    """Names of files and output of programs can hold bytes that are no text."""
    event = e.Warned("x", "\udc80 \x00 \u2028 \U0001f600")
    assert decode(encode(event)) == event


def test_tuples_inside_plain_json_become_lists() -> None:
    event = e.InterruptOpened(Interrupt("I1", "approval", "?", input={"paths": ("a", "b")}))
    read = decode(encode(event))
    assert isinstance(read, e.InterruptOpened)
    assert read.interrupt.input == {"paths": ["a", "b"]}


# ------------------------------------------------------------------------------------------- strictness


@each_row(
    "event",
    [
        e.RunInterrupted("x", float("nan")),
        e.RunInterrupted("x", float("inf")),
        e.Abandoned("judge", "x", Usage(usd=float("-inf"))),
        e.InterruptOpened(Interrupt("I1", "approval", "?", input={"deep": [{"n": float("nan")}]})),
        e.InterruptOpened(Interrupt("I1", "approval", "?", input={"what": ...})),
        e.InterruptOpened(Interrupt("I1", "approval", "?", input={1: "a"})),  # pyright: ignore[reportArgumentType]
        e.TurnStarted(True, None),
        e.TurnStarted(1.0, None),  # pyright: ignore[reportArgumentType]
        e.RunPaused(b"bytes"),  # pyright: ignore[reportArgumentType]
        e.JudgeStarted(["r-1"], "rev"),  # pyright: ignore[reportArgumentType]
        e.JudgeStarted("r-1", "rev"),  # pyright: ignore[reportArgumentType]
        e.RunEnded("finished", "x"),  # pyright: ignore[reportArgumentType]
        e.BaselineTaken({}, "person"),  # pyright: ignore[reportArgumentType]
        Usage(),
    ],
    ids=repr,
)
def test_what_could_not_be_read_back_is_not_written(event: Any) -> None:
    with pytest.raises(ValueError, match=r"needed|not one of"):
        encode(event)


@each_row(
    "text, message",
    [
        ("", "not the JSON"),
        ("[]", "an object"),
        ("null", "an object"),
        ("[" * 100_000, "not the JSON"),
        ("{}", "None is not one of"),
        ('{"type":"Teleported"}', "'Teleported' is not one of"),
        ('{"type":["RunPaused"],"reason":"x"}', "is not one of"),
        ('{"type":"Usage"}', "'Usage' is not one of"),
        ('{"type":"RunPaused"}', "RunPaused lacks reason"),
        ('{"type":"RunPaused","reason":1}', "RunPaused.reason: text is needed"),
        ('{"type":"RunPaused","reason":null}', "RunPaused.reason: text is needed"),
        ('{"type":"RunInterrupted","reason":"x","alive_until":NaN}', "NaN"),
        ('{"type":"RunInterrupted","reason":"x","alive_until":-Infinity}', "Infinity"),
        ('{"type":"RunInterrupted","reason":"x","alive_until":1e999}', "1e999"),
        ('{"type":"RunInterrupted","reason":"x","alive_until":true}', "a finite number"),
        ('{"type":"TurnStarted","iteration":1.0,"checkpoint":null}', "a whole number"),
        ('{"type":"PersonDecided","decision":"accept","subject":"F1","reason":"x","undo":0}', "true or false"),
        ('{"type":"RunEnded","status":"won","reason":"x"}', "'won' is not one of"),
        ('{"type":"JudgeStarted","requirement_ids":"r-1","revision":"x"}', "a list is needed"),
        ('{"type":"LimitsRaised","limits":{"max_iterations":0}}', "max_iterations must be"),
        ('{"type":"LimitsRaised","limits":[]}', "an object is needed for Limits"),
    ],
)
def test_what_is_no_event_is_an_error_that_says_where(text: str, message: str) -> None:
    with pytest.raises(UnreadableEvent, match=re.escape(message)):
        decode(text)


def test_a_judges_finding_is_never_coerced_from_disk() -> None:
    finding = RequirementVerdict("r-1", "unmet", "x")
    text = encode(e.JudgeFinished(("r-1",), "a", "a", Verdict((finding,))))
    for forged in ('"true"', "true", '"complete"', "1"):
        with pytest.raises(UnreadableEvent, match="finding"):
            decode(text.replace('"unmet"', forged))


# --------------------------------------------------------------------------------------------- versions


def test_unknown_fields_are_ignored_and_missing_ones_get_their_defaults() -> None:
    text = '{"type":"TurnFinished","iteration":2,"result":{"claim":{"state":"finished","mood":1},"new":[]},"extra":{}}'
    event = decode(text)
    assert isinstance(event, e.TurnFinished)
    assert (event.iteration, event.changed, event.result.usage) == (2, (), UNKNOWN)


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(LedgerTooNew, match=f"format {CODEC_VERSION + 1}"):
        decode(encode(e.RunResumed()), CODEC_VERSION + 1)


def test_older_versions_are_lifted_step_by_step() -> None:
    def renamed(data: dict[str, Any]) -> dict[str, Any]:
        return {("reason" if key == "why" else key): value for key, value in data.items()}

    def retyped(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "type": "RunPaused"} if data["type"] == "RunHalted" else data

    old = {"type": "RunHalted", "why": "x"}
    lifted = upgrade(1, old, upgrades={1: renamed, 2: retyped}, current=3)
    assert decode(json.dumps(lifted)) == e.RunPaused("x")
    assert upgrade(3, old, upgrades={1: renamed, 2: retyped}, current=3) == old
    with pytest.raises(UnreadableEvent, match="format 1"):
        upgrade(1, old, upgrades={2: retyped}, current=3)
