"""`donewhen gc`, and what is removed by itself: with the real engine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from donewhen.core.events import RunPaused
from donewhen.store.folders import kept_folder
from donewhen.store.sqlite import SqliteLedger
from donewhen.workspace.locks import FileRunLock
from tests import forked
from tests.gate.place import Place
from tests.store.samples import started

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the checks are POSIX commands")

GOAL = "# Ship it\n\n- [ ] It is there\n  - check: `test -e new.txt`\n"
KEEP_ALL = {"DONEWHEN_KEEP_RUNS": "unlimited"}


def place_with_goal(tmp_path: Path, environ: dict[str, str] | None = None) -> Place:
    place = Place(tmp_path, environ or dict(KEEP_ALL))
    place.write("GOAL.md", GOAL)
    return place


def checked(place: Place, times: int) -> list[str]:
    """The runs of so many checks, the newest first."""
    for number in range(times):
        place.write("other.txt", f"{number}\n")
        done = place.call("check")
        assert done.code in (0, 1), done.err
    return listed(place)


def listed(place: Place) -> list[str]:
    return [one["runId"] for one in json.loads(place.call("list", "--json").out)]


def pursued(place: Place, text: str) -> str:
    worker = f"sh -c 'echo {text} > new.txt'"
    place.call("run", "--worker", "command", "--worker-command", worker, "--approve", "auto")
    return listed(place)[0]


async def put_on_record(place: Place, paused: set[str]) -> None:
    ledger = await SqliteLedger.open(kept_folder(place.root, place.state) / "ledger.sqlite")
    for run_id in sorted(paused):
        await ledger.append(run_id, started(run_id), 1.0)
        await ledger.append(run_id, RunPaused("for a year"), 2.0)
    await ledger.close()


def files(place: Place) -> int:
    return sum(len(names) for _, _, names in os.walk(kept_folder(place.root, place.state)))


def test_what_the_options_do_not_keep_goes_and_a_dry_run_says_so_before(tmp_path: Path) -> None:
    place = place_with_goal(tmp_path)
    runs = checked(place, 5)
    told = json.loads(place.call("gc", "--keep-runs", "2", "--dry-run", "--json").out)
    assert [one["runId"] for one in told["removed"]] == runs[:1:-1]
    assert {one["reason"] for one in told["removed"]} == {"runs"}
    assert listed(place) == runs
    done = place.call("gc", "--keep-runs", "2")
    assert (done.code, "3 runs removed" in done.err) == (0, True), done.err
    assert listed(place) == runs[:2]
    gone = place.call("report", runs[4])
    assert (gone.code, "`donewhen list` shows all" in gone.err) == (2, True)
    assert "0 runs removed" in place.call("gc", "--keep-runs", "2").err


@pytest.mark.slow
def test_what_stays_is_reported_and_compared_as_before(tmp_path: Path) -> None:
    place = place_with_goal(tmp_path)
    old = pursued(place, "one")
    kept = pursued(place, "two")
    new = pursued(place, "three")
    checked(place, 3)

    def shown(run_id: str) -> list[str]:
        calls = (("report",), ("report", "--format", "html"), ("status",), ("diff",))
        return [place.call(*call, run_id).out for call in calls]

    before = {run_id: shown(run_id) for run_id in (kept, new)}
    assert place.call("gc", "--keep", kept).code == 0
    assert place.call("gc", "--keep-runs", "1", "--older-than", "1h", "--max-size", "1MB").code == 0
    assert old not in listed(place)
    assert {run_id: shown(run_id) for run_id in (kept, new)} == before
    assert place.call("revert", kept, "0", "--force").code == 0
    place.call("gc", "--unkeep", kept)
    place.call("gc", "--keep-runs", "1")
    assert kept not in listed(place)
    assert new in listed(place)


def test_what_keeps_a_run_is_no_dry_run(tmp_path: Path) -> None:
    place = place_with_goal(tmp_path)
    (run,) = checked(place, 1)
    for option in ("--keep", "--unkeep"):
        done = place.call("gc", option, run, "--dry-run")
        assert (done.code, "leave --dry-run out" in done.err) == (2, True)
    assert "1 stays: the newest run or check of its goal" in place.call("gc").err


def test_a_paused_run_and_the_newest_of_each_goal_stay(tmp_path: Path) -> None:
    place = place_with_goal(tmp_path)
    place.write("other.goal.md", GOAL.replace("Ship", "Send"))
    place.call("check", "other.goal.md")
    paused = {"0aaaaaaa", "0bbbbbbb"}
    asyncio.run(put_on_record(place, paused))
    runs = checked(place, 3)
    place.call("gc", "--keep-runs", "1")
    left = listed(place)
    assert paused < set(left)
    assert len(left) == 4
    assert left[0] == runs[0]


@pytest.mark.parametrize("where", ["", pytest.param("collecting", marks=pytest.mark.slow)])
def test_while_a_run_is_pursued_or_another_does_it_nothing_is_done(tmp_path: Path, where: str) -> None:
    place = place_with_goal(tmp_path)
    runs = checked(place, 3)
    lock = FileRunLock(kept_folder(place.root, place.state) / where)
    lock.acquire("0123abcd", "0" * 32)
    try:
        told = place.call("gc", "--keep-runs", "1")
        assert told.code == 1
        assert "nothing was done" in told.err
        assert listed(place) == runs
    finally:
        lock.release()
    assert place.call("gc", "--keep-runs", "1").code == 0


@pytest.mark.slow
def test_many_checks_leave_few_files_and_what_is_old_goes_by_itself(tmp_path: Path) -> None:
    place = place_with_goal(tmp_path, {"DONEWHEN_KEEP_RUNS": "3"})
    said = ""
    for number in range(40):
        place.write("other.txt", f"{number}\n")
        said += place.call("check").err
    assert files(place) < 100
    done = kept_folder(place.root, place.state) / "collect.done"
    os.utime(done, (1, 1))  # the last look was long ago
    place.call("check")
    assert len(listed(place)) <= 4
    assert place.call("report").code == 0


KILLED = """\
import os, signal, sys
from donewhen.__main__ import main
from donewhen.engine import collecting
from donewhen.store import tables
from donewhen.workspace import objects
left = int(sys.argv.pop(1))
def dying(module, name):
    real = getattr(module, name)
    def then(*arguments, **named):
        global left
        done = real(*arguments, **named)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    setattr(module, name, then)
