"""Who may import whom: deny by default (docs/architecture.md, "Layout")."""

from __future__ import annotations

import ast
import sys

import donewhen
from donewhen.extras import EXTRAS
from tests.architecture.source_tree import EXTRAS as FOLDERS
from tests.architecture.source_tree import Module, layer_of, modules

PURE = (
    "core", "core.ecosystems", "ports", "engine", "goalfile", "settings", "wire", "regular", "version", "installation",
)  # fmt: skip
"""What nobody has to hand in: data, rules, texts, and the engine's own interface."""
FRONT_END = (*PURE, "app")
ADAPTER = ("core", "core.ecosystems", "ports", "regular")
ALLOWED: dict[str, tuple[str, ...]] = {
    # From the ground up. A layer may always import itself.
    "core.ecosystems": ("version",),
    "core": ("core.ecosystems",),
    "version": (),
    "installation": ("version",),
    "regular": (),
    "threads": (),
    "marked_yaml": (),
    "yaml_shapes": ("core", "marked_yaml"),
    "cli.samples": (),
    "ports": ("core",),
    "engine": ADAPTER,
    "wire": ("core", "ports", "engine", "version"),
    "settings": ("core", "regular"),
    "goalfile": (*ADAPTER, "settings", "marked_yaml"),
    "evidence": ADAPTER,
    "workspace": (*ADAPTER, "installation"),
    "store": ADAPTER,
    "plugins": (*ADAPTER, "threads"),
    "models": ("core", "ports", "installation"),
    "judges": ("core", "core.ecosystems", "ports", "models"),
    "workers": (*ADAPTER, "models", "yaml_shapes", "version"),
    "workers.callables": ("core", "ports", "threads", "workers", "extras"),
    # The composition root sees all of these, and no front end.
    "app": (
        *PURE, "workers.callables", "evidence", "judges", "models", "plugins", "store", "workers", "workspace",
        "extras",
    ),
    # Front ends: what is pure, and the composition root.
    "lsp": (*FRONT_END, "extras"),
    "cli": (*FRONT_END, "cli.samples", "extras"),
    "library": (*FRONT_END, "threads", "workers.callables"),
    # Of the extras the others know the table alone. An extra may import them, and no other extra.
    "extras": (),
    "extras.tracing": ("core", "ports", "version", "installation"),
    "extras.adapters": ("core", "workers.callables"),
    "extras.attempts": (*FRONT_END, "cli", "lsp", "store", "workspace"),
    "extras.goalbench": (*FRONT_END, "cli", "judges", "store", "workspace", "yaml_shapes"),
    "extras.lookalikes": (*FRONT_END, "library", "threads", "workers.callables"),
    "extras.fleet": (*FRONT_END, "cli", "store", "workspace"),
    "extras.mcp": (*FRONT_END, "cli"),
    # The two doors of the program; the package itself only names what it exports.
    "__main__": ("version", "app", "cli", "lsp"),
    "": ("version", "core", "workers.callables", "library", "extras", "extras.lookalikes"),
}  # fmt: skip
THIRD_PARTY: dict[str, tuple[str, ...]] = {
    "pygls": ("lsp",),
    "lsprotocol": ("lsp",),
    "markdown_it": ("goalfile", "wire"),
    "yaml": ("marked_yaml", "yaml_shapes", "goalfile", "extras.goalbench"),
    "pathspec": ("workspace",),
    "watchfiles": ("workspace",),
    "psutil": ("workspace",),
    "sqlite3": ("store", "workspace", "evidence", "extras.fleet"),  # evidence: coverage's record of which test ran what
    "pydantic_core": ("yaml_shapes",),
    "pydantic": (
        "yaml_shapes",
        "workers",
        "judges",
        "extras.goalbench",
        "extras.attempts",
        "extras.fleet",
        "wire",
        "lsp",
        "extras.mcp",
        "plugins",
    ),
    "pluggy": ("plugins",),
    "rich": ("cli",),
    "platformdirs": ("store", "settings", "cli"),
    "cattrs": ("lsp",),
    "mcp": ("extras.mcp",),
    "mcp_types": ("extras.mcp",),
    "opentelemetry": ("extras.tracing",),
    "anthropic": ("models",),
    "litellm": ("models",),
    "openai": ("models",),
    "tree_sitter": ("core",),
    "acp": ("workers",),
    "temporalio": ("extras.fleet",),
}
POSIX_ONLY = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"}


def edges(module: Module) -> set[str]:
    """The layers of ours that a module reaches, besides its own."""
    ours = {layer_of(name) for name in module.imported() if name.startswith("donewhen.")}
    return {layer for layer in ours if not layer.startswith("__") and layer != module.layer}


