"""The facts of Python test files: their tests, what those assert, and what skips them."""

from __future__ import annotations

import ast
import fnmatch
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from donewhen.core.integrity import SkipFact, TestFact, TestFileFact
from donewhen.evidence.probes_assertions import (
    Cases,
    FunctionNode,
    assertions_of,
    body_nodes,
    cases_of,
    is_empty,
    last_name,
    literals_of,
    parametrized,
    tokens_digest,
    walk,
)
from donewhen.evidence.probes_bindings import bindings_of
from donewhen.evidence.probes_patching import patches_of
from donewhen.evidence.probes_truth import truth

_SKIP_CALLS = frozenset({"skip", "xfail", "skipTest", "importorskip", "SkipTest", "exit"})
_SETUP = frozenset(
    {"setUp", "setUpClass", "setUpModule", "setup_method", "setup_class", "setup_module", "setup_function"}
)


@dataclass(frozen=True, slots=True)
class PythonNames:
    """What pytest calls a test, from its configuration."""

    functions: tuple[str, ...] = ("test",)
    classes: tuple[str, ...] = ("Test",)


def python_tests(path: str, digest: str, source: str, names: PythonNames, collected: bool = True) -> TestFileFact:
    """Reads one file; `parsed` is false where it is no Python that this interpreter reads."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return TestFileFact(path, digest, collected=collected, parsed=False)
    return _Reader(tree, names).facts(path, digest, collected)


@dataclass(slots=True)
class _Scope:
    """Where a function stands: its class, and whether what is in there is collected."""

    name: str = ""
    collected: bool = True

    def inside(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name


@dataclass(slots=True)
class _Reader:
    tree: ast.Module
    names: PythonNames
    tests: dict[str, TestFact] = field(default_factory=dict[str, TestFact])
    skips: list[SkipFact] = field(default_factory=list[SkipFact])
    _constants: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    _functions: dict[str, FunctionNode] = field(default_factory=dict[str, FunctionNode])
    _methods: dict[str, dict[str, FunctionNode]] = field(default_factory=dict[str, dict[str, FunctionNode]])
    _skip_aliases: frozenset[str] = frozenset()
    _cases: Cases = field(default_factory=dict[str, Sequence[ast.expr]])
    _collected: bool = True
    _classes: dict[str, ast.ClassDef] = field(default_factory=dict[str, ast.ClassDef])

    def facts(self, path: str, digest: str, collected: bool) -> TestFileFact:
        self._collected = collected
        self._constants = literals_of(iter(self.tree.body))
        self._cases = cases_of(self.tree.body)
        self._functions = {
            n.name: n for n in self.tree.body if isinstance(n, FunctionNode) and not self._is_test(n.name)
        }
        for owner in (n for n in self.tree.body if isinstance(n, ast.ClassDef)):
            methods = [n for n in owner.body if isinstance(n, FunctionNode) and not self._is_test(n.name)]
            self._methods[owner.name] = {f"self.{n.name}": n for n in methods}
            self._functions |= self._methods[owner.name]
        self._skip_aliases = _skip_aliases(self.tree.body)
        self._read(self.tree.body, _Scope(collected=not _opted_out(self.tree.body)))
        tests = tuple(self.tests.values())
        bindings = (*(bindings_of(self.tree, path) if collected else ()), *patches_of(self.tree))
        return TestFileFact(path, digest, tests, tuple(self.skips), collected, bindings=bindings)

    # -- statements

    def _read(self, body: Sequence[ast.stmt], scope: _Scope) -> None:
        for statement in body:
            if isinstance(statement, FunctionNode):
                self._function(statement, scope)
            elif isinstance(statement, ast.ClassDef):
                self._class(statement, scope)
            elif isinstance(statement, ast.If | ast.Try | ast.With):
                self._nested(statement, scope)
            else:
                self._rebinding(statement, scope)
                self._module_skip(statement, scope)

    def _nested(self, statement: ast.If | ast.Try | ast.With, scope: _Scope) -> None:
        if isinstance(statement, ast.If):
            known = truth(statement.test)
            never = _Scope(scope.name, False)
            self._read(statement.body, never if known is False else scope)
            self._read(statement.orelse, never if known is True else scope)
            return
        self._read(statement.body, scope)
        if isinstance(statement, ast.Try):
            for handler in statement.handlers:
                self._read(handler.body, scope)
            self._read(statement.orelse, scope)

    def _rebinding(self, statement: ast.stmt, scope: _Scope) -> None:
        """`test_x = None`, `del test_x`, `test_x.__test__ = False`: it is not collected any more."""
        for name in _rebound(statement):
            known = self.tests.get(scope.inside(name))
            if known is not None:
                self.tests[known.name] = _uncollected(known, statement.lineno - 1)

    def _module_skip(self, statement: ast.stmt, scope: _Scope) -> None:
        if _assigns(statement, "pytestmark"):
            self._marks([statement.value] if isinstance(statement, ast.Assign) and statement.value else [], scope.name)
        elif isinstance(statement, ast.Expr | ast.Raise | ast.Assign):
            self._calls(walk(statement), scope.name, False)

    def _class(self, node: ast.ClassDef, scope: _Scope) -> None:
        self._classes[node.name] = node
        name = scope.inside(node.name)
        self._marks(node.decorator_list, name)
        collected = scope.collected and self._is_test_class(node) and not _opted_out(node.body)
        self._read(node.body, _Scope(name, collected))

    def _function(self, node: FunctionNode, scope: _Scope) -> None:
        name = scope.inside(node.name)
        nodes = body_nodes(node)
        called = {**self._functions, **self._methods.get(scope.name, {})}
        found = assertions_of(node, nodes, self._constants, called, self._cases)
        is_test = scope.collected and self._is_test(node.name) and not _is_fixture(node)
        counts = is_test or not self._collected  # what tests call of a file that holds no test
        before = len(self.skips)
        self._marks(node.decorator_list, name)
        self._calls(nodes, name, not is_test and (node.name in _SETUP or _is_autouse(node)))
        if is_test:
            self._returns(node, name)
        self.tests[name] = TestFact(
            name=name,
            line=node.lineno - 1,
            body=_body_digest(node),
            asserts=sum(a.certain for a in found),
            skipped=len(self.skips) > before,
            collected=is_test,
            empty=is_empty(node),
            expected=tuple(a.text for a in found) if counts else (),
            lines=tuple(a.line - node.lineno + 1 for a in found) if counts else (),
            tokens=tokens_digest(nodes) if counts else "",
            cases=tuple(_cases(node, self._cases)),
        )

    # -- what a test is

    def _is_test(self, name: str) -> bool:
        return any(name.startswith(p) or fnmatch.fnmatchcase(name, p) for p in self.names.functions)

    def _is_test_class(self, node: ast.ClassDef) -> bool:
        if any(node.name.startswith(p) or fnmatch.fnmatchcase(node.name, p) for p in self.names.classes):
            return not any(isinstance(s, FunctionNode) and s.name == "__init__" for s in node.body)
        return self._is_test_case(node, 0)

    def _is_test_case(self, node: ast.ClassDef, depth: int) -> bool:
        for base in node.bases:
            name = last_name(base)
            known = self._classes.get(name)
            if "TestCase" in name or (known is not None and depth < 8 and self._is_test_case(known, depth + 1)):
                return True
        return False

    # -- skips

    def _marks(self, expressions: Sequence[ast.expr], scope: str) -> None:
        for expression in expressions:
            for node in walk(expression):
                if isinstance(node, ast.expr) and self._is_skip_mark(node):
                    self.skips.append(SkipFact(scope, node.lineno - 1, _without_reason(node)))
                    break

    def _is_skip_mark(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._skip_aliases or node.id.startswith("skip")
        if isinstance(node, ast.Attribute | ast.Call):
            return _skips(last_name(node))
        return False

    def _calls(self, nodes: Iterable[ast.AST], scope: str, always: bool) -> None:
        for node in nodes:
            if isinstance(node, ast.Raise) and node.exc is not None and last_name(node.exc) == "SkipTest":
                self.skips.append(SkipFact(scope, node.lineno - 1, "SkipTest", always))
            elif isinstance(node, ast.Call) and _is_skip_call(node):
                self.skips.append(SkipFact(scope, node.lineno - 1, f"{ast.unparse(node.func)}()", always))

    def _returns(self, node: FunctionNode, scope: str) -> None:
        body = _without_docstring(node.body)
        first = body[0] if len(body) > 1 else None
        if isinstance(first, ast.If) and truth(first.test) is True and first.body:
            first = first.body[0]
        if isinstance(first, ast.Return):
            self.skips.append(SkipFact(scope, first.lineno - 1, "return"))


def _skips(name: str) -> bool:
    lower = name.lower()
    return lower.startswith("skip") or lower in ("xfail", "expectedfailure")


def _is_skip_call(node: ast.Call) -> bool:
    name = last_name(node)
    if name not in _SKIP_CALLS or name == "SkipTest":
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is None:
        return name in ("skip", "importorskip", "skipTest", "xfail")
    return isinstance(owner, ast.Name) and owner.id in ("pytest", "self", "cls", "py")


def _skip_aliases(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that stand for a skip mark: `slow = pytest.mark.skipif(...)`."""
    return frozenset(
        target.id
        for statement in body
        if isinstance(statement, ast.Assign) and _skips(last_name(statement.value))
        for target in statement.targets
        if isinstance(target, ast.Name) and target.id != "pytestmark"
    )


