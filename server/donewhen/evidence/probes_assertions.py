"""What a Python function asserts: how many assertions can fail, and which literals and comparisons they hold."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from donewhen.evidence.probes_truth import truth

SEPARATOR = "\x1f"
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Literals = Mapping[str, tuple[str, ...]]
Cases = Mapping[str, Sequence[ast.expr]]
_NO_CASES: Cases = {}
_DEEPEST = 4

_UNITTEST_COMPARISONS = {
    "assertEqual": ("Eq",),
    "assertEquals": ("Eq",),
    "assertNotEqual": ("NotEq",),
    "assertIs": ("Is",),
    "assertIsNot": ("IsNot",),
    "assertIsNone": ("Is", "None"),
    "assertIsNotNone": ("IsNot", "None"),
    "assertIn": ("In",),
    "assertNotIn": ("NotIn",),
    "assertGreater": ("Gt",),
    "assertGreaterEqual": ("GtE",),
    "assertLess": ("Lt",),
    "assertLessEqual": ("LtE",),
    "assertTrue": (),
    "assertFalse": ("Not",),
}
_RAISES = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "assertWarnsRegex", "assertLogs"}
)
_SWALLOWS = frozenset({"", "Exception", "BaseException", "AssertionError"})
_SKIPS = frozenset({"skip", "skipTest", "xfail"})


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion that can fail: its 0-based line, its literals and comparisons in no order. `certain`: no condition
    keeps it from being run."""

    line: int
    tokens: tuple[str, ...]
    certain: bool = True

    @property
    def text(self) -> str:
        return SEPARATOR.join(self.tokens)


def assertions_of(
    function: FunctionNode,
    nodes: Sequence[ast.AST],
    constants: Literals,
    called: Mapping[str, FunctionNode],
    cases: Cases = _NO_CASES,
    depth: int = 0,
) -> list[Assertion]:
    """The assertions that a call of this function reaches, those of the file's own functions that it calls included,
    and of those that they call, as deep as people read.

    `nodes` are all of its body (`body_nodes`). `constants` are the file's literals by name; a name in an assertion
    counts as its literal. `cases` are the file's lists of cases by name (`cases_of`).
    """
    names = {**constants, **_parameters(function, cases), **literals_of(nodes)}
    found: list[Assertion] = []
    for statement, certain in _reachable(function.body):
        found += [replace(a, certain=certain) for a in _statement_assertions(statement, names)]
        for node in _own_nodes(statement):
            if isinstance(node, ast.Call) and depth < _DEEPEST and (name := _called(node)) in called:
                rest = {k: v for k, v in called.items() if k != name and v is not function}
                helper = called[name]
                given = {**constants, **_arguments(helper, node, names)}
                inner = assertions_of(helper, body_nodes(helper), given, rest, depth=depth + 1)
                found += [Assertion(node.lineno - 1, a.tokens, certain and a.certain) for a in inner]
    return found


