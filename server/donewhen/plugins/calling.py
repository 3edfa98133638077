"""The plugins of one run, called in their order (`ports.Plugins`)."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from donewhen.core.calls import Message
from donewhen.core.errors import PluginConflict, UsageError
from donewhen.core.plugging import Halt, Refine, ResumeDirective, ToolOutcome, ToolUse, plain_data
from donewhen.plugins.collecting import Offered, offered
from donewhen.plugins.context import PluginContext
from donewhen.plugins.records import NewCheck, NewJudge, NewTool, NewWorker
from donewhen.plugins.registering import (
    FAILURES,
    Hook,
    Registered,
    error_text,
    not_the_plugins,
    sound_outcome,
)
from donewhen.ports import (
    AuditAhead,
    PluginHost,
    PluginTool,
    Stopping,
    ToolDoer,
    ToolSpec,
    TurnAhead,
    TurnBehind,
    VerdictReport,
)
from donewhen.threads import called

NOBODY: frozenset[str] = frozenset()


class PluggyPlugins:
    """Implements `ports.Plugins`. An essential plugin that failed is called again when the run continues: it is never
    left out. `known_tools` are the names of the built-in agent's own tools."""

    def __init__(self, found: Registered, known_tools: Collection[str] = ()) -> None:
        self._found = found
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
        return await self._layer(0, host, use, do)

    async def _layer(self, number: int, host: PluginHost, use: ToolUse, do: ToolDoer) -> ToolOutcome:
        """The call from that wrapper on inwards. Essential ones are called even if they failed before: no call goes
        past them."""
        hooks = self._found.hooks["wrap_tool"]
        if number == len(hooks):
            return await do(use)
        hook = hooks[number]

        async def inner(given: ToolUse) -> ToolOutcome:
            return await self._layer(number + 1, host, given, do)

        if hook.plugin in host.off - self._found.essential:
            return await inner(use)
        wrapped = WrappedCall(use, inner)
        try:
            return await _wrapped(hook, wrapped, PluginContext(hook.plugin, host), use)
        except Halt as halt:
            if halt is not wrapped.error:
                halt.plugin = hook.plugin
                halt.called = tuple(one.plugin for one in hooks[: number + 1])
            raise
        except WrapperFailed as failure:
            essential = hook.plugin in self._found.essential
            await host.switch_off(hook.plugin, hook.point, str(failure), essential=essential)
            return wrapped.outcome_without(hook.plugin)

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
        """The plugins' answers at this point; without a `kind` no answer is expected, and none is looked at."""
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
                essential = hook.plugin in self._found.essential
                await host.switch_off(hook.plugin, point, error_text(error), essential=essential)
                continue
            if kind is not None and answer is not None:
                answers.append((hook, answer))
        return answers

    def _called(self, point: str, host: PluginHost, skip: frozenset[str]) -> Iterator[Hook]:
        """The hooks to call; a plugin that has been switched off in the meantime is skipped."""
        for hook in self._found.hooks[point]:
            if hook.plugin not in skip and hook.plugin not in host.off - self._found.essential:
                yield hook

    def _stopped(self, halt: Halt, by: Hook, skip: frozenset[str], answers: list[tuple[Hook, Any]]) -> Halt:
        """If a later plugin halts, an earlier plugin's `Refine` has no effect: that plugin is asked again on resume."""
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
            f"the plugin {plugin} failed in on_resume, the run stays halted: {error_text(error)}; resume with other "
            "data, fix the plugin, or stop the run"
        ) from error
    if answer is None:
        return ResumeDirective()
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
    return answer


# A tool call through the wrappers of all plugins: each may act before, after, or instead of it.
#
# Guaranteed, whatever a wrapper does: the tool runs at most once; it doesn't run at all if a wrapper failed before it;
# and if a wrapper failed after it, the tool's own result counts.


class WrapperFailed(Exception):
    """A wrapper raised, or returned something that is not a valid answer."""


