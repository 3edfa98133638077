"""Events as text and back: strict, versioned, and the same tomorrow as today."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.core import events as e
from donewhen.core.errors import LedgerTooNew
from donewhen.core.evidence import Observation
from donewhen.core.goal import Goal, Limits, Requirement
from donewhen.core.plugging import Halted, PluginState
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Answer, Interrupt, Usage
from donewhen.store.codec import CODEC_VERSION, EVENT_TYPES, UnreadableEvent, decode, encode, upgrade

from .samples import NAMED, SAMPLES

GOLDEN = Path(__file__).with_name("golden")
CURRENT = GOLDEN / f"v{CODEC_VERSION}"

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
    assert not missing, "add them to tests/store/samples.py, then run tests/store/write_golden.py --all"


@pytest.mark.parametrize("name", NAMED)
def test_golden_files_are_what_is_written_today(name: str) -> None:
    assert (CURRENT / f"{name}.json").read_text("ascii") == encode(NAMED[name]) + "\n"


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("v*/*.json")), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_golden_files_of_every_version_are_read(file: Path) -> None:
    assert decode(file.read_text("ascii"), int(file.parent.name[1:])) == NAMED[file.stem]


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("earlier/*.json")), ids=lambda file: file.stem)
def test_entries_from_before_fields_were_added_are_read(file: Path) -> None:
    """New fields have defaults: what an earlier release wrote in this version's format stays readable."""
    assert type(decode(file.read_text("ascii"))) is type(NAMED[file.stem.split("-before-")[0]])


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
@settings(max_examples=12, deadline=None)
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


@pytest.mark.parametrize(
    "event",
    [
        e.RunInterrupted("x", float("nan")),
        e.RunInterrupted("x", float("inf")),
        e.JudgeFailed("x", Usage(usd=float("-inf"))),
        e.InterruptOpened(Interrupt("I1", "approval", "?", input={"deep": [{"n": float("nan")}]})),
        e.InterruptOpened(Interrupt("I1", "approval", "?", input={"what": object()})),
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
    with pytest.raises(ValueError, match=r"needed|none of"):
        encode(event)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not the JSON"),
        ("[]", "an object"),
        ("null", "an object"),
        ("[" * 100_000, "not the JSON"),
        ("{}", "None is none of"),
        ('{"type":"Teleported"}', "'Teleported' is none of"),
        ('{"type":["RunPaused"],"reason":"x"}', "is none of"),
        ('{"type":"Usage"}', "'Usage' is none of"),
        ('{"type":"RunPaused"}', "RunPaused lacks reason"),
        ('{"type":"RunPaused","reason":1}', "RunPaused.reason: text is needed"),
        ('{"type":"RunPaused","reason":null}', "RunPaused.reason: text is needed"),
        ('{"type":"RunInterrupted","reason":"x","alive_until":NaN}', "NaN"),
        ('{"type":"RunInterrupted","reason":"x","alive_until":-Infinity}', "Infinity"),
        ('{"type":"RunInterrupted","reason":"x","alive_until":1e999}', "1e999"),
        ('{"type":"RunInterrupted","reason":"x","alive_until":true}', "a finite number"),
        ('{"type":"TurnStarted","iteration":1.0,"checkpoint":null}', "a whole number"),
        ('{"type":"FindingAccepted","finding_id":"F1","reason":"x","undo":0}', "true or false"),
        ('{"type":"RunEnded","status":"won","reason":"x"}', "'won' is none of"),
        ('{"type":"JudgeStarted","requirement_ids":"r-1","revision":"x"}', "a list is needed"),
        ('{"type":"LimitsRaised","limits":{"max_iterations":0}}', "max_iterations must be"),
        ('{"type":"LimitsRaised","limits":[]}', "an object is needed for Limits"),
        ('{"type":"BaselineTaken","facts":{"executed":[["a","b"]]}}', "3 values are needed"),
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
    assert (event.iteration, event.changed, event.result.usage) == (2, (), Usage())


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


def test_a_small_event_takes_no_time() -> None:
    event = e.JudgeFinished(("r-1",), "a", "a", None)
    decode(encode(event))

    def once() -> float:
        begun = time.perf_counter()
        for _ in range(100):
            decode(encode(event))
        return (time.perf_counter() - begun) / 100

    # The best of several, so that a busy machine doesn't count.
    assert min(once() for _ in range(10)) < 100e-6
