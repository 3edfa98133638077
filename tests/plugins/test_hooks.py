"""Hooks: called in order, with what they take; what they answer; halts; failures."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from donewhen.core.errors import LedgerUnavailable
from donewhen.plugins import Halt, PluginConflict, Refine, hookimpl
from donewhen.plugins.calling import PluggyPlugins
from tests.plugins.hosts import AHEAD, AUDIT, BEHIND, REPORT, STOPPING, MemoryHost, opened

Point = Callable[[PluggyPlugins, MemoryHost, frozenset[str]], Awaitable[Any]]
POINTS: dict[str, Point] = {
    "before_turn": lambda plugins, host, skip: plugins.before_turn(host, AHEAD, skip),
    "after_turn": lambda plugins, host, skip: plugins.after_turn(host, BEHIND, skip),
    "before_audit": lambda plugins, host, skip: plugins.before_audit(host, AUDIT, skip),
    "after_verdict": lambda plugins, host, skip: plugins.after_verdict(host, REPORT, skip),
    "on_stop": lambda plugins, host, skip: plugins.on_stop(host, STOPPING, skip),
}
NOBODY: frozenset[str] = frozenset()


class Every:
    """Does the same at every point: says that it was called, then whatever `act` does."""

    def __init__(self, name: str, called: list[str], act: Callable[[], object] = lambda: None) -> None:
        self.name, self._called, self._act = name, called, act

    def _do(self) -> None:
        self._called.append(self.name)
        self._act()

    @hookimpl
    def before_turn(self) -> None:
        self._do()

    @hookimpl
    async def after_turn(self) -> None:
        self._do()

    @hookimpl
    def before_audit(self) -> None:
        self._do()

    @hookimpl
    async def after_verdict(self) -> None:
        self._do()

    @hookimpl
    def on_stop(self) -> None:
        self._do()


def halts() -> None:
    raise Halt("enough", {"spent": 3})


def breaks() -> None:
    raise KeyError("lost")


def leaves() -> None:
    sys.exit(3)


def is_cancelled() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    raise asyncio.CancelledError


def ends_as_if_cancelled() -> None:
    """As one does that waits for a task of its own which was cancelled."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("point", POINTS)
async def test_the_first_registered_is_called_first(point: str) -> None:
    called: list[str] = []
    plugins = opened(Every("a", called), Every("b", called), Every("c", called))
    await POINTS[point](plugins, MemoryHost(), NOBODY)
    assert called == ["a", "b", "c"]
    assert plugins.names == ("a", "b", "c")


async def test_first_and_last_are_marked_and_equals_stay_in_the_order_of_their_registration() -> None:
    class Marked:
        def __init__(self, name: str) -> None:
            self.name = name

    class First(Marked):
        @hookimpl(tryfirst=True)
        def before_turn(self) -> str:
            return self.name

    class Last(Marked):
        @hookimpl(trylast=True)
        def before_turn(self) -> str:
            return self.name

    class Middle(Marked):
        @hookimpl
        def before_turn(self) -> str:
            return self.name

    plugins = opened(Last("l1"), Middle("m1"), First("f1"), Last("l2"), First("f2"), Middle("m2"))
    assert await plugins.before_turn(MemoryHost(), AHEAD) == ("f1", "f2", "m1", "m2", "l1", "l2")


async def test_a_hook_gets_what_it_takes_by_name() -> None:
    class Taking:
        name = "taking"
        seen: tuple[object, ...] = ()

        @hookimpl
        def before_turn(self, context: Any, turn: Any) -> None:
            self.seen = (context.name, context.run_id, context.goal, context.root.name, turn)

    taking, host = Taking(), MemoryHost()
    await opened(taking).before_turn(host, AHEAD)
    assert taking.seen == ("taking", "run-1", host.goal, "somewhere", AHEAD)


