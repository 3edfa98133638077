"""What a plugin keeps with the run: typed, versioned, nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from donewhen.core.plugging import PluginState
from donewhen.plugins import Answer, PluginContext, StateError
from tests.plugins.hosts import MemoryHost


@dataclass
class Spent:
    calls: int
    names: tuple[str, ...] = ()
    inner: list[Part] = field(default_factory=list["Part"])


@dataclass
class Part:
    size: float
    when: datetime | None = None


class Told(TypedDict):
    word: str
    often: int


class Model(BaseModel):
    number: int
    when: datetime


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Spent, Spent(3, ("a", "b"), [Part(1.5), Part(2.0, NOON)])),
        (Told, {"word": "yes", "often": 2}),
        (Model, Model(number=1, when=NOON)),
        (dict[str, int], {"a": 1}),
        (list[str], ["a", "ü\n"]),
        (int, 3),
        (str, ""),
        (bool, False),
    ],
)
@pytest.mark.conformance("C23")
async def test_what_was_kept_comes_back_as_it_was(kind: type[Any], value: object) -> None:
    host = MemoryHost()
    await PluginContext("mine", host).set_state(value)
    assert PluginContext("mine", host).get_state(kind, default=None) == value


async def test_without_a_state_there_is_the_default() -> None:
    context = PluginContext("mine", MemoryHost())
    assert context.get_state(int, default=7) == 7
    await context.set_state(8)
    await context.clear_state()
    assert context.get_state(int, default=7) == 7


async def test_plugins_do_not_see_each_others_state() -> None:
    host = MemoryHost()
    await PluginContext("a", host).set_state("mine")
    assert PluginContext("b", host).get_state(str, default="nothing") == "nothing"
    await PluginContext("b", host).clear_state()
    assert PluginContext("a", host).get_state(str, default="nothing") == "mine"


async def test_a_state_of_another_shape_is_an_error_that_names_the_plugin() -> None:
    host = MemoryHost()
    await PluginContext("mine", host).set_state({"calls": "three"})
    with pytest.raises(StateError, match=r"(?s)the state of the plugin mine .* is not a Spent.*upgrade"):
        PluginContext("mine", host).get_state(Spent, default=None)


async def test_nothing_is_made_to_fit() -> None:
    host = MemoryHost()
    await PluginContext("mine", host).set_state("3")
    with pytest.raises(StateError):
        PluginContext("mine", host).get_state(int, default=0)


async def test_an_older_state_is_upgraded() -> None:
    host = MemoryHost()
    await PluginContext("mine", host).set_state(3)
    seen: list[tuple[int, object]] = []

    def upgrade(version: int, value: Any) -> Any:
        seen.append((version, value))
        return {"calls": value}

    context = PluginContext("mine", host)
    assert context.get_state(Spent, default=None, version=2, upgrade=upgrade) == Spent(3)
    assert seen == [(1, 3)]
    await context.set_state(Spent(4), version=2)
    assert context.get_state(Spent, default=None, version=2, upgrade=upgrade) == Spent(4)
    assert len(seen) == 1


async def test_an_older_state_without_an_upgrade_is_an_error() -> None:
    host = MemoryHost(states={"mine": PluginState(1, 3)})
    with pytest.raises(StateError, match="give `get_state` an `upgrade`"):
        PluginContext("mine", host).get_state(int, default=0, version=2)


async def test_a_newer_state_is_refused() -> None:
    host = MemoryHost(states={"mine": PluginState(3, 3)})
    with pytest.raises(StateError, match=r"has version 3, this version of the plugin knows 2.*newer"):
        PluginContext("mine", host).get_state(int, default=0, version=2, upgrade=lambda version, value: value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "not (a )?JSON"),
        ({"a": float("nan")}, "not (a )?JSON"),
        (float("inf"), "not (a )?JSON"),
        ("x" * 300_000, "262144 are allowed at most"),
    ],
)
async def test_what_cannot_be_kept_is_refused(value: object, said: str) -> None:
    host = MemoryHost()
    with pytest.raises(StateError, match=said):
        await PluginContext("mine", host).set_state(value)
    assert host.states == {}


@pytest.mark.parametrize("version", [0, -1, True])
async def test_versions_count_from_one(version: int) -> None:
    with pytest.raises(StateError, match="from 1"):
        await PluginContext("mine", MemoryHost()).set_state(1, version=version)


@pytest.mark.parametrize(
    ("ask", "about", "kind"),
    [
        (lambda context: context.ask("Which one?"), "plugin:mine", "question"),
        (lambda context: context.ask("May it?", kind="approval", tool="run_command", input={"command": "ls"},
                                     preview="ls", remembers=True), "tool:run_command", "approval"),
    ],
)  # fmt: skip
async def test_a_person_is_asked(ask: Callable[[PluginContext], Any], about: str, kind: str) -> None:
    host = MemoryHost(answers=[Answer("approve")])
    assert await ask(PluginContext("mine", host)) == Answer("approve")
    (asked,) = host.asked
    assert (asked.about, asked.kind) == (about, kind)
    if kind == "approval":
        assert (asked.tool, asked.input, asked.preview, asked.remembers) == (
            "run_command", {"command": "ls"}, "ls", True
        )  # fmt: skip


async def test_a_shape_that_cannot_be_checked_is_an_error_that_says_so() -> None:
    host = MemoryHost(states={"mine": PluginState(1, 3)})
    with pytest.raises(StateError, match="can't be the shape of a plugin's state"):
        PluginContext("mine", host).get_state(MemoryHost.__class__.mro, default=None)  # pyright: ignore[reportArgumentType]


@pytest.mark.conformance("C23")
async def test_an_upgrade_that_changes_what_it_is_given_can_be_made_again() -> None:
    def upgrade(version: int, value: Any) -> Any:
        value["often"] = value.pop("times")
        return value

    host = MemoryHost()
    context = PluginContext("mine", host)
    await context.set_state({"word": "yes", "times": 2})
    for _ in range(2):
        assert context.get_state(Told, default=None, version=2, upgrade=upgrade) == {"word": "yes", "often": 2}
    assert host.states["mine"] == PluginState(1, {"word": "yes", "times": 2})
