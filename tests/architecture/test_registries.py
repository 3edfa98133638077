"""What is a row and a module: no row without its module, and each front end offers exactly the rows."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from typing import get_args

from donewhen.core.ecosystems import ECOSYSTEMS, FORMS, RUNNERS, TOOLS, Form
from donewhen.core.workers import WORKERS
from donewhen.settings.table import BY_NAME
from donewhen.wire.reports import FORMATS, ReportFormat, module_of
from tests.architecture.source_tree import modules
from tests.tools import each_row


def test_settings_and_goal_files_offer_every_worker() -> None:
    assert BY_NAME["worker"].kind.choices == tuple(one.name for one in WORKERS.values() if one.offered)


@each_row("name", list(WORKERS))
def test_every_worker_that_is_offered_can_be_made(name: str) -> None:
    assert callable(import_module(f"donewhen.workers.{WORKERS[name].module or name}").make)


def test_every_report_format_that_is_offered_can_be_rendered() -> None:
    assert tuple(FORMATS) == get_args(ReportFormat)
    for name in FORMATS:
        assert callable(import_module(module_of(name)).render)


def test_a_runner_says_what_it_prints() -> None:
    """Else a run in which no test was executed could not be told from one that passed."""
    for tool in RUNNERS:
        assert tool.forms, f"{tool.name}: `prints` is empty"
        assert set(tool.forms) <= set(FORMS), f"{tool.name} prints what no row describes"
    names = [form.name for tool in TOOLS for form in tool.prints if isinstance(form, Form)]
    assert sorted(names) == sorted(set(names)), "two rows describe one form"


def test_a_tool_that_is_found_in_a_workspace_says_how_to_get_it() -> None:
    """Else a person whose draft lacks it is left alone with `not installed`."""
    programs = {name for ecosystem in ECOSYSTEMS for name, _ in ecosystem.installs}
    for tool in TOOLS:
        found = {sign.command.split()[0] for sign in tool.signs}
        if tool.line is not None and not tool.line.only_module:
            found.update(tool.line.programs or (tool.name,))
        missing = {name for name in found - programs if not name.startswith("./")}
        assert tool.install or not missing, f"{tool.name}: `install` is empty"


def test_every_expression_of_a_row_can_be_read_and_has_its_groups() -> None:
    for tool in TOOLS:
        for matcher in tool.problems:
            groups = {group for line in matcher.lines for group in re.compile(line).groupindex}
            assert {"path", "line", "message"} <= groups, f"{tool.name}: {matcher.lines}"
        for duration in tool.durations:
            assert "before" in re.compile(duration).groupindex, f"{tool.name}: {duration}"
        for trace in tool.traces:
            assert "name" in re.compile(trace.title or "(?P<name>)").groupindex, f"{tool.name}: {trace.title}"
            assert "message" in re.compile(trace.raised or "(?P<message>)").groupindex, f"{tool.name}: {trace.raised}"
        for form in tool.prints:
            if isinstance(form, Form):
                for pattern in (form.says, form.nothing, form.failed):
                    re.compile(pattern, re.MULTILINE)
        for text in (*tool.nothing_checked, *(sign.tests for sign in tool.signs)):
            re.compile(text)


def test_a_row_of_a_checker_says_by_which_command_it_is_known() -> None:
    """Else its configuration would be proof that no check rests on."""
    for tool in TOOLS:
        named = tool.commands or tool.programs
        assert named or tool.purpose in ("test", "other"), f"{tool.name}: `commands` is empty"


def test_no_other_module_knows_a_tool_of_one_row() -> None:
    """What is known of a tool is in its row: a second place would be forgotten by whoever adds the next one."""
    names = re.compile(
        r"\b(?:vitest|bun test|nextest|gotestsum|mocha|rspec|phpunit|golangci|rubocop|eslint|basedpyright)\b"
    )
    wrong: list[str] = []
    for module in modules():
        if module.layer in ("evidence", "judges", "workspace", "goalfile") and names.search(module.text):
            own = {id(doc) for node in module.nodes if (doc := _docstring(node)) is not None}
            wrong += [
                f"{module.name}:{node.lineno} {node.value[:60]!r}"
                for node in module.nodes
                if isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in own
                and names.search(node.value)
            ]
    assert not wrong


def _docstring(node: ast.AST) -> ast.Constant | None:
    match node:
        case ast.Expr(value=ast.Constant() as text):
            return text
        case _:
            return None
