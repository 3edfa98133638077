"""Acts by real processes: a worker's are refused, however it hides where it came from; a person's are taken."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.site import Ended, Site
from tests.tools import runs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is seen of processes is Linux's here")

CALLS = {
    "waive": ["waive", "{run}", "R1", "--reason", "it is fine"],
    "accept": ["accept", "{run}", "--all", "--reason", "it is fine"],
    "stop": ["stop", "{run}"],
    "hint": ["hint", "{run}", "well done"],
    "revert": ["revert", "{run}", "0"],
}
DIRECT = """
for call in wanted:
    subprocess.run(call, env=dict(os.environ), stdout=out, stderr=out)
"""
WITHOUT_MARK = """
kept = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
for call in wanted:
    subprocess.run(call, env=kept, stdout=out, stderr=out)
"""
DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.closerange(3, 1000)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
    import time
    while os.getppid() == parent:
        time.sleep(0.01)
    with open(told, "w") as out:
        for call in wanted:
            subprocess.run(call, env=kept, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    open(told + ".done", "w").close()
    os._exit(0)
"""
DAEMON_WITH_TERMINAL = """
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.closerange(3, 1000)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
    import pty, time
    while os.getppid() == parent:
        time.sleep(0.01)
    said = b""
    for call in wanted:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(call[0], call, kept)
        try:
            while part := os.read(terminal, 1000):
                said += part
        except OSError:
            pass
    open(told, "wb").write(said)
    open(told + ".done", "w").close()
    os._exit(0)
"""
LIBRARY = """
code = '''
import asyncio, sys
from pathlib import Path
from donewhen.app.engine import open_engine
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.settings.loading import Settings
async def main():
    runs = await open_engine(Path(sys.argv[1]), Path(sys.argv[2]), Settings(), WorkspaceContext(where="editor"))
    await runs.waive(sys.argv[3], "R1", "it is fine")
asyncio.run(main())
'''
subprocess.run([wanted[0][0], "-c", code, root, state, run], stdout=out, stderr=out)
"""
WORKER = """\
import glob, os, sqlite3, subprocess, sys, time
wanted, told, root, state = {wanted!r}, {told!r}, {root!r}, {state!r}
while not (ledgers := glob.glob(state + "/workspaces/*/ledger.sqlite")):
    time.sleep(0.01)
ledger = sqlite3.connect(ledgers[0], timeout=20, isolation_level=None)
(run,) = ledger.execute("SELECT run_id FROM runs").fetchone()
wanted = [[word.replace("{{run}}", run) for word in call] for call in wanted]
parent = os.getpid()
out = open(told, "w")
{how}
out.close()
if "os.fork()" not in {how!r}:
    open(told + ".done", "w").close()
deadline = time.monotonic() + 40
while not os.path.exists(told + ".done") and time.monotonic() < deadline:
    time.sleep(0.05)
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site.make(tmp_path / "place")


def worker(site: Site, how: str, acts: Sequence[str] = (), last: str = "pass") -> list[str]:
    """A `command` worker that acts on its own run. A daemon's parent must have ended first."""
    told = str(site.folder / "told")
    places = ["--workspace", str(site.root), "--state-dir", str(site.folder / "state")]
    wanted = [[sys.executable, "-m", "donewhen", *CALLS[act], *places] for act in acts]
    text = WORKER.format(wanted=wanted, told=told, root=str(site.root), state=str(site.folder / "state"), how=how)
    (site.folder / "worker.py").write_text(f"{text}\n{last}\n", encoding="utf-8")
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(site.folder / 'worker.py'))}"
    if "os.fork()" in how:
        # It ends, so that what it left behind is an orphan, and another one keeps the turn open.
        waits = f"while not os.path.exists({told!r} + '.done'): time.sleep(0.05)"
        (site.folder / "waits.py").write_text(f"import os, time\n{waits}\n", encoding="utf-8")
        short = text.replace("deadline = time.monotonic() + 40", "deadline = 0")
        (site.folder / "worker.py").write_text(short, encoding="utf-8")
        both = f"{command}; exec {shlex.quote(sys.executable)} {shlex.quote(str(site.folder / 'waits.py'))}"
        command = f"sh -c {shlex.quote(both)}"
    return ["--worker", "command", "--worker-command", command, "--max-iterations", "1", "--approve", "auto"]


def told(site: Site) -> str:
    return (site.folder / "told").read_text(encoding="utf-8", errors="replace")


def refused(ended: Ended) -> list[str]:
    return [one["message"] for one in ended.last["warnings"] if one["code"] == "act_refused"]


