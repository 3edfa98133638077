"""Halts, kept approvals and the start, with the real engine and its ledger; where it matters each command is a process
of its own."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from donewhen.app.services import Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.errors import UnknownInterrupt
from donewhen.core.work import Answer
from donewhen.engine.api import StartOptions
from donewhen.settings.loading import Settings
from tests import forked
from tests.cli.plugged import opened, plugged_services
from tests.cli.test_processes import DEADLINE, Place

PROGRAM = Path(__file__).with_name("plugged.py")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals are POSIX's here")


class Plugged(Place):
    """A workspace whose `donewhen` has the plugin `office`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.answers = folder / "answers.jsonl"

    def command(self, *argv: str) -> list[str]:
        return [sys.executable, str(PROGRAM), "--state-dir", str(self._state), *argv]

    def services(self) -> Services:
        return plugged_services()

    def pursue(self, title: str, *argv: str) -> list[str]:
        (self.root / "GOAL.md").write_text(f"# {title}\n\n- [ ] `test -f done.txt` passes\n", encoding="utf-8")
        return ["run", "--json", "--worker-command", "touch done.txt", *argv]

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.answers.read_text().splitlines()] if self.answers.exists() else []

    def shown(self, done: subprocess.CompletedProcess[str], code: int) -> dict[str, Any]:
        """The last snapshot that a command printed."""
        assert done.returncode == code, done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Plugged]:
    made = Plugged(tmp_path)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.conformance("C23")
def test_a_halt_reaches_whoever_called_and_is_answered_by_another_process(place: Plugged) -> None:
    shown = place.shown(place.process(*place.pursue("Halt")), 3)
    halt = {"plugin": "office", "reason": "the office is closed", "data": {"ticket": 7}, "resumable": True}
    assert (shown["status"], shown["halt"], shown["phase"], shown["activity"]) == ("waiting", halt, None, None)
    run_id = shown["runId"]
    listed = json.loads(place.run("list", "--json").stdout)
    assert [one["status"] for one in listed] == ["waiting"]
    assert "halted by office, not by other" in place.run("resume", "--plugin", "other").stderr
    assert "wants to be told" in place.run("resume", run_id, "--data", "[]").stderr
    assert place.newest()["halt"] == halt  # a refused answer leaves it as it was
    resumed = place.shown(place.process("resume", "--json", "--plugin", "office", "--data", '{"open": true}'), 0)
    assert (resumed["runId"], resumed["status"], resumed["halt"]) == (run_id, "complete", None)
    assert place.told() == [{"open": True}]


def test_a_halted_run_can_be_paused_and_stopped(place: Plugged) -> None:
    run_id = place.shown(place.run(*place.pursue("Halt")), 3)["runId"]
    paused = place.shown(place.run("pause", run_id, "--json"), 0)
    assert (paused["status"], paused["halt"]) == ("paused", None)
    stopped = place.shown(place.run("stop", run_id, "--json"), 0)
    assert (stopped["status"], stopped["halt"]) == ("cancelled", None)
    assert place.run("resume", run_id, "--data", "1").returncode == 2


@pytest.mark.conformance("A3", "C23")
@pytest.mark.parametrize(
    ("title", "argv", "told"),
    [
        ("Approve", ["approve", "--for", "workspace"], {"response": "approve", "remember": "workspace"}),
        ("Approve", ["edit", "pull"], {"response": "edit", "input": {"command": "pull"}, "remember": ""}),
        ("Question", ["text", ""], {"response": "text", "text": ""}),
    ],
)
def test_what_is_answered_while_nobody_runs_is_there_when_it_goes_on(
    title: str, argv: list[str], told: dict[str, Any], place: Plugged
) -> None:
    shown = place.shown(place.run(*place.pursue(title)), 3)
    run_id = shown["runId"]
    (asked,) = shown["interrupts"]
    assert asked["remembers"] is (title == "Approve")
    answered = place.run("answer", run_id, "I1", *argv)
    assert answered.returncode == 0, answered.stderr
    again = place.run("answer", run_id, "I1", "deny")
    assert (again.returncode, "no open interrupt I1" in again.stderr) == (2, True)
    assert place.shown(place.run("resume", "--json"), 0)["status"] == "complete"
    (given,) = place.told()
    assert {name: given[name] for name in told} == told


