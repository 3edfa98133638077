"""docs/plugins.md, as printed: every plugin in it is loaded from a file and called, and does what the text says."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from donewhen.app.program import NoCommands
from donewhen.core.evidence import Outcome
from donewhen.core.goal import Check
from donewhen.core.plugging import PluginState
from donewhen.core.verdict import RequirementView
from donewhen.core.work import Answer, Claim, TurnResult
from donewhen.plugins import HOOKS, Halt, Refine, ResumeDirective, ToolOutcome
from donewhen.plugins.calling import PluggyPlugins
from donewhen.plugins.checks import PluginChecker
from donewhen.plugins.opening import open_plugins
from tests.plugins.hosts import AHEAD, AUDIT, BEHIND, REPORT, STOPPING, Hands, MemoryHost, use_of
from tests.tools import each_row

TEXT = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)


def printed(attribute: str, folder: Path) -> PluggyPlugins:
    """The plugin of that name, from the block that defines it, as a user's settings would load it."""
    (block,) = (one for one in BLOCKS if re.search(rf"^(class|def) {attribute}\b", one, re.M))
    file = folder / "printed.py"
    file.write_text(block, encoding="utf-8")
    return open_plugins([f"{file}:{attribute}"], installed=False, workspace=folder / "workspace")


@pytest.fixture
def host() -> MemoryHost:
    return MemoryHost(answers=[Answer("text", "use tabs")])


@pytest.mark.parametrize(
    "attribute",
    ["CommandQuota", "HouseRules", "Careful", "Office", "Diary", "ByHand", "AsksFirst", "critic", "cache", "limiter"],
)
async def test_every_plugin_is_loaded_and_none_fails_at_any_point(
    attribute: str, tmp_path: Path, host: MemoryHost
) -> None:
    plugins, hands = printed(attribute, tmp_path), Hands()
    await plugins.before_turn(host, AHEAD)
    assert (await plugins.use_tool(host, use_of(command="ls", path="a"), hands.do)).ok
    assert (await plugins.use_tool(host, use_of("search", q="x"), hands.do)).ok
    await plugins.after_turn(host, BEHIND)
    await plugins.before_audit(host, AUDIT)
    await plugins.after_verdict(host, REPORT)
    await plugins.on_stop(host, STOPPING)
    assert host.failed == []


def test_every_block_is_one_of_those() -> None:
    assert len(BLOCKS) == 8
    assert 25 <= len(BLOCKS[0].splitlines()) <= 40


@pytest.mark.conformance("C23")
async def test_the_whole_plugin_halts_and_goes_on(tmp_path: Path, host: MemoryHost) -> None:
    plugins, hands = printed("CommandQuota", tmp_path), Hands()
    for number in range(20):
        await plugins.use_tool(host, use_of(command=f"echo {number}"), hands.do)
    await plugins.use_tool(host, use_of("read_file", path="a"), hands.do)
    with pytest.raises(Halt, match="20 commands were run") as caught:
        await plugins.use_tool(host, use_of(command="held back"), hands.do)
    assert (caught.value.plugin, caught.value.data, len(hands.done)) == ("command-quota", {"used": 20}, 21)

    again, other_process = printed("CommandQuota", tmp_path), MemoryHost(states=host.states)
    assert await again.on_resume(other_process, "command-quota", {"more": 50}) == ResumeDirective()
    assert (await again.use_tool(other_process, use_of(command="held back"), hands.do)).ok
    assert other_process.states["command-quota"].value == {"used": 21, "granted": 70}
    assert host.failed == other_process.failed == []


async def test_rules_are_told_looked_after_and_shown(tmp_path: Path, host: MemoryHost) -> None:
    plugins = printed("HouseRules", tmp_path)
    assert await plugins.before_turn(host, AHEAD) == ("Keep the public API as it is.",)
    assert await plugins.before_turn(host, replace(AHEAD, iteration=2)) == ()
    turn = replace(BEHIND, result=TurnResult(Claim("finished", "one TODO is left")))
    assert await plugins.after_turn(host, turn) == Refine("Finish what you left as TODO.")
    assert await plugins.after_turn(host, replace(turn, refinements=1)) is None
    views = (RequirementView("r-1", 1, "met", "proven"), RequirementView("r-2", 2, "unmet", "not yet"))
    await plugins.after_verdict(host, replace(REPORT, views=views))
    assert host.lines == ["1 of 2 requirements are met"]


