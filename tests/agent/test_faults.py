"""What the end of a process, a host or a server in the middle of something costs a run of the agent."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.agent.room import ENDED, Room, model_hosts, tool_results
from tests.agent.site import Site, Started, judge_says, met, prompts, verdict
from tests.lsp.editor import wait_until
from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, drops, fails, hangs, says
from tests.tools import runs

GOAL = "# Notes\n\n- [ ] `test -f b.txt` passes\n- [ ] The notes say hello\n  - file: `*.txt`\n"
ABANDONED = "I write the first half, and nobody will remember it."


def resumed(site: Site, run_id: str) -> tuple[int, dict[str, Any]]:
    done = site.cli("resume", run_id, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def status(site: Site) -> dict[str, Any]:
    done = site.cli("status", "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def killed(started: Started) -> None:
    """`kill -9` of the command, and of nothing else: what it started finds out by itself."""
    hosts = model_hosts(started.process.pid)
    started.process.kill()
    started.process.wait(60)
    wait_until(lambda: not any(runs(one) for one in hosts), 60)


@pytest.mark.slow
@pytest.mark.conformance("A13", "C20")
@pytest.mark.parametrize("moment", ["in a call", "in a command"])
def test_a_turn_that_was_killed_runs_again_from_its_checkpoint(site: Site, moment: str) -> None:
    """The same iteration, the files as the turn found them, and nothing that was said in it."""
    site.goal(GOAL)
    (site.root / "a.txt").write_text("hello\n")
    first = [
        calls("report", state="finished", text="Nothing to do yet."),
        calls("edit_file", path="a.txt", old="hello", new="half"),
        calls("write_file", path="half.txt", content=ABANDONED),
        hangs(2, text=ABANDONED) if moment == "in a call" else calls("run_command", command="echo $$ > pid; sleep 60"),
    ]
    with ScriptedModels({"worker": first, "judge": judge_says("unmet")}) as models:
        started = site.begin(models, "--max-iterations", "3", "--sandbox", "off")
        wait_until(lambda: len(prompts(models, "worker")) == len(first), 60)
        shells: list[psutil.Process] = []
        if moment == "in a call":
            wait_until(lambda: models.requests[-1].sent > 0)
        else:
            pid = site.root / "pid"
            wait_until(lambda: pid.exists() and pid.read_text().strip() != "")
            shells.append(psutil.Process(int(pid.read_text())))
        assert (site.root / "half.txt").exists()
        killed(started)
        before = [message.full_text for message in prompts(models, "worker")[1].messages]
    found = status(site)
    assert (found["status"], found["iteration"]) == ("interrupted", 2)

    again = [calls("write_file", path="b.txt", content="hello\n"), says("Now it is done.")]
    with ScriptedModels({"worker": again, "judge": judge_says()}, port=models.port) as others:
        code, last = resumed(site, started.run_id)
        assert not others.failures
        asked = prompts(others, "worker")
    assert (code, last["status"], last["iteration"]) == (0, "complete", 2), last
    assert ABANDONED not in "".join(call.text for call in asked)
    assert [message.full_text for message in asked[0].messages] == before
    assert sorted(path.name for path in site.root.iterdir()) == ["GOAL.md", "a.txt", "b.txt"]
    assert (site.root / "a.txt").read_text() == "hello\n"
    assert not any(runs(shell) for shell in shells)


@pytest.mark.slow
@pytest.mark.conformance("A13", "A2", "C23")
def test_what_was_approved_in_a_killed_turn_is_asked_for_again(site: Site) -> None:
    site.goal("# Twice\n\n- [ ] `test -f ran.txt` passes\n")

    def worker(call: ModelCall) -> Reply:
        return hangs() if call.last.role == "tool" else calls("run_command", command="echo ran >> ran.txt")

    with ScriptedModels({"worker": worker}) as models:
        code, last = site.run_asking(models, "--sandbox", "off")
        assert (code, last["status"]) == (3, "paused")
        (asked,) = last["interrupts"]
        assert site.cli("answer", last["runId"], asked["id"], "approve").returncode in (0, 3)
        going = site.begin_cli("resume", last["runId"], "--json")
        wait_until(lambda: (site.root / "ran.txt").exists() and models.requests[-1].call.last.role == "tool", 60)
        killed(going)
        code, waits = resumed(site, last["runId"])
    assert (code, waits["status"], waits["iteration"]) == (3, "paused", 1)
    (again,) = waits["interrupts"]
    assert (again["tool"], again["input"]) == ("run_command", {"command": "echo ran >> ran.txt"})
    assert not (site.root / "ran.txt").exists()


@pytest.mark.slow
@pytest.mark.conformance("A13", "C20", "C21")
def test_a_run_that_was_killed_while_the_judge_thought_asks_the_judge_alone_again(site: Site) -> None:
    site.goal(GOAL)
    worker = [calls("write_file", path="b.txt", content="hello\n").spending(1000, 100), says("Done.").spending(500, 50)]
    with ScriptedModels({"worker": worker, "judge": [hangs()]}) as models:
        started = site.begin(models)
        wait_until(lambda: len(prompts(models, "judge")) == 1, 60)
        killed(started)
    with ScriptedModels({"judge": judge_says()}, port=models.port) as others:
        code, last = resumed(site, started.run_id)
        assert not others.failures
    assert (code, last["status"], last["iteration"]) == (0, "complete", 1), last
    cost = status(site)["cost"]
    assert (cost["worker"]["inputTokens"], cost["worker"]["outputTokens"]) == (1500, 150)


@pytest.mark.slow
@pytest.mark.conformance("A3", "C19")
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process")
def test_ctrl_c_pauses_at_once_in_the_middle_of_a_call_and_stop_ends_the_run(site: Site) -> None:
    site.goal(GOAL)
    with ScriptedModels({"worker": lambda _: hangs(2), "judge": judge_says()}) as models:
        started = site.begin(models)
        wait_until(lambda: bool(models.requests) and models.requests[-1].sent > 0, 60)
        hosts = model_hosts(started.process.pid)
        started.process.send_signal(signal.SIGINT)
        code, last = started.end(within=60)
        assert (code, last["status"]) == (130, "paused")
        wait_until(lambda: models.requests[-1].disconnected, 60)
        assert not any(runs(one) for one in hosts)
        assert len(models.requests) == 1

        going = site.begin_cli("resume", last["runId"], "--json")
        wait_until(lambda: len(models.requests) == 2 and models.requests[-1].sent > 0, 60)
        stopped = site.cli("stop", last["runId"])
        assert stopped.returncode == 0, stopped.stderr
        code, final = going.end(within=60)
        assert (code, final["status"]) == (1, "cancelled")
        wait_until(lambda: models.requests[-1].disconnected, 60)
        assert len(models.requests) == 2
    assert not (site.root / "b.txt").exists()


@pytest.mark.conformance("A6")
@pytest.mark.parametrize("dies", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["models", "host, too"])
def test_outages_are_waited_for_and_cost_no_iteration(room: Room, dies: bool) -> None:
    """Of the model, of the judge, and of the host that asks them, whose successor takes seconds to start."""
    found: dict[str, int] = {}

    def worker(call: ModelCall) -> Reply:
        found["worker"] = found.get("worker", 0) + 1
        if found["worker"] in (1, 3):
            return fails(503, retry_after=0.05) if found["worker"] == 1 else drops(2)
        return says("Done.") if tool_results(call) else calls("write_file", path="up/note.txt", content="hello\n")

    def judge(call: ModelCall) -> Reply:
        found["judge"] = found.get("judge", 0) + 1
        if found["judge"] == 1:
            return fails(429, retry_after=0.05)
        if dies and found["judge"] == 2:
            (host,) = room.hosts()
            host.kill()
            return hangs()
        return says(verdict(call))

    (room.root / "up/note.txt").unlink(missing_ok=True)
    room.configure(modelClient="litellm" if dies else "auto")
    room.play(worker=worker, judge=judge)
    last = room.pursue("up", f"# Up {dies}\n\n- [ ] The note says hello\n  - file: `up/note.txt`\n")
    assert (last["status"], last["iteration"], met(last)) == ("complete", 1, ["met"]), last
    assert (found["worker"], found["judge"]) == (4, 3 if dies else 2)


@pytest.mark.conformance("A3", "A6")
def test_a_turn_that_is_cut_off_before_the_model_answered_is_no_iteration(room: Room) -> None:
    room.play(worker=lambda _: hangs())
    run_id = room.start("mute", "# Mute\n\n- [ ] `test -f mute.txt` passes\n")
    room.wait_asked("worker")
    room.editor.execute("donewhen.run.pause", {"runId": run_id}, 60)
    paused = room.end(run_id)
    assert (paused["status"], paused["iteration"]) == ("paused", 0)

    room.play(worker=[calls("write_file", path="mute.txt", content=""), says("Done.")])
    room.editor.execute("donewhen.run.resume", {"runId": run_id}, 60)
    final = room.until(run_id, lambda s: s["status"] in ENDED)
    assert (final["status"], final["iteration"]) == ("complete", 1)


@pytest.mark.conformance("A6", "A3", "C19")
def test_a_judge_that_is_down_pauses_the_run_and_one_that_thinks_can_be_stopped(room: Room) -> None:
    goal = "# Down\n\n- [ ] The note says hello\n  - file: `down/note.txt`\n"
    writes = [calls("write_file", path="down/note.txt", content="hello\n"), says("Done.")]
    room.play(worker=writes, judge=lambda _: fails(401))
    last = room.pursue("down", goal)
    assert (last["status"], last["iteration"]) == ("paused", 1)
    assert "DONEWHEN_JUDGE_API_KEY" in last["reason"]

    room.play(judge=lambda _: hangs())
    room.editor.execute("donewhen.run.resume", {"runId": last["runId"]}, 60)
    room.wait_asked("judge")
    thinking = room.models.requests[-1]
    room.editor.execute("donewhen.run.pause", {"runId": last["runId"]}, 60)
    wait_until(lambda: thinking.disconnected, 60)

    room.play(judge=lambda call: says(verdict(call)))
    room.editor.execute("donewhen.run.resume", {"runId": last["runId"]}, 60)
    final = room.until(last["runId"], lambda s: s["status"] == "complete")
    assert final["iteration"] == 1
    assert len(room.asked("judge")) == 1
    assert not room.asked("worker")

    (room.root / "down/note.txt").unlink()
    room.play(worker=writes, judge=lambda _: hangs())
    run_id = room.start("down-too", goal.replace("# Down", "# Down too"))
    room.wait_asked("judge")
    thinking = room.models.requests[-1]
    room.stop(run_id)
    wait_until(lambda: thinking.disconnected, 60)
    assert room.end(run_id)["status"] == "cancelled"
    assert len(room.asked("judge")) == 1


@pytest.mark.slow
@pytest.mark.conformance("A13", "C20")
def test_a_server_that_was_killed_in_a_turn_is_followed_by_one_that_resumes_it(tmp_path: Path) -> None:
    room = Room(tmp_path)
    try:
        room.play(worker=[calls("write_file", path="half.txt", content=ABANDONED), hangs(2)])
        run_id = room.start("GOAL", "# Killed\n\n- [ ] `test -f done.txt` passes\n")
        room.wait_asked("worker", 2)
        hosts = room.hosts()
        room.editor.process.kill()
        wait_until(lambda: not any(runs(one) for one in hosts), 60)
        room.reopen()
        (found,) = room.editor.execute("donewhen.run.status", {"runId": run_id}, 60)["snapshots"]
        assert (found["status"], found["iteration"]) == ("interrupted", 1)
        room.play(
            worker=[calls("write_file", path="done.txt", content="done\n").expecting(lacks=[ABANDONED]), says("D")]
        )
        room.editor.execute("donewhen.run.resume", {"runId": run_id}, 60)
        last = room.until(run_id, lambda s: s["status"] == "complete")
        assert last["iteration"] == 1
        room.sound()
        assert not (room.root / "half.txt").exists()
    finally:
        room.close()


@pytest.mark.slow
@pytest.mark.conformance("A6", "C8")
def test_a_model_whose_server_is_down_fails_the_turn_and_works_once_it_is_up(tmp_path: Path) -> None:
    room = Room(tmp_path)
    port = room.models.port
    room.models.__exit__()
    try:
        run_id = room.start("GOAL", "# Down\n\n- [ ] `test -f up.txt` passes\n")
        room.until(run_id, lambda s: s["status"] == "running" and s["phase"] == "working")
        room.models = ScriptedModels(room._answer, port=port)  # pyright: ignore[reportPrivateUsage]
        room.models.__enter__()
        room.play(worker=[calls("write_file", path="up.txt", content="up\n"), says("Done.")])
        last = room.until(run_id, lambda s: s["status"] in ("complete", "crashed", "capped"), 90)
        assert last["status"] == "complete", last
    finally:
        room.close()