for module, name in ((tables, "begin_to_remove"), (tables, "remove_some"), (tables, "compact"), (collecting, "_swept"),
                     (objects, "_held_by"), (objects, "_removals")):
    dying(module, name)
raise SystemExit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_step_a_run_is_whole_or_gone(tmp_path: Path, every: int) -> None:
    place = place_with_goal(tmp_path)
    kept = pursued(place, "one")
    diff, report = place.call("diff", kept).out, place.call("report", kept).out
    checked(place, 4)
    for dies in range(1, 40, every):
        words = ["--state-dir", str(place.state), "--workspace", str(place.root), "gc", "--keep-runs", "1"]
        code = forked.run([sys.executable, "-c", KILLED, str(dies), *words], timeout=60).returncode
        runs = json.loads(place.call("list", "--json").out)
        assert all(one["unreadable"] is None and one["status"] != "crashed" for one in runs)
        for one in runs:
            assert place.call("report", one["runId"]).code == 0
        if code == 0:
            break
        assert code == -signal.SIGKILL
        checked(place, 2)
    else:
        pytest.fail("it never came to an end")
    assert dies > 5
    (place.root / "other.txt").unlink()
    assert (place.call("diff", kept).out, place.call("report", kept).out) == (diff, report)
    with closing(sqlite3.connect(kept_folder(place.root, place.state) / "ledger.sqlite")) as ledger:
        counts = ledger.execute(
            "SELECT COUNT(DISTINCT run_id), (SELECT COUNT(*) FROM removing) FROM entries"
        ).fetchone()
    assert counts == (2, 0)