@pytest.mark.parametrize(
    ("how", "acts"),
    [
        ("as a daemon with a terminal", ["accept"]),
        pytest.param("directly", list(CALLS), marks=pytest.mark.slow),
        pytest.param("without the mark", ["waive", "stop"], marks=pytest.mark.slow),
        pytest.param("as a daemon", ["waive", "accept", "stop"], marks=pytest.mark.slow),
        pytest.param("by the library", ["waive"], marks=pytest.mark.slow),
    ],
)
def test_a_worker_gets_no_act_through(site: Site, how: str, acts: list[str]) -> None:
    ways = {
        "directly": DIRECT,
        "without the mark": WITHOUT_MARK,
        "as a daemon": DAEMON,
        "as a daemon with a terminal": DAEMON_WITH_TERMINAL,
        "by the library": LIBRARY,
    }
    ended = site.call("run", "GOAL.md", *worker(site, ways[how], acts))
    assert (ended.last["status"], ended.last["counts"]["waived"]) == ("capped", 0), ended.errors
    assert told(site).count("from your editor or from a terminal") == len(acts), told(site)
    messages = refused(ended)
    assert sorted(one.partition(" was refused: ")[0] for one in messages) == sorted(f"`{act}`" for act in acts)
    assert not ended.last["acts"]
    receipt = site.inside("report", "--format", "json").last
    assert {*messages} <= {one["message"] for one in receipt["warnings"]}


AT_THE_DOOR = """
import json, socket
(record,) = glob.glob(state + "/workspaces/*/owner.json")
door = json.load(open(record))["door"]
os.chdir(os.path.dirname(door))

def said(data):
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(20)
    made.connect(os.path.basename(door))
    try:
        made.sendall(data)
        reply = made.makefile().readline()
    except OSError as error:
        reply = type(error).__name__ + "\\n"
    made.close()
    return reply

act = {"type": "WaiveRequirement", "requirement": "R1", "reason": "x", "undo": False}
for where in ("editor", "terminal", "program"):
    for act in (act, {"type": "AcceptFinding", "finding_id": None, "reason": "x"}, {"type": "StopRun", "reason": "x"}):
        out.write(said(json.dumps({"run_id": run, "where": where, "act": act}).encode() + b"\\n"))
out.write(said(json.dumps({"run_id": "another", "where": "editor", "act": act}).encode() + b"\\n") + "nothing\\n")
out.write(said(b"taken\\nwanted\\n"))
out.write(said(b"x" * 20_000_000))
crowd = [socket.socket(socket.AF_UNIX) for _ in range(200)]
for one in crowd:
    one.setblocking(False)
    try:
        one.connect(os.path.basename(door))
    except OSError:
        pass
ledger.execute("CREATE TABLE requests (id INTEGER PRIMARY KEY, run_id, operation, arguments, taken DEFAULT 0, signed)")
ledger.execute("INSERT INTO requests (run_id, operation, arguments) VALUES (?, 'stop', '{}')", (run,))
"""


def test_what_a_worker_says_at_the_door_itself_is_no_act_of_a_person(site: Site) -> None:
    """It says what it likes of itself: the kernel says who it is. Whatever else comes there, the run goes on; and what
    is written into the record by hand is read by nobody."""
    ended = site.call("run", "GOAL.md", *worker(site, AT_THE_DOOR))
    assert (ended.last["status"], ended.last["counts"]["waived"]) == ("capped", 0), ended.errors
    *acts, elsewhere, noise, endless = told(site).splitlines()
    assert len(acts) == 9, told(site)
    assert all("this process was started by run" in one for one in acts)
    assert elsewhere == "nothing", "of a run that it doesn't pursue, the process says nothing"
    assert "what was asked can't be read" in noise
    assert "can't be read" in endless or endless in ("ConnectionResetError", "BrokenPipeError")
    started = f"this process was started by run {ended.last['runId']} itself"
    assert sorted(one.partition(": only")[0] for one in refused(ended)) == [
        f"`{word}` was refused" for word in ("accept", "stop", "waive")
    ]
    assert all(started in one for one in refused(ended))
    assert not ended.last["acts"]


def test_a_worker_that_edits_the_record_ends_its_run(site: Site) -> None:
    edit = """
(body,) = ledger.execute("SELECT body FROM entries WHERE sequence = 1").fetchone()
ledger.execute("UPDATE entries SET at = at - 1 WHERE sequence = 2")
"""
    ended = site.call("run", "GOAL.md", *worker(site, edit))
    assert (ended.code, ended.last["status"]) == (4, "crashed"), ended.errors
    assert "entry 2 is not as it was written" in ended.last["reason"]
    for seen in (site.inside("status"), site.inside("report", "--format", "json")):
        assert (seen.last["status"], "entry 2" in seen.last["reason"]) == ("crashed", True)
    assert site.inside("resume").code == 2


# --------------------------------------------------------------------------------------------- people


def waiting(site: Site) -> subprocess.Popen[str]:
    """A run whose worker's turn is open until it is told to end."""
    end = site.folder / "end"
    code = f"import os, time\nwhile not os.path.exists({str(end)!r}): time.sleep(0.02)\n"
    (site.folder / "waits.py").write_text(code, encoding="utf-8")
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(site.folder / 'waits.py'))}"
    options = ["--worker", "command", "--worker-command", command, "--max-iterations", "1", "--approve", "auto"]
    run = site.begin_run(*options)
    site.until_event("TurnStarted")
    return run