def test_a_module_imports_only_what_its_layer_may() -> None:
    new = {
        module.name: sorted(beyond) for module in modules() if (beyond := edges(module) - set(ALLOWED[module.layer]))
    }
    assert not new, f"new edges: {new}"


def test_extras_are_known_by_their_table_alone() -> None:
    """By name, too: a row of the table is all that has to go with a folder. The package itself names what it exports of
    them for type checkers, which nothing executes."""
    assert {f"extras.{one.folder}" for one in EXTRAS} == FOLDERS
    assert not {layer: named for layer, allowed in ALLOWED.items() if layer and (named := FOLDERS & set(allowed))}
    assert not [one.name for one in modules() if one.layer not in ("", *FOLDERS) and "donewhen.extras." in one.text]


def test_third_party_libraries_stay_in_their_place() -> None:
    known = set(sys.stdlib_module_names) | set(THIRD_PARTY)
    wrong: list[str] = []
    for module in modules():
        roots = {name.split(".")[0] for name in module.imported()} - {"donewhen", ""}
        wrong += [f"{module.name}: {root} is in no table" for root in sorted(roots - known)]
        misplaced = {root for root in roots & set(THIRD_PARTY) if module.layer not in THIRD_PARTY[root]}
        wrong += [f"{module.name} may not import {root}" for root in sorted(misplaced)]
    assert not wrong


def test_core_is_pure() -> None:
    """Invariant 1: no I/O, clock, randomness or asyncio."""
    impure = {"os", "io", "sys", "time", "random", "secrets", "asyncio", "pathlib", "subprocess", "socket", "logging"}
    for module in modules():
        if module.layer in ("core", "core.ecosystems"):
            roots = {name.split(".")[0] for name in module.imported()}
            assert not roots & impure, f"{module.name} imports {sorted(roots & impure)}"


def test_only_the_workspace_starts_processes() -> None:
    """Invariant 11. The LSP bench and the tests may, the server may not."""
    for module in modules():
        roots = {name.split(".")[0] for name in module.imported()}
        if "subprocess" in roots or "multiprocessing" in roots:
            assert module.layer == "workspace", f"{module.name} starts processes"


def test_nothing_posix_only_is_imported_at_module_level() -> None:
    for module in modules():
        for node in module.tree.body:
            names = [alias.name for alias in getattr(node, "names", [])] if hasattr(node, "names") else []
            names.append(getattr(node, "module", None) or "")
            assert not set(names) & POSIX_ONLY, f"{module.name} imports {names} at module level"


def test_nothing_inside_uses_the_public_names() -> None:
    """They are for callers: inside, everything comes from where it is."""
    exported = {f"donewhen.{name}" for name in donewhen.__all__}
    wrong = {module.name: sorted(module.imported() & exported) for module in modules() if module.layer}
    assert not {name: names for name, names in wrong.items() if names}


OWN_FILES = {"cli.samples", "extras.goalbench", "regular"}
OPENS = {
    "donewhen.__main__": "the null device",
    "donewhen.cli.goal_argument": "makes a new file",
    "donewhen.installation": "what its installer wrote",
    "donewhen.lsp.goal_commands": "makes a new file",
    "donewhen.models.catalogue": "a file of an installed package",
    "donewhen.workspace.locks": "makes a new file",
    "donewhen.workspace.processes.leftovers": "files of /proc",
    "donewhen.workspace.rooms.entering": "files of /proc; it runs without the package",
    "donewhen.workspace.rooms.limits": "files of /proc",
    "donewhen.workspace.searching_program": "looks first; it runs without the package",
}


def test_files_of_others_are_read_by_one_reader_that_nothing_holds_up() -> None:
    """A pipe, a device or an endless link may stand in place of any file: `regular.py`."""
    wrong: list[str] = []
    for module in modules():
        if module.layer in OWN_FILES or module.name in OPENS:
            continue
        for node in module.nodes:
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            is_path = name in ("read_text", "read_bytes") and isinstance(called, ast.Attribute)
            mode = node.args[0] if isinstance(called, ast.Attribute) and node.args else None
            is_opened = name == "open" and (
                isinstance(called, ast.Name) or (isinstance(mode, ast.Constant) and mode.value in ("r", "rb"))
            )
            if is_path or is_opened:
                wrong.append(f"{module.name}:{node.lineno}")
    assert not wrong, f"use donewhen.regular: {wrong}"


def test_there_is_no_import_cycle() -> None:
    known = {module.name for module in modules()}
    # The package itself is imported before anything inside of it, and exports its names lazily.
    own = {"donewhen"}
    graph = {m.name: {n for n in m.imported() if n in known - own and n != m.name} for m in modules()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"cycle: {' -> '.join([*path[path.index(name) :], name])}"
        if name in done:
            return
        for target in sorted(graph[name]):
            visit(target, (*path, name))
        done.add(name)

    for name in sorted(graph):
        visit(name, ())
