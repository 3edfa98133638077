"""The approval gate: a plugin on the public points, which asks before a tool has any effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from donewhen.app.plugins import FolderPolicy, approval_gate, tracked_among
from donewhen.core.approval import ApprovalRule, Approve
from donewhen.core.calls import Message, ToolCall
from donewhen.core.events import RunOptions
from donewhen.core.plugging import PluginState, ToolOutcome, ToolUse
from donewhen.core.work import Answer, Interrupt
from donewhen.plugins import ToolDoer, hookimpl
from donewhen.plugins.approval import ApprovalGate
from donewhen.store.allowances import Allowances
from donewhen.workers.agent.compaction import Facts
from donewhen.workspace.repository import run_git
from tests.plugins.hosts import Hands, MemoryHost, opened, use_of


def hosted(approve: Approve = "ask", *answers: Answer, rules: Sequence[ApprovalRule] = ()) -> MemoryHost:
    return MemoryHost(options=RunOptions("agent", approve=approve, rules=tuple(rules)), answers=list(answers))


async def used(host: MemoryHost, use: ToolUse, folder: Path, *others: object) -> tuple[ToolOutcome, list[ToolUse]]:
    hands = Hands()
    outcome = await opened(approval_gate(folder, folder), *others).use_tool(host, use, hands.do)
    assert not host.failed
    return outcome, hands.done


# -------------------------------------------------------------------------------- what kind of plugin


async def test_the_gate_sees_what_would_really_be_done(tmp_path: Path) -> None:
    class Editing:
        name = "editing"

        @hookimpl(trylast=True)
        async def wrap_tool(self, use: ToolUse, proceed: ToolDoer) -> ToolOutcome:
            return await proceed(replace(use, input={"command": "make evil"}))

    host = hosted("ask", Answer("deny"))
    outcome, done = await used(host, use_of(command="make test"), tmp_path, Editing())
    assert [one.input for one in host.asked] == [{"command": "make evil"}]
    assert (outcome.ok, done) == (False, [])


async def test_a_gate_that_fails_lets_nothing_through(tmp_path: Path) -> None:
    class Broken(FolderPolicy):
        async def decide(self, *_: Any) -> Any:
            raise RuntimeError("the policy is broken")

    host, hands = hosted(), Hands()
    plugins = opened(ApprovalGate(Broken(tmp_path)))
    for _ in range(2):
        outcome = await plugins.use_tool(host, use_of("read_file", path="a"), hands.do)
        assert not outcome.ok
    assert not hands.done
    assert host.failed[0][0] == "approval"
    assert host.failed[0][3] is True


# -------------------------------------------------------------------------------------- the question


async def test_what_is_asked_shows_what_would_be_done(tmp_path: Path) -> None:
    host = hosted("ask", Answer("approve"))
    _, done = await used(host, use_of(command="make  test"), tmp_path)
    assert host.asked == [
        Interrupt(
            "",
            "approval",
            "Run `make test`?",
            about="tool:run_command",
            tool="run_command",
            input={"command": "make  test"},
            preview="make  test",
            remembers=True,
        )
    ]
    assert len(done) == 1


async def test_a_change_is_asked_about_with_its_diff(tmp_path: Path) -> None:
    use = replace(use_of("write_file", path="x.yml", content="a"), sensitive="it runs", preview="--- a\n+++ b")
    host = hosted("ask", Answer("deny"))
    outcome, done = await used(host, use, tmp_path)
    (asked,) = host.asked
    assert (asked.title, asked.preview, asked.about) == ("Change x.yml?", "--- a\n+++ b", "tool:write_file")
    assert outcome.text == "not written: it was not allowed. Find another way, or report that you are blocked"
    assert not done


async def test_long_titles_are_cut_and_of_one_line(tmp_path: Path) -> None:
    host = hosted("ask", Answer("deny"))
    await used(host, use_of(command="make\n" + "x" * 1_000), tmp_path)
    (asked,) = host.asked
    assert len(asked.title) <= 200
    assert "\n" not in asked.title
    assert asked.preview == "make\n" + "x" * 1_000


async def test_what_is_allowed_is_not_asked_about(tmp_path: Path) -> None:
    for use in (use_of("read_file", path="a"), use_of("edit_file", path="a", old="b", new="c"), use_of("report")):
        host = hosted("deny")
        outcome, done = await used(host, use, tmp_path)
        assert (outcome.ok, done, host.asked) == (True, [use], [])
    host = hosted("ask", rules=[ApprovalRule("run_command", "pytest *", "allow")])
    assert (await used(host, use_of(command="pytest -q"), tmp_path))[0].ok
    assert (await used(hosted("auto"), use_of(command="make | tee x"), tmp_path))[0].ok


# --------------------------------------------------------------------------------------- the answers


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer("deny"), "not run: it was not allowed. Find another way, or report that you are blocked"),
        (Answer("deny", reason="too slow"), "not run: it was not allowed: too slow. Find another way, or report"),
        (Answer("deny", text="too slow"), "not run: it was not allowed: too slow. Find another way, or report"),
        (Answer("text", " use ruff "), "not run: the person answered instead:\nuse ruff"),
        (Answer("edit", "  "), "not run: the person changed it to something that is not a command."),
        (Answer("edit", input={"command": ""}), "not run: the person changed it to something that is not a command."),
        (Answer("edit", input={"cmd": "x"}), "not run: the person changed it to something that is not a command."),
    ],
)
@pytest.mark.conformance("A2", "C24")
async def test_only_approving_and_editing_let_it_through(answer: Answer, told: str, tmp_path: Path) -> None:
    outcome, done = await used(hosted("ask", answer), use_of(command="make"), tmp_path)
    assert outcome.text.startswith(told)
    assert (outcome.ok, done) == (False, [])


@pytest.mark.parametrize(
    "answer", [Answer("edit", "make -n && git push"), Answer("edit", input={"command": "make -n && git push"})]
)
async def test_what_a_person_writes_is_done_and_not_asked_about_again(answer: Answer, tmp_path: Path) -> None:
    host = hosted("ask", answer)
    _, done = await used(host, use_of(command="make", timeout_seconds=5), tmp_path)
    assert [one.input for one in done] == [{"command": "make -n && git push", "timeout_seconds": 5}]
    assert len(host.asked) == 1


async def test_an_edit_of_a_file_may_be_edited(tmp_path: Path) -> None:
    use = replace(use_of("edit_file", path="x.yml", old="a", new="b"), sensitive="it runs")
    _, done = await used(hosted("ask", Answer("edit", input={"new": "c"})), use, tmp_path)
    assert [one.input for one in done] == [{"path": "x.yml", "old": "a", "new": "c"}]
    outcome, done = await used(hosted("ask", Answer("edit", "text alone")), use, tmp_path)
    assert outcome.text.startswith("not written: the person changed it to one that does not apply")
    assert not done


async def test_where_nobody_is_asked_that_is_what_is_told(tmp_path: Path) -> None:
    host = hosted("deny")
    outcome, done = await used(host, use_of(command="make"), tmp_path)
    assert outcome.text.startswith("not run: it was not allowed: this run asks no one (approve is deny)")
    assert (done, host.asked) == ([], [])


async def test_what_was_said_is_found_again_where_a_conversation_is_made_shorter(tmp_path: Path) -> None:
    outcome, _ = await used(hosted("ask", Answer("text", "use ruff instead")), use_of(command="make"), tmp_path)
    call = ToolCall("c1", "run_command", '{"command": "make"}')
    facts = Facts.of([Message("assistant", "", calls=(call,)), Message("tool", outcome.text, answers="c1")])
    assert "use ruff instead" in facts.message(10_000).text


# ------------------------------------------------------------------------------------- remembering


async def test_what_is_allowed_for_the_run_is_kept_with_the_run(tmp_path: Path) -> None:
    host = hosted("ask", Answer("approve", remember="run"), Answer("deny"), Answer("deny"))
    assert (await used(host, use_of(command="make 'a b'"), tmp_path))[0].ok
    assert host.states["approval"] == PluginState(1, [["run_command", "make 'a b'"]])
    assert (await used(host, use_of(command='make  "a b"'), tmp_path))[0].ok  # by another gate, as after a restart
    assert len(host.asked) == 1
    assert not (await used(host, use_of(command="make 'a b' c"), tmp_path))[0].ok
    assert not (await used(replace(host, states={}), use_of(command="make 'a b'"), tmp_path))[0].ok
    assert Allowances(tmp_path).rules() == ()


async def test_what_is_allowed_in_the_workspace_holds_in_the_next_run(tmp_path: Path) -> None:
    host = hosted("ask", Answer("approve", remember="workspace"))
    assert (await used(host, use_of(command="make test"), tmp_path))[0].ok
    assert "approval" not in host.states
    assert Allowances(tmp_path).rules() == (ApprovalRule("run_command", "make test", "allow"),)
    assert (await used(hosted("deny"), use_of(command="make test"), tmp_path))[0].ok


@pytest.mark.parametrize("text", ["git push", "make | tee x"])
@pytest.mark.parametrize("remember", ["run", "workspace"])
async def test_what_may_not_be_kept_is_not(text: str, remember: Any, tmp_path: Path) -> None:
    host = hosted("ask", Answer("approve", remember=remember), Answer("approve", remember=remember))
    for number in (1, 2):
        assert (await used(host, use_of(command=text), tmp_path))[0].ok
        assert len(host.asked) == number
        assert not host.asked[-1].remembers
    assert (host.states, Allowances(tmp_path).rules()) == ({}, ())


async def test_what_can_not_be_kept_for_good_holds_for_the_run(tmp_path: Path) -> None:
    host, hands = hosted("ask", Answer("approve", remember="workspace")), Hands()
    gate = approval_gate(tmp_path, tmp_path / "gone")
    for _ in range(2):
        assert (await opened(gate).use_tool(host, use_of(command="make"), hands.do)).ok
    assert len(host.asked) == 1
    assert not host.failed


async def test_a_denial_is_not_kept(tmp_path: Path) -> None:
    host = hosted("ask", Answer("deny", remember="run"), Answer("approve"))
    assert not (await used(host, use_of(command="make"), tmp_path))[0].ok
    assert (await used(host, use_of(command="make"), tmp_path))[0].ok
    assert len(host.asked) == 2


# ---------------------------------------------------------------------------------------------- git


async def test_what_git_tracks_may_be_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("a.py", "sub/b.py", "new.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    await run_git(["init", "-q"], cwd=tmp_path)
    await run_git(["add", "a.py", "sub/b.py"], cwd=tmp_path)
    assert await tracked_among(tmp_path, ["a.py", "sub/b.py", "new.py", "sub", "*.py", ":/a.py", ""]) == {
        "a.py", "sub/b.py"
    }  # fmt: skip
    for text, ok in (
        ("rm a.py ./sub/b.py", True),
        ("rm -f a.py", True),
        ("rm a.py new.py", False),
        ("rm -r sub", False),
    ):
        host = hosted("auto", Answer("deny"))
        outcome, _ = await used(host, use_of(command=text), tmp_path)
        assert (outcome.ok, len(host.asked)) == (ok, 0 if ok else 1), text


async def test_without_git_nothing_is_tracked(tmp_path: Path) -> None:
    assert await tracked_among(tmp_path, ["a.py"]) == frozenset()
    assert await tracked_among(tmp_path / "gone", ["a.py"]) == frozenset()
