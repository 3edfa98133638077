from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from donewhen.core.errors import InvalidGoal, WorkerFailed
from donewhen.core.goal import Goal
from donewhen.core.work import Claim
from donewhen.workers.command import MAX_ARGUMENT, CommandWorker, end_line
from donewhen.workers.prompt import command_prompt
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.plain import PlainRooms
from tests.tools import each_row

from .turns import GOAL, Context, Recorder, ended, environment, python, turn

posix = pytest.mark.skipif(sys.platform == "win32", reason="quoting of a POSIX shell")


async def test_the_prompt_arrives_on_standard_input(
    context: Context, processes: SystemProcesses, tmp_path: Path
) -> None:
    worker = CommandWorker(
        python("import sys, pathlib; pathlib.Path('got').write_bytes(sys.stdin.buffer.read())"),
        PlainRooms(processes),
        environment,
    )
    await worker.work(turn(), context)
    assert (tmp_path / "got").read_text() == command_prompt(turn())


@posix
@pytest.mark.parametrize("word", ["{prompt}", '"{prompt}"', "'{prompt}'"])
async def test_the_prompt_arrives_as_one_word_whatever_is_in_it(
    word: str, context: Context, processes: SystemProcesses, tmp_path: Path
) -> None:
    save = python("import sys, pathlib; pathlib.Path('got').write_text('|'.join(sys.argv[1:]))")
    goal = Goal("t", 'it\'s; $(touch owned) `touch owned` "x" | \\ \n*', GOAL.requirements)
    await CommandWorker(f"{save} {word} end", PlainRooms(processes), environment).work(turn(goal=goal), context)
    assert (tmp_path / "got").read_text() == f"{command_prompt(turn(goal=goal))}|end"
    assert not (tmp_path / "owned").exists()


@posix
async def test_a_prompt_that_is_too_long_for_an_argument_is_cut_in_the_middle(
    context: Context, processes: SystemProcesses
) -> None:
    goal = Goal("t", "'begin" + "'x" * MAX_ARGUMENT, GOAL.requirements)
    command = python("import sys; a = sys.argv[1]; print(len(a), 'begin' in a, 'cut' in a, 'How to end' in a)")
    result = await CommandWorker(f"{command} {{prompt}}", PlainRooms(processes), environment).work(
        turn(goal=goal), context
    )
    length, *seen = result.claim.text.split()
    assert 10_000 < int(length) < MAX_ARGUMENT
    assert seen == ["True", "True", "True"]


@each_row(
    "command",
    [
        'sh -c "agent {prompt}"',
        "sh -c 'agent {prompt} x'",
        "sh -c \"agent '{prompt}'\"",
        "cat <<END\n{prompt}\nEND",
        "",
        "  ",
    ],
)
def test_a_command_that_could_run_what_the_prompt_says_is_refused(command: str) -> None:
    with pytest.raises(InvalidGoal, match="worker command"):
        CommandWorker(command, PlainRooms(Recorder(ended())), dict)


@pytest.mark.conformance("C9")
@pytest.mark.parametrize("state", ["finished", "blocked", "impossible", "question"])
async def test_the_end_line_says_how_the_turn_ended(state: str, context: Context, processes: SystemProcesses) -> None:
    code = f"""print('working'); print('{{"donewhen": {{"state": "{state}", "text": "because"}}}}')"""
    result = await CommandWorker(python(code), PlainRooms(processes), environment).work(turn(), context)
    assert result.claim == Claim(state, "because")
    assert context.streamed == "working\n"


@pytest.mark.conformance("C9")
@pytest.mark.parametrize(
    "line",
    [
        '{"donewhen": {"state": "complete", "text": "all met"}}',
        '{"donewhen": {"state": true}}',
        '{"donewhen": {"state": ["finished"]}}',
        '{"donewhen": {}}',
        '{"donewhen": "finished"}',
        '{"donewhen": null}',
    ],
)
async def test_a_bad_end_line_counts_as_finished_with_a_note(line: str, context: Context) -> None:
    result = await CommandWorker("agent", PlainRooms(Recorder(ended(f"x\n{line}\n"))), dict).work(turn(), context)
    assert result.claim.state == "finished"
    assert [step.kind for step in result.steps if not step.ok] == ["note"]


