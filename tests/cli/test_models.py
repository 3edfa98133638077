"""Models on the command line: what is asked of them, what they cost, and what a run keeps."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.cli.display import LinesDisplay, picture
from donewhen.cli.formatting import bounded, spending
from donewhen.cli.parser import parse
from donewhen.cli.progress import closing, opening
from donewhen.cli.questions import typed_answer
from donewhen.cli.terminal import Terminal
from donewhen.core.answers import answers_hint
from donewhen.core.errors import JudgeOutage, UsageError
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.goal import Limits
from donewhen.core.state import Spend
from donewhen.core.work import Answer, Interrupt, RunWarning, Usage
from donewhen.engine.api import RunView
from donewhen.goalfile.preflight import GoalHint
from donewhen.ports import Live
from tests.cli.fakes import GOAL, RUN, Desk, FakeAdviser, Typed, complete, desk, view
from tests.tools import each_row

OPTIONS = RunOptions(
    "agent",
    judge="openai/j",
    agent=AgentOptions("anthropic/m"),
    judging=JudgeOptions(("openai/j",)),
)
WORKER = Usage(40_000, 5_200, 30_000, 0.10)
JUDGE = Usage(9_000, 500, 0, 0.02)


def command(text: str = "git push") -> Interrupt:
    return Interrupt(
        "I1",
        "approval",
        f"Run `{text}`?",
        about="tool:run_command",
        tool="run_command",
        input={"command": text},
        preview=text,
    )


# ------------------------------------------------------------------------------------- init and preflight

VAGUE = "# Speed\n\n- [ ] The export is fast\n"
HARD = "“is fast” is hard to prove: give a number and how it is measured, such as `p95 below 50 ms`, or bind a `check:`"


def bare(root: Path, adviser: FakeAdviser | None) -> Desk:
    call = desk(root, adviser=adviser)
    (root / "GOAL.md").unlink()
    return call


def test_init_names_what_the_model_proposes(tmp_path: Path) -> None:
    call = bare(tmp_path, FakeAdviser(["The README tells it", "`--csv` is documented"]))
    assert call("init", "Ship", "it") == 0
    assert call.adviser is not None
    assert call.adviser.asked == [("Ship it", ("python -m pytest -q",))]
    for one in ("The README tells it", "`--csv` is documented"):
        assert f"  proposed by openai/adviser, left out, since no judge is set: {one}\n" in call.out
    assert "edit it" in call.err


def test_init_tells_what_was_proposed_as_json(tmp_path: Path) -> None:
    call = bare(tmp_path, FakeAdviser(["The README tells it"]))
    assert call("init", "Ship it", "--json") == 0
    assert json.loads(call.out)["proposed"] == ["The README tells it"]


def test_a_model_that_fails_keeps_nobody_from_a_draft(tmp_path: Path) -> None:
    call = bare(tmp_path, FakeAdviser(error=JudgeOutage("no key for openai/adviser")))
    assert call("init", "Ship it") == 0
    assert "warning: no requirements were proposed: no key for openai/adviser" in call.err
    assert (tmp_path / "GOAL.md").read_text().startswith("# Ship it\n")


@pytest.mark.conformance("A16")
@each_row(
    "spent, told",
    [
        (Usage(1_200, 34, 100, None), "asked openai/adviser: 1,234 tokens, cost unknown\n"),
        (Usage(1_200, 34, 0, 0.25), "asked openai/adviser: 1,234 tokens, $0.25\n"),
        (Usage(1_200, 34, 0, 0.0004), "asked openai/adviser: 1,234 tokens, less than $0.01\n"),
        (Usage(1_200, 34), "asked openai/adviser: 1,234 tokens, $0.00\n"),
    ],
)
@each_row("error", [None, JudgeOutage("down")])
@each_row("argv", [("init", "Ship it"), ("preflight",)])
def test_what_asking_a_model_took_is_told_also_where_it_failed(
    argv: tuple[str, ...], error: JudgeOutage | None, spent: Usage, told: str, tmp_path: Path
) -> None:
    make = bare if argv[0] == "init" else lambda root, adviser: desk(root, adviser=adviser)
    call = make(tmp_path, FakeAdviser(["x"], error=error, spent=spent))
    assert call(*argv) == 0
    assert told in call.err
    assert "tokens" not in call.out


@pytest.mark.parametrize("argv", [("init", "Ship it", "--json"), ("preflight", "--json")])
def test_what_asking_a_model_took_is_in_the_document(argv: tuple[str, ...], tmp_path: Path) -> None:
    make = bare if argv[0] == "init" else lambda root, adviser: desk(root, adviser=adviser)
    call = make(tmp_path, FakeAdviser(spent=Usage(1_200, 34, 100, None)))
    assert call(*argv) == 0
    told = {"inputTokens": 1_200, "outputTokens": 34, "cachedTokens": 100, "usd": None}
    assert json.loads(call.out)["cost"] == told


def test_where_nobody_was_asked_no_cost_is_told(tmp_path: Path) -> None:
    call = desk(tmp_path, adviser=FakeAdviser(error=JudgeOutage("no key")))
    assert call("preflight", "--json") == 0
    assert "cost" not in json.loads(call.out)
    assert "tokens" not in call.err


def test_init_asks_nobody_where_it_cant_draft_or_nothing_is_said(tmp_path: Path) -> None:
    adviser = FakeAdviser(["x"])
    assert desk(tmp_path, adviser=adviser)("init", "Ship it") == 2
    assert bare(tmp_path, adviser)("init") == 0
    assert adviser.asked == []
    assert bare(tmp_path, None)("init", "Ship it") == 0


def test_preflight_tells_hints_of_rules_and_of_the_model(tmp_path: Path) -> None:
    adviser = FakeAdviser(found=[GoalHint("r-2", 2, "says nothing about empty files", 0)])
    call = desk(tmp_path, adviser=adviser)
    (tmp_path / "GOAL.md").write_text(VAGUE)
    assert call("preflight", "GOAL.md", "--judge-model", "openai/j") == 0
    assert call.out.splitlines() == [
        f"R1: {HARD}",
        "R2: says nothing about empty files",
    ]
    assert call.settings is not None
    assert call.settings.given.judge_model == "openai/j"
    assert adviser.asked == [(VAGUE,)]
    assert call.runs.calls == []
    assert call("preflight", "--json") == 0
    first = json.loads(call.out)["hints"][0]
    assert (first["number"], first["message"]) == (1, HARD)


def test_preflight_does_without_a_model_and_survives_one_that_fails(tmp_path: Path) -> None:
    assert desk(tmp_path)("preflight") == 0
    call = desk(tmp_path, adviser=FakeAdviser(error=JudgeOutage("down")))
    (tmp_path / "GOAL.md").write_text(VAGUE)
    assert call("preflight") == 0
    assert call.out == f"R1: {HARD}\n"
    assert "the model gave no hints: down" in call.err


@each_row(
    "boxes, argv, said",
    [
        ("`true` passes", (), "no judge is set: the checks decide when it is done, not the words of the objective\n"),
        ("`true` passes", ("--judge-model", "openai/j"),
         "the checks decide when it is done, not the words of the objective\n"),
        ("`src/a.py` quotes all fields", ("--judge-model", "openai/j"),
         "the words of R1 are decided by the judge, openai/j, and by no check\n"),
        ("It quotes all fields\n  - check: `true`", (), "no judge is set: the checks decide"),
        ("`src/a.py` quotes all fields", (), "no check decides R1, and no judge is configured: write a check below it"),
    ],
)  # fmt: skip
def test_preflight_says_once_who_decides_about_the_words(
    boxes: str, argv: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    call = desk(tmp_path)
    (tmp_path / "GOAL.md").write_text(f"# Quote the fields\n\nAll of them.\n\n- [ ] {boxes}\n")
    assert call("preflight", *argv) == 0
    assert call.out == ""
    assert call.err.count(said) == 1
    assert ("nothing to add" in call.err) == ("no check decides" not in said)


# ------------------------------------------------------------------------------------------------ options


def test_the_models_of_a_run_reach_the_engine(tmp_path: Path) -> None:
    call = desk(tmp_path, complete(), environ={"DONEWHEN_JUDGE_MODEL": "3*openai/j", "DONEWHEN_API_BASE": "http://w"})
    call("run", "--model", "openai/w", "--judge-rule", "unanimity", "--judge-calls", "0")
    options = call.runs.calls[0][2]
    assert (options.worker, options.model, options.judge_model, options.api_base) == (
        None,
        "openai/w",
        "3*openai/j",
        "http://w",
    )
    assert call.settings is not None
    assert (call.settings.pick("judge_rule"), call.settings.pick("judge_calls")) == ("unanimity", 0)


def test_the_agent_is_a_worker_like_others(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("run", "--worker", "agent", "--model", "openai/w") == 0
    assert call.runs.calls[0][2].worker == "agent"


def test_an_agent_without_a_model_drafts_nothing(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("run", "--worker", "agent", "Ship the importer") == 2
    assert "worker agent needs a model" in call.err
    assert not (tmp_path / "slug.goal.md").exists()
    assert call("run", "--worker", "agent", "--model", "openai/m", "Ship the importer") == 0


@each_row("option", ["--judge-rule", "--judge-prompt", "--temperature", "--window", "--judge-calls"])
def test_how_a_run_is_judged_is_no_option_of_resume(option: str) -> None:
    with pytest.raises(UsageError):
        parse(["resume", option, "1"])


@pytest.mark.conformance("C20")
@each_row(
    "argv, refused",
    [
        (["--model", "anthropic/m"], None),
        (["--judge-model", "openai/j"], None),
        (["--api-base", "http://new"], None),
        (["--model", "openai/other"], "works with anthropic/m and keeps it"),
        (["--judge-model", "openai/other"], "is judged by openai/j, and that can't change"),
    ],
)
@each_row("named", [[RUN], []], ids=["named", "newest"])
def test_a_resumed_run_keeps_its_models(named: list[str], argv: list[str], refused: str | None, tmp_path: Path) -> None:
    call = desk(tmp_path, view(options=OPTIONS, paused="later"), environ={"DONEWHEN_MODEL": "openai/for-new-runs"})
    code = call("resume", *named, *argv)
    assert (code == 2) is (refused is not None)
    assert (refused or "") in call.err
    assert any(one[0] == "resume" for one in call.runs.calls) is (refused is None)


def test_a_run_without_a_judge_gets_none_by_resuming(tmp_path: Path) -> None:
    call = desk(tmp_path, view(paused="later"))
    assert call("resume", RUN, "--judge-model", "openai/j") == 2
    assert "has no judge" in call.err
    assert call("resume", RUN, "--model", "openai/m") == 2
    assert "has the worker human" in call.err


# --------------------------------------------------------------------------------------------------- costs


@pytest.mark.conformance("A16")
@each_row(
    "usage, told",
    [
        (Usage(), []),
        (WORKER, ["$0.10", "45.2k tokens (30k cached)"]),
        (Usage(900, 50, 0, None), ["cost unknown", "950 tokens"]),
        (Usage(0, 0, 0, None), ["cost unknown"]),
        (Usage(3_000_000, 0, 0, 0.0), ["$0.00", "3M tokens"]),
    ],
)
def test_what_models_took_is_told_and_the_unknown_is_called_so(usage: Usage, told: list[str]) -> None:
    assert spending(usage) == told


def spent(worker: Usage = WORKER) -> RunView:
    return view(options=OPTIONS, spend=Spend(worker, JUDGE), iteration=1)


def test_worker_and_judge_are_told_apart() -> None:
    lines = closing(spent())
    assert " · $0.12 · 54.7k tokens (30k cached) · " in lines[1]
    assert lines[2] == "worker $0.10, 45.2k tokens (30k cached) · judge $0.02, 9.5k tokens"
    unknown = closing(spent(replace(WORKER, usd=None)))
    assert "cost unknown" in unknown[1]
    assert "worker cost unknown" in unknown[2]
    assert "judge $0.02" in unknown[2]
    assert closing(view(mode="audit", spend=Spend(judge=JUDGE)))[0].endswith("$0.02 · 9.5k tokens")


def test_a_run_opens_with_who_works_and_judges_under_which_budgets() -> None:
    goal = replace(GOAL, limits=Limits(budget=5, token_budget=200_000))
    line = opening(view(options=OPTIONS, goal=goal))[1]
    assert "worker agent (anthropic/m), judge openai/j" in line
    assert line.endswith("$5.00, 200,000 tokens")


def test_the_live_view_shows_what_is_done_and_spent_now() -> None:
    from rich.console import Console

    shown = replace(spent(), live=Live("running `make test`"))
    out = io.StringIO()
    Console(file=out, width=200).print(picture(shown, seconds=0.0))
    assert "running `make test`" in out.getvalue()
    assert "$0.12 · 54.7k tokens (30k cached)" in out.getvalue()


def test_a_run_over_its_token_budget_says_how_to_go_on(tmp_path: Path) -> None:
    tokens = replace(GOAL, limits=Limits(token_budget=10))
    call = desk(tmp_path, view(ended=True, end_status="over_budget", reason="spent", goal=tokens))
    call("run")
    assert "--token-budget N" in call.err
    money = replace(GOAL, limits=Limits(budget=10))
    call = desk(tmp_path, view(ended=True, end_status="over_budget", reason="spent", goal=money))
    call("run")
    assert "--budget USD" in call.err


# ----------------------------------------------------------------------------------------------- approvals


def test_an_approval_is_asked_with_all_of_the_command(tmp_path: Path) -> None:
    script = "set -e\nmake\n\x1b[2Jgit push --force"
    call = desk(tmp_path, view(options=OPTIONS, interrupts=(command(script),)), interactive=True, typed=["edit make"])
    assert call("run") == 0
    assert "I1 [run_command]" in call.err
    assert "set -e\nmake\ngit push --force\n" in call.err
    assert "`edit COMMAND`" in call.err
    assert ("answer", RUN, "I1", Answer("edit", text="make", input={"command": "make"})) in call.runs.calls


@each_row(
    "argv, answer",
    [
        (["approve"], Answer("approve")),
        (["deny", "not", "now"], Answer("deny", reason="not now")),
        (["edit", "make -j2 test"], Answer("edit", text="make -j2 test", input={"command": "make -j2 test"})),
        (["edit", '{"command": "ls", "timeout_seconds": 5}'], None),
        (["text", "use the Makefile"], Answer("text", text="use the Makefile")),
    ],
)
def test_an_approval_takes_every_kind_of_answer(argv: list[str], answer: Answer | None, tmp_path: Path) -> None:
    call = desk(tmp_path, view(options=OPTIONS, interrupts=(command(),)))
    assert call("answer", RUN, "I1", *argv) == 0
    given = call.runs.calls[-1][3]
    assert given == answer or (answer is None and given.input == {"command": "ls", "timeout_seconds": 5})


@pytest.mark.conformance("A2")
@each_row("line", ["", "sure", "ok go", "approved", "yes please do"])
def test_only_a_clear_word_approves(line: str) -> None:
    if line.startswith("yes"):
        assert typed_answer(line, command()) == Answer("approve", reason="please do")
        return
    with pytest.raises(UsageError, match="approve"):
        typed_answer(line, command())


def test_a_tool_without_a_text_of_its_own_is_edited_as_json() -> None:
    write = replace(command(), tool="write_file", input={"path": "a", "content": "b"})
    assert "`edit INPUT`" in answers_hint(write)
    assert typed_answer('edit {"path": "c", "content": "b"}', write).input == {"path": "c", "content": "b"}
    with pytest.raises(UsageError, match="JSON object"):
        typed_answer("edit c", write)


def test_where_nobody_is_asked_the_log_and_the_status_show_what_waits(tmp_path: Path) -> None:
    waiting = view(options=OPTIONS, interrupts=(command("make\ngit push"),))
    out = io.StringIO()
    LinesDisplay(Terminal(out, io.StringIO(), Typed([]), {})).show(waiting)
    assert "I1 approval: Run `make git push`?\n    make\n    git push\n" in out.getvalue()
    call = desk(tmp_path, waiting)
    assert call("status") == 0
    assert "    git push\n" in call.out
    assert f"donewhen answer {RUN} I1 approve|deny|edit TEXT|text TEXT" in call.err


def test_the_status_tells_warnings(tmp_path: Path) -> None:
    call = desk(tmp_path, view(warnings=(RunWarning("not_independent", "worker and judge are the same model"),)))
    assert call("status") == 0
    assert "warning: worker and judge are the same model" in call.out


def test_a_long_preview_is_cut_with_a_mark() -> None:
    assert bounded("a\nb\nc\n", 3) == ["a", "b", "c"]
    assert bounded("a\nb\nc\nd", 2) == ["a", "b", "… 2 more lines"]
    assert bounded("", 2) == []