async def test_notes_come_in_order_and_empty_ones_are_none() -> None:
    class Says:
        def __init__(self, name: str, note: str | None) -> None:
            self.name, self._note = name, note

        @hookimpl
        async def before_turn(self) -> str | None:
            return self._note

    plugins = opened(Says("a", "first"), Says("b", None), Says("c", " "), Says("d", "last"))
    assert await plugins.before_turn(MemoryHost(), AHEAD) == ("first", "last")


@pytest.mark.parametrize("point", POINTS)
async def test_a_halt_says_who_and_who_had_been_called(point: str) -> None:
    called: list[str] = []
    host = MemoryHost()
    plugins = opened(Every("a", called), Every("b", called, halts), Every("c", called))
    with pytest.raises(Halt) as caught:
        await POINTS[point](plugins, host, NOBODY)
    assert (caught.value.plugin, caught.value.called, called) == ("b", ("a", "b"), ["a", "b"])
    assert (caught.value.reason, caught.value.data, caught.value.resumable) == ("enough", {"spent": 3}, True)
    assert host.failed == []


@pytest.mark.conformance("C23")
@pytest.mark.parametrize("point", POINTS)
async def test_after_a_halt_the_others_are_called_and_nobody_twice(point: str) -> None:
    called: list[str] = []
    plugins = opened(Every("a", called), Every("b", called, halts), Every("c", called, halts), Every("d", called))
    skip = NOBODY
    for halting in ("b", "c"):
        with pytest.raises(Halt) as caught:
            await POINTS[point](plugins, MemoryHost(), skip)
        assert caught.value.plugin == halting
        skip = frozenset(caught.value.called)
    await POINTS[point](plugins, MemoryHost(), skip)
    assert called == ["a", "b", "c", "d"]


async def test_notes_from_before_a_halt_are_with_it() -> None:
    class Notes:
        name = "notes"

        @hookimpl
        def before_turn(self) -> str:
            return "remember the tests"

    with pytest.raises(Halt) as caught:
        await opened(Notes, Every("b", [], halts)).before_turn(MemoryHost(), AHEAD)
    assert caught.value.notes == ("remember the tests",)


@pytest.mark.conformance("C23")
async def test_a_refinement_that_a_halt_swallowed_is_asked_for_again() -> None:
    class Refines:
        name = "refines"

        @hookimpl
        def after_turn(self) -> Refine:
            return Refine("more tests")

    plugins = opened(Refines, Every("gate", [], halts))
    with pytest.raises(Halt) as caught:
        await plugins.after_turn(MemoryHost(), BEHIND)
    assert caught.value.called == ("gate",)
    assert await plugins.after_turn(MemoryHost(), BEHIND, frozenset(caught.value.called)) == Refine("more tests")


REASONS = {
    breaks: "KeyError: 'lost'",
    leaves: "RuntimeError: the call raised SystemExit: 3",
    ends_as_if_cancelled: "RuntimeError: the call raised CancelledError",
}


@pytest.mark.parametrize("act", REASONS, ids=["raises", "exits", "ends as if cancelled"])
@pytest.mark.parametrize("point", POINTS)
async def test_a_failing_plugin_is_named_and_switched_off_and_the_others_go_on(
    point: str, act: Callable[[], None]
) -> None:
    called: list[str] = []
    host = MemoryHost()
    plugins = opened(Every("a", called), Every("b", called, act), Every("c", called))
    await POINTS[point](plugins, host, NOBODY)
    await POINTS[point](plugins, host, NOBODY)
    assert called == ["a", "b", "c", "a", "c"]
    assert host.failed == [("b", point, REASONS[act], False)]


@pytest.mark.parametrize("point", POINTS)
async def test_a_cancellation_passes(point: str) -> None:
    host = MemoryHost()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(POINTS[point](opened(Every("a", [], is_cancelled)), host, NOBODY))
    assert host.failed == []


