"""What stands on a terminal, what is read from it, and what happens when it is gone."""

from __future__ import annotations

import asyncio
import io
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from donewhen.cli.demo import Narration
from donewhen.cli.display import LinesDisplay, LiveDisplay, picture
from donewhen.cli.formatting import SYMBOLS
from donewhen.cli.progress import STILL, Log
from donewhen.cli.questions import Questions
from donewhen.cli.terminal import OutputClosed, Terminal, TypedLines
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.state import IterationRecord, KnownFinding, Tried, TurnState
from donewhen.core.work import RunWarning
from donewhen.engine.api import RunStep, RunView, StepKind, StepState
from donewhen.wire.reports.markdown import MARKS, REFUSED_MARK
from tests.cli.fakes import PYTEST, RED, RUFF, FakeRuns, Typed, complete, desk, evidence, question, view


class Closed(io.StringIO):
    """A pipe that nobody reads."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError


def terminal(out: io.StringIO, **changes: bool) -> Terminal:
    return Terminal(out, io.StringIO(), Typed([]), {}, **changes)


def test_a_message_is_broken_between_words_and_a_command_is_not() -> None:
    desk = terminal(io.StringIO(), interactive=True)
    command = "  donewhen answer " + "x" * 200
    desk.message("word " * 100 + "\n" + command)
    assert isinstance(desk.stderr, io.StringIO)
    *words, last = desk.stderr.getvalue().splitlines()
    assert len(words) > 1
    assert {word for line in words for word in line.split(" ")} == {"word"}
    assert last == command


def test_a_command_that_ends_a_line_is_kept_whole_on_a_line_of_its_own() -> None:
    desk = terminal(io.StringIO(), interactive=True)
    desk.message("answered I1; continue with: donewhen resume 4711 --workspace /" + "x" * 200)
    desk.message("receipt: donewhen report 4711")
    assert isinstance(desk.stderr, io.StringIO)
    first, command, short = desk.stderr.getvalue().splitlines()
    assert (first, short) == ("answered I1; continue with:", "receipt: donewhen report 4711")
    assert command == "  donewhen resume 4711 --workspace /" + "x" * 200


def test_what_a_low_terminal_cuts_off_is_not_what_the_run_does_now() -> None:
    def drawn(height: int) -> list[str]:
        out = io.StringIO()
        Console(file=out, width=100).print(picture(view(red=True), seconds=0.0, height=height))
        return out.getvalue().splitlines()

    assert "of 2 met" in drawn(40)[-1]
    assert "of 2 met" in drawn(5)[0]


def test_what_stands_above_a_question_claims_no_more_to_run() -> None:
    out = io.StringIO()
    display = LiveDisplay(terminal(out, live=True))
    display.show(view(red=True))
    out.seek(0)
    out.truncate()
    display.hold()
    assert "R1" in out.getvalue()
    assert "running" not in out.getvalue().rpartition("R2")[2]


def test_the_live_view_shows_all_of_a_run() -> None:
    out = io.StringIO()
    finding = KnownFinding("F1", IntegrityFinding("k", "test_skipped", "tests/test_x.py", 4, "skipped now"))
    display = LiveDisplay(terminal(out, live=True))
    warned = RunWarning("unlimited", "there is no limit on time")
    display.show(view(red=True, findings=(finding,), interrupts=(question(),), warnings=(warned,)))
    display.note("Ctrl-C: pausing …")
    display.hold()
    shown = out.getvalue()
    for part in ("R1", "2 of 12 tests failed", "F1 test_skipped", "I1 question", "no limit on time", "iteration 0 · "):
        assert part in shown
    assert "pausing" in shown
    out.truncate(0)
    display.finish(complete())
    assert "complete: every requirement is proven" in out.getvalue()
    assert "iteration 0 · " not in out.getvalue()


def test_the_live_view_tells_what_the_worker_does_step_by_step() -> None:
    out = io.StringIO()
    display = LiveDisplay(terminal(out, live=True))
    display.show(view(red=True))

    def step(kind: StepKind, title: str, state: StepState = "done", **more: Any) -> RunStep:
        return RunStep(f"{kind}1", 1, 1, 0.0, 1, kind, title, state, **more)

    printed = "\n".join(f"line {number}" for number in range(20))
    display.did([step("reads", "read a.py"), step("runs", "run `make`", "running", text=printed)])
    assert "read a.py" in out.getvalue()
    assert "line 19" in out.getvalue()
    assert "line 3" not in out.getvalue()
    out.truncate(0)
    diff = "@@ -1 +1 @@\n-a\x1b[2J\n+b"
    ended = step("runs", "`make`: exit 1", "failed", text="no rule\nto make it")
    display.did([ended, step("edits", "edited b.py", diff=diff, added=1, removed=1), step("check", "mypy")])
    told = out.getvalue()
    for part in ("`make`: exit 1", "to make it", "edited b.py +1 -1", "-a", "+b"):
        assert part in told
    assert "\x1b[2J\n" not in told
    assert "mypy" not in told
    out.truncate(0)
    display.did([ended])
    assert "exit 1" not in out.getvalue()
    display.did([step("says", "The call to the model failed: refused", "failed")])
    assert "refused" not in out.getvalue()  # the pause says it
    display.hold()


def test_lines_say_once_that_a_model_is_silent() -> None:
    log, shown = Log(), view()

    def told(silent: int) -> list[str]:
        changed = replace(shown, live=replace(shown.live, silent=silent))
        return [line for line in log.lines(changed) if "nothing for" in line]

    said = [told(one) for one in (0, 14, 16, 18, 0)]
    assert said == [[], [], [f"  the model has said nothing for 16 s: {STILL}"], [], []]
    assert told(15)  # another silence


def test_a_closed_output_is_told_apart_from_a_closed_error_output() -> None:
    shut = Terminal(Closed(), Closed(), Typed([]))
    shut.message("nobody hears this")
    with pytest.raises(OutputClosed):
        shut.result("nor this")


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    call.stdout = Closed()
    assert call("list") == 0
    assert call("status") == 0
    assert call("check") == 0
    assert call.err.count("error") == 0


def test_a_run_that_nobody_watches_any_more_is_paused(tmp_path: Path) -> None:
    call = desk(tmp_path, view())
    call.stdout = Closed()
    assert call("run") == 3
    assert call.runs.calls[1][0] == "pause"


async def test_typed_lines_come_one_by_one_and_none_is_lost() -> None:
    read, write = os.pipe()
    lines = TypedLines(read)
    os.write(write, b"one\r\ntwo\nthr")
    assert await lines.next() == "one"
    assert await lines.next() == "two"
    os.write(write, b"ee")
    os.close(write)
    assert [await lines.next(), await lines.next()] == ["three", None]
    os.close(read)


class Waiting:
    """A person who is asked, and types nothing."""

    async def next(self) -> str | None:
        await asyncio.Event().wait()
        return None


@pytest.mark.parametrize(
    ("after", "said"), [(view(interrupts=()), True), (view(interrupts=(question(),), paused="Ctrl-C"), False)]
)
async def test_a_question_is_taken_back_only_where_it_was_answered(after: RunView, said: bool, tmp_path: Path) -> None:
    asked = view(interrupts=(question(),))
    err = io.StringIO()
    desk = Terminal(io.StringIO(), err, Waiting(), {}, interactive=True)
    questions = Questions(FakeRuns(tmp_path, [asked]), "run-1", desk, LinesDisplay(desk))
    questions.update(asked)
    assert questions.asking
    await asyncio.sleep(0)
    questions.update(after)
    assert not questions.asking
    assert ("I1 no longer needs an answer" in err.getvalue()) is said
    assert err.getvalue().endswith("\n")


REFUSED = IntegrityFinding(f"original_fails:{RED.checks[0].id}", "original_fails", "tests/test_x.py", 4, "it fails")
TRIED = Tried("rev1", (REFUSED,), {}, ("tests/test_x.py",))


def tried_again(*findings: IntegrityFinding) -> list[RunView]:
    """A tree that trials refused, the tree after it, whose checks fail at first, and what trials say of that."""
    known = tuple(KnownFinding("F1", one) for one in findings)
    later = {one.id: evidence(one, passed=True, revision="rev2") for one in (PYTEST, RUFF)}
    proven = view(revision="rev2", results=later, last=TRIED)
    return [
        view(findings=(KnownFinding("F1", REFUSED),), last=TRIED),
        view(red=True, revision="rev2", last=TRIED),
        proven,
        replace(proven, state=replace(proven.state, sequence=10)),
        view(revision="rev2", results=later, findings=known, last=replace(TRIED, revision="rev2", findings=findings)),
    ]


def told_of_finding(*findings: IntegrityFinding) -> list[str]:
    log = Log()
    return [line for one in tried_again(*findings) for line in log.lines(one) if "F1" in line]


def test_what_trials_found_is_not_undone_by_a_change_of_files_alone() -> None:
    first, again, last = told_of_finding(REFUSED)
    assert first.startswith("! F1 original_fails")
    assert again == "retrying F1"
    assert last == first


def test_what_trials_found_is_undone_once_they_pass() -> None:
    assert told_of_finding()[1:] == ["retrying F1", "F1 is resolved"]


def test_what_trials_found_is_tried_again_only_once_all_else_is_proven() -> None:
    log = Log()
    before, failing, passing, *_ = tried_again()
    log.lines(before)
    assert not any("F1" in line for line in log.lines(failing))
    assert "retrying F1" in log.lines(passing)


@pytest.mark.parametrize(("findings", "last"), [((REFUSED,), "refuse the proof (F1)"), ((), "  F1 is resolved")])
def test_the_demonstration_says_that_a_finding_is_undone_once_trials_passed(
    findings: tuple[IntegrityFinding, ...], last: str
) -> None:
    out = io.StringIO()
    narration = Narration(terminal(out))
    first, failing, *_, proven, after = tried_again(*findings)
    narration.show(first)
    for number, one in enumerate((failing, proven), 2):
        narration.show(replace(one, state=replace(one.state, auditing=replace(one.state.auditing, count=number))))
    assert "is resolved" not in out.getvalue()
    narration.show(replace(after, state=replace(after.state, auditing=replace(after.state.auditing, count=3))))
    assert last in out.getvalue()
    assert ("is resolved" in out.getvalue()) == (not findings)


def test_a_turn_that_waits_for_a_person_is_not_called_failed() -> None:
    log = Log()
    log.lines(view(worker_turn=TurnState(1, None, 0.0)))
    record = IterationRecord(1, 0.0, 1.0, 0, 2)
    assert log.lines(view(worker_turn=TurnState(1, None, 0.0, stage="suspended"), iterations=(record,))) == [
        "  the turn waits for a person"
    ]


def test_marks_become_ascii_where_the_locale_cannot_show_them() -> None:
    said = "✓ R1 met: it’s “done” · 2 of 2 … ✗ é"
    assert said.encode("ascii", "donewhen") == b'ok R1 met: it\'s "done" - 2 of 2 ... x \\xe9'


def test_the_marks_of_a_receipt_become_those_of_status() -> None:
    def shown(mark: str) -> bytes:
        return mark.split()[0].encode("ascii", "donewhen")

    assert {status: shown(mark) for status, mark in MARKS.items()} == {one: shown(SYMBOLS[one]) for one in MARKS}
    assert shown(REFUSED_MARK) == b"x"
