"""Opens the plugins of one run: what the run may use is decided before it starts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.errors import UsageError
from donewhen.plugins import loading
from donewhen.plugins.calling import PluggyPlugins
from donewhen.plugins.registering import registered


def open_plugins(
    sources: Sequence[object],
    *,
    installed: bool,
    last: Sequence[object] = (),
    off: Collection[str] = (),
    known_tools: Collection[str] = (),
    workspace: Path | None = None,
) -> PluggyPlugins:
    """The plugins of one run: those of `sources` in their order; then, with `installed`, those of the entry point group
    "donewhen" by name; then those of `last`: an essential plugin among these is closest to the tools.

    A source is an object, a class, a function or a module, or text that names one: `package.module:Attribute`,
    `/path/plugin.py:Attribute`. Classes and functions are called for each run, so that no state leaks into the next.
    `off` are names of plugins to leave out, `known_tools` names that no plugin's tool may take. Nothing is loaded from
    `workspace`. Raises UsageError that names an unusable plugin and says what to do, and PluginConflict if two plugins
    register the same name.
    """
    found = [loading.from_source(source, workspace) for source in sources]
    if installed:
        found += loading.installed(off, workspace)
    found += [loading.from_source(source, workspace) for source in last]
    return PluggyPlugins(registered([one for one in found if one.name not in off]), known_tools)


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """A plugin from a package. `points` are the hooks that it implements; `problem` is empty if the plugin can be used,
    else it says what to do."""

    name: str
    package: str
    points: tuple[str, ...] = ()
    problem: str = ""


def installed_plugins(workspace: Path | None = None) -> tuple[InstalledPlugin, ...]:
    """What is installed, and whether it can be used; errors of plugins never raise here."""
    found: list[InstalledPlugin] = []
    for point in loading.installed_points(workspace):
        package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else ""
        try:
            one = loading.from_point(point)
            known = registered([one])
            PluggyPlugins(known)  # what it registers must be usable too
            points = tuple(name for name, hooks in known.hooks.items() if hooks)
            found.append(InstalledPlugin(one.name, package, points))
        except UsageError as error:
            found.append(InstalledPlugin(point.name, package, problem=str(error)))
    return tuple(found)