async def test_a_call_is_refused_changed_and_looked_at(tmp_path: Path, host: MemoryHost) -> None:
    plugins, hands = printed("Careful", tmp_path), Hands()
    refused = await plugins.use_tool(host, use_of("write_file", path="archive/a"), hands.do)
    assert (refused.ok, hands.done) == (False, [])
    outcome = await plugins.use_tool(host, use_of(command="echo hunter2"), hands.do)
    assert [dict(use.input) for use in hands.done] == [{"command": "echo hunter2", "timeout": 60}]
    assert "***" in outcome.text
    assert "hunter2" not in outcome.text


async def test_what_is_brought_can_be_used(tmp_path: Path, host: MemoryHost) -> None:
    plugins = printed("Office", tmp_path)
    (tool,) = plugins.tools
    assert (await tool.run(host, use_of("count_words", text="one two three"))).text == "3 words"
    checker = PluginChecker(plugins.checks, NoCommands(), tmp_path)
    (tmp_path / "a.md").write_text("TODO: all", encoding="utf-8")
    outcomes: list[tuple[Outcome, str]] = []
    for command in ("check:no-todo", "check:no-todo *.txt"):
        result = await checker.run(Check.of(command), timeout=5, token="t")
        outcomes.append((result.outcome, result.reason))
    assert outcomes == [(Outcome.FAILED, "TODO is left in a.md"), (Outcome.PASSED, "passed")]
    worker: Any = plugins.workers["idle"].record.make(host.options)
    assert (worker.name, (await worker.work(None, None)).claim.text) == ("idle", "nothing to do")


async def test_a_state_of_an_older_version_is_taken_over(tmp_path: Path, host: MemoryHost) -> None:
    host.states["Diary"] = PluginState(1, "first\nsecond")
    turn = replace(BEHIND, result=TurnResult(Claim(), summary="third"))
    await printed("Diary", tmp_path).after_turn(host, turn)
    assert host.states["Diary"] == PluginState(2, {"lines": ["first", "second", "third"]})
    assert host.failed == []


@pytest.mark.conformance("C23")
async def test_what_a_person_did_counts_as_done(tmp_path: Path, host: MemoryHost) -> None:
    plugins, hands = printed("ByHand", tmp_path), Hands()
    with pytest.raises(Halt) as caught:
        await plugins.use_tool(host, use_of(call_id="c7", command="make deploy"), hands.do)
    assert (caught.value.data, hands.done) == ({"call": "c7", "command": "make deploy"}, [])
    directive = await plugins.on_resume(host, "ByHand", {"call": "c7", "result": "it is live"})
    assert directive == ResumeDirective(completed={"c7": ToolOutcome("it is live", "deployed by hand")})


async def test_an_answer_of_a_person_is_told_to_the_worker(tmp_path: Path, host: MemoryHost) -> None:
    assert await printed("AsksFirst", tmp_path).before_turn(host, AHEAD) == ("use tabs",)
    assert [asked.about for asked in host.asked] == ["plugin:AsksFirst"]


def test_the_settings_and_the_entry_point_are_toml() -> None:
    blocks = re.findall(r"^ *```toml\n(.*?)^ *```$", TEXT, re.M | re.S)
    settings, project = (tomllib.loads(re.sub(r"^ +", "", block, flags=re.M)) for block in blocks)
    assert settings["plugins"] == ["/home/me/plugins/quota.py:CommandQuota"]
    assert project["project"]["entry-points"]["donewhen"] == {"command-quota": "acme_quota:CommandQuota"}


@each_row("point", HOOKS)
def test_every_hook_is_taught(point: str) -> None:
    table = TEXT.split("## The points")[1].split("##")[0]
    assert f"`{point}(" in table
