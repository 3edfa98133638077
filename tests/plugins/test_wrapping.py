"""Tool calls through wrappers: before, after, instead of; and what is sure when a wrapper fails."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.plugins import Halt, ToolDoer, ToolOutcome, ToolUse, hookimpl
from tests.plugins.hosts import Hands, MemoryHost, opened, use_of


class Noting:
    """Notes what it sees before and after."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self._seen = name, seen

    @hookimpl
    async def wrap_tool(self, use: ToolUse, proceed: ToolDoer) -> ToolOutcome:
        self._seen.append(f"{self.name} before {dict(use.input)}")
        outcome = await proceed(use)
        self._seen.append(f"{self.name} after {outcome.text}")
        return outcome


class Wrapper:
    """Wraps as a function given to it does."""

    def __init__(self, wrap: Any, name: str = "wrapper") -> None:
        self.name, self._wrap = name, wrap

    @hookimpl
    async def wrap_tool(self, use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        return await self._wrap(use, proceed, context)


async def test_the_first_plugin_is_outermost() -> None:
    seen: list[str] = []
    outcome = await opened(Noting("a", seen), Noting("b", seen)).use_tool(MemoryHost(), use_of(n=1), Hands().do)
    assert seen == ["a before {'n': 1}", "b before {'n': 1}", "b after did {'n': 1}", "a after did {'n': 1}"]
    assert outcome.text == "did {'n': 1}"


async def test_an_essential_wrapper_is_innermost_so_that_it_sees_what_is_done() -> None:
    seen: list[str] = []

    class Gate(Noting):
        essential = True

    async def edits(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        return await proceed(replace(use, input={"n": 2}))

    hands = Hands()
    await opened(Gate("gate", seen), Wrapper(edits)).use_tool(MemoryHost(), use_of(n=1), hands.do)
    assert seen[0] == "gate before {'n': 2}"
    assert [dict(use.input) for use in hands.done] == [{"n": 2}]


async def test_a_wrapper_that_fails_before_the_tool_means_that_it_is_not_done() -> None:
    async def breaks(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        raise ValueError("no idea")

    host, hands = MemoryHost(), Hands()
    plugins = opened(Wrapper(breaks, "guard"))
    outcome = await plugins.use_tool(host, use_of(), hands.do)
    assert (outcome.ok, outcome.text) == (False, "error: the plugin guard failed: not done")
    assert hands.done == []
    assert host.failed == [("guard", "wrap_tool", "ValueError: no idea", False)]
    assert (await plugins.use_tool(host, use_of(), hands.do)).ok  # it is switched off


async def test_nothing_goes_past_an_essential_wrapper_that_failed() -> None:
    class Gate:
        name, essential = "gate", True

        @hookimpl
        async def wrap_tool(self) -> ToolOutcome:
            raise ValueError("no idea")

    host, hands = MemoryHost(), Hands()
    plugins = opened(Gate)
    for _ in range(2):
        assert not (await plugins.use_tool(host, use_of(), hands.do)).ok
    assert hands.done == []
    assert [failure[3] for failure in host.failed] == [True, True]


@pytest.mark.parametrize("answer", [None, "done", {"text": "done"}, ToolOutcome(3, "done")])  # pyright: ignore[reportArgumentType]
async def test_an_answer_that_is_no_outcome_is_a_failure(answer: Any) -> None:
    async def odd(use: ToolUse, proceed: ToolDoer, context: Any) -> Any:
        return answer

    host, hands = MemoryHost(), Hands()
    outcome = await opened(Wrapper(odd)).use_tool(host, use_of(), hands.do)
    assert (outcome.ok, hands.done, len(host.failed)) == (False, [], 1)
    assert "ToolOutcome" in host.failed[0][2]


@pytest.mark.parametrize("swallows", [False, True])
async def test_a_tool_is_done_once_however_often_it_is_asked_for(swallows: bool) -> None:
    async def twice(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        first = await proceed(use)
        try:
            return await proceed(use)
        except RuntimeError:
            if swallows:
                return replace(first, text="forged")
            raise

    host, hands = MemoryHost(), Hands()
    outcome = await opened(Wrapper(twice)).use_tool(host, use_of(), hands.do)
    assert (outcome.text, len(hands.done)) == ("did {}", 1)
    assert "called twice" in host.failed[0][2]


async def test_both_at_once_is_still_once() -> None:
    async def both(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        first, _ = await asyncio.gather(proceed(use), proceed(use))
        return first

    host, hands = MemoryHost(), Hands()
    outcome = await opened(Wrapper(both)).use_tool(host, use_of(), hands.do)
    assert (outcome.text, len(hands.done), len(host.failed)) == ("did {}", 1, 1)


async def test_a_wrapper_cannot_leave_while_the_tool_works() -> None:
    background: set[asyncio.Task[ToolOutcome]] = set()

    async def leaves(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        task = asyncio.ensure_future(proceed(use))
        background.add(task)
        await asyncio.sleep(0)
        return ToolOutcome("done, surely", "done")

    working = asyncio.Event()

    async def do(use: ToolUse) -> ToolOutcome:
        working.set()
        await asyncio.sleep(0.01)
        return ToolOutcome("really done", "done")

    host = MemoryHost()
    outcome = await opened(Wrapper(leaves)).use_tool(host, use_of(), do)
    assert outcome.text == "really done"
    assert "still at work" in host.failed[0][2]
    await asyncio.gather(*background)


async def test_the_way_to_the_tool_is_closed_afterwards() -> None:
    ways: list[ToolDoer] = []

    async def keeps(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        ways.append(proceed)
        return ToolOutcome("later", "later")

    hands = Hands()
    await opened(Wrapper(keeps)).use_tool(MemoryHost(), use_of(), hands.do)
    with pytest.raises(RuntimeError, match="after the wrapper had returned"):
        await ways[0](use_of())
    assert hands.done == []


@pytest.mark.parametrize("other", [use_of("write_file"), use_of(call_id="c2"), None])
async def test_a_wrapper_may_change_the_input_only(other: Any) -> None:
    async def another(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        return await proceed(other)

    host, hands = MemoryHost(), Hands()
    outcome = await opened(Wrapper(another)).use_tool(host, use_of(), hands.do)
    assert (outcome.ok, hands.done, len(host.failed)) == (False, [], 1)


async def test_a_halt_before_the_tool_leaves_it_undone() -> None:
    async def halts(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        raise Halt("a person has to look", {"tool": use.tool})

    host, hands = MemoryHost(), Hands()
    with pytest.raises(Halt) as caught:
        await opened(Noting("a", []), Wrapper(halts, "gate")).use_tool(host, use_of(), hands.do)
    assert (caught.value.plugin, caught.value.called) == ("gate", ("a", "gate"))
    assert (hands.done, host.failed) == ([], [])


async def test_what_the_tool_raises_is_not_the_wrappers_fault() -> None:
    async def broken(use: ToolUse) -> ToolOutcome:
        raise OSError("the disk is gone")

    host = MemoryHost()
    with pytest.raises(OSError, match="the disk is gone"):
        await opened(Noting("a", []), Noting("b", [])).use_tool(host, use_of(), broken)
    assert host.failed == []


async def test_a_timeout_of_a_wrapper_cuts_the_tool_off() -> None:
    async def impatient(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        async with asyncio.timeout(0.01):
            return await proceed(use)

    ended: list[str] = []

    async def slow(use: ToolUse) -> ToolOutcome:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(use.tool)
        raise AssertionError

    host = MemoryHost()
    outcome = await opened(Wrapper(impatient)).use_tool(host, use_of(), slow)
    assert (outcome.ok, ended) == (False, ["run_command"])
    assert "may have been done in part" in outcome.text


@pytest.mark.parametrize("beside", [False, True])
async def test_cancelling_ends_the_tool_too(beside: bool) -> None:
    async def waits(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        if not beside:
            return await proceed(use)
        task = asyncio.ensure_future(proceed(use))
        tasks.add(task)
        await asyncio.Event().wait()
        return await task

    tasks: set[asyncio.Task[ToolOutcome]] = set()
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(use: ToolUse) -> ToolOutcome:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    host = MemoryHost()
    call = asyncio.ensure_future(opened(Wrapper(waits)).use_tool(host, use_of(), slow))
    async with asyncio.timeout(5):
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert ended.is_set()
    assert host.failed == []
    await asyncio.gather(*tasks, return_exceptions=True)


class Behaves:
    """Passes the call on, or not, in one of the ways below."""

    def __init__(self, number: int, way: str) -> None:
        self.name, self._way = f"p{number}", way

    @hookimpl
    async def wrap_tool(self, use: ToolUse, proceed: ToolDoer) -> Any:
        if self._way == "instead":
            return ToolOutcome("instead", "instead")
        if self._way in STOPS:
            STOPS[self._way]()
        try:
            outcome = await proceed(use)
            if self._way == "twice":
                await proceed(use)
        except Exception:
            if self._way != "swallows":
                raise
            return ToolOutcome("all is well", "well")
        if self._way in LATE:
            STOPS[LATE[self._way]]()
        return "odd" if self._way == "odd" else outcome


def _raise(error: BaseException) -> None:
    raise error


STOPS: dict[str, Any] = {
    "halts": lambda: _raise(Halt("stop")),
    "fails": lambda: _raise(ValueError("no")),
    "exits": lambda: _raise(SystemExit(1)),
}
LATE = {"halts after": "halts", "fails after": "fails", "exits after": "exits"}
FAILING = {"fails", "exits", "twice", "odd", "fails after", "exits after"}
WAYS = ("passes", "instead", "swallows", "twice", "odd", *STOPS, *LATE)


@given(st.lists(st.sampled_from(WAYS), max_size=5))
def test_whatever_wrappers_do_a_tool_is_done_once_or_not_at_all_and_the_first_that_stops_it_decides(
    ways: list[str],
) -> None:
    host, hands = MemoryHost(), Hands()
    plugins = opened(*(Behaves(number, way) for number, way in enumerate(ways)))
    halt: Halt | None = None
    outcome: ToolOutcome | None = None
    try:
        outcome = asyncio.run(plugins.use_tool(host, use_of(), hands.do))
    except Halt as caught:
        halt = caught
    stopped = next((number for number, way in enumerate(ways) if way in STOPS or way == "instead"), len(ways))
    reached = ways[: stopped + 1]
    assert len(hands.done) == (stopped == len(ways))
    halting = [number for number, way in enumerate(reached) if way in ("halts", "halts after")]
    assert (halt.plugin if halt else None) == (f"p{halting[-1]}" if halting else None)
    inner = halting[-1] if halting else -1
    assert [plugin for plugin, *_ in host.failed] == [
        f"p{number}" for number in reversed(range(len(reached))) if number > inner and reached[number] in FAILING
    ]
    if outcome is not None:
        assert outcome.ok == (stopped == len(ways) or ways[stopped] == "instead")


async def test_a_preview_of_the_call_as_it_was_is_not_shown_for_another_one() -> None:
    shown: list[tuple[str, str]] = []

    async def edits(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        return await proceed(replace(use, input={"n": 2}))

    async def looks(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        shown.append((use.preview, use.summary))
        return await proceed(use)

    plugins = opened(Wrapper(looks, "before"), Wrapper(edits), Wrapper(looks, "after"))
    await plugins.use_tool(MemoryHost(), replace(use_of(n=1), preview="n is 1", summary="one"), Hands().do)
    assert shown == [("n is 1", "one"), ("", "")]


async def test_a_call_stays_as_it_was_passed_on_whatever_a_wrapper_then_does_with_it() -> None:
    """While a person is asked about it, for instance."""

    async def changes(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        given: Any = use.input
        doing = asyncio.ensure_future(proceed(use))
        await asyncio.sleep(0)
        given["n"] = 2
        return await doing

    class Gate:
        name, essential = "gate", True

        @hookimpl
        async def wrap_tool(self, use: ToolUse, proceed: ToolDoer) -> ToolOutcome:
            for _ in range(5):
                await asyncio.sleep(0)
            return await proceed(use)

    outcome = await opened(Gate, Wrapper(changes)).use_tool(MemoryHost(), use_of(n=1), Hands().do)
    assert outcome.text == "did {'n': 1}"


async def test_a_preview_is_not_shown_either_for_a_call_that_was_changed_in_place() -> None:
    shown: list[str] = []

    async def changes(use: ToolUse, proceed: ToolDoer, context: Any) -> ToolOutcome:
        given: Any = use.input
        given["n"] = 2
        return await proceed(use)

    class Gate:
        name, essential = "gate", True

        @hookimpl
        async def wrap_tool(self, use: ToolUse, proceed: ToolDoer) -> ToolOutcome:
            shown.append(use.preview)
            return await proceed(use)

    called = replace(use_of(n=1), preview="n is 1", summary="one")
    outcome = await opened(Gate, Wrapper(changes)).use_tool(MemoryHost(), called, Hands().do)
    assert (shown, outcome.text) == ([""], "did {'n': 2}")
