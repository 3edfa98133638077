"""Ctrl-C in a plain script: the run is paused, and can go on (C19, C20)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked

SCRIPT = """
import sys, time
from donewhen import resume_goal, run_goal

def slow(prompt):
    print("working", flush=True)
    time.sleep(60)

def done(response, agent):
    return response == "done"

places = {"workspace": sys.argv[1], "state_dir": sys.argv[2]}
paused = run_goal("Do it", slow, checks=[done], **places)
print(paused.status, paused.reason, flush=True)
outcome = resume_goal(paused.run_id, lambda prompt: "done", checks=[done], **places)
print(outcome.status, outcome.iterations, flush=True)
"""


@pytest.mark.conformance("C19", "C20")
@pytest.mark.skipif(sys.platform == "win32", reason="a signal is sent to one process")
def test_ctrl_c_pauses_the_run_of_a_script(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    program = [sys.executable, "-c", SCRIPT, str(workspace), str(tmp_path / "state")]
    process = forked.start(program, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=30)
    # Nor does the thread that is left behind keep the script from ending.
    assert (process.returncode, told.splitlines()) == (0, ["paused Ctrl-C", "complete 1"])
