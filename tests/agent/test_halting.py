"""A plugin of the user's own halts a run of the agent, and it goes on exactly there: in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.room import Room
from tests.agent.site import Site, prompts
from tests.lsp.editor import wait_until
from tests.scripted_models import ModelCall, ScriptedModels, calls_all, says, tool

GOAL = "# Lines\n\n- [ ] `grep -c three ran.txt` passes\n"
PLUGIN = '''\
"""Halts before the command that speaks of two, and after the one that speaks of three; once each."""
import asyncio
from pathlib import Path

from donewhen.plugins import Halt, ResumeDirective, ToolOutcome, hookimpl

class Desk:
    name = "desk"

    @hookimpl
    async def wrap_tool(self, use, proceed, context):
        seen = context.get_state(list[str], default=[])
        command = use.input.get("command", "")
        word = next((one for one in ("two", "three") if one in command and one not in seen), None)
        if word is None:
            return await proceed(use)
        if word == "three":
            await proceed(use)
        await context.set_state([*seen, word])
        raise Halt(f"a person looks at {word} first", {"call": use.call_id})

    @hookimpl
    async def on_resume(self, data, context):
        if data == "hang":
            Path(__file__).with_name("asked").touch()
            await asyncio.sleep(600)
        if isinstance(data, dict):
            return ResumeDirective(completed={data["done"]: ToolOutcome("exit 0 after 0.1 s\\nby hand", "by hand")})
'''
ASKED = calls_all(
    tool("write_file", path="note.txt", content="by the agent\n"),
    tool("run_command", command="echo one >> ran.txt"),
    tool("run_command", command="echo two >> ran.txt"),
    tool("run_command", command="echo three >> ran.txt"),
)


def install(folder: Path) -> Path:
    """Names the plugin in the settings of a user whose XDG_CONFIG_HOME this is."""
    plugin = folder.parent / "desk.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    (folder / "donewhen").mkdir(parents=True, exist_ok=True)
    (folder / "donewhen/config.toml").write_text(f"plugins = [{json.dumps(f'{plugin}:Desk')}]\n", encoding="utf-8")
    return plugin


def ran(root: Path) -> list[str]:
    return (root / "ran.txt").read_text().split()


def shown(site: Site, *argv: str) -> tuple[int, dict[str, Any]]:
    done = site.cli(*argv)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def killed(process: subprocess.Popen[Any]) -> None:
    process.kill()
    process.wait(60)


def results(call: ModelCall) -> list[str]:
    """The last line of what each tool answered."""
    return [one.text.splitlines()[-1] for one in call.messages if one.role == "tool"]


@pytest.mark.conformance("C23", "C24")
def test_c23_a_halted_run_goes_on_exactly_there(site: Site) -> None:
    """Nothing that was asked is asked again, and nothing that ran runs again; what a person did meanwhile stays."""
    install(site.state)
    site.goal(GOAL)
    with ScriptedModels({"worker": [ASKED, says("Done.")]}) as models:
        code, last = site.run(models)
        assert (code, last["status"], last["iteration"]) == (3, "waiting", 1), last
        assert (last["halt"]["plugin"], last["halt"]["reason"]) == ("desk", "a person looks at two first")
        assert (list(last["halt"]["data"]), last["halt"]["resumable"]) == (["call"], True)
        assert ran(site.root) == ["one"]
        (site.root / "note.txt").write_text("by a person\n")

        code, last = shown(site, "resume", last["runId"], "--plugin", "desk", "--data", "true", "--json")
        assert (code, last["status"], last["halt"]["reason"]) == (3, "waiting", "a person looks at three first"), last
        assert ran(site.root) == ["one", "two", "three"]

        code, last = shown(site, "resume", last["runId"], "--json")
        assert (code, last["status"], last["iteration"], last["halt"]) == (0, "complete", 1, None), last
        first, second = prompts(models, "worker")
        assert not models.failures
    assert ran(site.root) == ["one", "two", "three"]
    assert (site.root / "note.txt").read_text() == "by a person\n"
    begun = [one.full_text for one in first.messages]
    assert [one.full_text for one in second.messages[: len(begun)]] == begun
    assert len(results(second)) == 4


@pytest.mark.slow
@pytest.mark.conformance("C23", "A13")
def test_c23_a_kill_between_halt_and_resume_loses_nothing(tmp_path: Path) -> None:
    """Of the server that the run was halted in, and of the process that was to resume it; and what is done by hand
    is not done."""
    home = tmp_path / "home"
    plugin = install(home)
    room = Room(tmp_path, home)
    site = Site(tmp_path, room.root, room.state, home)
    try:
        room.play(worker=[ASKED, says("Done.")])
        run_id = room.start("GOAL", GOAL)
        halted = room.until(run_id, lambda one: one["status"] == "waiting")
        assert (halted["halt"]["plugin"], halted["iteration"]) == ("desk", 1)
        killed(room.editor.process)

        hanging = site.begin_cli("resume", run_id, "--data", '"hang"', "--json")
        wait_until(plugin.with_name("asked").exists, 60)
        killed(hanging.process)
        code, last = shown(site, "status", run_id, "--json")
        assert (last["status"], last["halt"]) == ("waiting", halted["halt"]), last

        by_hand = json.dumps({"done": halted["halt"]["data"]["call"]})
        code, last = shown(site, "resume", run_id, "--data", by_hand, "--json")
        assert (code, last["status"], last["halt"]["reason"]) == (3, "waiting", "a person looks at three first"), last
        code, last = shown(site, "resume", run_id, "--json")
        assert (code, last["status"], last["iteration"]) == (0, "complete", 1), last
        room.sound()
        assert len(room.asked("worker")) == 2
        assert results(room.asked("worker")[-1])[2] == "by hand"
    finally:
        site.clean_up()
        room.close()
    assert ran(room.root) == ["one", "three"]


@pytest.mark.slow
@pytest.mark.conformance("C23", "A2", "A13")
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is POSIX's")
def test_c23_a_kill_while_an_approval_is_open_loses_nothing(tmp_path: Path) -> None:
    """The question is answered by its id from another process; the model is not asked again, each command runs once."""
    room = Room(tmp_path, tmp_path / "home", approve="ask", sandbox="off")
    site = Site(tmp_path, room.root, room.state, tmp_path / "home")
    try:
        room.play(worker=[ASKED, says("Done.")])
        run_id = room.start("GOAL", GOAL)
        room.answer(run_id, room.waiting(run_id), "approve")
        first = room.waiting(run_id, {"command": "echo one >> ran.txt"})
        room.answer(run_id, first, "approve")
        second = room.waiting(run_id, {"command": "echo two >> ran.txt"})
        killed(room.editor.process)
        assert ran(room.root) == ["one"]

        done = site.cli("answer", run_id, second["id"], "approve")
        assert done.returncode in (0, 3), done.stderr
        code, last = shown(site, "resume", run_id, "--json")
        assert (code, last["iteration"], len(room.asked("worker"))) == (3, 1, 1), last
        (third,) = last["interrupts"]
        assert third["input"] == {"command": "echo three >> ran.txt"}
        assert ran(room.root) == ["one", "two"]

        done = site.cli("answer", run_id, third["id"], "deny")
        assert done.returncode in (0, 3), done.stderr
        code, last = shown(site, "resume", run_id, "--max-iterations", "1", "--json")
        assert last["iteration"] == 1, last
        room.sound()
        assert len(room.asked("worker")) == 2
        assert "not allowed" in results(room.asked("worker")[-1])[3]
    finally:
        site.clean_up()
        room.close()
    assert ran(room.root) == ["one", "two"]
