"""What a plain expression of Python always is, whatever runs before it."""

from __future__ import annotations

import ast


def truth(node: ast.expr) -> bool | None:
    """What an expression always is, as far as it is plain: constants, `x == x`, `... or True`, a non-empty tuple."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = truth(node.operand)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        return _joined_truth(node)
    if isinstance(node, ast.Compare):
        return _compared_truth(node)
    return None


def _joined_truth(node: ast.BoolOp) -> bool | None:
    known = [truth(v) for v in node.values]
    decisive = isinstance(node.op, ast.Or)
    if decisive in known:
        return decisive
    return None if None in known else not decisive


def _compared_truth(node: ast.Compare) -> bool | None:
    if len(node.ops) != 1:
        return None
    left, right = node.left, node.comparators[0]
    if isinstance(node.ops[0], ast.Eq | ast.Is | ast.LtE | ast.GtE) and ast.dump(left) == ast.dump(right):
        return True
    if (
        isinstance(node.ops[0], ast.Eq | ast.NotEq)
        and isinstance(left, ast.Constant)
        and isinstance(right, ast.Constant)
    ):
        return (left.value == right.value) is isinstance(node.ops[0], ast.Eq)
    return None
