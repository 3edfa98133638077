"""One row of the table of integrity, and the files that many rows begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent


@dataclass(frozen=True)
class Case:
    """`after` holds what changed: None deletes a file. `found` are `kind path:line`, lines 0-based."""

    name: str
    before: Mapping[str, str]
    after: Mapping[str, str | None]
    found: tuple[str, ...] = ()
    checks: tuple[str, ...] = ("pytest -q",)
    protect: tuple[str, ...] = ()
    about: tuple[str, ...] = field(default=())


def py(text: str) -> str:
    return dedent(text).lstrip("\n")


ADD = py("""
    from mathx import add


    def test_add():
        assert add(1, 2) == 3


    def test_zero():
        assert add(0, 0) == 0
""")
T = "tests/test_add.py"


def in_test(name: str, before: str, after: str, *found: str) -> Case:
    """A change of the one test file."""
    return Case(name, {T: before}, {T: after}, found)
