"""The shape of the source: what keeps it readable, as figures (docs/architecture.md, "Shape")."""

from __future__ import annotations

import ast
import statistics

from tests.architecture.source_tree import ROOT, Function, modules

MAX_FILE, MAX_FUNCTION, MAX_MEAN = 400, 50, 13.0


def length(function: Function) -> int:
    """Lines from `def` to the end, without the docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_files_stay_short() -> None:
    counts = {module.name: len(module.path.read_text(encoding="utf-8").splitlines()) for module in modules()}
    assert not {name: count for name, count in counts.items() if count > MAX_FILE}


def test_functions_stay_short_and_annotated() -> None:
    wrong: list[str] = []
    for module in modules():
        for function in module.functions():
            where = f"{module.name}:{function.lineno} {function.name}"
            if length(function) > MAX_FUNCTION:
                wrong.append(f"{where}: {length(function)} lines")
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            bare = [one.arg for one in arguments if one.annotation is None and one.arg not in ("self", "cls")]
            if bare or function.returns is None:
                wrong.append(f"{where}: not annotated")
    assert not wrong


def test_the_mean_function_is_short() -> None:
    lengths = [length(function) for module in modules() for function in module.functions()]
    assert statistics.mean(lengths) <= MAX_MEAN


def test_every_module_and_public_class_says_what_it_is() -> None:
    for module in modules():
        if module.path.name == "__init__.py" and not module.tree.body:
            continue
        assert ast.get_docstring(module.tree), module.name


def test_a_name_of_a_port_means_that_port() -> None:
    classes = [
        (module, node) for module in modules() for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)
    ]
    ports = {
        node.name
        for module, node in classes
        if module.layer == "ports" and any(ast.unparse(base).startswith("Protocol") for base in node.bases)
    }
    assert "GuardedFiles" in ports
    assert not [f"{m.name}: {node.name}" for m, node in classes if node.name in ports and m.layer != "ports"]


def test_tests_use_no_mocks() -> None:
    own = ROOT / "tests" / "architecture" / "test_shape.py"
    for path in (ROOT / "tests").rglob("*.py"):
        if path != own:
            text = path.read_text(encoding="utf-8")
            assert "unittest.mock" not in text, path
            assert "MagicMock" not in text, path