def in_terminal(site: Site, *words: str) -> tuple[int, str]:
    """The command on a terminal of its own, as in a session that a person opens."""
    import pty

    call = [sys.executable, "-m", "donewhen", *words, "--workspace", str(site.root)]
    call += ["--state-dir", str(site.folder / "state")]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(call[0], call, {k: v for k, v in os.environ.items() if not k.startswith("DONEWHEN_")})
    said = b""
    try:
        while part := os.read(terminal, 4096):
            said += part
    except OSError:
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode()


@pytest.mark.slow
def test_while_a_turn_is_open_a_person_acts_from_a_terminal(site: Site) -> None:
    run = waiting(site)
    refused_one = site.call("waive", site.run_id, "R1", "--reason", "fine")
    assert refused_one.code == 2
    assert "while a worker is at work" in refused_one.errors
    assert "or pause the run first" in refused_one.errors
    code, said = in_terminal(site, "waive", site.run_id, "R1", "--reason", "it was agreed")
    assert code == 0, said
    (site.folder / "end").touch()
    ended = site.end(run)
    assert (ended.last["status"], ended.last["counts"]["waived"]) == ("capped", 1)
    (act,) = ended.last["acts"]
    assert (act["what"], act["said"], act["where"]) == ("waived R1", "it was agreed", "terminal")
    (text,) = (one["text"] for one in site.inside("report", "--format", "markdown").lines)
    assert f"{act['by']} in a terminal waived R1: it was agreed" in text
    (text,) = (one["text"] for one in site.inside("report", "--format", "short").lines)
    assert f"By people: {act['by']} in a terminal waived R1: it was agreed" in text


@pytest.mark.slow
def test_a_script_without_a_terminal_stops_its_run_at_any_time(site: Site) -> None:
    run = waiting(site)
    stopped = site.call("stop", site.run_id)
    assert (stopped.code, stopped.last["status"]) == (0, "cancelled"), stopped.errors
    (act,) = stopped.last["acts"]
    assert (act["what"], act["where"]) == ("stopped the run", "program")
    site.end(run)


@pytest.mark.slow
def test_a_script_acts_once_the_run_is_paused(site: Site) -> None:
    run = waiting(site)
    assert site.call("pause", site.run_id).code == 0
    site.end(run)
    waived = site.call("waive", site.run_id, "R1", "--reason", "fine")
    assert (waived.code, waived.last["counts"]["waived"]) == (0, 1), waived.errors


@pytest.mark.slow
def test_another_runtime_folder_is_no_hindrance(site: Site, tmp_path: Path) -> None:
    """As for a job of cron, which has none."""
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    owner = Site(site.folder, {"XDG_RUNTIME_DIR": str(runtime)}, site.started)
    run = waiting(owner)
    (door,) = (runtime / "donewhen").iterdir()
    assert (door.is_socket(), door.stat().st_mode & 0o777, door.parent.stat().st_mode & 0o777) == (True, 0o600, 0o700)
    assert site.call("stop", owner.run_id).code == 0
    owner.end(run)
    assert not list((runtime / "donewhen").iterdir())
    assert not runs(run.pid)


@pytest.mark.slow
def test_an_owner_that_hangs_is_waited_for_no_longer_than_a_while(site: Site) -> None:
    """What was asked of it meanwhile isn't done once it works again."""
    run = waiting(site)
    os.kill(run.pid, signal.SIGSTOP)
    try:
        hung = site.call("stop", site.run_id)
    finally:
        os.kill(run.pid, signal.SIGCONT)
    assert (hung.code, f"process {run.pid} owns run {site.run_id} and does not answer" in hung.errors) == (3, True)
    assert site.call("hint", site.run_id, "be quick").code == 0
    (site.folder / "end").touch()
    ended = site.end(run)
    assert (ended.last["status"], [one["what"] for one in ended.last["acts"]]) == (
        "capped",
        ["sent a hint to the worker"],
    )


@pytest.mark.slow
def test_after_kill_9_people_act_at_once_and_the_next_owner_is_reached(site: Site) -> None:
    run = waiting(site)
    run.kill()
    run.wait(20)
    (record,) = (site.folder / "state").glob("workspaces/*/owner.json")
    door = Path(json.loads(record.read_text())["door"])
    assert door.is_socket(), "it is left behind"
    assert site.call("waive", site.run_id, "R1", "--reason", "fine").code == 0
    again = site.begin("resume", site.run_id)
    site.until_event("RunResumed")
    assert site.call("stop", site.run_id).last["status"] == "cancelled"
    site.end(again)
    assert not door.exists()


@pytest.mark.slow
def test_people_who_act_at_once_are_each_heard(site: Site) -> None:
    run = waiting(site)
    asking = [site.begin("hint", site.run_id, f"hint {number}") for number in range(6)]
    assert [site.end(one).code for one in asking] == [0] * 6
    asking = [site.begin("pause", site.run_id), site.begin("stop", site.run_id)]
    codes = sorted(site.end(one).code for one in asking)
    assert codes[0] == 0
    ended = site.end(run)
    assert len([one for one in ended.last["acts"] if one["what"] == "sent a hint to the worker"]) == 6
