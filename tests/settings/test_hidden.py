"""Checks that a person holds out from workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.core.errors import InvalidGoal
from donewhen.settings.loading import Settings, load_settings
from donewhen.settings.personal import HiddenCheck
from tests.tools import each_row


def load(root: Path | None, text: str, tmp_path: Path) -> Settings:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load_settings({}, {}, root, user_file=file)


def entry(workspace: Path | str, name: str = "Quotes", command: str = "pytest -q") -> str:
    return f"[[hidden_checks]]\nworkspace = '{workspace}'\nname = '{name}'\ncommand = '{command}'\n"


def test_those_of_the_folder_count_and_the_home_is_the_persons(tmp_path: Path) -> None:
    shop, other = tmp_path / "shop", tmp_path / "other"
    shop.mkdir()
    (tmp_path / "link").symlink_to(shop)
    text = entry(tmp_path / "link", command="pytest -q ~/held/test_q.py --root=~ a~b") + entry(other, "Rows")
    found = load(shop, text, tmp_path).hidden_checks
    assert found == (HiddenCheck("Quotes", f"pytest -q {Path.home()}/held/test_q.py --root={Path.home()} a~b"),)
    assert load(None, text, tmp_path).hidden_checks == ()


@each_row(
    "text, says",
    [
        ("hidden_checks = 'pytest'", "hidden_checks must be tables such as"),
        ("hidden_checks = ['pytest']", "number 1, must be a table"),
        ("[[hidden_checks]]\nworkspace = '/w'\nname = 'a'\n", "number 1: command must be a line of text"),
        (
            "[[hidden_checks]]\nworkspace = '/w'\nname = 'a'\ncommand = 'x'\nfolder = '/'\n",
            "has no key `folder`: it takes workspace, name, command",
        ),
    ],
)
def test_what_is_written_wrong_is_said(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidGoal, match=says):
        load(tmp_path, text, tmp_path)


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidGoal, match="two of the name 'Quotes'"):
        load(tmp_path, entry(tmp_path) + entry(tmp_path, command="make"), tmp_path)


def test_a_workspace_file_can_not_hold_any(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.donewhen]\nhidden_checks = []\n")
    settings = load_settings({}, {}, tmp_path, user_file=tmp_path / "none.toml")
    assert [one.code for one in settings.warnings] == ["ignored_setting"]
