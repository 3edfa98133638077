"""Commands on runs on record, the server, doctor and demo: what they ask of the engine and what they answer."""

from __future__ import annotations

import errno
import json
import logging
import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from donewhen.core import changing
from donewhen.core.errors import AlreadyRunning, GoalFileError, HeldElsewhere, LedgerTooNew, NotResumable
from donewhen.core.state import RunState
from donewhen.core.work import Answer
from donewhen.engine.api import LimitChanges, RunView
from donewhen.ports import RunSummary
from tests.cli.fakes import GOAL, RUN, complete, desk, lines, question, view
from tests.gate.place import Place
from tests.tools import each_row

posix = pytest.mark.skipif(os.name != "posix", reason="the shell's commands and signals are POSIX's here")


def test_resume_raises_limits(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("resume", RUN, "--max-iterations", "20") == 0
    name, run_id, limits, _ = call.runs.calls[0]
    assert (name, run_id, limits) == ("resume", RUN, LimitChanges(max_iterations=20))
    assert call("resume") == 0
    assert call.runs.calls[1][1] is None


def test_status_without_a_run_is_null(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("status", "--json") == 1
    assert call.out == "null\n"
    assert call("list", "--json") == 0
    assert json.loads(call.out) == []


def test_status_and_list_show_what_is_on_record(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("status", "--json") == 0
    assert lines(call.out)[0]["runId"] == RUN
    assert call("status", RUN) == 0
    assert "complete" in call.out
    assert call("status", "nope") == 2
    assert call("list", "--json") == 0
    assert json.loads(call.out)[0] == {
        "runId": RUN,
        "mode": "pursue",
        "title": GOAL.title,
        "goalUri": (tmp_path / "GOAL.md").as_uri(),
        "status": "complete",
        "startedAt": "1970-01-01T00:00:00.000Z",
        "updatedAt": "1970-01-01T00:00:01.500Z",
        "freshness": None,
        "unreadable": None,
    }


def test_runs_that_can_not_be_read_are_named_and_passed_over(tmp_path: Path) -> None:
    why = "entry 3: not the JSON of an event; start a new run"
    call = desk(tmp_path, complete())
    call.runs.unreadable = (RunSummary("bad", "pursue", "Old", None, "unreadable", 9.0, 9.0, why),)
    assert call("list") == 0
    assert [line.split()[:2] for line in call.out.splitlines()] == [["bad", "unreadable"], [RUN, "complete"]]
    assert call.err == f"run bad can't be read: {why}\n"
    assert call("list", "--json") == 0
    assert [(one["status"], one["unreadable"]) for one in json.loads(call.out)] == [
        ("unreadable", why), ("complete", None)
    ]  # fmt: skip
    assert call("status", "--json") == 0
    assert (lines(call.out)[0]["runId"], call.err) == (RUN, f"run bad can't be read: {why}\n")
    assert call("resume", "--max-iterations", "20") == 0
    assert f"run bad can't be read: {why}\n" in call.err


def test_resume_keeps_the_worker(tmp_path: Path) -> None:
    call = desk(tmp_path, complete(), environ={"DONEWHEN_WORKER": "agent", "DONEWHEN_WORKER_COMMAND": "x"})
    assert call("resume") == 0
    options = call.runs.calls[0][3]
    assert (options.worker, options.worker_command) == (None, None)


def test_following_watches_and_changes_nothing(tmp_path: Path) -> None:
    call = desk(tmp_path, view(red=True), view(interrupts=(question(),)), complete())
    assert call("status", RUN, "--follow") == 0
    assert call.runs.calls == []
    assert "Which encoding?" in call.out


# ------------------------------------------------------------------------------------------ person commands


@each_row(
    "argv, call_made",
    [
        (["pause", RUN], ("pause", RUN, "asked for on the command line")),
        (["stop", RUN], ("stop", RUN)),
        (["answer", RUN, "I1", "text", "use", "utf-8"], ("answer", RUN, "I1", Answer("text", text="use utf-8"))),
        (["answer", RUN, "I1", "deny"], ("answer", RUN, "I1", Answer("deny"))),
        (["waive", RUN, "R2", "--reason", "not here"], ("waive", RUN, "R2", "not here", False)),
        (["waive", RUN, "R2", "--undo"], ("waive", RUN, "R2", "", True)),
        (["accept", RUN, "F1", "--reason", "meant"], ("accept", RUN, "F1", "meant", False)),
        (["accept", RUN, "--all", "--reason", "meant"], ("accept", RUN, None, "meant", False)),
        (["accept", RUN, "--all", "--undo"], ("accept", RUN, None, "", True)),
        (["answer", RUN, "I1", "end", "not", "so"], ("answer", RUN, "I1", Answer("text", text="end not so"))),
        (["dispute", RUN, "R1", "--reason", "look again"], ("dispute", RUN, "R1", "look again")),
    ],
)
def test_a_person_reaches_the_run(argv: list[str], call_made: tuple[object, ...], tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)))
    assert call(*argv, "--json") == 0
    assert call.runs.calls == [call_made]
    assert lines(call.out)[0]["runId"] == RUN


def test_a_hint_reaches_the_worker_and_says_when_it_is_read(tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    assert call("hint", RUN, "look", "at", "b.py") == 0
    assert call.runs.calls == [("hint", RUN, "look at b.py")]
    assert "at the start of its next turn" in call.out
    assert call("hint", RUN, "again", "--json") == 0
    assert call.out.endswith('{"when": "nextTurn"}\n')


@pytest.mark.parametrize("which", [[], ["F1", "--all"]])
def test_what_is_accepted_is_one_finding_or_all(which: list[str], tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    assert call("accept", RUN, *which, "--reason", "meant") == 2
    assert ("F1" in call.err, "--all" in call.err, call.runs.calls) == (True, True, [])


@pytest.mark.parametrize("argv", [["waive", RUN, "R1"], ["accept", RUN, "F1"], ["dispute", RUN, "R1", "--reason", " "]])
def test_an_override_needs_a_reason(argv: list[str], tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    assert call(*argv) == 2
    assert "--reason" in call.err
    assert call.runs.calls == []


def test_revert_keeps_what_a_person_edited_unless_told(tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    call.runs.edited = ("src/a.py",)
    assert call("revert", RUN, "2", "src/a.py", "src/b.py") == 3
    assert call.out.splitlines()[0] == "put back: src/b.py"
    assert "kept: src/a.py" in call.out
    assert "--force" in call.out
    assert call.runs.calls == [("revert", RUN, 2, ["src/a.py", "src/b.py"], False)]
    assert call("revert", RUN, "2", "--json") == 3
    assert json.loads(call.out)["kept"] == [(tmp_path / "src/a.py").as_uri()]
    assert call("revert", RUN, "2", "src/a.py", "--force", "--json") == 0
    assert json.loads(call.out) == {"changedFiles": [(tmp_path / "src/a.py").as_uri()], "kept": []}


@pytest.mark.parametrize(("typed", "code"), [("y", 0), ("", 3)])
def test_revert_asks_at_a_terminal(typed: str, code: int, tmp_path: Path) -> None:
    call = desk(tmp_path, view(), interactive=True, typed=[typed])
    call.runs.edited = ("src/a.py",)
    assert call("revert", RUN, "1") == code
    assert "src/a.py" in call.err
    assert call.runs.calls[1:] == (
        [("revert", RUN, None, None, False), ("revert", RUN, 1, None, True)] if typed else []
    )
    assert f"donewhen revert {RUN} undo" in call.err


@pytest.mark.parametrize(("typed", "code"), [("y", 0), ("", 3)])
def test_reverting_a_finding_asks_before_it_overwrites_an_edit(typed: str, code: int, tmp_path: Path) -> None:
    call = desk(tmp_path, view(), interactive=True, typed=[typed])
    call.runs.edited = ("src/a.py",)
    assert call("revert", RUN, "F1") == code
    assert [one[-1] for one in call.runs.calls] == ([False, True] if typed else [False])
    assert "edited since: src/a.py" in call.err


def test_a_finding_is_reverted_as_an_iteration_is(tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    assert call("revert", RUN, "F1") == 0
    assert f"donewhen revert {RUN} undo" in call.err
    call.runs.edited = ("src/a.py",)
    assert call("revert", RUN, "F1") == 3
    assert "--force" in call.out
    assert call("revert", RUN, "F1", "--force", "--json") == 0
    assert json.loads(call.out) == {"changedFiles": [(tmp_path / "src/a.py").as_uri()], "kept": []}


@pytest.mark.parametrize(
    "argv", [["revert", RUN, "F1", "src/a.py"], ["revert", RUN, "last"], ["revert", RUN, "1", "/etc/passwd"]]
)
def test_revert_refuses_what_is_no_iteration_or_file_here(argv: list[str], tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    assert call(*argv) == 2
    assert call.runs.calls == []


# ---------------------------------------------------------------------------------------------- the others


def test_report_comes_in_each_format(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("report", RUN) == 0
    assert call.out.startswith("## Ship the exporter")
    assert call("report", RUN, "--format", "junit") == 0
    assert ET.fromstring(call.out).get("tests") == "2"
    assert call("report", RUN, "--json") == 0
    assert json.loads(call.out)["evidence"]["E1"]["observation"]["command"] == "python -m pytest -q"
    assert call("report", RUN, "--json", "--format", "markdown") == 0
    assert json.loads(call.out)["text"].startswith("## ")


def test_serve_hands_over(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("--state-dir", "st", "serve", "--stdio", "--clientProcessId=12") == 0
    assert call.served is not None
    assert (call.served.tcp, call.served.client_process_id) == (None, 12)
    assert call("serve", "--tcp", "0") == 0
    assert call.served.tcp == 0
    assert call("serve", "--tcp", "70000") == 2


def test_a_mistake_in_settings_does_not_keep_the_server_down(tmp_path: Path) -> None:
    call = desk(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.donewhen]\nmax_iterations = 0\n")
    (tmp_path / "user.toml").write_text("= broken")
    assert call("serve", "--state-dir", str(tmp_path / "st")) == 0
    assert call.served is not None
    assert call.served.state_dir == tmp_path / "st"
    assert "user.toml" in call.err
    assert call("check") == 2


def test_doctor_says_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("doctor") == 0
    assert call.out == "workspace\n  ✓ folder: /w\nwhat checks run in\n  - `ruff check .`: no program → install it\n"
    assert call("doctor", "--json") == 0
    found = {f["name"]: f for f in json.loads(call.out)["findings"]}
    assert (found["`ruff check .`"]["state"], found["`ruff check .`"]["group"]) == ("missing", "what checks run in")


def test_demo_goes_through_the_engine_and_cleans_up(tmp_path: Path) -> None:
    call = desk(tmp_path, view(red=True), complete())
    assert call("demo") == 0
    name, path, options = call.runs.calls[0]
    assert (name, path, options.worker) == ("start", "GOAL.md", "scripted")
    assert not Path(options.script).parent.exists()
    assert call.out.splitlines()[-1] == "The sample was removed (--keep keeps it)."
    assert "R1 unmet" in call.out
    assert "R1 met" in call.out


# -------------------------------------------------------------------------------------------------- errors


@each_row(
    "error, code",
    [
        (AlreadyRunning("run-7"), 2),
        (NotResumable("the run is complete"), 2),
        (GoalFileError("the goal is empty"), 2),
        (HeldElsewhere("process 12 owns the run"), 3),
        (LedgerTooNew("written by version 9"), 2),
    ],
)
def test_an_expected_error_is_one_line(error: Exception, code: int, tmp_path: Path) -> None:
    call = desk(tmp_path, view(), error=error)  # type: ignore[arg-type]
    assert call("run", "--json") == code
    assert call.out == ""
    assert call.err.startswith("donewhen: error: ")
    assert call.err.count("\n") == 1
    assert call.runs.closed


def test_a_defect_is_one_line_with_its_log(tmp_path: Path) -> None:
    call = desk(tmp_path, view(), error=ZeroDivisionError("boom"))  # type: ignore[arg-type]
    assert call("run") == 4
    assert "crashed: ZeroDivisionError: boom" in call.err
    assert "Traceback" not in call.err
    (log,) = tmp_path.glob("crash-*.log")
    assert str(log) in call.err
    assert "Traceback" in log.read_text()
    call.environ["DONEWHEN_DEBUG"] = "1"
    assert call("run") == 4
    assert "Traceback" in call.err


@posix
def test_a_defect_that_keeps_the_end_of_a_run_off_the_record_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From when the worker has worked no state can be changed, not even to say that the run ended."""
    place, worked = Place(tmp_path), tmp_path / "worked"
    place.write("GOAL.md", "# Goal\n\n- [ ] `test -e done` passes\n")
    sets_fields = changing._only_sets_fields

    def broken(kind: type[Any]) -> bool:
        if kind is RunState and worked.exists():
            raise ZeroDivisionError("boom")
        return sets_fields(kind)

    with monkeypatch.context() as patched:
        patched.setattr(changing, "_only_sets_fields", broken)
        said = place.call("run", "--worker-command", f"touch done {worked}")
    assert said.code == 4, said
    assert said.err.splitlines()[-1].startswith("donewhen: crashed: ZeroDivisionError: boom; details are in ")
    assert place.call("resume").code == 0


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("/x/y.so: failed to map segment from shared object"),
    ],
)
def test_too_little_memory_is_said_in_one_sentence(error: Exception, tmp_path: Path) -> None:
    later = ValueError("what followed")
    later.__context__ = error
    said = "donewhen: crashed: there is too little memory, or too few threads, to go on: free some, or raise the limit"
    asyncio_log = logging.getLogger("asyncio")
    for raised in (error, later):
        call = desk(tmp_path, view(), error=raised)  # type: ignore[arg-type]
        try:
            assert call("check") == 4
        finally:
            asyncio_log.disabled = False
        assert call.err.startswith(said)
        assert call.err.count("\n") == 1
    assert not list(tmp_path.glob("crash-*.log"))


def test_a_check_that_breaks_off_says_why(tmp_path: Path) -> None:
    call = desk(tmp_path, view(red=True, mode="audit", ended=True, end_status="crashed", reason="no memory"))
    assert call("check") == 4
    assert "the check broke off: no memory\n" in call.out
    assert "not proven" not in call.out


def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    call = desk(tmp_path, recorded=False)
    assert call("--workspace", str(tmp_path / "none"), "status") == 2
    assert "not a folder" in call.err


def test_a_settled_end_is_no_way_to_go_on(tmp_path: Path) -> None:
    call = desk(tmp_path, view(**PAUSED, ending=("cancelled", "the start was not accepted")))
    assert call("status") == 0
    assert f"saved; end the run with:\n  donewhen resume {RUN}" in call.err


# -------------------------------------------------------------------------------------- what comes after an answer

ASKED = (question(),)
PAUSED = {"paused": "waits for a person: I1 Which encoding?", "paused_by": "run"}


@each_row(
    "shown, argv, said",
    [
        (view(interrupts=(question(), question(2))), ["answer", RUN, "I1", "utf-8"], "answered I1; I2 still waits"),
        (complete(), ["answer", RUN, "I1", "utf-8"], "answered I1; the run has ended"),
        (view(), ["waive", RUN, "R2", "--reason", "x"], "R2 is waived; the run continues by itself"),
        (
            view(**PAUSED, interrupts=ASKED),
            ["answer", RUN, "I1", "x"],
            f"answered I1; continue with: donewhen resume {RUN}",
        ),
        (
            view(**PAUSED, interrupts=ASKED, ending=("cancelled", "the start was not accepted")),
            ["answer", RUN, "I1", "no"],
            "answered I1; the start was not accepted. End the run as cancelled with: donewhen resume " + RUN,
        ),
        (view(**PAUSED), ["waive", RUN, "R2", "--undo"], f"R2 counts again; continue with: donewhen resume {RUN}"),
        (view(**PAUSED), ["accept", RUN, "--all", "--reason", "x"], "accepted all findings; continue with: donewhen"),
        (view(**PAUSED), ["dispute", RUN, "R1", "--reason", "x"], "disputed R1; continue with: donewhen resume"),
    ],
)
def test_an_act_says_what_was_done_and_what_comes_next(
    shown: RunView, argv: list[str], said: str, tmp_path: Path
) -> None:
    call = desk(tmp_path, shown)
    assert call(*argv) == 0
    assert said in call.err
