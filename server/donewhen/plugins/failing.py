"""What counts as a plugin's failure, and how it is told."""

from __future__ import annotations

from donewhen.core.errors import LedgerError
from donewhen.core.plugging import ToolOutcome
from donewhen.plugins.registering import Hook
from donewhen.ports import PluginHost

FAILURES = (Exception, SystemExit)
"""What a plugin may raise without taking the run down; a cancellation passes."""

LONGEST = 1_000
"""Characters of an error that are shown."""


def not_the_plugins(error: BaseException) -> bool:
    """The record of the run can't be written: that is not the fault of the plugin that happened to notice."""
    return isinstance(error, LedgerError)


def told(error: BaseException) -> str:
    """In a line or a few; what went wrong stands at the beginning or at the end."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} [...] {text[-LONGEST // 2 :]}"


def sound_outcome(found: object) -> ToolOutcome:
    """Raises TypeError for what is not an outcome: a plugin's types are not always checked."""
    if not isinstance(found, ToolOutcome):
        raise TypeError(f"it returned {found!r}: a ToolOutcome is expected")
    if not (isinstance(found.text, str) and isinstance(found.summary, str) and isinstance(found.ok, bool)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"it returned {found!r}: the text and the summary of a ToolOutcome are text, `ok` is a boolean")
    return found


async def switch_off(host: PluginHost, hook: Hook, reason: str, essential: frozenset[str]) -> None:
    await host.switch_off(hook.plugin, hook.point, reason, essential=hook.plugin in essential)
