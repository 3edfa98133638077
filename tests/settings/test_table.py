"""The same value is read alike in every place, and the table says what is so."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.errors import InvalidGoal
from donewhen.core.events import AgentOptions, JudgeOptions
from donewhen.core.goal import Limits
from donewhen.core.retention import Retention
from donewhen.goalfile.parse import parse
from donewhen.library.models import AgentConfig, JudgeConfig
from donewhen.library.running import run_goal
from donewhen.lsp.arguments import RunStart
from donewhen.lsp.opening import editor_settings
from donewhen.models.hosted import SILENCE
from donewhen.ports.rooms import RoomLimits
from donewhen.settings import personal
from donewhen.settings.loading import Settings, load_settings
from donewhen.settings.table import BY_NAME, OWN, SETTINGS, TABLES, Setting
from tests.tools import each_row

REFUSED = "refused"
CLIENT = Path(__file__).parents[2] / "client-vscode"


@pytest.fixture(autouse=True)
def nobodys_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))


def from_texts(name: str, text: str, folder: Path) -> list[Any]:
    """The value in each place where it is written as text: an option, a variable, a goal file."""
    nothing = folder / "none.toml"
    return [
        one_of(lambda: getattr(load_settings({name: text}, {}, None, user_file=nothing).given, name)),
        one_of(lambda: load_settings({}, {BY_NAME[name].variable: text}, None, user_file=nothing).pick(name)),
        in_goal_file(name, text),
    ]


def from_values(name: str, toml: str, folder: Path) -> list[Any]:
    """The value in each place where it has a type: your settings, the workspace's, an editor's."""
    user, project = folder / "user.toml", folder / "pyproject.toml"
    project.unlink(missing_ok=True)
    user.write_text(f"{name} = {toml}\n", encoding="utf-8")
    mine = one_of(lambda: load_settings({}, {}, folder, user_file=user).pick(name))
    user.write_text("", encoding="utf-8")
    spoken = {BY_NAME[name].in_editor: json.loads(toml.replace("_", "") if toml[0].isdigit() else toml)}
    editor = one_of(lambda: editor_settings(folder, spoken).pick(name))
    project.write_text(f"[tool.donewhen]\n{name} = {toml}\n", encoding="utf-8")
    return [mine, one_of(lambda: load_settings({}, {}, folder, user_file=user).pick(name)), editor]


def one_of(read: Any) -> Any:
    try:
        return read()
    except InvalidGoal:
        return REFUSED


def in_goal_file(name: str, text: str) -> Any:
    goal = parse(f"---\n{name}: {text}\n---\n# T\n").goal
    if goal is None:
        return REFUSED
    said = getattr(goal.limits, name) if name in {one.name for one in fields(Limits)} else getattr(goal, name)
    return "unlimited" if said is None else said


@each_row(
    "name, text, value",
    [
        ("max_iterations", "1_0", 10),
        ("max_iterations", "+5", 5),
        ("max_iterations", "1__0", REFUSED),
        ("max_iterations", "1_", REFUSED),
        ("max_iterations", "1e1", REFUSED),
        ("max_iterations", "0x10", REFUSED),
        ("max_iterations", "0", REFUSED),
        ("max_iterations", "٣", REFUSED),
        ("max_iterations", "unlimited", "unlimited"),
        ("token_budget", "200_000", 200_000),
        ("budget", "1_0.50", 10.5),
        ("budget", "1e3", 1000),
        ("budget", ".5", 0.5),
        ("budget", "0", REFUSED),
        ("budget", "nan", REFUSED),
        ("budget", "1e999", REFUSED),
        ("timeout", "1h 30m", 5400),
        ("timeout", "30 m", 1800),
        ("timeout", "1.5H", 5400),
        ("timeout", "5 5m", REFUSED),
        ("timeout", "30", REFUSED),
        ("timeout", "0s", REFUSED),
        ("check_timeout", "unlimited", REFUSED),
        ("model", "openai/m", "openai/m"),
        ("model", "openai/m,openai/n", REFUSED),
        ("judge_model", "2*openai/m", "2*openai/m"),
        ("protect", "./tests/**", ("tests/**",)),
        ("protect", "../secret", REFUSED),
        ("protect", "src/{a,b}", REFUSED),
    ],
)
def test_a_text_means_the_same_in_every_place(name: str, text: str, value: Any, tmp_path: Path) -> None:
    assert from_texts(name, text, tmp_path) == [value] * 3


@each_row(
    "name, toml, value",
    [
        ("max_iterations", "1_0", 10),
        ("max_iterations", "2.5", REFUSED),
        ("max_iterations", "true", REFUSED),
        ("budget", "5", 5.0),
        ("budget", "-1", REFUSED),
        ("timeout", '"1h30m"', 5400),
        ("timeout", "30", REFUSED),
        ("protect", '["./a/**", "a/**"]', ("a/**",)),
        ("protect", '"tests/**"', ("tests/**",)),
        ("protect", '["../secret"]', REFUSED),
        ("protect", "[1]", REFUSED),
        ("judge_model", '["openai/a", "2*openai/b"]', "openai/a,2*openai/b"),
        ("model", '["openai/a"]', REFUSED),
        ("model", "5", REFUSED),
        ("temperature", "0", 0),
        ("temperature", "2.5", REFUSED),
    ],
)
def test_a_value_means_the_same_in_every_file(name: str, toml: str, value: Any, tmp_path: Path) -> None:
    assert from_values(name, toml, tmp_path) == [value] * 3


def test_a_unit_that_is_missing_is_named_in_every_place(tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text("timeout = 30\n", encoding="utf-8")
    for wrong in (
        lambda: load_settings({"timeout": "30"}, {}, None, user_file=tmp_path / "none"),
        lambda: load_settings({}, {}, None, user_file=tmp_path / "user.toml"),
        lambda: editor_settings(tmp_path, {"timeout": 30}),
    ):
        with pytest.raises(InvalidGoal, match="write the unit, 30s or 30m"):
            wrong()


# -------------------------------------------------------------------------------------- plugins' workers


def test_a_goal_file_may_name_a_worker_that_a_plugin_may_bring() -> None:
    text = "---\nworker: mine\n---\n# T\n"
    parsed = parse(text, plugged=lambda: True)
    assert parsed.goal is not None
    assert parsed.goal.worker == "mine"
    assert ("warning", "unknown-name") in [(one.severity, one.code) for one in parsed.problems]
    assert parse(text).errors[0].code == "bad-value"


@each_row("worker", ["two words", "5", "[agent]", "true"])
def test_what_no_plugin_can_bring_is_an_error(worker: str) -> None:
    assert parse(f"---\nworker: {worker}\n---\n# T\n", plugged=lambda: True).goal is None


def test_plugins_are_asked_about_only_for_a_name_that_is_not_built_in() -> None:
    def never() -> bool:
        raise AssertionError

    assert parse("---\nworker: agent\n---\n# T\n", plugged=never).goal is not None


# ------------------------------------------------------------------------------------ what the table says


def test_a_default_is_what_holds_where_nobody_says_anything() -> None:
    limits, judge, agent, rooms = Limits(), JudgeOptions(("m",)), AgentOptions("m"), RoomLimits()
    kept = Retention()
    held = {
        **{one.name: getattr(limits, one.name) for one in fields(limits)},
        "judge_rule": judge.rule, "judge_calls": judge.calls, "judge_tokens": judge.tokens,
        "max_tool_calls": agent.tool_calls, "max_turn_tokens": agent.turn_tokens,
        "room_processes": rooms.processes, "room_disk": rooms.disk,
        "sandbox": Settings().sandbox, "network": "on" if Settings().network else "off",
        "affected_first": "on" if Settings().affected_first else "off",
            "sandbox_checks": "on" if Settings().contains_checks else "off", "guard": False,
        "accept_weak_judge": "off", "model_client": "auto", "model_silence": SILENCE,
        "keep_runs": kept.runs, "older_than": kept.age, "max_size": kept.size,
    }  # fmt: skip
    said = {one.name: one.read(one.default) for one in SETTINGS if one.default}
    assert said == {name: value for name, value in held.items() if value is not None}


def test_what_only_your_settings_hold_is_listed() -> None:
    assert set(TABLES) == {"ceiling", "prices", personal.HIDDEN_KEY, *personal.APPROVAL_KEYS}


@each_row("setting", [one for one in SETTINGS if one.library], ids=lambda one: one.name)
def test_a_program_gives_it_where_the_table_says(setting: Setting) -> None:
    home, _, name = setting.library.rpartition(".")
    given = {"": run_goal, "AgentConfig": AgentConfig, "JudgeConfig": JudgeConfig}[home]
    assert name in inspect.signature(given).parameters


def test_the_language_servers_command_takes_what_the_table_says() -> None:
    taken = {one.alias for one in RunStart.model_fields.values()}
    assert taken - {"goalUri"} == {one.argument for one in SETTINGS if one.argument}


@each_row("setting", [one for one in OWN.values() if one.of_workspace == "tighten"], ids=lambda o: o.name)
def test_no_workspace_loosens_what_it_may_only_tighten(setting: Setting, tmp_path: Path) -> None:
    loosest, strictest = setting.kind.choices[0], setting.kind.choices[-1]
    (tmp_path / "none" / "donewhen").mkdir(parents=True)
    (tmp_path / "none" / "donewhen" / "config.toml").write_text(f'{setting.name} = "{loosest}"\n', encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(f'[tool.donewhen]\n{setting.name} = "{strictest}"\n', encoding="utf-8")
    for theirs in ({}, {"workspace": {setting.in_editor: loosest}}):
        assert editor_settings(tmp_path, {setting.in_editor: loosest, **theirs}).pick(setting.name) == strictest


@each_row("setting", [one for one in OWN.values() if one.of_workspace == "never"], ids=lambda o: o.name)
def test_no_file_of_a_workspace_reaches_through_an_editor_what_is_a_persons_alone(
    setting: Setting, tmp_path: Path
) -> None:
    value = setting.kind.choices[0] if setting.kind.choices else setting.default or "theirs"
    settings = editor_settings(tmp_path, {"workspace": {setting.in_editor: value}})
    assert settings.pick(setting.name) == editor_settings(tmp_path, {}).pick(setting.name)
    assert any(setting.name in warning.message for warning in settings.warnings)


# -------------------------------------------------------------------------------- the VS Code extension


def mirrored() -> dict[str, tuple[Setting, dict[str, Any]]]:
    """The extension's settings that are the server's, by their names there."""
    sections = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["contributes"]["configuration"]
    found = {name.removeprefix("donewhen."): one for part in sections for name, one in part["properties"].items()}
    named = {one.in_editor: one for one in OWN.values()}
    return {name: (named[name], described) for name, described in found.items() if name in named}


def test_the_extension_has_every_setting_of_the_table() -> None:
    # `script` is for the worker `scripted`, which plays recordings in tests: no page of settings offers it.
    assert {*mirrored()} == {one.in_editor for one in OWN.values()} - {"script"}


@each_row("name", mirrored())
def test_a_page_of_settings_accepts_what_the_table_reads(name: str) -> None:
    setting, described = mirrored()[name]
    if setting.kind.name in ("time", "size", "age"):
        for good in setting.examples or ("512MB", "1.5 GB", "2tb"):
            assert setting.read(good)
            assert re.search(described["pattern"], good)
        assert not re.search(described["pattern"], "512")
    if "enum" in described:
        assert all(setting.read(one) == one for one in described["enum"] if one)
    if described["default"]:
        assert described["default"] == setting.default


def test_a_workspace_can_set_in_an_editor_what_it_may_alone() -> None:
    may = {name for name, (setting, _) in mirrored().items() if setting.of_workspace == "may"}
    assert {name for name, (_, described) in mirrored().items() if described["scope"] == "window"} == may
