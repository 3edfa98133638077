"""The hooks of one run's plugins: validated by pluggy, and sorted into the order of their calls."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pluggy import HookImpl, PluginManager, PluginValidationError

import donewhen.plugins.points as points
from donewhen.core.errors import LedgerError, UsageError
from donewhen.core.plugging import Halt, ToolOutcome, plain_data
from donewhen.plugins.points import HOOKS, PROJECT
from donewhen.threads import failing_as_a_call, run_in_thread


@dataclass(frozen=True, slots=True)
class Hook:
    """One plugin's implementation of one point."""

    plugin: str
    point: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]

    async def call(self, **given: Any) -> Any:
        """The return value of the function, awaited if it is awaitable; the function gets the arguments that it takes.
        Raises TypeError for a Halt that can't be kept."""
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        try:
            with failing_as_a_call():
                found = self.function(**{name: given[name] for name in self.arguments})
                answer = await found if inspect.isawaitable(found) else found
            if isinstance(answer, Halt):
                raise answer  # a returned Halt counts like a raised one
        except Halt as halt:
            halt.data = plain_data(halt)
            raise
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError  # the hook swallowed a cancellation
        return answer


@dataclass(frozen=True, slots=True)
class Named:
    """A plugin and its name in the ledger, in messages and in settings."""

    name: str
    plugin: object

    @property
    def essential(self) -> bool:
        """The run doesn't continue without it."""
        return getattr(self.plugin, "essential", False) is True


@dataclass(frozen=True, slots=True)
class Registered:
    """The plugins of one run, in the order of their registration, and their hooks in the order of their calls."""

    plugins: tuple[Named, ...]
    hooks: Mapping[str, tuple[Hook, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.plugins)

    @property
    def essential(self) -> frozenset[str]:
        return frozenset(one.name for one in self.plugins if one.essential)


def registered(plugins: Sequence[Named]) -> Registered:
    """Raises UsageError for a name that occurs twice, and for a hook that can't be called."""
    manager = PluginManager(PROJECT)
    manager.add_hookspecs(points)
    for one in plugins:
        _register(manager, one)
    hooks = {point: _in_order(point, manager.hook.__dict__[point].get_hookimpls(), plugins) for point in HOOKS}
    return Registered(tuple(plugins), hooks)


def _register(manager: PluginManager, one: Named) -> None:
    if manager.has_plugin(one.name):
        raise UsageError(f"two plugins are called {one.name}: remove one, or give one of them another `name` attribute")
    try:
        manager.register(one.plugin, one.name)
        manager.check_pending()
    except PluginValidationError as error:
        raise UsageError(
            f"the plugin {one.name} can't be used: {' '.join(str(error).split())}; {_known_hooks()}"
        ) from error
    except ValueError as error:
        raise UsageError(f"the plugin {one.name} is registered twice, under two names: remove one") from error
    except TypeError as error:
        raise UsageError(f"the plugin {one.name} can't be used: {error}; {_known_hooks()}") from error
    _check_shape(manager, one)


def _known_hooks() -> str:
    return f"the hooks are {', '.join(HOOKS)}, and they take the arguments that docs/plugins.md names"


def _check_shape(manager: PluginManager, one: Named) -> None:
    """Refuses what pluggy accepts although it could not, or would never, be called."""
    for point in HOOKS:
        mine = [impl for impl in manager.hook.__dict__[point].get_hookimpls() if impl.plugin_name == one.name]
        if len(mine) > 1:
            raise UsageError(f"the plugin {one.name} implements {point} twice: make it one function")
        for impl in mine:
            _check_function(impl, point)
        if not mine and callable(inspect.getattr_static(one.plugin, point, None)):
            raise UsageError(
                f"`{point}` of the plugin {one.name} isn't marked: put `@hookimpl` (from donewhen.plugins) above it"
            )
    if not manager.get_hookcallers(one.plugin):
        raise UsageError(
            f"the plugin {one.name} has no hook: mark its functions with `@hookimpl` from donewhen.plugins;"
            f" {_known_hooks()}"
        )


def _check_function(impl: HookImpl, point: str) -> None:
    name = f"`{point}` of the plugin {impl.plugin_name}"
    if impl.wrapper or impl.hookwrapper or inspect.isgeneratorfunction(impl.function):
        raise UsageError(f"{name} is a generator: hooks are plain or async functions, and `wrap_tool` wraps tools")
    never = [
        parameter.name
        for parameter in inspect.signature(impl.function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
        or (parameter.name in _ARGUMENTS[point] and parameter.default is not parameter.empty)
    ]
    if never:
        raise UsageError(f"{name} would never be given `{never[0]}`: take it without a default, and before any `*`")


_ARGUMENTS = {point: frozenset(inspect.signature(getattr(points, point)).parameters) for point in HOOKS}


def _in_order(point: str, found: Sequence[HookImpl], plugins: Sequence[Named]) -> tuple[Hook, ...]:
    """First registered, first called: pluggy itself would call the last one first. The wrappers of essential plugins
    come last, which is innermost: what they let pass is what is done."""
    place = {one.name: number for number, one in enumerate(plugins)}
    essential = {one.name for one in plugins if one.essential}

    def key(impl: HookImpl) -> tuple[bool, int, int]:
        innermost = point == "wrap_tool" and impl.plugin_name in essential
        rank = 0 if impl.tryfirst else 2 if impl.trylast else 1
        return innermost, rank, place[impl.plugin_name]

    ordered = sorted(found, key=key)
    return tuple(Hook(impl.plugin_name, point, impl.function, tuple(impl.argnames)) for impl in ordered)


# What counts as a plugin's failure, and how it is reported.


FAILURES = (Exception, SystemExit)
"""The exceptions of a plugin that don't end the run; a cancellation passes."""

LONGEST = 1_000
"""How many characters of an error are shown."""


def not_the_plugins(error: BaseException) -> bool:
    """The record of the run can't be written: that is not the fault of the plugin that happened to notice it."""
    return isinstance(error, LedgerError)


def error_text(error: BaseException) -> str:
    """The error in one line or a few; the cause is usually at the beginning or at the end."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} [...] {text[-LONGEST // 2 :]}"


def sound_outcome(found: object) -> ToolOutcome:
    """Raises TypeError if the value is not an outcome: a plugin's types are not always checked."""
    if not isinstance(found, ToolOutcome):
        raise TypeError(f"it returned {found!r}: a ToolOutcome is expected")
    if not (isinstance(found.text, str) and isinstance(found.summary, str) and isinstance(found.ok, bool)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"it returned {found!r}: the text and the summary of a ToolOutcome are text, `ok` is a boolean")
    return found


async def in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """Its return value or exception. A thread can't be stopped: a cancelled one runs on, and its result is ignored."""
    return await run_in_thread(lambda: function(*given))
