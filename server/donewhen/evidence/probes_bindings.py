"""What the names of a Python test file stand for: a test that calls something else proves something else."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from donewhen.core.integrity import TestFileFact
from donewhen.evidence.probes_assertions import FunctionNode, walk

Binding = tuple[str, int, str]
PACKAGE: Binding = ("__init__.py", 0, "package")
_BUILTINS = frozenset(dir(builtins))


def bindings_of(tree: ast.Module, path: str) -> tuple[Binding, ...]:
    """Each name that the file reads and that it, or Python itself, binds; with its 0-based line and its source.

    A name that is bound again is there once for each binding.
    """
    nodes = list(walk(tree))
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    inside = [n for n in nodes if isinstance(n, ast.Global | ast.Constant)]
    elsewhere = [(name, line, "=") for node in inside for name, line in _bound_from_inside(node, path)]
    bound = [b for b in (*_bound(tree.body), *elsewhere) if b[0] in read]
    own = {name for name, _, _ in bound}
    built_in = [(name, 0, "builtin") for name in read & _BUILTINS if name not in own]
    return tuple(sorted([*bound, *built_in]))


def packaged(fact: TestFileFact, covered: Collection[str]) -> TestFileFact:
    """Notes of a collected file that all its folders are packages: unittest's discovery passes over others."""
    folders = fact.path.split("/")[:-1]
    known = all(f"{'/'.join(folders[:n])}/__init__.py" in covered for n in range(1, len(folders) + 1))
    return replace(fact, bindings=(*fact.bindings, PACKAGE)) if folders and known and fact.collected else fact


def _bound(body: Sequence[ast.stmt]) -> Iterator[Binding]:
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield from _imported(statement)
        elif isinstance(statement, FunctionNode | ast.ClassDef):
            yield statement.name, statement.lineno - 1, "def"
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For):
            yield from _assigned(statement)
        else:
            yield from _nested(statement)


def _bound_from_inside(node: ast.AST, path: str) -> Iterator[tuple[str, int]]:
    """Names of the file that a function declares as `global`, or that a text names for a mock: `tests.test_a.price`."""
    if isinstance(node, ast.Global):
        yield from ((name, node.lineno - 1) for name in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        module, _, name = node.value.rpartition(".")
        if f".{path.removesuffix('.py').replace('/', '.')}".endswith(f".{module}"):
            yield name, node.lineno - 1


def _nested(statement: ast.stmt) -> Iterator[Binding]:
    if isinstance(statement, ast.If) and "TYPE_CHECKING" not in ast.dump(statement.test):
        yield from _bound([*statement.body, *statement.orelse])
    elif isinstance(statement, ast.Try):
        handlers = [s for h in statement.handlers for s in h.body]
        yield from _bound([*statement.body, *handlers, *statement.orelse, *statement.finalbody])
    elif isinstance(statement, ast.With | ast.While):
        yield from _bound(statement.body)


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[Binding]:
    module = ""
    if isinstance(statement, ast.ImportFrom):
        module = f"{'.' * statement.level}{statement.module or ''}."
    for alias in statement.names:
        name = alias.asname or (alias.name if module else alias.name.partition(".")[0])
        what = f"{module}{alias.name}" if module or alias.asname else name
        yield name, statement.lineno - 1, what


def _assigned(statement: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For) -> Iterator[Binding]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        for node in walk(target):
            if isinstance(node, ast.Name) and not _is_part(target):
                yield node.id, statement.lineno - 1, "="


def _is_part(target: ast.expr) -> bool:
    """`calc.add = ...` and `cases[0] = ...` bind no name."""
    return isinstance(target, ast.Attribute | ast.Subscript)
