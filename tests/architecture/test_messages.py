"""What editors show of a failure holds no command line: that is `typed`, which only a terminal prints."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import donewhen.core.errors
from donewhen.core.errors import DoneWhenError, LedgerUnavailable, NoModel
from tests.architecture.source_tree import SERVER, Module, modules

SOURCE = SERVER / "donewhen"
OF_A_TERMINAL = ("cli", "library")
"""Packages whose errors no editor shows. Of extras it shows those with an `editor.py`, but in their command."""
OF_A_COMMAND = ("--attempts takes", "attempts need a worker", "runs this fleet")
"""Parts of those that only a command of the command line can meet."""
ERRORS = {
    name
    for name, kind in vars(donewhen.core.errors).items()
    if isinstance(kind, type) and issubclass(kind, DoneWhenError)
}
COMMAND = re.compile(
    r"(?<![\w-])--[a-z][\w-]*|\b(?:pip|npm|tool) install\b|`donewhen [a-z]+\b|\bDONEWHEN_[A-Z_]+|_API_KEY\b|how_to_get"
)


def _of_a_terminal(module: Path) -> bool:
    layer = module.relative_to(SOURCE).parts[0]
    if layer != "extras":
        return layer in OF_A_TERMINAL
    return module.name in ("arguments.py", "command.py") or not (module.parent / "editor.py").exists()


def _raised(module: Module) -> Iterator[tuple[int, str]]:
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS and node.args:
            yield node.lineno, ast.unparse(node.args[0])


def test_no_error_that_editors_show_has_a_command_line_in_its_sentence() -> None:
    shown = [one for one in modules() if not _of_a_terminal(one.path)]
    said = [(one.path.name, line, text) for one in shown for line, text in _raised(one)]
    assert len(said) > 200
    with_commands = [one for one in said if COMMAND.search(one[2]) and not any(part in one[2] for part in OF_A_COMMAND)]
    assert with_commands == []


def test_a_terminal_prints_the_sentence_and_what_to_type() -> None:
    refused = NoModel()
    assert refused.said == "worker agent needs a model"
    assert str(refused).startswith(f"{refused.said}: --model provider/name")
    full = LedgerUnavailable("the disk is full: set another state folder", typed=" (--state-dir)")
    assert (str(full), full.said) == (f"{full.said} (--state-dir)", "the disk is full: set another state folder")
