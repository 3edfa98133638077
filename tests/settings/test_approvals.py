"""Rules and plugins: a person's own settings, never a workspace's or an editor's."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.core.approval import ApprovalRule
from donewhen.core.errors import InvalidGoal
from donewhen.lsp.opening import editor_settings
from donewhen.settings.loading import Settings, load_settings
from tests.tools import each_row

USER = """
allow = ["pytest *", "git status"]
ask = ["docker *"]
deny = ["curl *"]
plugins = ["package.module:Plugin", "/opt/plugin.py:Other"]
plugins_off = ["noisy"]

[[rules]]
tool = "edit_file"
pattern = "docs/**"
action = "ask"
"""


def load(root: Path, *, user: str = "", project: str = "") -> Settings:
    (root / "pyproject.toml").write_text(f"[tool.donewhen]\n{project}\n", encoding="utf-8")
    (root / "user.toml").write_text(user, encoding="utf-8")
    return load_settings({}, {}, root, user_file=root / "user.toml")


def test_a_person_writes_their_rules_and_plugins(tmp_path: Path) -> None:
    settings = load(tmp_path, user=USER)
    assert settings.rules == (
        ApprovalRule("run_command", "pytest *", "allow"),
        ApprovalRule("run_command", "git status", "allow"),
        ApprovalRule("run_command", "docker *", "ask"),
        ApprovalRule("run_command", "curl *", "deny"),
        ApprovalRule("edit_file", "docs/**", "ask"),
    )
    assert settings.approvals.plugins == ("package.module:Plugin", "/opt/plugin.py:Other")
    assert settings.approvals.plugins_off == ("noisy",)
    assert settings.warnings == ()


def test_without_a_word_there_are_none(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.rules, settings.approvals.plugins, settings.approvals.plugins_off) == ((), (), ())


@each_row(
    "key, line",
    [
        ("allow", 'allow = ["*"]'),
        ("ask", "ask = []"),
        ("deny", "deny = []"),
        ("plugins", 'plugins = ["evil:Plugin"]'),
        ("plugins_off", 'plugins_off = ["careful"]'),
        ("plugins-off", 'plugins-off = ["careful"]'),
        ("Allow", 'Allow = ["*"]'),
        ("rules", '[[tool.donewhen.rules]]\ntool = "*"\npattern = "*"\naction = "allow"'),
        ("approvals", "approvals = {}"),
    ],
)
def test_a_workspace_says_nothing_of_it_and_that_is_told(key: str, line: str, tmp_path: Path) -> None:
    settings = load(tmp_path, user=USER, project=line)
    assert settings.approvals == load(tmp_path, user=USER).approvals
    (warning,) = load(tmp_path, user=USER, project=line).warnings
    assert f"`{key}`" in warning.message
    assert warning.code == "ignored_setting"


def test_an_editor_says_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    given = {"allow": ["*"], "rules": [{"tool": "*", "pattern": "*", "action": "allow"}], "plugins": ["evil:Plugin"]}
    settings = editor_settings(tmp_path, {**given, "pluginsOff": ["careful"], "approve": "ask"})
    assert (settings.rules, settings.approvals.plugins, settings.approvals.plugins_off) == ((), (), ())


@each_row(
    "line, told",
    [
        ('allow = "pytest"', 'allow must be a list such as ["pytest *", "git status"]; it is \'pytest\''),
        ("allow = [3]", "allow must be a list"),
        ('allow = [""]', "allow must be a list"),
        ('allow = ["a; b"]', "allow: `a; b` is not a command pattern: write one simple command"),
        ('deny = ["py* x"]', "deny: `py* x` is not a command pattern"),
        ("plugins = 3", "plugins must be a list"),
        ("plugins = [{}]", "plugins must be a list"),
        ('plugins_off = ["approval"]', "plugins_off can't hold `approval`: every run needs it"),
        ("rules = 3", "rules must be tables such as"),
        ("rules = [3]", "rules, number 1, must be a table"),
        ('[[rules]]\ntool = "a"', "rules, number 1, needs `tool` and `pattern`, both text"),
        ('[[rules]]\ntool = "a"\npattern = "b"', "rules, number 1, needs `action`, one of allow, ask, deny"),
        ('[[rules]]\ntool = "a"\npattern = "b"\naction = "let"', "it is 'let'"),
        ('[[rules]]\ntool = "a"\npatern = "b"\naction = "ask"', "has no key `patern`: it takes tool, pattern, action"),
        ('[[rules]]\ntool = "run_command"\npattern = "a|b"\naction = "deny"', "`a|b` is not a command pattern"),
        ('[[rules]]\ntool = ""\npattern = "b"\naction = "deny"', "a rule needs a tool and a pattern"),
    ],
)
def test_what_can_not_be_understood_is_refused_with_how_it_is_written(line: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidGoal) as refused:
        load(tmp_path, user=line)
    assert told in str(refused.value)
    assert "user.toml" in str(refused.value)
