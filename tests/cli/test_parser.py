"""What the command line understands, and what it says where it doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.cli.calling import workspace_of
from donewhen.cli.parser import COMMAND_GROUPS, COMMANDS, build, parse
from donewhen.core.errors import UsageError
from donewhen.engine.api import StartOptions
from donewhen.extras import COMMANDS as OF_EXTRAS
from donewhen.settings.table import SETTINGS
from tests.cli.fakes import complete, desk
from tests.tools import each_row

ALL = [
    "init", "preflight", "check", "run", "resume", "status", "list", "pause", "stop", "answer", "waive", "accept",
    "dispute", "hint", "diff", "report", "revert", "gc", "serve", "guard", "gate", "demo", "doctor",
    "models", "settings", "completion",
]  # fmt: skip


def test_every_command_of_the_contract_is_there() -> None:
    assert sorted(name for name in COMMANDS if name not in OF_EXTRAS) == sorted(ALL)


def test_only_what_is_missing_is_asked_for() -> None:
    with pytest.raises(UsageError, match="required: ITERATION\n"):
        parse(["revert", "run-1"])
    with pytest.raises(UsageError, match="required: ANSWER\n"):
        parse(["answer", "run-1", "I1"])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk(tmp_path)(command, "--help") == 0
    shown = capsys.readouterr().out
    for option in ("--workspace", "--state-dir", "--json"):
        assert option in shown


def test_run_has_every_option_with_its_variable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk(tmp_path)("run", "--help")
    shown = " ".join(capsys.readouterr().out.split())
    for setting in SETTINGS:
        if "run" in setting.commands:
            assert setting.option in shown
            assert setting.variable in shown.replace(" ", "") or setting.variable in shown


@pytest.mark.parametrize("argv", [["--json", "status"], ["status", "--json"], ["--state-dir", "s", "--json", "list"]])
def test_common_options_stand_before_or_after_the_command(argv: list[str]) -> None:
    assert parse(argv).json is True


@each_row(
    "argv, near",
    [
        (["chekc"], "'check'"),
        (["stat"], "'status'"),
        (["run", "--max-iteration", "3"], "'--max-iterations'"),
        (["run", "--jsno"], "'--json'"),
        (["answer", "--worksapce", "x"], "'--workspace'"),
        (["--vesion"], "'--version'"),
        (["--worksapce", "x", "status"], "'--workspace'"),
        (["--worksapce=x", "chekc"], "'--workspace'"),
        (["--json", "--", "chekc"], "'check'"),
    ],
)
def test_an_unknown_word_names_the_nearest(argv: list[str], near: str, tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call(*argv) == 2
    assert f"did you mean {near}" in call.err
    assert call.out == ""


@each_row(
    "argv, said",
    [
        (["--max-iterations", "3", "run"], "'--max-iterations' follows its command: `donewhen run --max-iterations`"),
        (["--no-try", "init", "x"], "'--no-try' follows its command: `donewhen init --no-try`"),
        (["--worker", "human", "run"], "'--worker' follows its command: `donewhen run --worker`"),
        (["list", "--no-try"], "there is no option '--no-try'; see `donewhen list --help`"),
        (["--blue", "x", "status"], "there is no option '--blue'; see `donewhen --help`"),
    ],
)
def test_an_option_in_the_wrong_place_says_where_it_belongs(argv: list[str], said: str, tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call(*argv) == 2
    assert call.err == f"donewhen: error: {said}\n"


@each_row(
    "argv",
    [
        ["answer", "run-1"],
        ["waive", "run-1"],
        ["pause"],
        ["status", "a", "b"],
        ["report", "run-1", "--format", "pdf"],
        ["serve", "--stdio", "--tcp", "1"],
    ],
)
def test_what_makes_no_sense_is_a_usage_error(argv: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(argv)


def test_resume_takes_the_options_of_run_but_worker_and_goal() -> None:
    assert parse(["resume", "run-1", "--max-iterations", "20", "--approve", "deny"]).max_iterations == "20"
    for option in ("--worker", "--worker-command", "--script"):
        with pytest.raises(UsageError):
            parse(["resume", "run-1", option, "x"])


def test_text_after_two_dashes_is_taken_as_it_is() -> None:
    assert parse(["run", "--", "--fix", "the flag"]).goal == ["--fix", "the flag"]


def test_without_a_command_there_is_help_and_code_2(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call() == 2
    assert "COMMAND" in call.err


def test_the_version_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk(tmp_path)("--version") == 0
    assert capsys.readouterr().out.startswith("donewhen ")


@pytest.mark.parametrize("name", ["pdf", "in_toto"])
def test_a_format_that_does_not_exist_is_not_offered(name: str, tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    assert call("report", "run-1", "--format", name) == 2
    assert "choose from" in call.err
    assert all(name not in command.format_help() for command in build()[1].values())


def test_whether_commands_are_contained_is_passed_on(tmp_path: Path) -> None:
    call = desk(tmp_path, complete())
    call("run", "--sandbox", "on")
    call("resume")
    call("resume", "--sandbox", "off")
    call.environ["DONEWHEN_SANDBOX"] = "on"
    call("resume")
    given = [part for one in call.runs.calls for part in one if isinstance(part, StartOptions)]
    assert [one.sandbox for one in given] == ["on", None, "off", "on"]


def test_the_folders_may_come_from_the_environment(tmp_path: Path) -> None:
    assert workspace_of(None, {"DONEWHEN_WORKSPACE": str(tmp_path)}) == tmp_path.resolve()
    assert workspace_of(str(tmp_path), {"DONEWHEN_WORKSPACE": "/nowhere"}) == tmp_path.resolve()
    call = desk(tmp_path, complete(), environ={"DONEWHEN_STATE_DIR": str(tmp_path / "one")})
    call("list")
    assert call.settings is not None
    assert call.settings.state_dir == tmp_path / "one"
    call("list", "--state-dir", str(tmp_path / "two"))
    assert call.settings.state_dir == tmp_path / "two"


def test_all_commands_stand_in_a_group_of_the_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(name for names in COMMAND_GROUPS.values() for name in names) == sorted(COMMANDS)
    assert desk(tmp_path)("help") == 0
    shown = capsys.readouterr().out
    assert desk(tmp_path)("--help") == 0
    assert capsys.readouterr().out == shown
    places = [
        shown.index(part) for part in ("Every day:", "  run ", "What only a person does:", "  answer ", "For programs:")
    ]
    assert places == sorted(places)


def test_help_explains_a_command_and_names_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk(tmp_path)("help", "run") == 0
    assert "--max-iterations" in capsys.readouterr().out
    call = desk(tmp_path)
    assert call("help", "rnu") == 2
    assert "did you mean 'run'" in call.err
    assert desk(tmp_path)("-V") == 0
    assert capsys.readouterr().out.startswith("donewhen ")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["serve"], "is started by an editor"),
        (["check", "a", "b c"], "`donewhen check` doesn't take `b c` as well usage: donewhen check [options] [GOAL]"),
        (["status", "a", "b"], "usage: donewhen status [options] [RUN_ID]"),
        (["waive", "run-1"], "usage: donewhen waive [options] RUN_ID R3"),
        (["run", "--timeout", "0"], "must be greater than 0"),
        (["run", "--timeout", "0s"], "must be greater than 0"),
    ],
)
def test_what_makes_no_sense_by_hand_says_what_to_do(argv: list[str], said: str, tmp_path: Path) -> None:
    call = desk(tmp_path, interactive=True)
    assert call(*argv) == 2
    assert said in " ".join(call.err.split())