@each_row(
    "output",
    [
        '{"donewhen": {"state": "blocked"}}\nand one more line',
        '[{"donewhen": {"state": "blocked"}}]',
        'He wrote {"donewhen": {"state": "blocked"}}',
        '{"donewhen": {"state": "blocked"}',
        '{"other": "donewhen"}',
        "",
        "{" * 100_000,
    ],
)
def test_anything_else_at_the_end_is_no_end_line(output: str) -> None:
    assert end_line(output) is None


@pytest.mark.conformance("C8")
async def test_a_failing_command_fails_the_turn_with_its_code_and_last_words(
    context: Context, processes: SystemProcesses
) -> None:
    command = python("import sys; print('x' * 9000); print('out of credits', file=sys.stderr); sys.exit(3)")
    with pytest.raises(WorkerFailed, match=r"exited with 3") as failed:
        await CommandWorker(command, PlainRooms(processes), environment).work(turn(), context)
    assert str(failed.value).endswith("out of credits")
    assert len(str(failed.value)) < 3000


async def test_an_end_line_outweighs_the_exit_code(context: Context) -> None:
    line = '{"donewhen": {"state": "blocked", "text": "no key"}}'
    result = await CommandWorker("agent", PlainRooms(Recorder(ended(line, 1))), dict).work(turn(), context)
    assert result.claim == Claim("blocked", "no key")
    with pytest.raises(WorkerFailed):
        await CommandWorker("agent", PlainRooms(Recorder(ended('{"donewhen": {"state": "x"}}', 1))), dict).work(
            turn(), context
        )


async def test_a_silent_command_that_exits_0_took_its_turn(context: Context, processes: SystemProcesses) -> None:
    result = await CommandWorker(python(""), PlainRooms(processes), environment).work(turn(), context)
    assert result.claim == Claim("finished", "")
    assert result.error is None
    assert result.summary == "exit 0, no output"


@pytest.mark.conformance("C8")
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (ended(exit_code=None, spawn_error="no such folder"), "could not be started: no such folder"),
        (ended('{"donewhen": {"state": "finished"}}', None, signal=9), "killed by signal 9"),
    ],
)
async def test_a_command_that_did_not_end_by_itself_fails_the_turn(
    result: object, message: str, context: Context
) -> None:
    with pytest.raises(WorkerFailed, match=message):
        await CommandWorker("agent", PlainRooms(Recorder(result)), dict).work(turn(), context)


async def test_a_program_that_is_not_installed_is_reported_as_that(
    context: Context, processes: SystemProcesses
) -> None:
    with pytest.raises(WorkerFailed, match="not found: install it or correct it: no-such-agent-here"):
        await CommandWorker("no-such-agent-here", PlainRooms(processes), environment).work(turn(), context)


@pytest.mark.conformance("A8")
async def test_output_and_exit_code_are_claims_only(context: Context) -> None:
    result = await CommandWorker("agent", PlainRooms(Recorder(ended("5 passed\n"))), dict).work(turn(), context)
    assert result.claim == Claim("finished", "5 passed")
    assert result.response_digest == "digest of 9"
    assert [(step.kind, step.ok) for step in result.steps] == [("command", True)]


async def test_it_runs_in_the_workspace_with_the_given_environment_and_token(context: Context, tmp_path: Path) -> None:
    recorder = Recorder(ended())
    await CommandWorker("agent", PlainRooms(recorder), lambda: {"A": "1"}).work(turn(token="t-9"), context)
    (call,) = recorder.calls
    assert (call["cwd"], call["environment"], call["token"]) == (tmp_path, {"A": "1"}, "t-9")


async def test_quoting_survives_a_path_with_spaces(
    context: Context, processes: SystemProcesses, tmp_path: Path
) -> None:
    program = tmp_path / "my agent.py"
    program.write_text("print('here')")
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}"
    result = await CommandWorker(command, PlainRooms(processes), environment).work(turn(), context)
    assert result.claim.text == "here"


@posix
async def test_what_it_prints_is_streamed_without_its_end_line(context: Context, processes: SystemProcesses) -> None:
    said = python("print('first\\x1b[31m'); print(); print('last'); print('{\"donewhen\": {\"state\": \"finished\"}}')")
    await CommandWorker(said, PlainRooms(processes), environment).work(turn(), context)
    assert context.streamed == "first\n\nlast\n"