@pytest.mark.parametrize(
    ("title", "argv", "why"),
    [
        ("Question", ["approve"], "answer I1 with your answer as text"),
        ("Approve", ["deny", "--for", "workspace"], "only `approve` can be kept"),
        ("Start", ["approve", "--for", "run"], "is asked each time"),
    ],
)
def test_what_an_interrupt_does_not_take_leaves_it_open(title: str, argv: list[str], why: str, place: Plugged) -> None:
    options = ("--approve", "ask") if title == "Start" else ()
    run_id = place.shown(place.run(*place.pursue(title, *options)), 3)["runId"]
    refused = place.run("answer", run_id, "I1", *argv)
    assert refused.returncode == 2
    assert why in refused.stderr
    assert [one["id"] for one in place.newest()["interrupts"]] == ["I1"]


@pytest.mark.conformance("A2")
def test_nothing_starts_before_the_summary_is_accepted(place: Plugged) -> None:
    done = place.run(*place.pursue("Start", "--approve", "ask"))
    shown = place.shown(done, 3)
    assert shown["start"]["acceptedBy"] is None
    (asked,) = shown["interrupts"]
    assert (asked["kind"], asked["about"], asked["title"]) == ("approval", "start", "Start this run?")
    assert asked["preview"] == shown["start"]["summary"]
    assert shown["iteration"] == 0
    assert place.run("answer", shown["runId"], "I1", "approve").returncode == 0
    last = place.shown(place.run("resume", "--json"), 0)
    assert (last["status"], last["start"]["acceptedBy"]) == ("complete", "person")
    assert "A person accepted" in place.run("report", shown["runId"]).stdout


@pytest.mark.slow
def test_a_start_that_is_not_accepted_does_nothing(place: Plugged) -> None:
    run_id = place.shown(place.run(*place.pursue("Start", "--approve", "ask")), 3)["runId"]
    refused = place.run("resume", run_id, "--data", "1")
    assert (refused.returncode, "not halted by a plugin" in refused.stderr) == (2, True), refused.stderr
    assert place.newest()["status"] == "paused"
    answered = place.run("answer", run_id, "I1", "deny", "too", "dear")
    ends = f"the start was not accepted: too dear. End the run as cancelled with: donewhen resume {run_id}"
    assert (answered.returncode, ends in answered.stderr) == (0, True), answered.stderr
    assert "once the run is resumed, it ends as cancelled" in place.run("status").stdout
    last = place.shown(place.run("resume", "--json"), 1)
    assert (last["status"], last["reason"]) == ("cancelled", "the start was not accepted: too dear")
    assert not (place.root / "done.txt").exists()


@pytest.mark.slow
def test_what_is_accepted_by_an_option_is_shown_and_on_record(place: Plugged) -> None:
    done = place.run(*place.pursue("Start", "--approve", "auto"))
    shown = place.shown(done, 0)
    assert shown["start"]["acceptedBy"] == "auto"
    assert done.stderr.count("Checks execute what the worker wrote.") == 1
    receipt = place.run("report", shown["runId"]).stdout
    assert "Accepted by how it was started, without asking:" in receipt
    assert "- Checks execute what the worker wrote." in receipt


@posix
@pytest.mark.conformance("A2")
def test_a_person_at_the_terminal_accepts_the_start_and_keeps_an_approval(place: Plugged) -> None:
    import pty

    argv = [one for one in place.pursue("Start and Approve") if one != "--json"]
    master, terminal = pty.openpty()
    process = forked.start(
        place.command(*argv), cwd=place.root, stdin=terminal, stdout=terminal, stderr=terminal,
        env={**place.environment(), "TERM": "xterm"},
    )  # fmt: skip
    os.close(terminal)
    _until(master, b"(or enter) not to:")
    os.write(master, b"yes\n")
    shown = _until(master, b"instead of doing it:")
    assert b"always in this workspace" in shown.replace(b"\r\n", b" ")
    os.write(master, b"w\n")
    _until(master, b"complete")
    assert process.wait(DEADLINE) == 0
    os.close(master)
    (given,) = place.told()
    assert (given["response"], given["remember"]) == ("approve", "workspace")


