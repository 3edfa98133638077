from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from donewhen.core.errors import InvalidGoal, WorkerFailed
from donewhen.core.events import RunOptions
from donewhen.core.work import Answer, Claim, TurnResult, Usage
from donewhen.workers.scripted import ScriptedWorker

from .agent_turns import worker_parts
from .turns import Context, python, turn


async def play(script: str, context: Context, iteration: int = 1) -> TurnResult:
    worker = ScriptedWorker(script + "\n", worker_parts(RunOptions("scripted")))
    return await worker.work(turn(iteration), context)


async def test_it_writes_edits_and_deletes_files(context: Context, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("x")
    (tmp_path / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    result = await play(
        """
turns:
  - name: tidies up
    steps:
      - write: {path: deep/er/new.txt, text: "ä\\n"}
      - edit: {path: crlf.txt, old: two, new: three}
      - delete: old.txt
      - say: Done.
      - say: Really.
""",
        context,
    )
    assert (tmp_path / "deep/er/new.txt").read_bytes() == "ä\n".encode()
    assert (tmp_path / "crlf.txt").read_bytes() == b"one\r\nthree\r\n"
    assert not (tmp_path / "old.txt").exists()
    assert result.claim == Claim("finished", "Done.\nReally.")
    assert result.summary == "Done."
    assert [step.kind for step in result.steps] == ["write", "edit", "delete"]
    assert _files(tmp_path) == ["crlf.txt", "new.txt"]


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.conformance("A13")
async def test_the_iteration_chooses_the_turn_not_what_was_played_before(context: Context) -> None:
    script = "- - say: first\n- - say: second\n- - say: third"
    assert (await play(script, context, 3)).claim.text == "third"
    assert (await play(script, context, 2)).claim.text == "second"
    worker = ScriptedWorker(script, worker_parts(RunOptions("scripted")))
    assert [(await worker.work(turn(2), context)).claim.text for _ in range(2)] == ["second", "second"]


@pytest.mark.conformance("C8")
async def test_it_fails_when_the_script_ran_out(context: Context) -> None:
    with pytest.raises(WorkerFailed, match=r"the script has no turn 2: it ran out"):
        await play("- - say: hi", context, 2)


@pytest.mark.conformance("C9")
@pytest.mark.parametrize("state", ["finished", "blocked", "impossible", "question"])
async def test_it_claims_any_state(state: str, context: Context) -> None:
    result = await play(f"- - say: why\n  - state: {state}", context)
    assert result.claim == Claim(state, "why")


async def test_a_command_runs_and_its_exit_code_is_a_step(context: Context, tmp_path: Path) -> None:
    command = python("import sys, pathlib; pathlib.Path('made').touch(); print('hello'); sys.exit(4)")
    result = await play(f"- - run: {json.dumps(command)}", context)
    (step,) = result.steps
    assert not step.ok
    assert "exit 4" in step.summary
    assert "hello" in step.summary
    assert (tmp_path / "made").exists()
    assert result.claim.state == "finished"


@pytest.mark.conformance("A20")
async def test_a_file_that_a_person_changed_during_the_turn_is_left_alone(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    context.answers.append(Answer("approve"))

    class Editing(Context):
        async def ask(self, interrupt: object) -> Answer:
            path.write_text("the person's")
            return Answer("approve")

    script = "- - ask: {title: 'Go on?', kind: approval}\n  - write: {path: a.txt, text: mine}"
    with pytest.raises(WorkerFailed, match="changed since it was read"):
        await play(script, Editing(context.workspace))
    assert path.read_text() == "the person's"


async def test_what_its_own_command_changed_may_be_edited(context: Context, tmp_path: Path) -> None:
    command = python("import pathlib; pathlib.Path('a.txt').write_text('made')")
    await play(f"- - run: {json.dumps(command)}\n  - edit: {{path: a.txt, old: made, new: better}}", context)
    assert (tmp_path / "a.txt").read_text() == "better"


@pytest.mark.parametrize("old", ["twice", "absent"])
async def test_an_edit_must_match_exactly_once(old: str, context: Context, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("twice twice")
    with pytest.raises(WorkerFailed, match="not once"):
        await play(f"- - edit: {{path: a.txt, old: {old}, new: x}}", context)
    assert (tmp_path / "a.txt").read_text() == "twice twice"


@pytest.mark.parametrize("path", ["../out.txt", "/out.txt", "link/out.txt", ".", "a/../../out.txt"])
async def test_nothing_outside_the_workspace_is_written(path: str, context: Context, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (inside / "link").symlink_to(outside, target_is_directory=True)
    context.workspace.root = inside
    with pytest.raises(WorkerFailed, match=r"outside of the workspace|is a folder"):
        await play(f"- - write: {{path: {path!r}, text: x}}", context)
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
async def test_a_replaced_file_keeps_its_mode(context: Context, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("a")
    (tmp_path / "run.sh").chmod(0o755)
    await play("- - write: {path: run.sh, text: b}", context)
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755


async def test_it_asks_and_may_expect_an_answer(context: Context) -> None:
    script = """
- - ask: {kind: approval, title: "Push?", tool: run_command, input: {command: git push}, preview: git push}
    expect: approve
  - say: pushed
"""
    context.answers.append(Answer("approve"))
    assert (await play(script, context)).claim.text == "pushed"
    (asked,) = context.asked
    assert (asked.kind, asked.title, asked.tool) == ("approval", "Push?", "run_command")
    assert asked.input == {"command": "git push"}
    context.answers.append(Answer("deny"))
    with pytest.raises(WorkerFailed, match="expected the answer approve; it was deny"):
        await play(script, context)


async def test_a_silent_turn_is_summed_up_by_its_name(context: Context) -> None:
    assert (await play("- name: thinks\n  steps: []", context)).summary == "thinks"
    assert (await play("- - write: {path: a, text: b}", context)).summary == "steps: 1"


async def test_it_reports_usage_and_an_unknown_price(context: Context) -> None:
    script = "- - usage: {input_tokens: 10, output_tokens: 5, usd: 0.25}\n  - usage: {input_tokens: 1, usd: 0.5}"
    assert (await play(script, context)).usage == Usage(11, 5, 0, 0.75)
    assert (await play("- - usage: {output_tokens: 5, usd: null}", context)).usage == Usage(0, 5, 0, None)


@pytest.mark.conformance("C8")
async def test_it_fails_on_purpose(context: Context) -> None:
    with pytest.raises(WorkerFailed, match="the model is down"):
        await play("- - fail: the model is down", context)


async def test_it_hangs_until_it_is_cancelled(context: Context) -> None:
    working = asyncio.create_task(play("- - hang: true", context))
    await context.hears("cancelled")
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("turns:\n  - - wirte: {path: a, text: b}\n", r"line 2: unknown key `wirte`; did you mean `write`\?"),
        ("turns:\n  - steps:\n      - edit:\n          path: a\n          old: b\n", r"line 4: `new` is missing"),
        ("turns:\n  - name: x\n", r"line 2: `steps` is missing"),
        ("turns:\n  - - say: a\n      run: b\n", r"line 2: a step does one thing; this one has say, run"),
        ("turns:\n  - - {}\n", r"line 2: a step does one thing; this one has nothing to do"),
        ("turns:\n  - - state: done\n", r"line 2: `state` is one of `finished`"),
        ("turns:\n  - - say: a\n    - say: 5\n", r"line 3: `say` should be text"),
        ("turns:\n  - - pause: .nan\n", r"line 2: `pause` should be a number"),
        ("turns:\n  - - pause: true\n", r"line 2: `pause` should be a number"),
        ("turns:\n  - - pause: 9999\n", r"line 2: `pause` is at most"),
        ("turns:\n  - - say: a\n      expect: approve\n", r"line 3: `expect` belongs to `ask`"),
        ("turns:\n  - - ask: {title: a}\n      expect: yess\n", r"line 3: `expect` is one of"),
        ("turns:\n  - - hang: false\n", r"line 2: `hang` is true"),
        ("turns:\n  - - edit: {path: a, old: '', new: b}\n", r"line 2: `old` is empty"),
        ("turns:\n  - - write: {path: a, path: b, text: c}\n", r"line 2: `path` is there twice"),
        ("turns: 5\n\n", r"line 1: `turns` should be a list"),
        ("turn: []\n\n", r"line 1: unknown key `turn`; did you mean `turns`\?"),
        ("just text\n\n", r"line 1: this should be a mapping with `turns`"),
        ("turns:\n  - - say: [\n", r"line \d: this is not YAML"),
        ("turns:\n  - - say: !!python/object:os.system x\n", r"line 2: this value can't be read"),
        ("turns:\n  - - say:\n", r"line 2: `say` has no value"),
        ("turns:\n  - - say: 2024-13-45\n", r"a value can't be read: month must be"),
        ("turns:\n  - - ask: {title: a, input: {b: 1, b: 2}}\n", r"line 2: `b` is there twice"),
        ("turns: &a [*a]\n\n", r"line 1: this should be a mapping with `write`"),
        (f"turns: {'[' * 5000}\n", r"nested too deeply"),
        ("\n", r"the script is empty"),
    ],
)
def test_a_mistake_is_named_with_its_line(script: str, message: str) -> None:
    with pytest.raises(InvalidGoal, match=message):
        ScriptedWorker(script, worker_parts(RunOptions("scripted")))


def test_a_script_file_is_read_and_a_missing_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    with pytest.raises(InvalidGoal, match=r"can't be read: .*s\.yaml"):
        ScriptedWorker(path, worker_parts(RunOptions("scripted")))
    path.write_text("- - oops: 1")
    with pytest.raises(InvalidGoal, match=r"s\.yaml line 1: unknown key"):
        ScriptedWorker(str(path), worker_parts(RunOptions("scripted")))
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InvalidGoal, match="not UTF-8"):
        ScriptedWorker(path, worker_parts(RunOptions("scripted")))
