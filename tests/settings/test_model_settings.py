"""What is set about models: who may set it, how it is written, and what it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.core.errors import InvalidGoal
from donewhen.core.verdict import panel
from donewhen.core.work import ModelFacts, Price
from donewhen.settings.loading import Settings, load_settings, read_setting
from donewhen.settings.table import BY_NAME, CEILING
from tests.settings.test_loading import load
from tests.tools import each_row


@each_row(
    "text, members",
    [
        ("openai/a", ("openai/a",)),
        ("a,b, c", ("a", "b", "c")),
        ("3*a", ("a", "a", "a")),
        ("2 * a, b", ("a", "a", "b")),
        ("9*a", ("a",) * 9),
        ("ollama/qwen2.5-coder:7b", ("ollama/qwen2.5-coder:7b",)),
        ("10*a", None),
        ("0*a", None),
        ("5*a,5*b", None),
        ("a b", None),
        ("a,,b", None),
        ("*a", None),
        ("", None),
        (",", None),
    ],
)
def test_a_panel_is_written_as_a_list_or_a_number_of_times(text: str, members: tuple[str, ...] | None) -> None:
    assert panel(text) == members


def test_a_list_of_judges_may_stand_in_a_file(tmp_path: Path) -> None:
    settings = load(tmp_path, project='judge_model = ["openai/a", "2*openai/b"]')
    assert panel(settings.configured.judge_model or "") == ("openai/a", "openai/b", "openai/b")


def test_a_workspace_file_only_tightens_the_rule_of_the_panel(tmp_path: Path) -> None:
    stricter = load(tmp_path, project='judge_rule = "unanimity"')
    assert (stricter.pick("judge_rule"), stricter.warnings) == ("unanimity", ())
    looser = load(tmp_path, user='judge_rule = "unanimity"', project='judge_rule = "majority"')
    assert looser.pick("judge_rule") == "unanimity"
    assert [w.code for w in looser.warnings] == ["ignored_setting"]
    assert load(tmp_path, project='judge_rule = "unanimity"', flags={"judge_rule": "majority"}).pick("judge_rule") == (
        "majority"
    )


def test_what_the_agent_and_the_judge_may_use_stays_under_the_ceiling(tmp_path: Path) -> None:
    user = "[ceiling]\nmax_tool_calls = 50\njudge_calls = 4"
    settings = load(tmp_path, user=user, project="max_tool_calls = 500\njudge_calls = 2\nmax_turn_tokens = 10")
    picked = [settings.pick(name) for name in ("max_tool_calls", "judge_calls", "max_turn_tokens")]
    assert picked == [50, 2, 10]
    assert [(w.code, w.message.split()[0]) for w in settings.warnings] == [("ceiling", "max_tool_calls")]
    # The person's own word is no workspace file's.
    assert load(tmp_path, user=user, flags={"max_tool_calls": "500"}).pick("max_tool_calls") == 500


def test_nothing_unbounded_hides_from_the_ceiling() -> None:
    bounded = {name for name, one in BY_NAME.items() if one.kind.name == "whole number" and one.of_workspace == "may"}
    assert bounded - set(CEILING) == {"window"}


def test_zero_is_a_number_of_calls_and_a_temperature(tmp_path: Path) -> None:
    settings = load(tmp_path, flags={"judge_calls": "0", "temperature": "0", "judge_temperature": "0"})
    assert [settings.pick(name) for name in ("judge_calls", "temperature", "judge_temperature")] == [0, 0, 0]


# ----------------------------------------------------------------------------------------- the judge's prompt


def test_the_judges_prompt_is_a_text_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prompt.md"
    file.write_text("Be strict.\n", encoding="utf-8")
    assert load(tmp_path, flags={"judge_prompt": "Be kind."}).pick("judge_prompt") == "Be kind."
    assert load(tmp_path, environ={"DONEWHEN_JUDGE_PROMPT": f"@{file}"}).pick("judge_prompt") == "Be strict.\n"
    # In the person's own settings a file stands beside them, wherever they work.
    assert load(tmp_path, user='judge_prompt = "@prompt.md"').pick("judge_prompt") == "Be strict.\n"


def test_a_relative_file_of_the_command_line_is_that_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here.md").write_text("Here.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert (
        load_settings({"judge_prompt": "@here.md"}, {}, None, user_file=tmp_path / "x").pick("judge_prompt") == "Here."
    )


@each_row("setting", ["api_base", "judge_api_base"])
@each_row(
    "text", ["localhost:8000", "ftp://a/v1", "http://", "http:///v1", "http://a:99999", "http://a:b", "http://a b", "x"]
)
def test_an_address_that_cant_be_asked_is_refused_at_once(setting: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidGoal, match=f"{setting} must be an address such as http://localhost:8000/v1"):
        load(tmp_path, flags={setting: text})


@pytest.mark.parametrize("text", ["http://localhost:8000/v1", "https://[::1]/", " HTTPS://a.example/v1?x=1 "])
def test_an_address_is_taken_without_the_spaces_around_it(text: str, tmp_path: Path) -> None:
    assert load(tmp_path, flags={"api_base": text}).given.api_base == text.strip()


@each_row("text", ["@missing.md", "@", "@empty.md", "@binary.md", "@large.md"])
def test_a_prompt_that_cant_be_read_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_bytes(b"\n")
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe")
    (tmp_path / "large.md").write_bytes(b"x" * 100_001)
    with pytest.raises(InvalidGoal, match="judge_prompt must be text, or @FILE"):
        load(tmp_path, user=f'judge_prompt = "{text}"')


def test_without_a_folder_only_an_absolute_file_will_do(tmp_path: Path) -> None:
    """An editor's settings have no folder of their own: it could be the workspace's."""
    (tmp_path / "p.md").write_text("P", encoding="utf-8")
    with pytest.raises(InvalidGoal):
        read_setting(BY_NAME["judge_prompt"], "@p.md", "the editor's settings")
    assert read_setting(BY_NAME["judge_prompt"], f"@{tmp_path / 'p.md'}", "the editor's settings") == "P"


# -------------------------------------------------------------------------------------------------- prices


def test_prices_come_from_the_persons_own_settings(tmp_path: Path) -> None:
    mine = '[prices."openai/mine"]\ninput = 1\noutput = 2.5\ncached = 0.1\nwindow = 128000\n'
    user = mine + "[prices.free]\ninput = 0\noutput = 0"
    settings = load(tmp_path, user=user)
    assert settings.prices == {
        "openai/mine": ModelFacts(128_000, price=Price(1, 2.5, 0.1)),
        "free": ModelFacts(price=Price(0, 0)),
    }
    assert settings.warnings == ()
    assert Settings().prices == {}


@each_row(
    "table, named",
    [
        ("prices = 3", "prices"),
        ('[prices]\n"m" = 3', '"m"'),
        ("[prices.m]\ninput = 1", "output"),
        ("[prices.m]\noutput = 1", "input"),
        ("[prices.m]\ninput = -1\noutput = 1", "input"),
        ("[prices.m]\ninput = nan\noutput = 1", "input"),
        ("[prices.m]\ninput = 1\noutput = inf", "output"),
        ("[prices.m]\ninput = true\noutput = 1", "input"),
        ('[prices.m]\ninput = "1"\noutput = 1', "input"),
        ("[prices.m]\ninput = 1\noutput = 1\ncached = -1", "cached"),
        ("[prices.m]\ninput = 1\noutput = 1\nwindow = 1.5", "window"),
        ("[prices.m]\ninput = 1\noutput = 1\nper = 'token'", "per"),
    ],
)
def test_a_price_that_cant_be_one_is_refused_by_name(table: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidGoal) as refused:
        load(tmp_path, user=table)
    assert named in str(refused.value)
    assert "user.toml" in str(refused.value)
