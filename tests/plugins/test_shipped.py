"""The plugins that are shipped, built on nothing but what every plugin has."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import donewhen.plugins
from donewhen.plugins import Claim, Halt, Refine, ToolOutcome, ToolUse, TurnBehind, TurnResult
from donewhen.plugins.caching import ToolCache
from donewhen.plugins.critic import Critic
from donewhen.plugins.limiting import RateLimiter
from tests.plugins.hosts import AHEAD, BEHIND, Hands, MemoryHost, opened, use_of
from tests.tools import each_row

MORE: dict[str, frozenset[str]] = {
    "critic": frozenset(),
    "caching": frozenset(),
    "limiting": frozenset(),
    "approval": frozenset({"donewhen.core.approval"}),
}
"""The shipped plugins, and what each of them may use besides: the gate's rules are the same for all front ends."""
FOLDER = Path(donewhen.plugins.__file__).parent


@each_row("name", MORE)
def test_a_shipped_plugin_is_built_on_the_public_names_alone(name: str) -> None:
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert not [one.name for one in node.names if one.name.startswith("donewhen")]
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("donewhen"):
            assert node.module in {"donewhen.plugins", *MORE[name]}
            assert node.module != "donewhen.plugins" or {one.name for one in node.names} <= set(
                donewhen.plugins.__all__
            )


def test_the_public_names_are_there_and_are_light() -> None:
    assert all(hasattr(donewhen.plugins, name) for name in donewhen.plugins.__all__)
    heavy = "import sys, donewhen.plugins; print(*(set(sys.modules) & {'pydantic', 'litellm', 'pygls', 'watchfiles'}))"
    loaded = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True, timeout=60)
    assert loaded.stdout.strip() == ""


# -------------------------------------------------------------------------------------------- critic


@pytest.mark.conformance("C17")
@pytest.mark.parametrize("plain", [True, False])
async def test_a_critic_refines_a_turn_until_it_is_content(plain: bool) -> None:
    said = ["handle quotes", "", None]
    seen: list[TurnBehind] = []

    def ask(turn: TurnBehind) -> str | None:
        seen.append(turn)
        return said.pop(0)

    async def ask_later(turn: TurnBehind) -> str | None:
        return ask(turn)

    plugins, host = opened(Critic(ask if plain else ask_later)), MemoryHost()
    answers = [await plugins.after_turn(host, replace(BEHIND, refinements=number)) for number in range(3)]
    assert answers == [Refine("handle quotes"), None, None]
    assert len(seen) == 3


@pytest.mark.conformance("C17")
async def test_a_critic_refines_at_most_so_often() -> None:
    plugins, host = opened(Critic(lambda turn: "never enough", max_refinements=2)), MemoryHost()
    answers = [await plugins.after_turn(host, replace(BEHIND, refinements=number)) for number in range(4)]
    assert [answer is not None for answer in answers] == [True, True, False, False]


@pytest.mark.parametrize("result", [TurnResult(error="it broke"), TurnResult(Claim("blocked", "no key"))])
async def test_a_critic_lets_a_turn_be_that_did_not_finish(result: TurnResult) -> None:
    plugins = opened(Critic(lambda turn: "more"))
    assert await plugins.after_turn(MemoryHost(), replace(BEHIND, result=result)) is None


# --------------------------------------------------------------------------------------------- cache


async def test_the_same_question_is_asked_once_until_something_has_an_effect() -> None:
    plugins, host, hands = opened(ToolCache()), MemoryHost(), Hands()
    for _ in range(3):
        assert (await plugins.use_tool(host, use_of("search", q="x"), hands.do)).text == "did {'q': 'x'}"
    assert len(hands.done) == 1
    await plugins.use_tool(host, use_of("search", q="y"), hands.do)
    assert len(hands.done) == 2
    await plugins.use_tool(host, use_of("write_file", path="a"), hands.do)
    await plugins.use_tool(host, use_of("search", q="x"), hands.do)
    assert [use.tool for use in hands.done] == ["search", "search", "write_file", "search"]
    assert host.failed == []


async def test_a_new_turn_asks_anew() -> None:
    plugins, host, hands = opened(ToolCache()), MemoryHost(), Hands()
    await plugins.use_tool(host, use_of("search"), hands.do)
    await plugins.before_turn(host, AHEAD)
    await plugins.use_tool(host, use_of("search"), hands.do)
    assert len(hands.done) == 2


async def test_what_lasts_lasts_for_the_run() -> None:
    plugins, host, hands = opened(ToolCache(lasting=("look_*",))), MemoryHost(), Hands()
    await plugins.use_tool(host, use_of("look_up", word="a"), hands.do)
    await plugins.use_tool(host, use_of("write_file"), hands.do)
    await plugins.before_turn(host, AHEAD)
    await plugins.use_tool(host, use_of("look_up", word="a"), hands.do)
    assert [use.tool for use in hands.done] == ["look_up", "write_file"]


async def test_what_is_known_survives_a_restart() -> None:
    host, hands = MemoryHost(), Hands()
    await opened(ToolCache()).use_tool(host, use_of("search", q="ü"), hands.do)
    again = MemoryHost(states=host.states)
    outcome = await opened(ToolCache()).use_tool(again, use_of("search", q="ü"), hands.do)
    assert (outcome.text, len(hands.done)) == ("did {'q': 'ü'}", 1)