def _until(master: int, wanted: bytes) -> bytes:
    shown = b""
    until = time.monotonic() + DEADLINE
    while wanted not in shown.replace(b"\r\n", b" ") and time.monotonic() < until:
        shown += os.read(master, 4096)
    assert wanted in shown.replace(b"\r\n", b" ")
    return shown


@pytest.mark.slow
@pytest.mark.conformance("A3")
@pytest.mark.parametrize("count", [2, 5])
async def test_of_answers_at_the_same_moment_only_one_is_said_to_count(count: int, place: Plugged) -> None:
    place.pursue("Question")
    runs = await opened(place.root, place.root.parent / "state", Settings(), WorkspaceContext())
    try:
        view = await runs.start("GOAL.md", StartOptions(worker="command", worker_command="touch done.txt"))
        run_id = view.state.run_id
        async for view in runs.follow(run_id):
            if view.state.interrupts:
                break
        answers = [runs.answer(run_id, "I1", Answer("text", text=str(number))) for number in range(count)]
        said = await asyncio.gather(*answers, return_exceptions=True)
        async for _ in runs.follow(run_id):
            pass
    finally:
        await runs.close("the test ended")
    (told,) = place.told()
    won = [number for number, one in enumerate(said) if not isinstance(one, BaseException)]
    assert [str(number) for number in won] == [told["text"]]
    assert all(isinstance(one, UnknownInterrupt) for number, one in enumerate(said) if number not in won)


@pytest.mark.slow
@pytest.mark.conformance("A3")
async def test_of_processes_that_answer_a_run_without_an_owner_only_one_is_said_to_count(place: Plugged) -> None:
    run_id = place.shown(await asyncio.to_thread(place.process, *place.pursue("Question")), 3)["runId"]
    state = place.root.parent / "state"
    both = [await opened(place.root, state, Settings(), WorkspaceContext()) for _ in range(2)]
    try:
        answers = [one.answer(run_id, "I1", Answer("text", text=str(n))) for n, one in enumerate(both)]
        said = await asyncio.gather(*answers, return_exceptions=True)
    finally:
        for one in both:
            await one.close("the test ended")
    won = [number for number, one in enumerate(said) if not isinstance(one, BaseException)]
    assert (await asyncio.to_thread(place.process, "resume", "--json")).returncode == 0
    assert [one["text"] for one in place.told()] == [str(number) for number in won]


@pytest.mark.slow
@posix
@pytest.mark.conformance("A3")
def test_one_of_many_answers_counts(place: Plugged) -> None:
    """Several people answer at once, each differently; a run at a terminal waits for one of them."""
    import pty

    argv = [one for one in place.pursue("Approve") if one != "--json"]
    master, terminal = pty.openpty()
    process = forked.start(
        place.command(*argv), cwd=place.root, stdin=terminal, stdout=terminal, stderr=terminal,
        env={**place.environment(), "TERM": "xterm"},
    )  # fmt: skip
    os.close(terminal)
    _until(master, b"instead of doing it:")
    run_id = place.newest()["runId"]
    given = [["approve", "--for", "run"], ["approve", "--for", "workspace"], ["deny", "no"], ["edit", "pull"]]
    others = [place.start("answer", run_id, "I1", *argv) for argv in given]
    os.write(master, b"r at the terminal\n")
    codes = [one.wait(DEADLINE) for one in others]
    _until(master, b"complete")
    assert process.wait(DEADLINE) == 0
    os.close(master)
    (told,) = place.told()
    winners = list(itertools.compress(given, [code == 0 for code in codes]))
    assert len(winners) == (0 if told["reason"] == "at the terminal" else 1)
    assert sorted(set(codes)) in ([0, 2], [2])
    if winners:
        assert told["response"] == winners[0][0]
