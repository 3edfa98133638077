"""What `donewhen doctor` finds out about plugins: those that runs here would have, and why others can't be used."""

from __future__ import annotations

from pathlib import Path

from donewhen.cli.services import PluginFacts
from donewhen.composition_plugins import GATE, approval_gate
from donewhen.config import Settings, user_settings_file
from donewhen.core.errors import DoneWhenError

OFF = "switched off in your settings"


def plugins_facts(root: Path, settings: Settings) -> tuple[PluginFacts, ...]:
    """Those of the user's settings, then the gate, then those that packages bring. Each is loaded as a run would."""
    from donewhen.plugins.opening import installed_plugins

    off = settings.approvals.plugins_off
    found = [_configured(source, root, off) for source in settings.approvals.plugins]
    found.append(PluginFacts(GATE, "built in", _points(approval_gate(root, None))))
    for one in installed_plugins(root):
        source = one.package or "installed"
        if one.name in off:
            found.append(PluginFacts(one.name, f"{source}, {OFF}", one.points))
        else:
            how = f'mend it, uninstall it, or add "{one.name}" to `plugins_off` in {user_settings_file()}'
            found.append(PluginFacts(one.name, source, one.points, one.problem, how if one.problem else ""))
    return tuple(found)


def _configured(source: str, root: Path, off: tuple[str, ...]) -> PluginFacts:
    from donewhen.plugins.loading import from_source

    try:
        named = from_source(source, root)
        where = f"{source}, {OFF}" if named.name in off else source
        return PluginFacts(named.name, where, _points(named.plugin))
    except DoneWhenError as error:
        how = f"mend it, or take it out of `plugins` in {user_settings_file()}"
        return PluginFacts(source, "your settings", problem=str(error), how=how)


def _points(plugin: object) -> tuple[str, ...]:
    """The hooks that it implements. Raises UsageError for one that can't be called."""
    from donewhen.plugins.registering import Named, registered

    found = registered([Named("looked-at", plugin)])
    return tuple(point for point, hooks in found.hooks.items() if hooks)
