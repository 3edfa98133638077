"""Halts, approvals that are kept, and the start that is accepted, on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from donewhen.cli.parser import parse
from donewhen.cli.questions import given_answer, typed_answer
from donewhen.core.answers import answers_hint
from donewhen.core.errors import UsageError
from donewhen.core.events import RunOptions
from donewhen.core.plugging import Halted
from donewhen.core.work import Answer, Interrupt, Remember
from donewhen.engine.api import HaltAnswer, RunView
from tests.cli.fakes import RUN, approval, complete, desk, lines, question, view
from tests.tools import each_row

HALT = Halted("budget", "the month is spent", {"left": 0})
KEEPING = replace(approval(), remembers=True)
START = Interrupt("I1", "approval", "Start this run?", about="start", preview="Worker: agent\nAt most $5.00")


def halted(**changes: Any) -> RunView:
    return view(halt=HALT, reason=HALT.reason, **changes)


# --------------------------------------------------------------------------------------------------- halts


@pytest.mark.conformance("C23")
@each_row("interactive", [True, False])
@each_row("asked", [(), (question(),)], ids=["halt alone", "beside a question"])
def test_a_run_that_a_plugin_halts_ends_there_and_says_how_it_goes_on(
    interactive: bool, asked: tuple[Interrupt, ...], tmp_path: Path
) -> None:
    call = desk(tmp_path, view(red=True), halted(red=True, interrupts=asked), interactive=interactive)
    assert call("run") == 3
    assert call.out.count("waits: plugin budget: the month is spent") == 1
    assert f"donewhen resume {RUN} --data JSON" in call.err
    assert [one[0] for one in call.runs.calls] == ["start"]  # nothing is paused, nobody is asked


def test_a_halted_run_is_the_last_line_of_json(tmp_path: Path) -> None:
    call = desk(tmp_path, view(), halted())
    assert call("run", "--json") == 3
    last = lines(call.out)[-1]
    assert (last["status"], last["halt"]) == (
        "waiting",
        {"plugin": "budget", "reason": "the month is spent", "data": {"left": 0}, "resumable": True},
    )


def test_the_status_of_a_halted_run_is_no_run_that_goes_on_elsewhere(tmp_path: Path) -> None:
    call = desk(tmp_path, halted())
    assert call("status") == 0
    assert "waits: plugin budget: the month is spent" in call.out
    assert 'budget says: {"left": 0}' in call.out
    assert "another process" not in call.err
    assert f"donewhen resume {RUN} --data JSON" in call.err


def test_what_a_halt_holds_can_not_steer_the_terminal(tmp_path: Path) -> None:
    nasty = replace(HALT, reason="\x1b[2J\nall is well\u202e", data={"x": "\x1b[2J"})
    call = desk(tmp_path, view(halt=nasty, reason=nasty.reason))
    assert call("status") == 0
    assert not any(one in call.out + call.err for one in ("\x1b", "\u202e", "\nall is well"))


@pytest.mark.conformance("C23")
@each_row(
    "argv, told",
    [
        (["--data", '{"ok": true}'], HaltAnswer(None, {"ok": True})),
        (["--plugin", "budget", "--data", "[1, null]"], HaltAnswer("budget", [1, None])),
        (["--data", "0"], HaltAnswer(None, 0)),
        (["--data", "false"], HaltAnswer(None, False)),
        (["--data", '""'], HaltAnswer(None, "")),
        (["--data", "null"], HaltAnswer(None, None)),
        (["--plugin", "budget"], HaltAnswer("budget", None)),
        ([], None),
    ],
)
def test_what_the_plugin_is_told_reaches_the_engine(argv: list[str], told: HaltAnswer | None, tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("resume", RUN, *argv) == 0
    assert call.runs.calls[0][4:] == (() if told is None else (told,))


@each_row("text", ["", "{", "ok", "NaN", "{'a': 1}", "[" * 100_000])
def test_data_that_is_no_json_is_refused_with_an_example(text: str, tmp_path: Path) -> None:
    call = desk(tmp_path, halted())
    assert call("resume", RUN, "--data", text) == 2
    assert "--data must be JSON, such as --data '{" in call.err
    assert call.runs.calls == []


def test_data_is_for_resume_alone() -> None:
    with pytest.raises(UsageError, match="no option '--data'"):
        parse(["run", "--data", "1"])


@pytest.mark.parametrize("command", ["list", "status", "report"])
def test_a_halted_run_is_waiting_wherever_it_is_listed(command: str, tmp_path: Path) -> None:
    call = desk(tmp_path, halted())
    assert call(*([command, RUN] if command == "report" else [command])) == 0
    assert ("waiting" if command != "report" else "waits: plugin budget") in call.out


# --------------------------------------------------------------------------------- approvals that are kept


@pytest.mark.parametrize("remember", ["run", "workspace"])
def test_an_approval_is_kept_where_a_person_says_so(remember: Remember, tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(KEEPING,)))
    assert call("answer", RUN, "I1", "approve", "--for", remember) == 0
    assert call.runs.calls[-1][3] == Answer("approve", remember=remember)


def test_only_these_two_can_be_kept_for(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(KEEPING,)))
    assert call("answer", RUN, "I1", "approve", "--for", "ever") == 2
    assert "workspace" in call.err
    assert call.runs.calls == []


@each_row(
    "line, answer",
    [
        ("r", Answer("approve", remember="run")),
        ("R", Answer("approve", remember="run")),
        ("run it is harmless", Answer("approve", reason="it is harmless", remember="run")),
        ("w", Answer("approve", remember="workspace")),
        ("workspace", Answer("approve", remember="workspace")),
        ("a", Answer("approve")),
        ("n", Answer("deny")),
    ],
)
def test_the_prompt_offers_to_keep_an_approval(line: str, answer: Answer, tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(KEEPING,)), interactive=True, typed=[line])
    assert call("run") == 0
    said = " ".join(call.err.split())
    assert "`r` to approve for this run, `w` to approve always in this workspace" in said
    assert ("answer", RUN, "I1", answer) in call.runs.calls


@pytest.mark.parametrize("line", ["r", "w", "run"])
def test_what_can_not_be_kept_is_not_offered(line: str) -> None:
    assert "always" not in answers_hint(approval())
    with pytest.raises(UsageError):
        typed_answer(line, approval())
    assert typed_answer("run fast", question()) == Answer("text", text="run fast")


# -------------------------------------------------------------------------------------------- texts (C23)


@pytest.mark.conformance("C23")
@each_row("text", ["", "0", "false", "null", "no way"])
def test_a_text_that_is_false_like_is_an_answer(text: str, tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(question(),)))
    assert call("answer", RUN, "I1", "text", text) == 0
    assert call.runs.calls[-1][3] == Answer("text", text=text)


@pytest.mark.parametrize("argv", [["text"], ["edit"], ["edit", ""]])
def test_no_text_at_all_is_none(argv: list[str], tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(approval(),)))
    assert call("answer", RUN, "I1", *argv) == 2
    assert "needs text" in call.err


@pytest.mark.parametrize("line", ["0", "false", "off"])
def test_a_typed_word_that_is_false_like_is_an_answer(line: str) -> None:
    assert typed_answer(line, question()) == Answer("text", text=line)


def test_an_answer_to_an_interrupt_that_is_not_known_here_is_the_engines_to_judge() -> None:
    assert given_answer("edit", "ls", None) == Answer("edit", text="ls")


# ------------------------------------------------------------------------------------------------ the start


@each_row(
    "line, response",
    [("", "deny"), ("  ", "deny"), ("n", "deny"), ("no", "deny"), ("y", "approve"), ("yes", "approve")],
)
def test_the_summary_is_asked_about_and_enter_changes_nothing(line: str, response: Any, tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(START,)), interactive=True, typed=[line])
    assert call("run") == 0
    assert "Worker: agent\nAt most $5.00\nI1 Start this run? `yes` to start it, `no` (or enter) not to:" in call.err
    assert ("answer", RUN, "I1", Answer(response)) in call.runs.calls


@pytest.mark.conformance("A2")
def test_an_unclear_word_starts_nothing(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(START,)), interactive=True, typed=["sure", "start", "ok"])
    assert call("run") == 3  # the input ended: it is paused
    assert call.err.count("answer I1 with `yes` to start it") == 3
    assert not any(one[0] == "answer" for one in call.runs.calls)


@each_row("line", ["edit x", "text later", "r", "run"])
def test_the_start_takes_yes_or_no_alone(line: str) -> None:
    with pytest.raises(UsageError, match="to start it"):
        typed_answer(line, replace(START, remembers=False))


def test_a_text_for_a_question_may_begin_with_edit() -> None:
    assert typed_answer("edit the config first", question()) == Answer("text", text="edit the config first")


def test_an_answer_that_is_not_taken_is_asked_for_again(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(approval(),)), interactive=True, typed=["edit ls", "deny"])
    call.runs.wrong = ("edit",)
    assert call("run") == 0
    assert "I1 takes no edit" in call.err
    assert call.runs.calls[-1][3] == Answer("deny")


def test_the_status_says_which_answers_there_are(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(START, replace(KEEPING, id="I2"))))
    assert call("status") == 0
    assert f"  donewhen answer {RUN} I1 approve|deny --workspace {tmp_path}\n" in call.err
    asked = (
        f"  donewhen answer {RUN} I2 approve|deny|edit TEXT|text TEXT [--for run|workspace] --workspace {tmp_path}\n"
    )
    assert asked in call.err


def test_where_nobody_can_be_asked_the_start_stays_open(tmp_path: Path) -> None:
    call = desk(tmp_path, view(interrupts=(START,)))
    assert call("run", "--json") == 3
    (asked,) = json.loads(call.out.splitlines()[0])["interrupts"]
    assert (asked["about"], asked["preview"]) == ("start", START.preview)
    assert f"donewhen answer {RUN} I1 approve" in call.err


@pytest.mark.parametrize("argv", [["run"], ["run", "--json"]])
@pytest.mark.parametrize("by", ["auto", "nobody", None])
def test_what_was_accepted_already_is_shown_once(argv: list[str], by: str | None, tmp_path: Path) -> None:
    options = RunOptions("command", summary="Worker: a command\n\x1b[2JAt most 10 iterations")
    call = desk(tmp_path, view(options=options, started=by, ended=True, end_status="complete"))
    assert call(*argv) == 0
    assert call.err.count("Worker: a command\nAt most 10 iterations\n") == (1 if by else 0)
    assert call("resume") == 0
    assert "Worker: a command" not in call.err
    assert call("status", "--json") == 0
    assert json.loads(call.out)["start"] == {"summary": options.summary, "acceptedBy": by}


# -------------------------------------------------------------------------------------------------- workers


def test_a_worker_that_a_plugin_may_register_is_taken(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("run", "--worker", "my-team.coder") == 0
    assert call.runs.calls[0][2].worker == "my-team.coder"
