"""What may run without asking: rules, modes and defaults. Commands are only read here, none is ever run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.approval import (
    FILE_TOOLS,
    NOBODY,
    OWN_TOOLS,
    ApprovalRule,
    Approve,
    Decision,
    Permit,
    permit_for,
    remembered,
    rule_problem,
)
from donewhen.core.plugging import ToolUse
from donewhen.workers.tools import TOOLS
from tests.tools import each_row

MODES: tuple[Approve, ...] = ("ask", "auto", "deny")


def command(text: str) -> ToolUse:
    return ToolUse("c1", "run_command", {"command": text})


def edit(path: str, tool: str = "edit_file", sensitive: str = "") -> ToolUse:
    return ToolUse("c1", tool, {"path": path, "old": "a", "new": "b"}, sensitive=sensitive)


def rule(pattern: str, action: Permit, tool: str = "run_command") -> ApprovalRule:
    return ApprovalRule(tool, pattern, action)


def decided(use: ToolUse, approve: Approve = "ask", *rules: ApprovalRule, **more: Any) -> Decision:
    return permit_for(use, approve, rules, lambda path: path == "tracked.py", **more)


def action(use: ToolUse, approve: Approve = "ask", *rules: ApprovalRule) -> Permit:
    return decided(use, approve, *rules).action


# ------------------------------------------------------------------------------------------ defaults


def test_the_tools_that_are_known_are_the_agents() -> None:
    assert set(TOOLS) == OWN_TOOLS


@each_row("approve", MODES)
@each_row("tool", sorted(FILE_TOOLS))
def test_reads_and_edits_inside_the_workspace_are_allowed(tool: str, approve: Approve) -> None:
    assert decided(edit("src/a.py", tool), approve) == Decision("allow")


def test_a_sensitive_change_asks() -> None:
    use = edit(".vscode/tasks.json", sensitive="it makes an editor run something")
    assert decided(use) == Decision("ask", "it makes an editor run something", remembers=True)
    assert action(use, "auto") == "allow"
    assert decided(use, "deny") == Decision("deny", NOBODY)


def test_a_command_asks_and_its_approval_may_be_kept() -> None:
    assert decided(command("make test")) == Decision("ask", "", remembers=True)
    assert decided(command("make test | tee log")) == Decision("ask", "", remembers=False)
    assert action(command("make test | tee log"), "auto") == "allow"
    assert decided(command("make test"), "deny") == Decision("deny", NOBODY)


def test_a_tool_that_a_plugin_brings_asks() -> None:
    use = ToolUse("c1", "deploy", {"to": "x"})
    assert decided(use) == Decision("ask", "", remembers=False)
    assert action(use, "auto") == "allow"
    assert action(use, "deny") == "deny"
    assert action(use, "ask", rule("*", "allow", "deploy")) == "allow"
    assert action(use, "ask", rule("x", "allow", "deploy")) == "ask"


# --------------------------------------------------------------------------------------------- rules


ADVERSARIAL = [
    "pytest\nmake",
    "pytest\n make",
    "pytest;make",
    "pytest ;make",
    "pytest && make",
    "pytest||make",
    "pytest|make",
    "pytest &",
    "pytest $(make)",
    'pytest "$(make)"',
    "pytest `make`",
    "pytest > conftest.py",
    "pytest<x",
    "pytest $X",
    "X=y pytest",
    "env X=y pytest",
    "pytest\u00a0-q",
    "pytest\u2028make",
    "pytest\rmake",
    "pytest\x00",
    "pytest 'a",
    "pytest \\\nmake",
    "pytest *",
    "pytest {a,b}",
    "pytest ~/x",
    "pytest # x",
    "./pytest",
    "/tmp/pytest",
    "PYTEST",
    "pytest-x",
    "'pytest x'",
    '"pytest -q"',
    "sh -c pytest",
    "eval pytest",
    "(pytest)",
    "! pytest",
    "time pytest",
]


@each_row("text", ADVERSARIAL)
def test_an_allow_rule_lets_nothing_else_through(text: str) -> None:
    assert action(command(text), "ask", rule("pytest *", "allow")) == "ask"


@each_row("text", ["pytest", "pytest -q", "  pytest   'a b'  ", 'pytest "-k" x', "'pytest' x"])
@each_row("approve", MODES)
def test_an_allow_rule_lets_simple_commands_through_in_every_mode(text: str, approve: Approve) -> None:
    assert action(command(text), approve, rule("pytest *", "allow")) == "allow"


def test_a_pattern_without_a_star_is_exactly_that_command() -> None:
    allowed = rule("git status", "allow")
    assert action(command("git  status"), "ask", allowed) == "allow"
    assert action(command("git status -s"), "ask", allowed) == "ask"


@each_row("approve", MODES)
@each_row("text", ["git push", "pip install x", "npm publish", "rm build", "cd x && git push"])
def test_what_always_asks_is_let_through_by_nothing(text: str, approve: Approve) -> None:
    rules = [rule("*", "allow"), rule("*", "allow", "*"), rule("git push", "allow"), rule("pip *", "allow")]
    decision = decided(command(text), approve, *rules)
    assert decision.action == ("deny" if approve == "deny" else "ask")
    assert not decision.remembers
    assert decision.reason


def test_removing_what_git_tracks_is_a_command_like_any_other() -> None:
    assert action(command("rm tracked.py"), "auto") == "allow"
    assert action(command("rm other.py"), "auto") == "ask"
    assert action(command("rm tracked.py other.py"), "auto") == "ask"
    assert decided(command("rm tracked.py")).remembers


def test_a_deny_rule_comes_before_everything() -> None:
    denied = rule("curl *", "deny")
    for approve in MODES:
        decision = decided(command("curl x"), approve, rule("*", "allow"), rule("curl x", "allow"), denied)
        assert decision == Decision("deny", "a rule denies `curl *`")
    assert action(command("git push"), "ask", rule("git push *", "deny")) == "deny"


@each_row(
    "text",
    [
        "cd x && curl y",
        "curl y | tee z",
        "echo $(curl y)",
        "sudo curl y",
        "/usr/bin/curl y",
        "env A=b curl y",
        "bash -c 'curl y'",
        "timeout 5 curl y",
        "c\\url y",
        "A=b curl y",
        "curl 'unbalanced",
        "find . -exec curl {} +",
    ],
)
@each_row("approve", ["ask", "auto"])
def test_what_tightens_holds_for_every_part_of_a_line(text: str, approve: Approve) -> None:
    assert action(command(text), approve, rule("curl *", "deny"), rule("*", "allow")) == "deny"
    assert action(command(text), approve, rule("curl *", "ask"), rule("*", "allow")) == "ask"
    assert action(command("grep curl docs"), "auto", rule("curl *", "deny")) == "allow"


def test_an_ask_rule_asks_also_where_all_is_approved() -> None:
    asks = rule("docker *", "ask")
    decision = decided(command("docker ps"), "auto", rule("docker *", "allow"), asks)
    assert decision == Decision("ask", "a rule asks for `docker *`", remembers=False)
    assert decided(command("docker ps"), "deny", rule("docker *", "allow"), asks) == Decision("deny", NOBODY)


def test_rules_for_files_are_globs_on_their_path() -> None:
    assert action(edit("docs/a.md"), "auto", rule("docs/**", "ask", "edit_file")) == "ask"
    assert action(edit("./docs//a.md"), "auto", rule("docs/**", "deny", "edit_file")) == "deny"
    assert action(edit("Docs/A.md"), "auto", rule("docs/**", "deny", "edit_file")) == "deny"
    assert action(edit("docs/a.md", "read_file"), "auto", rule("docs/**", "deny", "edit_file")) == "allow"
    assert action(edit("docs/a.md", "read_file"), "auto", rule("docs/**", "deny", "*")) == "deny"
    assert action(edit("src/a.py"), "ask", rule("docs/**", "deny", "*")) == "allow"
    allowed = rule(".github/**", "allow", "edit_file")
    assert action(edit(".github/workflows/ci.yml", sensitive="x"), "ask", allowed) == "allow"
    assert action(edit(".github/../.vscode/x", sensitive="x"), "ask", allowed) == "ask"
    assert action(edit("/w/.github/x", sensitive="x"), "ask", rule("**", "allow", "edit_file")) == "ask"


def test_windows_reads_a_command_in_its_own_way() -> None:
    allowed = rule("pytest *", "allow")
    assert decided(command("pytest 'a & b'"), "ask", allowed).action == "allow"
    assert decided(command("pytest 'a & b'"), "ask", allowed, windows=True).action == "ask"


@given(st.permutations([rule("a *", "allow"), rule("a *", "ask"), rule("a b", "deny"), rule("*", "allow", "*")]))
def test_the_order_of_rules_means_nothing(rules: Sequence[ApprovalRule]) -> None:
    assert action(command("a b"), "auto", *rules) == "deny"
    assert action(command("a c"), "auto", *rules) == "ask"
    assert action(command("d"), "ask", *rules) == "allow"


@given(st.lists(st.sampled_from([rule(p, a) for p in ("a *", "b", "*") for a in ("allow", "ask", "deny")])))
def test_tightening_never_loosens(rules: list[ApprovalRule]) -> None:
    order = ("allow", "ask", "deny")
    for text, more in permutations(("a x", "b"), 2):
        before = action(command(text), "auto", *rules)
        assert order.index(action(command(text), "auto", *rules, rule(more, "ask"))) >= order.index(before)
        assert action(command(text), "auto", *rules, rule(text, "deny")) == "deny"


# ------------------------------------------------------------------------------------- remembering


@each_row("text", ["make test", "pytest 'a b'", "ls '*'", 'grep "it\'s" x', "pytest ''", "echo 'a *'", "echo é '%s'"])
def test_what_is_remembered_is_exactly_that_command(text: str) -> None:
    kept = remembered(command(text))
    assert kept is not None
    assert action(command(text), "ask", kept) == "allow"
    assert action(command(f"{text} more"), "ask", kept) == "ask"
    assert action(command(f"{text};make"), "ask", kept) == "ask"
    assert rule_problem(kept) is None


def test_what_is_remembered_is_exactly_that_file() -> None:
    kept = remembered(edit(".github/[a]*.yml", sensitive="x"))
    assert kept is not None
    assert action(edit(".github/[a]*.yml", sensitive="x"), "ask", kept) == "allow"
    assert action(edit(".github/ab.yml", sensitive="x"), "ask", kept) == "ask"
    assert action(edit(".github/[a]*.yml", "write_file", sensitive="x"), "ask", kept) == "ask"


@each_row("text", ["a; b", "a $X", "a > b", ""])
def test_what_is_no_simple_command_is_not_remembered(text: str) -> None:
    assert remembered(command(text)) is None
    assert remembered(edit("../x", sensitive="x")) is None
    assert remembered(ToolUse("c1", "deploy", {"to": "x"})) is None


def test_a_kept_approval_lets_nothing_through_that_always_asks() -> None:
    kept = remembered(command("git push"))
    assert kept is not None
    assert action(command("git push"), "ask", kept) == "ask"


@each_row("odd", [None, 3, ["a"], {"a": 1}, ""])
def test_odd_input_is_asked_about(odd: Any) -> None:
    assert action(replace(command(""), input={"command": odd})) == "ask"
    assert action(replace(edit("a", sensitive="x"), input={"path": odd})) == "ask"
    assert action(replace(command(""), input={})) == "ask"


def test_a_rule_that_matches_nothing_has_a_problem() -> None:
    assert rule_problem(rule("pytest *", "allow")) is None
    assert rule_problem(rule("**/*.md", "ask", "edit_file")) is None
    assert "is not a command pattern" in (rule_problem(rule("a; b", "allow")) or "")
    assert "needs a tool and a pattern" in (rule_problem(rule("", "allow")) or "")
    assert "needs a tool and a pattern" in (rule_problem(rule("x", "allow", " ")) or "")


# ------------------------------------------------------------------------------------------------ rooms


@pytest.mark.parametrize("approve", MODES)
def test_a_contained_command_need_not_ask(approve: Approve) -> None:
    assert decided(command("make x && ./run > out"), approve, contained=True) == Decision("allow")


@each_row("approve, said", [("ask", "ask"), ("auto", "ask"), ("deny", "deny")])
@each_row("text", ["git push", "pip install x", "rm -rf ignored"])
def test_what_always_asks_does_so_in_a_room_too_and_runs_outside_then(
    text: str, approve: Approve, said: Permit
) -> None:
    found = decided(command(text), approve, rule("*", "allow"), contained=True)
    assert (found.action, found.remembers) == (said, False)
    assert found.outside == (said == "ask")


@pytest.mark.parametrize(("approve", "said"), [("ask", "ask"), ("auto", "ask"), ("deny", "deny")])
def test_a_command_outside_of_the_room_asks_each_time(approve: Approve, said: Permit) -> None:
    outside = ToolUse("c1", "run_command", {"command": "make x", "outside": True})
    found = decided(outside, approve, rule("make *", "allow"), rule("*", "allow", "*"), contained=True)
    assert (found.action, found.remembers) == (said, False)
    assert decided(outside, "auto").action == "allow", "where there is no room, there is no outside"


def test_rules_that_tighten_hold_in_a_room() -> None:
    assert decided(command("curl x"), "auto", rule("curl *", "deny"), contained=True).action == "deny"
    asked = decided(command("curl x"), "auto", rule("curl *", "ask"), contained=True)
    assert (asked.action, asked.outside) == ("ask", False)


def test_only_commands_are_contained() -> None:
    assert decided(ToolUse("c1", "deploy", {"outside": True}), contained=True).action == "ask"
    assert decided(edit(".vscode/tasks.json", sensitive="it runs"), contained=True).action == "ask"
