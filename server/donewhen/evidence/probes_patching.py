"""Test code that replaces what it is to prove: functions and classes of the workspace, bound anew on import."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.core.integrity import TestFileFact
from donewhen.evidence.probes_assertions import last_name
from donewhen.regular import read_text

PATCHED = "patched"
"""The source of a binding that gives an attribute of an imported module or class another value."""

Binding = tuple[str, int, str]
_ROOTS = ("", "src/", "lib/")


def patches_of(tree: ast.Module) -> tuple[Binding, ...]:
    """Attributes of imported names that are bound when the file is imported (`shop.price = ...`), as
    `module:attribute`, with their 0-based lines."""
    imported = dict(_imports(tree.body))
    return tuple(
        (f"{module}:{attribute}", line, PATCHED)
        for owner, attribute, line in _patched(tree.body)
        if (module := _module(owner, imported))
    )


def real_patches(fact: TestFileFact, root: Path, covered: Collection[str]) -> TestFileFact:
    """The fact with those patches alone that replace a function or class that a covered module defines."""
    if not any(what == PATCHED for _, _, what in fact.bindings):
        return fact
    kept = tuple(b for b in fact.bindings if b[2] != PATCHED or _is_defined(b[0], root, covered))
    return replace(fact, bindings=kept)


def _imports(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name if alias.asname else ""
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            for alias in statement.names:
                yield alias.asname or alias.name, f"{statement.module}.{alias.name}"


def _module(owner: str, imported: dict[str, str]) -> str:
    """`shop.prices` for what is `shop.prices`, or `p` of `import shop.prices as p`; empty for what isn't imported."""
    first, _, rest = owner.partition(".")
    if first not in imported:
        return ""
    return ".".join(part for part in (imported[first] or first, rest) if part)


def _patched(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str, int]]:
    """Owner, attribute and line of each attribute that is bound outside of functions."""
    for statement in body:
        line = statement.lineno - 1
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute):
                    yield ast.unparse(target.value), target.attr, line
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield from ((*found, line) for found in _set(statement.value))
        else:
            for inner in ("body", "orelse", "finalbody"):
                if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield from _patched(getattr(statement, inner, ()))


def _set(call: ast.Call) -> Iterator[tuple[str, str]]:
    """`setattr(shop, "price", f)`."""
    if last_name(call) == "setattr" and len(call.args) == 3 and isinstance(call.args[1], ast.Constant):
        yield ast.unparse(call.args[0]), str(call.args[1].value)


def _is_defined(name: str, root: Path, covered: Collection[str]) -> bool:
    module, _, attribute = name.partition(":")
    defines = re.compile(rf"^\s*(?:async\s+def|def|class)\s+{re.escape(attribute)}\b", re.MULTILINE)
    return any(defines.search(_text(root / path)) for path in _sources(module, covered))


def _sources(module: str, covered: Collection[str]) -> Iterator[str]:
    """Where a module, or the module of a class, may lie."""
    parts = module.split(".")
    for words in (parts, parts[:-1]):
        for start in _ROOTS if words else ():
            path = start + "/".join(words)
            yield from (p for p in (f"{path}.py", f"{path}/__init__.py") if p in covered)


def _text(path: Path) -> str:
    try:
        return read_text(path, "utf-8", "replace")
    except OSError:
        return ""
