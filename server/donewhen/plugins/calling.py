"""The plugins of one run, called in their order (`ports.Plugins`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from donewhen.core.calls import Message
from donewhen.core.errors import PluginConflict, UsageError
from donewhen.core.plugging import Halt, Refine, ResumeDirective, ToolOutcome, ToolUse
from donewhen.plugins.collecting import Offered, offered
from donewhen.plugins.context import PluginContext
from donewhen.plugins.failing import FAILURES, not_the_plugins, switch_off, told
from donewhen.plugins.records import NewCheck, NewJudge, NewTool, NewWorker
from donewhen.plugins.registering import Hook, Registered
from donewhen.plugins.tools import plugin_tool
from donewhen.plugins.wrapping import Wrapping
from donewhen.ports import (
    AuditAhead,
    PluginHost,
    PluginTool,
    Stopping,
    ToolDoer,
    TurnAhead,
    TurnBehind,
    VerdictReport,
)

NOBODY: frozenset[str] = frozenset()


class PluggyPlugins:
    """Implements `ports.Plugins`. An essential plugin that failed is called again when the run goes on: it is never
    left out. `known_tools` are the names of the built-in agent's own tools."""

    def __init__(self, found: Registered, known_tools: Collection[str] = ()) -> None:
        self._found = found
        self._wrapping = Wrapping(found.hooks["wrap_tool"], found.essential)
        self._tools = offered(found, "register_tool", NewTool, known_tools)
        self.workers: Mapping[str, Offered[NewWorker]] = offered(found, "register_worker", NewWorker)
        self.judges: Mapping[str, Offered[NewJudge]] = offered(found, "register_judge", NewJudge)
        self.checks: Mapping[str, Offered[NewCheck]] = offered(found, "register_check", NewCheck)

    @property
    def names(self) -> tuple[str, ...]:
        return self._found.names

    @property
    def tools(self) -> Sequence[PluginTool]:
        return [plugin_tool(one, self._found.essential) for one in self._tools.values()]

    async def before_turn(self, host: PluginHost, turn: TurnAhead, skip: frozenset[str] = NOBODY) -> tuple[str, ...]:
        answers = await self._answers("before_turn", host, skip, str, turn=turn)
        return tuple(text for _, text in answers if text.strip())

    async def after_turn(self, host: PluginHost, turn: TurnBehind, skip: frozenset[str] = NOBODY) -> Refine | None:
        answers = await self._answers("after_turn", host, skip, Refine, turn=turn)
        if len(answers) > 1:
            who = " and ".join(hook.plugin for hook, _ in answers)
            raise PluginConflict(
                f"the plugins {who} both want to refine the same turn: remove one of them, or have one do the "
                "work of both"
            )
        return answers[0][1] if answers else None

    async def use_tool(self, host: PluginHost, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        return await self._wrapping.use(host, use, do)

    async def before_audit(self, host: PluginHost, audit: AuditAhead, skip: frozenset[str] = NOBODY) -> None:
        await self._answers("before_audit", host, skip, None, audit=audit)

    async def after_verdict(self, host: PluginHost, report: VerdictReport, skip: frozenset[str] = NOBODY) -> None:
        await self._answers("after_verdict", host, skip, None, report=report)

    async def on_stop(self, host: PluginHost, stopping: Stopping, skip: frozenset[str] = NOBODY) -> None:
        await self._answers("on_stop", host, skip, None, stopping=stopping)

    async def on_resume(self, host: PluginHost, plugin: str, data: Any) -> ResumeDirective:
        if plugin not in self.names or plugin in host.off - self._found.essential:
            raise UsageError(
                f"the plugin {plugin} can't be asked how to continue: it is not available, or failed and is "
                "switched off for "
                "this run; install it again or name it in your settings, or stop the run"
            )
        for hook in self._found.hooks["on_resume"]:
            if hook.plugin == plugin:
                return await _directive(hook, PluginContext(plugin, host), data)
        return ResumeDirective()

    async def _answers(
        self, point: str, host: PluginHost, skip: frozenset[str], kind: type[Any] | None, **given: Any
    ) -> list[tuple[Hook, Any]]:
        """What the plugins say at this point; without a `kind` there is nothing to say, and it is not looked at."""
        answers: list[tuple[Hook, Any]] = []
        for hook in self._called(point, host, skip):
            try:
                answer = await hook.call(context=PluginContext(hook.plugin, host), **given)
                _check_answer(answer, kind)
            except Halt as halt:
                raise self._stopped(halt, hook, skip, answers) from None
            except FAILURES as error:
                if not_the_plugins(error):
                    raise
                await switch_off(host, hook, told(error), self._found.essential)
                continue
            if kind is not None and answer is not None:
                answers.append((hook, answer))
        return answers

    def _called(self, point: str, host: PluginHost, skip: frozenset[str]) -> Iterator[Hook]:
        """One that was switched off meanwhile is not called."""
        for hook in self._found.hooks[point]:
            if hook.plugin not in skip and hook.plugin not in host.off - self._found.essential:
                yield hook

    def _stopped(self, halt: Halt, by: Hook, skip: frozenset[str], answers: list[tuple[Hook, Any]]) -> Halt:
        """A plugin whose `Refine` comes to nothing, since a later one halts, is asked again when the run goes on."""
        hooks = self._found.hooks[by.point]
        lost = {hook.plugin for hook, _ in answers} if by.point == "after_turn" else NOBODY
        reached = [hook.plugin for hook in hooks[: hooks.index(by) + 1]]
        later = [hook.plugin for hook in hooks if hook.plugin in skip and hook.plugin not in reached]
        halt.plugin = by.plugin
        halt.called = tuple(one for one in (*later, *reached) if one not in lost)
        halt.notes = tuple(text for _, text in answers if text.strip()) if by.point == "before_turn" else ()
        return halt


def _check_answer(answer: object, kind: type[Any] | None) -> None:
    if kind is None or answer is None:
        return
    if not isinstance(answer, kind):
        raise TypeError(f"it returned {answer!r}: {kind.__name__}, or None, is expected")
    if isinstance(answer, Refine) and not (isinstance(answer.feedback, str) and answer.feedback.strip()):  # pyright: ignore[reportUnnecessaryIsInstance]  # plugins are not always type-checked
        raise TypeError(f"it returned {answer!r}: the feedback of a Refine is some text")


async def _directive(hook: Hook, context: PluginContext, data: Any) -> ResumeDirective:
    plugin = hook.plugin
    try:
        answer = await hook.call(data=data, context=context)
    except Halt as halt:
        raise UsageError(f"the plugin {plugin} does not continue: {halt.reason}") from halt
    except UsageError as error:
        raise UsageError(f"the plugin {plugin} does not continue: {error}") from error
    except FAILURES as error:
        if not_the_plugins(error):
            raise
        raise UsageError(
            f"the plugin {plugin} failed in on_resume, the run stays halted: {told(error)}; resume with other data, "
            "fix the plugin, or stop the run"
        ) from error
    if answer is None:
        return ResumeDirective()
    _check(plugin, answer)
    return answer


def _check(plugin: str, answer: object) -> None:
    usable = (
        isinstance(answer, ResumeDirective)
        and (answer.restore_message is None or isinstance(answer.restore_message, Message))  # pyright: ignore[reportUnnecessaryIsInstance]  # plugins are not always type-checked
        and all(isinstance(one, ToolOutcome) for one in answer.completed.values())  # pyright: ignore[reportUnnecessaryIsInstance]
    )
    if not usable:
        raise UsageError(
            f"the plugin {plugin} returned {answer!r} from on_resume: a ResumeDirective with a Message and "
            "ToolOutcomes, or None, is expected; the run stays halted"
        )