def _without_reason(node: ast.expr) -> str:
    """A mark as text, without its reason: a better reason is no change."""
    if not isinstance(node, ast.Call):
        return ast.unparse(node)
    conditional = "if" in last_name(node).lower() or last_name(node) == "skipUnless" or last_name(node) == "xfail"
    arguments = node.args[:1] if conditional else []
    keywords = [k for k in node.keywords if k.arg != "reason"]
    if not arguments and not keywords:
        return ast.unparse(node.func)
    return ast.unparse(ast.Call(node.func, arguments, keywords))


def _opted_out(body: Sequence[ast.stmt]) -> bool:
    return any(_assigns(s, "__test__") and isinstance(s, ast.Assign) and truth(s.value) is False for s in body)


def _assigns(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == name for t in statement.targets
    )


def _rebound(statement: ast.stmt) -> Iterator[str]:
    if not isinstance(statement, ast.Assign | ast.Delete):
        return
    for target in statement.targets:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Attribute) and target.attr == "__test__" and isinstance(target.value, ast.Name):
            yield target.value.id


def _uncollected(test: TestFact, line: int) -> TestFact:
    return TestFact(test.name, line, test.body, test.asserts, test.skipped, collected=False, empty=test.empty)


def _is_fixture(node: FunctionNode) -> bool:
    return any(last_name(d) == "fixture" for d in node.decorator_list)


def _is_autouse(node: FunctionNode) -> bool:
    return any(
        isinstance(d, ast.Call) and any(k.arg == "autouse" and truth(k.value) for k in d.keywords)
        for d in node.decorator_list
    )


def _cases(node: FunctionNode, constants: Cases) -> Iterator[str]:
    """The literal cases of `parametrize`: one text each."""
    for values, _ in parametrized(node, constants):
        for value in values:
            text = ast.unparse(_case(value))
            yield text if len(text) <= 60 else f"{text[:40]}… ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def _case(value: ast.expr) -> ast.expr:
    """The values of a `pytest.param`, whatever its id and marks: a skip among those is a skip of its own."""
    if isinstance(value, ast.Call) and last_name(value) == "param":
        return value.args[0] if len(value.args) == 1 else ast.Tuple(value.args, ast.Load())
    return value


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def _body_digest(node: FunctionNode) -> str:
    parts = [ast.dump(node.args), *(ast.dump(s) for s in _without_docstring(node.body))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