async def test_an_effect_that_was_cut_off_leaves_nothing_stale() -> None:
    plugins, host, hands = opened(ToolCache()), MemoryHost(), Hands()
    await plugins.use_tool(host, use_of("search"), hands.do)
    seen: list[object] = []

    async def dies(use: ToolUse) -> ToolOutcome:
        seen.append(host.states["tool-cache"].value)
        task.cancel()
        return await asyncio.Future()

    task = asyncio.ensure_future(plugins.use_tool(host, use_of("run_command"), dies))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [{"entries": []}]


async def test_a_result_from_before_an_effect_is_not_kept() -> None:
    plugins, host = opened(ToolCache()), MemoryHost()
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(use: ToolUse) -> ToolOutcome:
        asked.set()
        await go_on.wait()
        return ToolOutcome("old", "old")

    async with asyncio.timeout(5):
        search = asyncio.ensure_future(plugins.use_tool(host, use_of("search"), slow))
        await asked.wait()
        await plugins.use_tool(host, use_of("write_file"), Hands().do)
        go_on.set()
        assert (await search).text == "old"
        hands = Hands()
        await plugins.use_tool(host, use_of("search"), hands.do)
    assert len(hands.done) == 1


async def test_only_what_went_well_is_kept() -> None:
    plugins, host = opened(ToolCache()), MemoryHost()
    calls: list[ToolUse] = []

    async def fails(use: ToolUse) -> ToolOutcome:
        calls.append(use)
        return ToolOutcome("error: too long", "failed", ok=False)

    await plugins.use_tool(host, use_of("search"), fails)
    await plugins.use_tool(host, use_of("search"), fails)
    assert len(calls) == 2


@pytest.mark.parametrize("bounds", [{"entries": 3}, {"characters": 150}])
async def test_it_keeps_the_latest_and_not_without_end(bounds: dict[str, Any]) -> None:
    plugins, host, hands = opened(ToolCache(**bounds)), MemoryHost(), Hands()
    for number in range(20):
        await plugins.use_tool(host, use_of("search", q=number), hands.do)
    kept = host.states["tool-cache"].value["entries"]
    assert 1 <= len(kept) <= 3
    assert kept[-1]["text"] == "did {'q': 19}"


# ------------------------------------------------------------------------------------------- limiter


@dataclass
class Time:
    """A clock that stands still but for sleeping."""

    now: float = 100.0
    slept: list[float] = field(default_factory=list[float])

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)
        self.now += seconds


def limiter(time: Time, calls: int = 2, seconds: float = 10, **given: Any) -> RateLimiter:
    return RateLimiter(calls, seconds, clock=time.clock, sleep=time.sleep, **given)


async def test_calls_over_the_rate_wait_for_their_turn() -> None:
    time, host, hands = Time(), MemoryHost(), Hands()
    plugins = opened(limiter(time))
    begun: list[float] = []

    async def do(use: ToolUse) -> ToolOutcome:
        begun.append(time.now - 100)
        return await hands.do(use)

    for _ in range(5):
        await plugins.use_tool(host, use_of(), do)
    assert begun == [0, 0, 10, 10, 20]
    assert time.slept == [10, 10]
    assert any("waits 10 s" in line for line in host.lines)


async def test_only_the_named_tools_are_limited() -> None:
    time, hands = Time(), Hands()
    plugins = opened(limiter(time, calls=1, tools=("run_*", "search")))
    for _ in range(3):
        await plugins.use_tool(MemoryHost(), use_of("read_file"), hands.do)
    assert time.slept == []
    await plugins.use_tool(MemoryHost(), use_of("run_command"), hands.do)
    await plugins.use_tool(MemoryHost(), use_of("search"), hands.do)
    assert time.slept == [10]


async def test_too_long_a_wait_halts_the_run_and_the_call_is_made_when_it_goes_on() -> None:
    time, host, hands = Time(), MemoryHost(), Hands()
    plugins = opened(limiter(time, calls=1, seconds=3600, max_wait=60))
    await plugins.use_tool(host, use_of(), hands.do)
    with pytest.raises(Halt) as caught:
        await plugins.use_tool(host, use_of(), hands.do)
    assert (caught.value.plugin, caught.value.data) == ("rate-limiter", {"tool": "run_command", "wait": 3600})
    assert caught.value.resumable
    time.now += 3600
    await plugins.use_tool(host, use_of(), hands.do)
    assert len(hands.done) == 2


async def test_a_cancelled_wait_gives_its_place_back() -> None:
    asleep = asyncio.Event()
    time = Time()

    async def sleep(seconds: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    host, hands = MemoryHost(), Hands()
    plugins = opened(RateLimiter(1, 10, clock=time.clock, sleep=sleep))
    await plugins.use_tool(host, use_of(), hands.do)
    waiting = asyncio.ensure_future(plugins.use_tool(host, use_of(), hands.do))
    async with asyncio.timeout(5):
        await asleep.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    time.now += 10
    async with asyncio.timeout(5):
        await plugins.use_tool(host, use_of(), hands.do)
    assert len(hands.done) == 2


@each_row("calls, seconds", [(0, 1), (1, 0), (1, float("inf")), (1, float("nan"))])
def test_a_rate_that_makes_no_sense_is_refused(calls: int, seconds: float) -> None:
    with pytest.raises(ValueError, match="at least 1 call"):
        RateLimiter(calls, seconds)


def test_a_critic_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="max_refinements"):
        Critic(lambda turn: None, max_refinements=-1)
