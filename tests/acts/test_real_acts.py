"""Acts by real processes: a worker's are refused, however it hides where it came from; a person's are taken."""

from __future__ import annotations

import os
import shlex
import sqlite3
import subprocess
import sys
import time
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
DIRECT = "subprocess.run(call, env=dict(os.environ), stdout=out, stderr=out)"
WITHOUT_MARK = """
kept = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
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
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(call[0], call, kept)
    said = b""
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
subprocess.run([call[0], "-c", code, root, state, run], stdout=out, stderr=out)
"""
WORKER = """\
import glob, os, sqlite3, subprocess, sys, time
call, told, root, state = {call!r}, {told!r}, {root!r}, {state!r}
while not (ledgers := glob.glob(state + "/workspaces/*/ledger.sqlite")):
    time.sleep(0.01)
ledger = sqlite3.connect(ledgers[0], timeout=20, isolation_level=None)
(run,) = ledger.execute("SELECT run_id FROM runs").fetchone()
call = [word.replace("{{run}}", run) for word in call]
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


def worker(site: Site, how: str, act: str = "waive", last: str = "pass") -> list[str]:
    """A `command` worker that acts on its own run. A daemon's parent must have ended first."""
    told = str(site.folder / "told")
    call = [sys.executable, "-m", "donewhen", *CALLS[act], "--workspace", str(site.root)]
    call += ["--state-dir", str(site.folder / "state")]
    text = WORKER.format(call=call, told=told, root=str(site.root), state=str(site.folder / "state"), how=how)
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
    ("how", "act"),
    [
        ("as a daemon with a terminal", "accept"),
        *(pytest.param("directly", act, marks=pytest.mark.slow) for act in CALLS),
        *(pytest.param("without the mark", act, marks=pytest.mark.slow) for act in ("waive", "stop")),
        *(pytest.param("as a daemon", act, marks=pytest.mark.slow) for act in ("waive", "accept", "stop")),
        pytest.param("by the library", "waive", marks=pytest.mark.slow),
    ],
)
def test_a_worker_gets_no_act_through(site: Site, how: str, act: str) -> None:
    ways = {
        "directly": DIRECT,
        "without the mark": WITHOUT_MARK,
        "as a daemon": DAEMON,
        "as a daemon with a terminal": DAEMON_WITH_TERMINAL,
        "by the library": LIBRARY,
    }
    ended = site.call("run", "GOAL.md", *worker(site, ways[how], act))
    assert (ended.last["status"], ended.last["counts"]["waived"]) == ("capped", 0), ended.errors
    assert "from your editor or from a terminal" in told(site), told(site)
    (message,) = refused(ended)
    assert message.startswith(f"`{act}` was refused: ")
    assert not ended.last["acts"]
    receipt = site.inside("report", "--format", "json").last
    assert message in [one["message"] for one in receipt["warnings"]]


def test_a_row_that_is_written_by_hand_is_no_request(site: Site) -> None:
    row = """
ledger.execute("INSERT INTO requests (run_id, operation, arguments) VALUES (?, 'waive', ?)",
               (run, '{"requirement": "R1", "reason": "x", "undo": false}'))
while not (reply := ledger.execute("SELECT error, message FROM replies").fetchone()):
    time.sleep(0.05)
out.write(repr(reply))
"""
    ended = site.call("run", "GOAL.md", *worker(site, row))
    assert (ended.last["status"], ended.last["counts"]["waived"]) == ("capped", 0), ended.errors
    assert "ActRefused" in told(site)
    assert refused(ended) == [
        "`waive` was refused: nobody signed it: a row that is written into the record by hand is not a request"
    ]


@pytest.mark.slow
def test_a_signed_request_is_taken_once(site: Site) -> None:
    """Whoever copies the row of another process, or opens it again, asks for nothing."""
    run = site.begin_run("--worker", "human")
    site.until_event("TurnStarted")
    assert site.call("waive", site.run_id, "R1", "--reason", "later").code == 0
    assert site.call("waive", site.run_id, "R1", "--undo").code == 0
    (file,) = (site.folder / "state").glob("workspaces/*/ledger.sqlite")
    ledger = sqlite3.connect(file, timeout=20, isolation_level=None)
    ledger.execute("UPDATE requests SET taken = 0 WHERE id = 1")
    copied = "INSERT INTO requests (run_id, operation, arguments, signed) SELECT run_id, operation, arguments, signed"
    ledger.execute(f"{copied} FROM requests WHERE id = 1")
    deadline = time.monotonic() + 20
    while ledger.execute("SELECT COUNT(*) FROM requests WHERE taken = 0").fetchone() != (0,):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    ledger.close()
    view = site.inside("status", site.run_id).last
    assert view["counts"]["waived"] == 0
    assert [one["what"] for one in view["acts"]] == ["waived R1", "undid the waiver of R1"]
    assert site.call("stop", site.run_id).code == 0
    site.end(run)


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
    key = runtime / "donewhen" / "requests.key"
    assert (key.stat().st_mode & 0o777, key.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert site.call("stop", owner.run_id).code == 0
    owner.end(run)
    assert not list((runtime / "donewhen" / "asking").iterdir())
    assert not runs(run.pid)
