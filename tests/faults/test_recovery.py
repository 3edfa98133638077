"""What is found after a crash: orphans are ended, a person's edits are kept and asked about (product.md, "Nothing
lost")."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from tests.faults.site import KILLED, Ended, Site, eventually
from tests.tools import runs

WORKER = """\
import pathlib, subprocess, sys
numbers = pathlib.Path("numbers.txt")
done = numbers.read_text().split()
subprocess.run([sys.executable, "-S", "effect.py", str(len(done))], check=True)
if len(done) == 2:
    subprocess.run([sys.executable, "-S", "../hang.py", "worker", "effects.txt"], check=True)
numbers.write_text("\\n".join([*done, ["one", "two", "three"][len(done) - 1]]) + "\\n")
"""


def kill(site: Site) -> None:
    process = site.started[-1]
    process.kill()
    assert site.end(process).code == KILLED


def killed_in_turn_two(site: Site) -> None:
    """A run that was killed after its worker had done part of its second turn, and time enough to be sure of it."""
    process = site.begin_run()
    site.hanging("worker")
    process.kill()
    process.wait()
    for pid in site.hanging("worker"):
        os.kill(pid, 9)  # as after a power cut: nothing of the run is left
    died = time.time()
    eventually(lambda: time.time() > died + 1.6)


HANGING_SCRIPT = """\
turns:
  - - edit: {path: numbers.txt, old: "zero\\n", new: "zero\\none\\n"}
    - run: python -S effect.py first
  - - write: {path: half.txt, text: "half done\\n"}
    - run: python -S effect.py second
    - run: python -S ../hang.py worker
    - delete: half.txt
    - edit: {path: numbers.txt, old: "one\\n", new: "one\\nthree\\n"}
"""


@pytest.fixture
def hanging(make_site: Callable[..., Site]) -> Site:
    return make_site(script=HANGING_SCRIPT)


@pytest.mark.conformance("A13", "C20")
def test_orphans_are_ended_before_the_turn_runs_again(make_site: Callable[..., Site]) -> None:
    """The worker lives on with a child and a daemon, holds the run's lock and writes, until `resume` ends them."""
    site = make_site()
    site.write("worker.py", WORKER)
    process = site.begin_run("--worker", "command", "--worker-command", "python -S worker.py")
    pids = site.hanging("worker")
    process.kill()
    process.wait()
    assert all(runs(pid) for pid in pids)
    ended = site.inside("resume")
    assert (ended.code, ended.last["status"], ended.last["iteration"]) == (0, "complete", 3)
    assert ended.last["iterationsTotal"] == 3
    assert not any(runs(pid) for pid in pids)
    assert site.read("effects.txt") == "1\n2\n3\n"
    assert site.read("numbers.txt") == "zero\none\ntwo\nthree\n"


@pytest.mark.slow
@pytest.mark.conformance("A13", "A2")
def test_a_persons_edits_after_a_crash_are_kept_and_asked_about(hanging: Site) -> None:
    killed_in_turn_two(hanging)
    hanging.write("mine.txt", "my notes\n")
    hanging.write("effect.py", hanging.read("effect.py") + "# mine\n")
    asked = hanging.call("resume")
    assert asked.code == 3
    (question,) = asked.last["interrupts"]
    assert "effect.py, mine.txt" in question["title"]
    assert hanging.read("half.txt") == "half done\n"  # nothing is put back unasked
    assert hanging.read("mine.txt") == "my notes\n"
    answered = hanging.call("answer", hanging.run_id, question["id"], "approve")
    assert answered.code == 0
    ended = hanging.inside("resume")
    finished_once(hanging, ended)
    assert hanging.read("mine.txt") == "my notes\n"
    assert hanging.read("effect.py").endswith("# mine\n")


@pytest.mark.slow
@pytest.mark.conformance("A13")
def test_edits_that_a_person_gives_up_are_put_back(hanging: Site) -> None:
    killed_in_turn_two(hanging)
    before = hanging.read("effect.py")
    hanging.write("mine.txt", "my notes\n")
    hanging.write("effect.py", before + "# mine\n")
    (question,) = hanging.call("resume").last["interrupts"]
    hanging.call("answer", hanging.run_id, question["id"], "deny")
    finished_once(hanging, hanging.inside("resume"))
    assert not (hanging.root / "mine.txt").exists()
    assert hanging.read("effect.py") == before


@pytest.mark.slow
@pytest.mark.conformance("A13", "A2")
def test_a_question_about_edits_outlives_another_crash(hanging: Site) -> None:
    killed_in_turn_two(hanging)
    hanging.write("mine.txt", "my notes\n")
    (question,) = hanging.call("resume").last["interrupts"]
    again = hanging.begin("resume")
    hanging.until_event("RunResumed", 2)
    again.kill()
    again.wait()
    still = hanging.call("resume")
    assert (still.code, [one["id"] for one in still.last["interrupts"]]) == (3, [question["id"]])
    assert hanging.read("mine.txt") == "my notes\n"
    hanging.call("answer", hanging.run_id, question["id"], "approve")
    finished_once(hanging, hanging.inside("resume"))
    assert hanging.read("mine.txt") == "my notes\n"


def finished_once(site: Site, ended: Ended) -> None:
    assert (ended.code, ended.last["status"], ended.last["iteration"]) == (0, "complete", 2), ended.errors
    assert site.read("effects.txt") == "first\nsecond\n"
    assert not (site.root / "half.txt").exists()


@pytest.mark.slow
@pytest.mark.conformance("A13", "A15")
def test_with_worker_human_nothing_is_ever_put_back(site: Site) -> None:
    """What a person edits while nobody watches is seen by the resumed run, and stays."""
    site.begin_run("--worker", "human")
    site.until_event("TurnStarted")
    site.write("numbers.txt", "zero\none\n")
    site.until_event("TurnStarted", 2)
    kill(site)
    site.write("numbers.txt", "zero\none\nthree\n")
    site.write("mine.txt", "mine\n")
    ended = site.inside("resume")
    assert (ended.code, ended.last["status"]) == (0, "complete"), ended.errors
    assert site.read("numbers.txt") == "zero\none\nthree\n"
    assert site.read("mine.txt") == "mine\n"
    assert "FilesReverted" not in site.events()
    assert "InterruptOpened" not in site.events()


@pytest.mark.slow
@pytest.mark.conformance("C20")
def test_a_check_that_outlives_its_supervisor_blocks_nothing(make_site: Callable[..., Site]) -> None:
    site = make_site(goal="# Goal\n\n- [ ] `python -S ../hang.py check` passes\n")
    site.begin_run()
    pids = site.hanging("check")
    kill(site)
    assert all(runs(pid) for pid in pids)
    ended = site.inside("resume")
    assert (ended.code, ended.last["status"], ended.last["iteration"]) == (0, "complete", 0), ended.errors
    assert not any(runs(pid) for pid in pids)
    assert site.events().count("AuditFinished") == 1


@pytest.mark.slow
@pytest.mark.conformance("C20")
def test_a_new_run_ends_what_a_dead_one_left(make_site: Callable[..., Site]) -> None:
    site = make_site(goal="# Goal\n\n- [ ] `python -S ../hang.py check` passes\n")
    site.begin_run()
    pids = site.hanging("check")
    kill(site)
    ended = site.run()
    assert (ended.code, ended.last["status"]) == (0, "complete"), ended.errors
    assert not any(runs(pid) for pid in pids)
