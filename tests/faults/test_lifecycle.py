"""Stop, pause, resume and time limits with real processes: nothing outlives a run, nothing is lost (C4, C18-C20)."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.faults.site import Ended, Site
from tests.tools import in_flight, runs

HANGS = """\
turns:
  - - run: python -S ../hang.py worker
    - edit: {path: numbers.txt, old: "zero\\n", new: "zero\\none\\nthree\\n"}
    - usage: {input_tokens: 10, output_tokens: 5, usd: 0.25}
"""
HANGING_CHECK = "# Goal\n\n- [ ] `python -S ../hang.py check` passes\n"
ASKS = """\
turns:
  - - ask: {kind: approval, title: May I push, tool: run_command, input: {command: git push}}
    - edit: {path: numbers.txt, old: "zero\\n", new: "zero\\none\\nthree\\n"}
"""

Make = Callable[..., Site]


def recorded(site: Site, kind: str) -> float:
    """When the newest event of a kind was put on record, epoch seconds."""
    (file,) = (site.folder / "state").glob("workspaces/*/ledger.sqlite")
    connection = sqlite3.connect(file, timeout=10.0)
    try:
        (at,) = connection.execute("SELECT MAX(at) FROM entries WHERE type = ?", (kind,)).fetchone()
    finally:
        connection.close()
    assert at is not None, f"no {kind}"
    return float(at)


# ---------------------------------------------------------------------------------------------- stop


@pytest.mark.conformance("C19", "A3")
@pytest.mark.parametrize(
    "phase", ["worker", *(pytest.param(phase, marks=pytest.mark.slow) for phase in ("check", "waiting"))]
)
def test_stop_from_another_process_ends_the_run_with_every_child(make_site: Make, phase: str) -> None:
    site = make_site(goal=HANGING_CHECK) if phase == "check" else make_site(script=HANGS)
    run = site.begin_run("--worker", "human") if phase == "waiting" else site.begin_run()
    if phase == "waiting":
        site.until_event("TurnStarted")
    pids = [] if phase == "waiting" else site.hanging(phase)
    stopped = site.call("stop", site.run_id)
    assert (stopped.code, stopped.last["status"]) == (0, "cancelled"), stopped.errors
    assert not any(runs(pid) for pid in pids), "a child outlived its run"
    assert recorded(site, "RunEnded") - recorded(site, "Requested") < 2.0
    ended = site.end(run, 5.0)
    assert (ended.code, ended.last["status"]) == (1, "cancelled")
    again = site.inside("stop", site.run_id)
    assert again.code == 2
    assert "nothing to stop" in again.errors


@pytest.mark.conformance("C19")
async def test_a_request_reaches_the_owner_within_half_a_second(site: Site) -> None:
    from donewhen.app.engine import open_engine
    from donewhen.settings.loading import Settings

    site.begin_run("--worker", "human")
    site.until_event("TurnStarted")
    runs = await open_engine(site.root, site.folder / "state", Settings())
    took: list[float] = []
    try:
        for undo in (False, True, False):
            begun = time.monotonic()
            await runs.waive(site.run_id, "R2", "not now", undo=undo)
            took.append(time.monotonic() - begun)
    finally:
        await asyncio.wait_for(runs.close("the test is over"), 60)
    assert min(took) < 0.5, took
    site.write("numbers.txt", "zero\none\n")
    ended = site.end(site.started[0])
    assert (ended.last["status"], ended.last["counts"]["waived"]) == ("complete", 1)


# -------------------------------------------------------------------------------------- pause, resume


@pytest.mark.skipif(os.name != "posix", reason="these signals are POSIX's")
@pytest.mark.conformance("C20")
@pytest.mark.parametrize(
    ("name", "code"),
    [("SIGINT", 130), *(pytest.param(name, 3, marks=pytest.mark.slow) for name in ("SIGTERM", "SIGHUP"))],
)
def test_signals_pause_and_resume_goes_on(make_site: Make, name: str, code: int) -> None:
    site = make_site(script=HANGS)
    run = site.begin_run()
    pids = site.hanging("worker")
    os.kill(run.pid, getattr(signal, name))
    paused = site.end(run, 10.0)
    assert (paused.code, paused.last["status"]) == (code, "paused"), paused.errors
    assert paused.last["pausedBy"] == ("person" if name == "SIGINT" else "run")
    assert f"donewhen resume {site.run_id}" in paused.errors
    assert not any(runs(pid) for pid in pids)
    ended = site.inside("resume")
    assert (ended.code, ended.last["status"], ended.last["iteration"]) == (0, "complete", 1)
    assert ended.last["elapsedSeconds"] >= paused.last["elapsedSeconds"]


@pytest.mark.slow
@pytest.mark.conformance("C19", "C20", "C22")
def test_one_run_at_a_time_and_its_owner_is_named(make_site: Make) -> None:
    """A second run, and a resumption, are refused while the owner lives; pausing it lets the run go on elsewhere."""
    site = make_site(script=HANGS)
    run = site.begin_run()
    site.hanging("worker")
    first = site.run_id
    for refused in (site.run(), site.inside("resume", first), site.inside("resume")):
        assert refused.code == 2
        assert first in refused.errors
    shown = site.inside("run", "/goal status")
    assert (shown.code, shown.last["runId"], shown.last["status"]) == (0, first, "running")
    paused = site.call("run", "/goal pause")
    assert (paused.code, paused.last["status"]) == (0, "paused")
    assert site.end(run, 5.0).code == 3
    assert site.events().count("RunStarted") == 1
    ended = site.inside("resume", first)
    assert (ended.code, ended.last["status"]) == (0, "complete")


@pytest.mark.slow
@pytest.mark.conformance("C20")
def test_of_two_resumptions_at_once_one_wins(make_site: Make) -> None:
    site = make_site(script=HANGS)
    run = site.begin_run()
    site.hanging("worker")
    run.kill()
    run.wait()
    both = [site.end(process) for process in [site.begin("resume"), site.begin("resume")]]
    won = [one for one in both if one.code == 0]
    assert len(won) == 1, [(one.code, one.errors) for one in both]
    (lost,) = (one for one in both if one.code != 0)
    assert lost.code in (2, 3)
    assert won[0].last["runId"] in lost.errors
    events = site.events()
    assert (events.count("RunInterrupted"), events.count("RunResumed"), events.count("TurnFinished")) == (1, 1, 1)


@pytest.mark.conformance("C20")
def test_a_capped_run_needs_a_raised_limit_and_keeps_its_counts(site: Site) -> None:
    capped = site.run("--max-iterations", "2")
    assert (capped.code, capped.last["status"], capped.last["iteration"]) == (1, "capped", 2)
    refused = site.inside("resume")
    assert refused.code == 2
    assert "max_iterations" in refused.errors
    ended = site.inside("resume", "--max-iterations", "5")
    assert (ended.code, ended.last["status"], ended.last["iteration"]) == (0, "complete", 3)
    assert (ended.last["iterationsTotal"], ended.last["cost"]["usd"]) == (3, 0.875)
    assert ended.last["iterations"][:2] == capped.last["iterations"]
    for command in (("resume", site.run_id), ("resume",)):
        assert site.inside(*command).code == 2, "a complete run can't be resumed"


@pytest.mark.slow
@pytest.mark.conformance("C20")
def test_a_cancelled_run_stays_ended(make_site: Make) -> None:
    site = make_site(script=HANGS)
    run = site.begin_run()
    site.hanging("worker")
    site.call("stop", site.run_id)
    site.end(run, 5.0)
    refused = site.inside("resume", site.run_id)
    assert refused.code == 2
    assert "cancelled" in refused.errors


# ----------------------------------------------------------------------------------------- time limit


@pytest.mark.conformance("C4")
@pytest.mark.parametrize("phase", ["worker", pytest.param("check", marks=pytest.mark.slow)])
def test_the_time_limit_interrupts_what_hangs(make_site: Make, phase: str) -> None:
    async def play(limit: float) -> tuple[Site, float, Ended]:
        site = make_site(script=HANGS) if phase == "worker" else make_site(goal=HANGING_CHECK)
        limit = max(limit, 2.0)  # with less, a process never comes as far
        return site, limit, site.end(site.begin_run("--timeout", f"{limit}s"))

    site, limit, ended = asyncio.run(in_flight(play, lambda played: (played[0].folder / f"{phase}.pids").exists()))
    assert (ended.code, ended.last["status"]) == (1, "timed_out")
    assert not any(runs(pid) for pid in site.hanging(phase))
    assert ended.last["elapsedSeconds"] < limit + 20.0, "what hangs does so for 300 s"
    assert site.inside("resume").code == 2
    resumed = site.inside("resume", "--timeout", "10m")
    assert (resumed.code, resumed.last["status"]) == (0, "complete"), resumed.errors


# ------------------------------------------------------------------------------------------- approval


@pytest.mark.slow
@pytest.mark.conformance("A2")
def test_an_answer_while_the_run_is_paused_is_what_the_turn_gets(make_site: Make) -> None:
    """Nobody can be asked here: the run pauses with the question open, and the answer is asked for only once."""
    site = make_site(script=ASKS)
    asked = site.run()
    assert (asked.code, asked.last["status"]) == (3, "paused")
    (question,) = asked.last["interrupts"]
    still = site.call("resume")
    assert (still.code, [one["id"] for one in still.last["interrupts"]]) == (3, [question["id"]])
    assert site.call("answer", site.run_id, "I9", "approve").code == 2
    assert site.call("answer", site.run_id, question["id"], "approve").code == 0
    ended = site.inside("resume")
    assert (ended.code, ended.last["status"], ended.last["iteration"]) == (0, "complete", 1), ended.errors


# ------------------------------------------------------------------------------------------ the lines


@pytest.mark.conformance("C18", "C11")
def test_the_lines_of_a_run_tell_it_in_order(site: Site) -> None:
    ended = site.run()
    lines = ended.lines
    first = lines[0]
    assert (first["status"], first["iteration"], first["counts"]["met"]) == ("running", 0, 0)
    assert {one["status"] for one in first["requirements"]} == {"unverified"}
    assert [line["status"] for line in lines[:-1]] == ["running"] * (len(lines) - 1)
    assert (ended.last["status"], ended.last["phase"], ended.last["complete"]) == ("complete", None, True)
    assert_ordered(ended)


def assert_ordered(ended: Ended) -> None:
    sequences = [line["sequence"] for line in ended.lines]
    assert sequences == sorted(sequences)
    told = [(line["sequence"], line["activity"], line["phase"]) for line in ended.lines]
    assert all(one != other for one, other in pairwise(told)), "a line tells nothing new"
    iterations = [line["iteration"] for line in ended.lines]
    assert iterations == sorted(iterations)
    assert set(iterations) == {0, 1, 2, 3}
    for number in (1, 2, 3):
        scores = [line["iterations"][-1]["met"] for line in ended.lines if line["iterationsTotal"] == number]
        assert scores[-1] == (2 if number == 3 else 1), f"iteration {number} ends without its verdict"
