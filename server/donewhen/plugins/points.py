"""The points where a plugin can act on a run: what each is called with, when, and what its answer means.

An implementation is marked with `@hookimpl`, may be a plain or an `async` function, and takes any of the arguments, by
these names. A plain function runs on the event loop and should be quick: anything that waits should be `async`. Every
point except the `register_` ones and `on_resume` may raise `Halt`. Any other exception is the plugin's failure: the
plugin is switched off for the rest of the run, and the others continue.

Order: implementations marked `tryfirst=True` first, then the unmarked ones, then those marked `trylast=True`; among
equals, the plugin that was registered first is called first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from pluggy import HookimplMarker, HookspecMarker

from donewhen.core.plugging import Refine, ResumeDirective, ToolOutcome, ToolUse
from donewhen.plugins.context import PluginContext
from donewhen.plugins.records import NewCheck, NewJudge, NewTool, NewWorker
from donewhen.ports import AuditAhead, Stopping, ToolDoer, TurnAhead, TurnBehind, VerdictReport

PROJECT = "donewhen"
hookimpl = HookimplMarker(PROJECT)
"""Marks a function as the implementation of a point: `@hookimpl`, or `@hookimpl(tryfirst=True)`."""
hookspec = HookspecMarker(PROJECT)

# The return types of these functions are what an implementation may return; they themselves are never called.


@hookspec
def before_turn(turn: TurnAhead, context: PluginContext) -> str | Awaitable[str | None] | None:
    """A worker's turn is about to begin. The text is added to the worker's prompt; None adds nothing."""


@hookspec
def after_turn(turn: TurnBehind, context: PluginContext) -> Refine | Awaitable[Refine | None] | None:
    """A worker's turn just ended. `Refine(feedback)` sends the worker back to work within the same turn, before
    anything is audited; None accepts the turn. If two plugins want to refine the same turn, it is a PluginConflict."""


@hookspec
def wrap_tool(use: ToolUse, proceed: ToolDoer, context: PluginContext) -> Awaitable[ToolOutcome]:  # pyright: ignore[reportReturnType]  # a specification has no body
    """Wraps a tool call, to act before, after, or instead of it; always `async`. `await proceed(use)` makes the call,
    at most once, with the input of the given `use`: `dataclasses.replace(use, input=...)` changes it. The first plugin
    is outermost; the wrapper of an `essential` one is innermost, so that it sees what is really done. An exception that
    comes out of `proceed` goes through, whatever the wrapper does with it."""


@hookspec
def before_audit(audit: AuditAhead, context: PluginContext) -> Awaitable[None] | None:
    """An audit is about to begin: the checks run next, and then the judge is asked."""


@hookspec
def after_verdict(report: VerdictReport, context: PluginContext) -> Awaitable[None] | None:
    """An audit, or the judge, has decided where every requirement stands. A plugin can't change that."""


@hookspec
def on_stop(stopping: Stopping, context: PluginContext) -> Awaitable[None] | None:
    """The run is about to end. A resumable Halt makes it wait instead, unless it was cancelled or crashed."""


@hookspec
def on_resume(data: Any, context: PluginContext) -> ResumeDirective | Awaitable[ResumeDirective | None] | None:
    """This plugin halted the run, and it is about to continue: `data` is what the caller of `resume` passes, None if
    nothing. Answering None, or having no such hook, means `ResumeDirective()`. An exception leaves the run halted."""


@hookspec
def register_worker() -> NewWorker | Sequence[NewWorker] | None:
    """Workers that this plugin provides, called once when a run is opened."""


@hookspec
def register_judge() -> NewJudge | Sequence[NewJudge] | None:
    """Judges that this plugin provides, called once when a run is opened."""


@hookspec
def register_check() -> NewCheck | Sequence[NewCheck] | None:
    """Checks that this plugin provides, called once when a run is opened: `check:NAME` in a goal file."""


@hookspec
def register_tool() -> NewTool | Sequence[NewTool] | None:
    """Tools that this plugin gives to the built-in agent, called once when a run is opened."""


HOOKS: tuple[str, ...] = (
    "before_turn", "after_turn", "wrap_tool", "before_audit", "after_verdict", "on_stop", "on_resume",
    "register_worker", "register_judge", "register_check", "register_tool",
)  # fmt: skip
"""The names of all points."""
