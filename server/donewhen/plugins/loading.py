"""Where plugins come from: objects and names from the user's settings or a library caller, and entry points.

Nothing is ever loaded from a workspace: the worker can change its files, and a stranger may have written them.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Collection, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from donewhen.core.errors import UsageError
from donewhen.plugins.registering import FAILURES, Named, error_text
from donewhen.regular import expanded, read_bytes

GROUP = "donewhen"
"""The entry points of this group are plugins."""
RESERVED = ("worker",)
MAX_NAME = 100
_FORMS = "write it as `package.module:Attribute`, or as the full path of a file, `/path/plugin.py:Attribute`"


def from_source(source: object, workspace: Path | None = None) -> Named:
    """A plugin from what names it, made for one run: classes and functions are called, modules and objects are used
    as they are. Raises UsageError that says what to do."""
    if not isinstance(source, str):
        return made(source, "")
    return made(_imported_object(source, workspace), "", source)


def installed(off: Collection[str] = (), workspace: Path | None = None) -> Iterator[Named]:
    """The plugins from installed packages, by the name of their entry point; those in `off` are not even loaded."""
    for point in installed_points(workspace):
        if point.name not in off:
            yield from_point(point)


def from_point(point: EntryPoint) -> Named:
    try:
        found = point.load()
    except FAILURES as error:
        raise UsageError(
            f"the installed plugin {point.name} ({point.value}) can't be loaded: {error_text(error)}; install it "
            "again, uninstall it, or name it in `plugins_off` of your settings"
        ) from error
    return made(found, point.name, point.value)


def installed_points(workspace: Path | None = None) -> list[EntryPoint]:
    """Sorted by name. What lies in the workspace itself was not installed by the user."""
    found: list[EntryPoint] = []
    for point in entry_points(group=GROUP):
        if point.dist is None or not _in_workspace(Path(str(point.dist.locate_file(""))), workspace):
            found.append(point)
    return sorted(found, key=lambda point: (point.name, point.value))


def made(found: object, entry: str, source: str = "") -> Named:
    """The plugin and its name: its `name` attribute, else its entry point's name, else its name in Python."""
    plugin = found
    if inspect.isclass(found) or inspect.isfunction(found):
        try:
            plugin = found()
        except FAILURES as error:
            what = source or f"{found.__module__}.{found.__qualname__}"
            raise UsageError(
                f"the plugin {what} can't be made: {error_text(error)}; it is called without arguments: where it "
                "needs some, name a function that makes it"
            ) from error
    if plugin is None or isinstance(plugin, (str, int, float, list, tuple, dict)):
        raise UsageError(
            f"the plugin {source or repr(found)} is {plugin!r}: a class, an object or a module is expected"
        )
    own = getattr(plugin, "name", None)
    in_python = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__name__
    name = (own if isinstance(own, str) and own.strip() else entry or in_python).strip()
    if not name.isprintable() or len(name) > MAX_NAME:
        raise UsageError(
            f"a plugin can't be called {ascii(name)[:120]}: give it a `name` of at most {MAX_NAME} characters that can "
            "be printed"
        )
    if name in RESERVED:
        raise UsageError(
            f"a plugin can't be called {name}: that name is reserved for halts without a plugin; give it another `name`"
        )
    return Named(name, plugin)


def _imported_object(source: str, workspace: Path | None) -> Any:
    """The object that `package.module:Attribute`, or a path with an attribute, names; without attribute, the module."""
    where, _, attribute = source.strip().rpartition(":")
    if not where or len(where) == 1:  # a module without attribute, or a drive's letter
        where, attribute = source.strip(), ""
    path = expanded(where)
    is_file = where.endswith(".py") or "/" in where or "\\" in where
    if is_file and not path.is_absolute():
        raise UsageError(f"the plugin {source} is not given with its full path: {_FORMS}")
    try:
        module = _file_module(path, workspace) if is_file else _module(where, workspace)
        return getattr(module, attribute) if attribute else module
    except UsageError:
        raise
    except AttributeError as error:
        raise UsageError(f"the plugin {source} can't be loaded: {error}; {_FORMS}") from error
    except FAILURES as error:
        raise UsageError(
            f"the plugin {source} can't be loaded: {error_text(error)}; fix it, or remove it from your settings "
            f"({_FORMS})"
        ) from error


def _module(name: str, workspace: Path | None) -> ModuleType:
    """Checks where the module lies before running it: the workspace may be on Python's path."""
    found = importlib.util.find_spec(name.partition(".")[0])
    places = [found.origin, *(found.submodule_search_locations or ())] if found is not None else []
    for place in places:
        if place and _in_workspace(Path(place), workspace):
            raise UsageError(
                f"the plugin {name} is in the workspace, and plugins are never loaded from there: install it"
            )
    return importlib.import_module(name)


def _file_module(path: Path, workspace: Path | None) -> ModuleType:
    """Runs the file's module again for each run, so that changes are noticed and no state is left from the last run."""
    if _in_workspace(path, workspace):
        raise UsageError(
            f"the plugin {path} is in the workspace, and plugins are never loaded from there: keep it elsewhere"
        )
    if not path.is_file():
        raise UsageError(f"there is no file {path}: fix or remove that plugin in your settings")
    if path.suffix != ".py":
        raise UsageError(f"the plugin {path} is not a Python file: {_FORMS}")
    module = ModuleType(f"donewhen_plugin_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickles look up their module
    try:
        # Not by an importer: its cached bytecode would be used for a file that was changed within the same second.
        exec(compile(read_bytes(path), str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102  # the user's own
    except BaseException:
        sys.modules.pop(module.__name__, None)
        raise
    return module


def _in_workspace(path: Path, workspace: Path | None) -> bool:
    """True inside the workspace, except for the environment that runs this: whoever made that trusts it."""
    if workspace is None:
        return False
    place = path.resolve()
    own = [Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)]
    inside = workspace.resolve()
    if any(place.is_relative_to(one) for one in own if one != inside and one.is_relative_to(inside)):
        return False
    return place.is_relative_to(inside)
