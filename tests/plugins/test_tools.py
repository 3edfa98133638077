"""Tools that plugins bring, and how a halted run is gone on with."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from donewhen.core.errors import UsageError
from donewhen.plugins import Halt, Message, NewTool, PluginContext, ResumeDirective, ToolOutcome, hookimpl
from donewhen.ports import PluginTool
from tests.plugins.hosts import MemoryHost, opened, use_of


def tool_of(run: Any) -> PluginTool:
    class Brings:
        name = "brings"

        @hookimpl
        def register_tool(self) -> NewTool:
            return NewTool(
                "look_up", "Looks it up.", run, {"type": "object", "properties": {"word": {"type": "string"}}}
            )

    (tool,) = opened(Brings).tools
    return tool


async def until(met: Any) -> None:
    async with asyncio.timeout(5):
        while not met():  # noqa: ASYNC110  # a thread, which knows no asyncio, brings it about
            await asyncio.sleep(0.001)


async def test_a_plain_tool_runs_in_a_thread_and_an_async_one_on_the_loop() -> None:
    threads: list[int] = []

    def plain(given: Mapping[str, Any], context: PluginContext) -> str:
        threads.append(threading.get_ident())
        context.activity(f"looking up {given['word']}")
        return f"{context.name}: {given['word']}"

    async def on_the_loop(given: Mapping[str, Any], context: PluginContext) -> ToolOutcome:
        threads.append(threading.get_ident())
        return ToolOutcome("nothing found", "nothing", ok=False)

    host, here = MemoryHost(), threading.get_ident()
    tool = tool_of(plain)
    assert (tool.spec.name, tool.spec.description) == ("look_up", "Looks it up.")
    outcome = await tool.run(host, use_of("look_up", word="goal"))
    assert (outcome.text, outcome.ok, outcome.summary) == ("brings: goal", True, "look_up")
    await until(lambda: host.lines == ["looking up goal"])
    assert not (await tool_of(on_the_loop).run(host, use_of("look_up"))).ok
    assert threads[0] != here
    assert threads[1] == here


@pytest.mark.parametrize("plain", [True, False])
async def test_a_tool_may_halt(plain: bool) -> None:
    def halts(given: Mapping[str, Any], context: PluginContext) -> str:
        raise Halt("ask the office", {"form": 7})

    async def halts_too(given: Mapping[str, Any], context: PluginContext) -> str:
        raise Halt("ask the office", {"form": 7})

    host = MemoryHost()
    with pytest.raises(Halt) as caught:
        await tool_of(halts if plain else halts_too).run(host, use_of("look_up"))
    assert (caught.value.plugin, caught.value.data) == ("brings", {"form": 7})
    assert host.failed == []


@pytest.mark.parametrize("error", [ValueError("no such word"), StopIteration(), SystemExit(2)])
async def test_a_tool_that_fails_switches_its_plugin_off(error: BaseException) -> None:
    def breaks(given: Mapping[str, Any], context: PluginContext) -> str:
        raise error

    host = MemoryHost()
    tool = tool_of(breaks)
    async with asyncio.timeout(5):
        outcome = await tool.run(host, use_of("look_up"))
    assert not outcome.ok
    assert outcome.text.startswith("error: the plugin brings failed")
    assert [failure[:2] for failure in host.failed] == [("brings", "tool look_up")]
    again = await tool.run(host, use_of("look_up"))
    assert again.text == "error: the plugin brings is switched off for this run, and its tools are gone"


@pytest.mark.parametrize("answer", [None, 3, b"bytes", ToolOutcome(None, "x")])  # pyright: ignore[reportArgumentType]
async def test_an_answer_of_another_type_is_a_failure(answer: Any) -> None:
    host = MemoryHost()
    assert not (await tool_of(lambda given, context: answer).run(host, use_of("look_up"))).ok
    assert "it returned" in host.failed[0][2]


# ------------------------------------------------------------------------------------------ resuming


class Resumes:
    """Answers `on_resume` as a function given to it does."""

    def __init__(self, answer: Any, name: str = "gate") -> None:
        self.name, self._answer = name, answer

    @hookimpl
    async def on_resume(self, data: Any, context: PluginContext) -> Any:
        return self._answer(data)


@pytest.mark.conformance("C23")
async def test_the_plugin_that_halted_is_asked_with_the_data_and_no_other() -> None:
    given: list[tuple[str, object]] = []
    plugins = opened(
        Resumes(lambda data: given.append(("other", data)), "other"), Resumes(lambda data: given.append(("gate", data)))
    )
    assert await plugins.on_resume(MemoryHost(), "gate", {"yes": True}) == ResumeDirective()
    assert given == [("gate", {"yes": True})]


async def test_its_directive_is_what_it_says() -> None:
    directive = ResumeDirective(False, Message("assistant", "hello"), {"c1": ToolOutcome("done by hand", "by hand")})
    assert await opened(Resumes(lambda data: directive)).on_resume(MemoryHost(), "gate", None) == directive


async def test_without_the_hook_the_run_goes_on_where_it_stood() -> None:
    class Halting:
        name = "halting"

        @hookimpl
        def before_turn(self) -> None: ...

    assert await opened(Halting).on_resume(MemoryHost(), "halting", 1) == ResumeDirective()


def not_so() -> Any:
    raise KeyError("answer")


def not_yet() -> Any:
    raise Halt("the office is closed")


def not_like_that() -> Any:
    raise UsageError("say yes or no")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda data: not_so(), "failed in on_resume, the run stays halted: KeyError: 'answer'"),
        (lambda data: not_yet(), "does not continue: the office is closed"),
        (lambda data: not_like_that(), "does not continue: say yes or no"),
        (lambda data: "go", "a ResumeDirective with a Message and ToolOutcomes, or None, is expected"),
        (lambda data: ResumeDirective(completed={"c1": "done"}), "is expected; the run stays halted"),
        (lambda data: ResumeDirective(restore_message="hello"), "is expected; the run stays halted"),
    ],
)
async def test_an_answer_that_cannot_be_used_leaves_the_run_halted(answer: Any, said: str) -> None:
    host = MemoryHost()
    with pytest.raises(UsageError, match=said):
        await opened(Resumes(answer)).on_resume(host, "gate", None)
    assert host.failed == []


async def test_a_plugin_that_is_not_there_or_off_cannot_be_asked() -> None:
    plugins = opened(Resumes(lambda data: None))
    with pytest.raises(UsageError, match="the plugin other can't be asked"):
        await plugins.on_resume(MemoryHost(), "other", None)
    with pytest.raises(UsageError, match="switched off"):
        await plugins.on_resume(MemoryHost(failed=[("gate", "on_stop", "broken", False)]), "gate", None)