def _called(call: ast.Call) -> str:
    """`check` of `check(...)`, `self.check` of `self.check(...)`; empty for what is called otherwise."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return ""


def _arguments(helper: FunctionNode, call: ast.Call, names: Literals) -> dict[str, tuple[str, ...]]:
    """What the helper's parameters stand for in this call."""
    parameters = [argument.arg for argument in (*helper.args.posonlyargs, *helper.args.args)]
    given = dict(zip(parameters[isinstance(call.func, ast.Attribute) :], call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    return {name: tuple(_tokens(value, names)) for name, value in given.items()}


def cases_of(body: Sequence[ast.stmt]) -> dict[str, Sequence[ast.expr]]:
    """The lists that the file's own names are bound to: `CASES = [(1, 2, 3)]`."""
    return {
        target.id: statement.value.elts
        for statement in body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        and isinstance(statement.value, ast.List | ast.Tuple | ast.Set)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    }


def parametrized(
    function: FunctionNode, constants: Cases = _NO_CASES
) -> Iterator[tuple[Sequence[ast.expr], Sequence[str]]]:
    """The values of each `parametrize`, written out there or in a constant, and the names that they are bound to."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and last_name(decorator) == "parametrize" and len(decorator.args) > 1:
            names, values = decorator.args[:2]
            if isinstance(values, ast.Name):
                listed = constants.get(values.id)
            else:
                listed = values.elts if isinstance(values, ast.List | ast.Tuple | ast.Set) else None
            if listed is not None:
                given = [n.value for n in walk(names) if isinstance(n, ast.Constant)]
                yield listed, [word for n in given for word in str(n).replace(",", " ").split()]


def _parameters(function: FunctionNode, cases: Cases) -> dict[str, tuple[str, ...]]:
    """What a test's parameters may be: the literals of all their cases together."""
    found: dict[str, tuple[str, ...]] = {}
    for values, names in parametrized(function, cases):
        tokens = tuple(t for value in values for t in _tokens(value, {}))
        found.update(dict.fromkeys(names, tokens))
    return found


def body_nodes(function: FunctionNode) -> list[ast.AST]:
    """Everything in a body, walked once: that is what reading a test takes its time for."""
    return [node for statement in function.body for node in walk(statement)]


def tokens_digest(nodes: Sequence[ast.AST]) -> str:
    """All literals and comparisons of a body, in no order."""
    tokens = sorted(token for node in nodes for token in _token(node, {}))
    return hashlib.sha256(SEPARATOR.join(tokens).encode()).hexdigest()[:12]


def literals_of(nodes: Iterable[ast.AST]) -> dict[str, tuple[str, ...]]:
    """Names that are bound to literals, or to what a call gives for some: by an assignment, or by a loop over some."""
    found: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and (_is_literal(node.value) or isinstance(node.value, ast.Call)):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None and _is_literal(node.value):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.For) and _is_literal(node.iter):
            targets, value = [node.target], node.iter
        else:
            continue
        tokens = tuple(_tokens(value, {}))
        found.update({n.id: tokens for t in targets for n in walk(t) if isinstance(n, ast.Name)})
    return found


def is_empty(function: FunctionNode) -> bool:
    """True where a body does nothing: pass, `...`, a docstring, an assertion that can't fail, a bare return."""
    return all(_does_nothing(s) for s in function.body)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, but for contexts: `ast.walk` takes three times as long, and this is where time goes."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        for name in current._fields:
            value: object = getattr(current, name, None)
            if isinstance(value, ast.expr_context):
                continue
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif type(value) is list:
                waiting += [item for item in reversed(cast("list[object]", value)) if isinstance(item, ast.AST)]


def last_name(node: ast.expr) -> str:
    """`skip` of `pytest.mark.skip(...)`: the last word of a dotted name, called or not; empty for anything else."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# ---------------------------------------------------------------------------------------- what is reached


def _reachable(body: Sequence[ast.stmt], certain: bool = True) -> Iterator[tuple[ast.stmt, bool]]:
    """Statements that can run and whose failure is not swallowed, outer ones before inner ones; and whether no
    condition decides on them."""
    for statement in body:
        yield statement, certain
        for inner in _inner_bodies(statement):
            yield from _reachable(inner, certain and not _depends(statement, inner))
        if _ends(statement):
            return


def _depends(statement: ast.stmt, inner: Sequence[ast.stmt]) -> bool:
    """True where the inner body runs only under a condition. Where both branches assert, one of them surely does: the
    first one counts for both."""
    if not isinstance(statement, ast.If) or truth(statement.test) is not None:
        return False
    others = [n for s in statement.orelse for n in walk(s)]
    return inner is statement.orelse or not any(isinstance(n, ast.Assert) or _is_fail(n) for n in others)


def _inner_bodies(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    if isinstance(statement, ast.If | ast.While):
        known = truth(statement.test)
        if known is not False:
            yield statement.body
        if known is not True:
            yield statement.orelse
    elif isinstance(statement, ast.Try):
        if not any(_swallows(h) for h in statement.handlers):
            yield statement.body
        yield from (h.body for h in statement.handlers)
        yield statement.orelse
        yield statement.finalbody
    elif isinstance(statement, ast.With | ast.AsyncWith):
        if not any(last_name(i.context_expr) == "suppress" for i in statement.items):
            yield statement.body
    elif isinstance(statement, ast.Match):
        yield from (case.body for case in statement.cases)
    elif isinstance(statement, ast.For | ast.AsyncFor | ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _loop_bodies(statement)


def _loop_bodies(statement: ast.For | ast.AsyncFor | FunctionNode) -> Iterator[Sequence[ast.stmt]]:
    if isinstance(statement, ast.For | ast.AsyncFor):
        if isinstance(statement.iter, ast.List | ast.Tuple | ast.Set) and not statement.iter.elts:
            return
        yield statement.orelse
    yield statement.body


def _swallows(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {"" if kind is None else last_name(kind) for kind in kinds}
    speaks = any(isinstance(n, ast.Raise | ast.Assert) or _is_fail(n) for s in handler.body for n in walk(s))
    return bool(names & _SWALLOWS) and not speaks


def _is_fail(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (last_name(node) == "fail" or last_name(node).startswith("assert"))


def _ends(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(statement, ast.If) and truth(statement.test) is True:
        return any(_ends(s) for s in statement.body)
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and last_name(statement.value) in _SKIPS
    )


# --------------------------------------------------------------------------------------- what is asserted


def _statement_assertions(statement: ast.stmt, names: Literals) -> Iterator[Assertion]:
    line = statement.lineno - 1
    if isinstance(statement, ast.Assert):
        for test in _conjuncts(statement.test):
            if truth(test) is not True:
                yield Assertion(line, _sorted(_tokens(test, names)))
    elif isinstance(statement, ast.With | ast.AsyncWith):
        for item in statement.items:
            if last_name(item.context_expr) in _RAISES and isinstance(item.context_expr, ast.Call):
                yield Assertion(line, _sorted(_call_tokens(item.context_expr, names)))
    elif isinstance(statement, ast.Expr):
        call = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
        if isinstance(call, ast.Call) and _asserts(call):
            yield Assertion(line, _sorted(_call_tokens(call, names)))


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    """`assert a and b` asserts two things."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _conjuncts(value)
    else:
        yield test


def _asserts(call: ast.Call) -> bool:
    name = last_name(call)
    if name in _RAISES:
        return True
    if not (name.startswith(("assert", "expect")) or name == "fail"):
        return False
    if name in ("assertTrue", "assertFalse") and call.args:
        return truth(call.args[0]) is not (name == "assertTrue")
    if name in ("assertEqual", "assertIs", "assertEquals") and len(call.args) >= 2:
        return ast.dump(call.args[0]) != ast.dump(call.args[1])
    return True


def _call_tokens(call: ast.Call, names: Literals) -> Iterator[str]:
    name = last_name(call)
    if name in _RAISES:
        kind = call.args[0] if call.args else None
        yield f"raises {ast.unparse(kind) if kind is not None else ''}"
    else:
        yield from _UNITTEST_COMPARISONS.get(name, (name,))
    args = (
        call.args[: 1 if name in ("assertTrue", "assertFalse") else 2] if name in _UNITTEST_COMPARISONS else call.args
    )
    for argument in args:
        yield from _tokens(argument, names)
    for keyword in call.keywords:
        if keyword.arg != "msg":
            yield from _tokens(keyword.value, names)


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Return):
        return statement.value is None or isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assert):
        return truth(statement.test) is True
    if isinstance(statement, ast.Expr):
        value = statement.value
        if isinstance(value, ast.Call):
            return last_name(value) in _UNITTEST_COMPARISONS and not _asserts(value)
        return isinstance(value, ast.Constant)
    return False


def _is_literal(node: ast.AST) -> bool:
    allowed = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.USub, ast.UAdd, ast.Load)
    return all(isinstance(n, allowed) for n in walk(node))


def _tokens(node: ast.AST, names: Literals) -> Iterator[str]:
    for inner in walk(node):
        yield from _token(inner, names)


def _token(node: ast.AST, names: Literals) -> Sequence[str]:
    if isinstance(node, ast.Constant):
        return (_short(node.value),)
    if isinstance(node, ast.Name):
        return names.get(node.id, ())
    if isinstance(node, ast.Compare):
        return [type(op).__name__ for op in node.ops]
    if isinstance(node, ast.Not):
        return ("Not",)
    return ("-",) if isinstance(node, ast.USub) else ()


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:24]}… ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def _sorted(tokens: Iterator[str]) -> tuple[str, ...]:
    return tuple(sorted(tokens))


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements inside of it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr | ast.withitem):
            yield from walk(child)
