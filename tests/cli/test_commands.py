"""What each command asks of the engine, prints and returns."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from donewhen.core.errors import AlreadyRunning, GoalFileError, HeldElsewhere, LedgerTooNew, NotResumable
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.state import KnownFinding, OpenTurn
from donewhen.core.work import Answer, Interrupt
from donewhen.engine.api import LimitChanges, StartOptions
from tests.cli.fakes import GOAL, RUN, approval, complete, desk, question, view


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


# ----------------------------------------------------------------------------------------- init and check


def test_init_drafts_and_never_overwrites(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("init", "Quote fields") == 2
    assert (tmp_path / "GOAL.md").read_text() == "# Ship the exporter\n"
    (tmp_path / "GOAL.md").unlink()
    assert call("init", "Quote", "fields", "--json") == 0
    assert (tmp_path / "GOAL.md").read_text() == "# Quote fields\n"
    drafted = json.loads(call.out)
    assert drafted["checks"] == [{"command": "python -m pytest -q", "why": "tests/ has tests"}]
    assert drafted["goalUri"] == (tmp_path / "GOAL.md").as_uri()


@pytest.mark.parametrize(("red", "code"), [(False, 0), (True, 1)])
def test_check_answers_with_its_exit_code(red: bool, code: int, tmp_path: Path) -> None:
    audit = view(red=red, mode="audit", ended=True, reason="audited")
    call = desk(tmp_path, audit)
    assert call("check", "--json") == code
    (snapshot,) = lines(call.out)
    assert snapshot["runId"] == RUN
    assert snapshot["status"] is None
    assert snapshot["iteration"] == 0
    assert call.runs.calls == [("check", "GOAL.md")]
    assert call.runs.closed
    assert call("check", "GOAL.md") == code
    assert ("not proven" in call.out) is red
    assert "R1" in call.out


def test_check_refuses_a_goal_that_is_not_there(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("check", "OTHER.md") == 2
    assert "no goal file OTHER.md" in call.err
    (tmp_path / "GOAL.md").unlink()
    assert call("check") == 2
    assert "donewhen init" in call.err


def test_check_takes_the_only_other_goal_file(tmp_path: Path) -> None:
    call = desk(tmp_path, view(mode="audit", ended=True))
    (tmp_path / "GOAL.md").rename(tmp_path / "export.goal.md")
    assert call("check") == 0
    assert call.runs.calls == [("check", "export.goal.md")]
    (tmp_path / "other.goal.md").write_text("# Other\n")
    assert call("check") == 2
    assert "export.goal.md, other.goal.md" in call.err


# -------------------------------------------------------------------------------------------------- run


@pytest.mark.conformance("C22")
@pytest.mark.parametrize("words", [["Quote all fields"], ["/goal Quote all fields"], ["/goal", "Quote", "all fields"]])
def test_text_is_drafted_without_its_prefix(words: list[str], tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("run", *words) == 0
    assert (tmp_path / "slug.goal.md").read_text() == "# Quote all fields\n"
    assert call.runs.calls[0][:2] == ("start", "slug.goal.md")


@pytest.mark.conformance("C22")
def test_text_without_the_prefix_is_untouched(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    call("run", "fix /goal parsing and /goals")
    assert (tmp_path / "slug.goal.md").read_text() == "# fix /goal parsing and /goals\n"


@pytest.mark.conformance("C22")
@pytest.mark.parametrize(
    ("verb", "asked"), [("pause", "pause"), ("stop", "stop"), ("clear", "forget"), ("resume", "resume")]
)
def test_goal_verbs_reach_the_newest_run(verb: str, asked: str, tmp_path: Path) -> None:
    shown = complete() if verb in ("clear", "resume") else view()
    call = desk(tmp_path, shown)
    assert call("run", f"/goal {verb}") == 0
    assert [name for name, *_ in call.runs.calls] == [asked]
    assert not (tmp_path / "slug.goal.md").exists()


@pytest.mark.conformance("C22")
def test_goal_status_shows_the_newest_run(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("run", "/goal", "status", "--json") == 0
    assert lines(call.out)[0]["status"] == "complete"
    assert call.runs.calls == []


def test_an_argument_that_ends_in_md_is_a_goal(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("run", "missing.md") == 2
    assert "no goal file missing.md" in call.err
    assert call.runs.calls == []


@pytest.mark.conformance("C1")
def test_a_blank_objective_and_a_folder_are_refused(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("run", " ") == 2
    assert "objective is blank" in call.err
    (tmp_path / "src").mkdir()
    assert call("run", "src") == 2
    assert "src is a folder" in call.err
    assert call("run", "long " * 2000) == 0
    assert [name for name, *_ in call.runs.calls] == ["start"]


def test_run_json_is_snapshots_and_the_last_is_the_final_one(tmp_path: Path) -> None:
    call = desk(tmp_path, view(red=True), complete())
    assert call("run", "--json") == 0
    snapshots = lines(call.out)
    assert [s["status"] for s in snapshots] == ["running", "complete"]
    assert snapshots[-1]["complete"] is True
    assert snapshots[0]["complete"] is False


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("complete", 0),
        ("capped", 1),
        ("timed_out", 1),
        ("over_budget", 1),
        ("stalled", 1),
        ("blocked", 1),
        ("impossible", 1),
        ("cancelled", 1),
        ("crashed", 4),
    ],
)
def test_the_end_of_a_run_is_its_exit_code(status: str, code: int, tmp_path: Path) -> None:
    call = desk(tmp_path, view(ended=True, end_status=status, reason="because"))
    assert call("run") == code
    assert f"{status}: because" in call.out


def test_options_reach_the_engine(tmp_path: Path) -> None:
    call = desk(tmp_path, complete(), environ={"DONEWHEN_TIMEOUT": "90s", "DONEWHEN_BUDGET": "2.5"})
    call(
        "run",
        "--worker-command",
        "agent {prompt}",
        "--max-iterations",
        "unlimited",
        "--budget",
        "5",
        "--approve",
        "auto",
    )
    options = call.runs.calls[0][2]
    assert options == StartOptions(
        worker="command",
        worker_command="agent {prompt}",
        approve="auto",
        sandbox="auto",
        limits=LimitChanges("unlimited", 90.0, 5.0, None),
    )


def test_a_script_is_found_again_from_anywhere(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    call("run", "--script", "demo.yaml")
    assert call.runs.calls[0][2].worker == "scripted"
    assert call.runs.calls[0][2].script == str(Path("demo.yaml").resolve())


@pytest.mark.parametrize(("interactive", "approve"), [(True, "ask"), (False, "deny")])
def test_approval_is_asked_only_where_a_person_is(interactive: bool, approve: str, tmp_path: Path) -> None:
    call = desk(tmp_path, complete(), interactive=interactive)
    call("run")
    assert call.runs.calls[0][2].approve == approve


@pytest.mark.conformance("C1")
@pytest.mark.parametrize(
    ("option", "value", "field"),
    [
        ("--max-iterations", "0", "max_iterations"),
        ("--max-iterations", "2.5", "max_iterations"),
        ("--max-iterations", "-1", "max_iterations"),
        ("--timeout", "0s", "timeout"),
        ("--timeout", "30", "timeout"),
        ("--budget", "nan", "budget"),
        ("--budget", "-2", "budget"),
        ("--token-budget", "many", "token_budget"),
        ("--approve", "maybe", "approve"),
        ("--worker", "humann", "did you mean human"),
    ],
)
def test_a_bad_limit_is_refused_by_name(option: str, value: str, field: str, tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("run", option, value) == 2
    assert field in call.err
    assert call.runs.calls == []


def test_a_run_that_waits_without_a_person_is_paused_and_says_how_to_go_on(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)))
    assert call("run") == 3
    assert call.runs.calls[1][:2] == ("pause", RUN)
    assert f"donewhen answer {RUN} I1 approve" in call.err
    assert f"donewhen resume {RUN}" in call.err
    assert "Which encoding?" in call.out


def test_a_waiting_run_says_the_same_in_json(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)), interactive=True, typed=["utf-8"])
    assert call("run", "--json") == 3
    assert lines(call.out)[-1]["status"] == "paused"
    assert lines(call.out)[-1]["interrupts"][0]["id"] == "I1"  # type: ignore[index]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["utf-8 please"], Answer("text", text="utf-8 please")),
        (["approve"], Answer("approve")),
        (["n not now"], Answer("deny", reason="not now")),
        (["text", "text yes"], Answer("text", text="yes")),
    ],
)
def test_a_person_at_the_terminal_is_asked(typed: list[str], answer: Answer, tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)), interactive=True, typed=typed)
    assert call("run") == 0
    assert call.runs.calls[1:] == [("answer", RUN, "I1", answer)]
    assert "Which encoding?" in call.err


def test_an_approval_takes_no_plain_text(tmp_path: Path) -> None:
    typed = ["go ahead", "edit git push --dry-run"]
    call = desk(tmp_path, view(interrupts=(approval(),)), interactive=True, typed=typed)
    assert call("run") == 0
    answer = call.runs.calls[1][3]
    assert (answer.response, answer.input) == ("edit", {"command": "git push --dry-run"})
    assert "answer with `approve`" in call.err


def test_a_remark_waives_nothing(tmp_path: Path) -> None:
    asked = Interrupt("I1", "question", "Waive R1?", about="requirement:r-1")
    call = desk(tmp_path, view(interrupts=(asked,)), interactive=True, typed=["hm, what?", "approve looks good"])
    assert call("run") == 0
    assert call.runs.calls[1:] == [("answer", RUN, "I1", Answer("approve", reason="looks good"))]


def test_open_interrupts_are_asked_one_after_the_other(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(1), question(2))), interactive=True, typed=["one", "two"])
    assert call("run") == 0
    assert [c[2] for c in call.runs.calls[1:]] == ["I1", "I2"]


def test_the_end_of_input_pauses(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)), interactive=True)
    assert call("run") == 3
    assert call.runs.calls[1][0] == "pause"


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to a process as POSIX does")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 3), (signal.SIGHUP, 3)])
def test_a_signal_pauses_the_run(number: signal.Signals, code: int, tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    call.runs.on_last = lambda: os.kill(os.getpid(), number)
    # Whoever runs the tests may have it ignored, as nohup does.
    theirs = signal.signal(number, signal.default_int_handler)
    try:
        assert call("run") == code
        assert signal.getsignal(number) == signal.default_int_handler
    finally:
        signal.signal(number, theirs)
    assert call.runs.calls[1][0] == "pause"
    assert f"donewhen resume {RUN}" in call.err
    assert call.runs.closed


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to a process as POSIX does")
def test_a_second_ctrl_c_is_as_clean(tmp_path: Path) -> None:
    call = desk(tmp_path, view())

    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    call.runs.on_last = twice
    assert call("run", "--json") == 130
    assert [name for name, *_ in call.runs.calls] == ["start", "pause"]
    assert lines(call.out)[-1]["status"] == "paused"


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to a process as POSIX does")
def test_ctrl_c_ends_a_start_that_takes_long(tmp_path: Path) -> None:
    call = desk(tmp_path, view())

    async def slow() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    call.runs.before_start = slow
    assert call("run") == 130
    assert "donewhen status" in call.err
    assert call.runs.closed


def test_the_default_worker_is_the_person_and_is_said(tmp_path: Path) -> None:
    call = desk(tmp_path, view(), complete())
    assert call("run") == 0
    assert "you are the worker" in call.err
    assert "edit and save" in call.err


def test_plain_lines_tell_what_changed_once(tmp_path: Path) -> None:
    turn = OpenTurn(1, None, 0.0)
    finding = KnownFinding("F1", IntegrityFinding("k", "test_skipped", "tests/test_x.py", 4, "a test is skipped now"))
    first = view(red=True)
    call = desk(tmp_path, first, view(red=True, turn=turn), view(red=True, turn=turn, findings=(finding,)), complete())
    assert call("run") == 0
    shown = call.out.splitlines()
    assert shown[0] == "goal: Ship the exporter"
    assert sum("R1 unmet" in line for line in shown) == 1
    assert sum("R1 met" in line for line in shown) == 1
    assert sum("iteration 1/10" in line for line in shown) <= 1
    assert any("F1 test_skipped" in line and "tests/test_x.py:5" in line for line in shown)
    assert "F1 is undone" in shown


def test_nothing_steers_the_terminal(tmp_path: Path) -> None:
    call = desk(tmp_path, view(ended=True, end_status="crashed", reason="bad \x1b[2J\x1b]0;title\x07 output\r\nmore"))
    assert call("run") == 4
    assert "\x1b" not in call.out
    assert "\x07" not in call.out


# --------------------------------------------------------------------------------------- resume and status


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
    }


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


@pytest.mark.parametrize(
    ("argv", "call_made"),
    [
        (["pause", RUN], ("pause", RUN, "asked for on the command line")),
        (["stop", RUN], ("stop", RUN)),
        (["answer", RUN, "I1", "text", "use", "utf-8"], ("answer", RUN, "I1", Answer("text", text="use utf-8"))),
        (["answer", RUN, "I1", "deny"], ("answer", RUN, "I1", Answer("deny"))),
        (["waive", RUN, "R2", "--reason", "not here"], ("waive", RUN, "R2", "not here", False)),
        (["waive", RUN, "R2", "--undo"], ("waive", RUN, "R2", "", True)),
        (["accept", RUN, "F1", "--reason", "meant"], ("accept", RUN, "F1", "meant", False)),
        (["dispute", RUN, "R1", "--reason", "look again"], ("dispute", RUN, "R1", "look again")),
    ],
)
def test_a_person_reaches_the_run(argv: list[str], call_made: tuple[object, ...], tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)))
    assert call(*argv, "--json") == 0
    assert call.runs.calls == [call_made]
    assert lines(call.out)[0]["runId"] == RUN


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


@pytest.mark.parametrize("argv", [["revert", RUN, "last"], ["revert", RUN, "1", "/etc/passwd"]])
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
    assert "not installed here" in call.out
    assert call("doctor", "--json") == 0
    found = {f["name"]: f for f in json.loads(call.out)["findings"]}
    assert found["`ruff check .`"]["state"] == "missing"
    assert found["worker human"]["state"] == "ok"


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


@pytest.mark.parametrize(
    ("error", "code"),
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


def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("--workspace", str(tmp_path / "none"), "status") == 2
    assert "not a folder" in call.err
