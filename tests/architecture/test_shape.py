"""The shape of the source: what keeps it readable (docs/architecture.md, "Shape")."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.source_tree import ROOT, modules


def test_every_function_is_annotated() -> None:
    wrong: list[str] = []
    for module in modules():
        for function in module.functions():
            where = f"{module.name}:{function.lineno} {function.name}"
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            bare = [one.arg for one in arguments if one.annotation is None and one.arg not in ("self", "cls")]
            if bare or function.returns is None:
                wrong.append(f"{where}: not annotated")
    assert not wrong


def test_every_module_and_public_class_says_what_it_is() -> None:
    for module in modules():
        if module.path.name == "__init__.py" and not module.tree.body:
            continue
        assert ast.get_docstring(module.tree), module.name


def test_a_name_of_a_port_means_that_port() -> None:
    classes = [(module, node) for module in modules() for node in module.nodes if isinstance(node, ast.ClassDef)]
    ports = {
        node.name
        for module, node in classes
        if module.layer == "ports" and any(ast.unparse(base).startswith("Protocol") for base in node.bases)
    }
    assert "GuardedFiles" in ports
    assert not [f"{m.name}: {node.name}" for m, node in classes if node.name in ports and m.layer != "ports"]


def test_each_promise_of_security_names_a_test_that_is_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= 20
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"


def test_tests_use_no_mocks() -> None:
    own = ROOT / "tests" / "architecture" / "test_shape.py"
    for path in (ROOT / "tests").rglob("*.py"):
        if path != own:
            text = path.read_text(encoding="utf-8")
            assert "unittest.mock" not in text, path
            assert "MagicMock" not in text, path


def test_the_numbers_of_conformance_stay_in_tests() -> None:
    """A reader of the code has no use for them: what they stand for is said where it matters."""
    ids = set(re.findall(r"^- ([AC]\d+) ", (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8"), re.M))
    assert len(ids) > 40
    sources = [module.path for module in modules()] + [*(ROOT / "client-vscode" / "src").rglob("*.ts")]
    for path in sources:
        found = ids & set(re.findall(r"\b[AC]\d{1,2}\b", path.read_text(encoding="utf-8")))
        assert not found, f"{path} names {sorted(found)}"


def test_files_of_a_workspace_are_read_within_it() -> None:
    """`regular` is the door: a path that is joined before it is read follows any link."""
    joined = re.compile(r"\bread_(?:bytes|text|start)\(\s*[\w.]*(?:root|_top)\b[\w.()]* / ")
    found = [f"{module.path}: {match[0]}" for module in modules() for match in joined.finditer(module.text)]
    assert not found, found


def test_tests_look_at_processes_in_one_way() -> None:
    """Between two looks a process may end: `tests.tools.runs` and `below` bear that."""
    looks = re.compile(r"psutil\.(?:pid_exists|Process\(.*\)\.(?:status|children)\()")
    allowed = {"tools.py", "benchmarks", "vscode", "architecture"}
    tests = Path(__file__).parents[1]
    found = [
        f"{file.relative_to(tests)}:{number}"
        for file in tests.rglob("*.py")
        if file.relative_to(tests).parts[0] not in allowed
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if looks.search(line)
    ]
    assert not found