async def test_a_cancellation_passes_where_the_plugin_says_nothing_of_it() -> None:
    class Deaf:
        name = "deaf"

        @hookimpl
        async def before_turn(self) -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "I go on"
            return ""

    task = asyncio.ensure_future(opened(Deaf).before_turn(MemoryHost(), AHEAD))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_record_that_cannot_be_written_is_not_the_plugins_fault() -> None:
    class Keeps:
        name = "keeps"

        @hookimpl
        async def before_turn(self, context: Any) -> None:
            await context.set_state(1)

    host = MemoryHost(failure=LedgerUnavailable("the disk is full"))
    with pytest.raises(LedgerUnavailable):
        await opened(Keeps).before_turn(host, AHEAD)
    assert host.failed == []


@pytest.mark.parametrize(
    ("point", "answer", "said"),
    [
        ("before_turn", 3, "str, or None, is expected"),
        ("after_turn", "do more", "Refine, or None, is expected"),
        ("after_turn", Refine(""), "the feedback of a Refine is some text"),
    ],
)
async def test_an_answer_of_the_wrong_kind_is_a_failure(point: str, answer: object, said: str) -> None:
    class Wrong:
        name = "wrong"

        @hookimpl
        def before_turn(self) -> Any:
            return answer

        @hookimpl
        def after_turn(self) -> Any:
            return answer

    host = MemoryHost()
    assert not await POINTS[point](opened(Wrong), host, NOBODY)
    assert len(host.failed) == 1
    assert said in host.failed[0][2]


async def test_a_halt_with_data_that_cannot_be_kept_is_a_failure() -> None:
    def halts_badly() -> None:
        raise Halt("enough", {"when": object()})

    host = MemoryHost()
    await opened(Every("a", [], halts_badly)).before_turn(host, AHEAD)
    assert "it halted (enough) with data that is not JSON" in host.failed[0][2]


async def test_a_halt_without_a_reason_in_words_is_a_failure() -> None:
    def halts_oddly() -> None:
        raise Halt(3)  # pyright: ignore[reportArgumentType]

    host = MemoryHost()
    await opened(Every("a", [], halts_oddly)).before_turn(host, AHEAD)
    assert "text is expected" in host.failed[0][2]


async def test_a_long_error_is_cut() -> None:
    def breaks_at_length() -> None:
        raise ValueError("x" * 100_000)

    host = MemoryHost()
    await opened(Every("a", [], breaks_at_length)).before_turn(host, AHEAD)
    assert len(host.failed[0][2]) < 1_100


async def test_two_refinements_of_one_turn_are_a_conflict_that_names_both() -> None:
    class Refines:
        def __init__(self, name: str) -> None:
            self.name = name

        @hookimpl
        def after_turn(self) -> Refine:
            return Refine(f"as {self.name} says")

    with pytest.raises(PluginConflict, match="strict and kind both want to refine"):
        await opened(Refines("strict"), Refines("kind")).after_turn(MemoryHost(), BEHIND)


async def test_an_essential_plugin_is_called_again_after_it_failed() -> None:
    called: list[str] = []

    class Essential(Every):
        essential = True

    host = MemoryHost()
    plugins = opened(Essential("gate", called, breaks))
    await plugins.before_audit(host, AUDIT)
    await plugins.before_audit(host, AUDIT)
    assert called == ["gate", "gate"]
    assert [failure[3] for failure in host.failed] == [True, True]


@pytest.mark.parametrize("point", POINTS)
async def test_a_halt_may_be_returned_as_well(point: str) -> None:
    class Returns:
        name = "returns"

    def hook(self: object) -> object:
        return Halt("enough", {"spent": 3})

    setattr(Returns, point, hookimpl(hook))
    host = MemoryHost()
    with pytest.raises(Halt) as found:
        await POINTS[point](opened(Returns()), host, NOBODY)
    assert (found.value.plugin, found.value.data, host.failed) == ("returns", {"spent": 3}, [])