class WrappedCall:
    """The only way from a wrapper to the tool: usable once, and only while the wrapper runs."""

    def __init__(self, use: ToolUse, inner: ToolDoer) -> None:
        self._use = own(use)
        self._inner = inner
        self._closed = False
        self._doing: asyncio.Future[ToolOutcome] | None = None
        self.error: BaseException | None = None
        """An exception from the tool, or from a wrapper further inside: every outer wrapper lets it pass."""
        self.misused = ""

    async def proceed(self, use: ToolUse) -> ToolOutcome:
        self._check_proceed(use)
        use = own(use)  # the approved input stays as the person saw it, whatever the wrapper does with its own
        if use.input != self._use.input and use.preview == self._use.preview:
            use = replace(use, preview="", summary="")  # they describe another call: no approval may rest on them
        self._doing = asyncio.ensure_future(self._inner(use))
        return await self._doing

    def _check_proceed(self, use: object) -> None:
        if self._closed:
            raise RuntimeError("`proceed` was called after the wrapper had returned")
        if self._doing is not None:
            self.misused = "`proceed` was called twice: a tool call is made once"
            raise RuntimeError(self.misused)
        if not isinstance(use, ToolUse):
            raise TypeError(f"`proceed` was given {use!r}: it takes the ToolUse, changed or not")
        if (use.call_id, use.tool) != (self._use.call_id, self._use.tool):
            raise ValueError(f"`proceed` was given a call of {use.tool}: a wrapper may change the input, not the tool")

    async def close(self) -> bool:
        """False if the wrapper returned while the tool was still running; this waits for the tool."""
        self._closed = True
        if self._doing is None:
            return True
        left = self._doing.done()
        try:
            await asyncio.wait([self._doing])
        except asyncio.CancelledError:
            await self.abandon()
            raise
        if not self._doing.cancelled():
            self.error = self._doing.exception()
        return left

    async def abandon(self) -> None:
        """The call was cancelled: nothing of it continues in the background."""
        self._closed = True
        if self._doing is not None and not self._doing.done():
            self._doing.cancel()
            await asyncio.wait([self._doing])

    def outcome_without(self, plugin: str) -> ToolOutcome:
        """The outcome that counts if the wrapper's answer can't be used."""
        if self._doing is None:
            return ToolOutcome(f"error: the plugin {plugin} failed: not done", f"not done: {plugin} failed", ok=False)
        if self._doing.cancelled():
            said = f"error: the plugin {plugin} failed and cut this off: it may have been done in part"
            return ToolOutcome(said, f"cut off: {plugin} failed", ok=False)
        return self._doing.result()


def own(use: ToolUse) -> ToolUse:
    """The call with an input that nobody else can change."""
    return replace(use, input=copy.deepcopy(use.input))


async def _wrapped(hook: Hook, wrapped: WrappedCall, context: PluginContext, use: ToolUse) -> ToolOutcome:
    """The wrapper's outcome; raises the exception that came out of the tool, or WrapperFailed."""
    found: Any = None
    failure: BaseException | None = None
    try:
        found = await hook.call(use=use, proceed=wrapped.proceed, context=context)
    except FAILURES as error:
        failure = error
    except BaseException:
        await wrapped.abandon()
        raise
    waited = await wrapped.close()
    if wrapped.error is not None:
        raise wrapped.error
    if wrapped.misused or not waited:
        raise WrapperFailed(wrapped.misused or "it returned while the tool was still at work") from failure
    if failure is not None:
        if isinstance(failure, Halt) or not_the_plugins(failure):
            raise failure
        raise WrapperFailed(error_text(failure)) from failure
    try:
        return sound_outcome(found)
    except TypeError as error:
        raise WrapperFailed(str(error)) from error


# The tools that plugins give to the built-in agent, in the form that the agent runs.


def plugin_tool(one: Offered[NewTool], essential: frozenset[str]) -> PluginTool:
    """`run` raises Halt, and nothing else for errors of the tool: a failure switches its plugin off."""
    tool, plugin = one.record, one.plugin

    async def run(host: PluginHost, use: ToolUse) -> ToolOutcome:
        if plugin in host.off - essential:
            return _refused(plugin, "is switched off for this run, and its tools are gone", tool.name)
        try:
            return await _tool_outcome(tool, use, PluginContext(plugin, host))
        except Halt as halt:
            halt.plugin, halt.called = plugin, (plugin,)
            raise
        except FAILURES as error:
            if not_the_plugins(error):
                raise
            await host.switch_off(plugin, f"tool {tool.name}", error_text(error), essential=plugin in essential)
            return _refused(plugin, f"failed: {error_text(error)}", tool.name)

    return PluginTool(plugin, ToolSpec(tool.name, tool.description, tool.parameters), run)


async def _tool_outcome(tool: NewTool, use: ToolUse, context: PluginContext) -> ToolOutcome:
    """Raises TypeError for an answer, or a Halt, that can't be kept."""
    try:
        found = await called(tool.run, use.input, context)
        if isinstance(found, Halt):
            raise found  # a returned Halt counts like a raised one
    except Halt as halt:
        halt.data = plain_data(halt)
        raise
    if isinstance(found, ToolOutcome):
        return sound_outcome(found)
    if not isinstance(found, str):
        raise TypeError(f"it returned {found!r}: text or a ToolOutcome is expected")
    return ToolOutcome(found, use.summary or use.tool)


def _refused(plugin: str, why: str, tool: str) -> ToolOutcome:
    return ToolOutcome(f"error: the plugin {plugin} {why}", f"{tool}: the plugin {plugin} failed", ok=False)
