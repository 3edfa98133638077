"""What each command asks of the engine, prints and returns."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from donewhen.core.events import EndStatus
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.state import KnownFinding, TurnState
from donewhen.core.work import Answer, Interrupt
from donewhen.engine.api import LimitChanges, StartOptions
from tests.cli.fakes import GOAL_TEXT, RUN, Desk, FakeAdviser, FakeRuns, approval, complete, desk, lines, question, view
from tests.tools import each_row


def test_init_drafts_and_never_overwrites(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("init", "Quote fields") == 2
    assert (tmp_path / "GOAL.md").read_text() == GOAL_TEXT
    (tmp_path / "GOAL.md").unlink()
    assert call("init", "Quote", "fields", "--json") == 0
    assert (tmp_path / "GOAL.md").read_text().startswith("# Quote fields\n")
    drafted = json.loads(call.out)
    (check,) = drafted["checks"]
    assert (check["command"], check["why"], check["drafted"]) == ("python -m pytest -q", "tests/ has tests", True)
    assert call.tried
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


def test_init_says_what_nothing_will_decide_unless_a_judge_does(tmp_path: Path) -> None:
    call = desk(tmp_path)
    objective = "Ship it; `x` passes\n- [ ] it is quick\n- [ ] it is small"
    (tmp_path / "GOAL.md").unlink()
    assert call("init", objective) == 0
    assert "no check decides R1, R2, and no judge is configured" in call.err
    (tmp_path / "GOAL.md").unlink()
    call.environ = {"DONEWHEN_JUDGE_MODEL": "openai/a"}
    assert call("init", objective) == 0
    assert "no check decides" not in call.err


def test_check_refuses_a_goal_that_is_not_there(tmp_path: Path) -> None:
    call = desk(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a\n.goal.md").write_text("# A")
    assert call("check", "OTHER.md") == 2
    assert "there is no goal file OTHER.md: the goal files here are GOAL.md, sub/a\\n.goal.md\n" in call.err
    for number in range(9):
        (tmp_path / f"{number}.goal.md").write_text("# N")
    assert call("run", "OTHER.goal.md") == 2
    assert "6.goal.md and 3 more\n" in call.err
    for path in tmp_path.rglob("*.md"):
        path.unlink()
    for argv in (["check"], ["check", "OTHER.md"]):
        assert call(*argv) == 2
        assert ": `donewhen init` drafts one" in call.err


@pytest.mark.parametrize(("kind", "said"), [
    ("dangling", "a link that leads nowhere"), ("device", "not a regular file"), ("folder", "not a regular file"),
    ("pipe", "not a regular file"),
])  # fmt: skip
def test_a_goal_that_is_no_file_is_said_to_be_none(kind: str, said: str, tmp_path: Path) -> None:
    call = desk(tmp_path)
    goal = tmp_path / "GOAL.md"
    goal.unlink()
    if kind == "folder":
        goal.mkdir()
    elif kind == "pipe":
        os.mkfifo(goal)
    else:
        goal.symlink_to("nowhere" if kind == "dangling" else os.devnull)
    assert call("check") == 2
    assert said in call.err
    assert "donewhen init" not in call.err, "which would refuse"
    assert call("check", "GOAL.md") == 2
    assert (said in call.err) or kind in ("dangling", "folder")


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
    assert (tmp_path / "quote-all-fields.goal.md").read_text().startswith("# Quote all fields\n")
    assert call.runs.calls[0][:2] == ("start", "quote-all-fields.goal.md")


def test_nothing_is_drafted_beside_a_run_that_is_active(tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    assert call("run", "Quote all fields") == 2
    assert f"donewhen stop {RUN}" in call.err
    assert [one.name for one in tmp_path.glob("*.md")] == ["GOAL.md"]


@pytest.mark.conformance("C22")
def test_text_without_the_prefix_is_untouched(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    call("run", "fix /goal parsing and /goals")
    (drafted,) = tmp_path.glob("*.goal.md")
    assert drafted.read_text().startswith("# fix /goal parsing and /goals\n")


@pytest.mark.conformance("C22")
@each_row("verb, asked", [("pause", "pause"), ("stop", "stop"), ("clear", "forget"), ("resume", "resume")])
def test_goal_verbs_reach_the_newest_run(verb: str, asked: str, tmp_path: Path) -> None:
    shown = complete() if verb in ("clear", "resume") else view()
    call = desk(tmp_path, shown)
    assert call("run", f"/goal {verb}") == 0
    assert [name for name, *_ in call.runs.calls] == [asked]
    assert [one.name for one in tmp_path.glob("*.md")] == ["GOAL.md"]


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


@each_row(
    "status, code",
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
        askable=False,
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


@each_row(
    "typed, answer",
    [
        ("accept it was wrong", Answer("approve", reason="it was wrong")),
        ("y", Answer("approve")),
        ("undo", Answer("deny")),
        ("end", Answer("end")),
        ("put the second test back", Answer("text", text="put the second test back")),
    ],
)
def test_findings_are_settled_at_the_terminal_with_their_changes_in_sight(
    typed: str, answer: Answer, tmp_path: Path
) -> None:
    asked = Interrupt("I1", "question", "Accept that?", about="findings", preview="F1 test_weakened\n-assert 1")
    call = desk(tmp_path, view(interrupts=(asked,)), interactive=True, typed=[typed])
    assert call("run") == 0
    assert call.runs.calls[1:] == [("answer", RUN, "I1", answer)]
    assert "F1 test_weakened\n-assert 1\n`approve [REASON]` to accept it" in call.err


@each_row(
    "argv, interactive, askable",
    [(["run"], True, True), (["run"], False, False), (["run", "--json"], True, False), (["resume"], True, True),
     (["resume"], False, False), (["resume", "--approve", "deny"], True, False)],
)  # fmt: skip
def test_the_engine_knows_whether_a_person_can_be_asked(
    argv: list[str], interactive: bool, askable: bool, tmp_path: Path
) -> None:
    call = desk(tmp_path, complete(), interactive=interactive)
    call(*argv)
    options = next(each for each in call.runs.calls[-1] if isinstance(each, StartOptions))
    assert options.askable is askable


@each_row(
    "status, said",
    [
        ("stalled", "the worker repeats itself: change the goal, the files or what it works with; then go on:"),
        ("blocked", "remove what blocks it; then go on:"),
        ("crashed", "fix what failed; then go on:"),
        ("capped", "raise the limit to go on:"),
    ],
)
def test_the_end_says_what_is_open_and_what_to_do(status: EndStatus, said: str, tmp_path: Path) -> None:
    call = desk(tmp_path, view(red=True, ended=True, end_status=status))
    assert call("run") in (1, 4)
    assert "still open: R1 unmet" in call.err
    assert f"nothing is lost; {said}\n  donewhen resume {RUN}" in call.err


def test_a_run_whose_record_was_changed_is_not_said_to_go_on(tmp_path: Path) -> None:
    call = desk(tmp_path, view(ended=True, end_status="crashed", broken=True))
    assert call("run") == 4
    assert "donewhen resume" not in call.err
    assert "proven by" not in call.err


def test_the_status_of_a_check_says_how_its_goal_is_worked_on(tmp_path: Path) -> None:
    call = desk(tmp_path, view(red=True, mode="audit", ended=True))
    assert call("status") == 0
    assert f"still open: R1 unmet\nwork on it with: donewhen run --workspace {tmp_path}\n" in call.err
    assert "resume" not in call.err


def test_a_report_without_a_run_is_of_the_newest(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("report", "--format", "short") == 0
    assert "complete" in call.out
    empty = desk(tmp_path)
    assert empty("report") == 1
    assert "there is no run in" in empty.err


def test_a_run_that_ended_with_findings_says_how_they_are_accepted(tmp_path: Path) -> None:
    finding = KnownFinding("F1", IntegrityFinding("k", "test_skipped", "tests/test_x.py", 4, "a test is skipped now"))
    call = desk(tmp_path, view(findings=(finding,), ended=True, end_status="blocked"))
    assert call("run") == 1
    assert f"accept F1, or undo what was changed, and go on:\n  donewhen accept {RUN} --all --reason TEXT" in call.err


@pytest.mark.conformance("C1")
@each_row(
    "option, value, field",
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
        ("--worker", "two words", "a name that a plugin registers"),
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
    assert f"donewhen answer {RUN} I1 'YOUR ANSWER'" in call.err
    assert f"donewhen resume {RUN}" in call.err
    assert "Which encoding?" in call.out


def test_a_waiting_run_says_the_same_in_json(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)), interactive=True, typed=["utf-8"])
    assert call("run", "--json") == 3
    assert lines(call.out)[-1]["status"] == "paused"
    assert lines(call.out)[-1]["pausedBy"] == "run"
    assert lines(call.out)[-1]["interrupts"][0]["id"] == "I1"  # type: ignore[index]


@each_row(
    "typed, answer",
    [
        (["utf-8 please"], Answer("text", text="utf-8 please")),
        (["approve", "approve it"], Answer("text", text="approve it")),
        (["n not now"], Answer("text", text="n not now")),
        (["deny"], Answer("deny")),
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
    assert "answer I1 with `approve`" in call.err


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
    turn = TurnState(1, None, 0.0)
    finding = KnownFinding("F1", IntegrityFinding("k", "test_skipped", "tests/test_x.py", 4, "a test is skipped now"))
    first = view(red=True)
    call = desk(
        tmp_path,
        first,
        view(red=True, worker_turn=turn),
        view(red=True, worker_turn=turn, findings=(finding,)),
        complete(),
    )
    assert call("run") == 0
    shown = call.out.splitlines()
    assert shown[0] == "goal: Ship the exporter"
    assert sum("R1 unmet" in line for line in shown) == 1
    assert sum("R1 met" in line for line in shown) == 1
    assert sum("iteration 1/10" in line for line in shown) <= 1
    assert any("F1 test_skipped" in line and "tests/test_x.py:5" in line for line in shown)
    assert "F1 is resolved" in shown


def test_nothing_steers_the_terminal(tmp_path: Path) -> None:
    call = desk(tmp_path, view(ended=True, end_status="crashed", reason="bad \x1b[2J\x1b]0;title\x07 output\r\nmore"))
    assert call("run") == 4
    assert "\x1b" not in call.out
    assert "\x07" not in call.out


# --------------------------------------------------------------------------------------- resume and status


# ------------------------------------------------------------------------------------- a goal from an issue


def test_init_takes_the_requirements_of_a_text_and_tries_nothing(tmp_path: Path) -> None:
    call = Desk(tmp_path, FakeRuns(tmp_path), adviser=FakeAdviser(("never asked",)))
    issue = tmp_path / "issue.md"
    issue.write_text("# Quotes\n\n- [ ] `ruff check .` passes\n- [ ] Quotes are kept\n- [x] I have searched\n")
    assert call("init", "--from", str(issue)) == 0
    assert call.tried is False
    assert call.adviser is not None
    assert call.adviser.asked == []
    assert "  R1 found here: `python -m pytest -q` passes" in call.out
    assert "  R3 taken from line 4: Quotes are kept" in call.out
    assert "  left in line 5: I have searched (it is about the issue, not about what is wanted)" in call.out
    assert "no check decides R3" in call.err
    assert "  R3 taken from line 4: Quotes are kept\n    needs a check\n" in call.out
    assert (tmp_path / "GOAL.md").read_text().endswith("- [ ] Quotes are kept\n")
    assert call("init", "--from", str(issue)) == 2
    assert "already exists" in call.err


def test_init_reads_a_text_from_standard_input(tmp_path: Path) -> None:
    call = Desk(tmp_path, FakeRuns(tmp_path), typed=["- [ ] `pytest -q` exits with 3", "- [ ] a"])
    assert call("init", "--from", "-", "--json") == 0
    document = json.loads(call.out)
    assert document["taken"][0]["checks"] == [{"command": "pytest -q", "expectedExit": 3}]
    assert document["left"] == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--from", "missing.md"), "missing.md can't be read: No such file"),
        (("--from", "-"), "no requirement was found in the text"),
        (("--from", "-", "an objective"), "not both"),
    ],
)
def test_init_refuses_a_text_that_it_can_not_use(tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    call = Desk(tmp_path, FakeRuns(tmp_path), typed=["only words"])
    assert call("init", *argv) == 2
    assert said in call.err
    assert not (tmp_path / "GOAL.md").exists()
