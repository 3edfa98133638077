"""The source as data: modules, their imports (lazy and type-only ones included), their functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"
OWN_LAYERS = {"core.ecosystems", "workers.callables", "cli.samples"}
EXTRAS = {f"extras.{one.parent.name}" for one in (SERVER / "donewhen" / "extras").glob("*/__init__.py")}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def layer_of(name: str) -> str:
    """The folder inside the package, or the module's own name where it lies at the top; each of extras is a layer, and
    so are those of OWN_LAYERS."""
    parts = name.split(".")[1:]
    inside = ".".join(parts[:2])
    return inside if inside in (*OWN_LAYERS, *EXTRAS) else ".".join(parts[:1])


@dataclass(frozen=True)
class Module:
    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All of them: walking takes as long as parsing."""
        return tuple(ast.walk(self.tree))

    @property
    def layer(self) -> str:
        """See `layer_of`."""
        return layer_of(self.name)

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))

    @cached_property
    def _imported(self) -> frozenset[str]:
        package = self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                stem = ".".join([*base, *([node.module] if node.module else [])])
                found.add(stem)
                found.update(f"{stem}.{alias.name}" for alias in node.names)
        return frozenset(found)

    def imported(self) -> frozenset[str]:
        """Full names of all that is imported, with the names taken from each module."""
        return self._imported


@cache
def modules() -> tuple[Module, ...]:
    found: list[Module] = []
    for path in sorted((SERVER / "donewhen").rglob("*.py")):
        if "samples" in path.parts and path.parent.name != "samples":
            continue
        parts = path.relative_to(SERVER).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path))
    return tuple(found)
