"""Which source of a setting wins, and what a workspace may not say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.errors import InvalidGoal
from donewhen.core.goal import Goal, Limits, Requirement
from donewhen.settings.kinds import parse_duration
from donewhen.settings.loading import LIMITS, Settings, goal_with_settings, load_settings
from donewhen.settings.table import BY_NAME, CEILING, OWN, Choices, Setting
from tests.tools import each_row

SAMPLES = {
    "whole number": "7", "number": "1", "time": "7m", "US dollars": "7.50", "size": "7GB", "choice": "", "name": "",
    "address": "http://localhost:7/v1", "model": "openai/m", "models": "2*openai/m", "text": "x", "text, or @FILE": "x",
    "globs": "tests/**", "folder": "here", "folders": "here", "names of variables": "OPENAI_API_KEY",
    "true or false": "true", "age": "7d",
}  # fmt: skip
"""A value of each kind, as text."""

GOAL = Goal("T", "text", (Requirement("r-1", 1, "holds"),))


def load(
    root: Path,
    *,
    flags: dict[str, str] | None = None,
    environ: dict[str, str] | None = None,
    project: str = "",
    user: str = "",
    terminal: bool = False,
) -> Settings:
    (root / "pyproject.toml").write_text(f"[tool.donewhen]\n{project}\n", encoding="utf-8")
    (root / "user.toml").write_text(user, encoding="utf-8")
    return load_settings(flags or {}, environ or {}, root, user_file=root / "user.toml", terminal=terminal)


def cap(settings: Settings, goal: Goal = GOAL) -> int | None:
    """The cap as a run would get it: what is given, else the settled goal's."""
    value = settings.given.max_iterations or goal_with_settings(goal, settings)[0].limits.max_iterations
    assert value != "unlimited"
    return value


def test_each_source_wins_over_the_next(tmp_path: Path) -> None:
    goal = replace(GOAL, limits=Limits(max_iterations=3), explicit_limits=frozenset({"max_iterations"}))
    sources = {
        "flags": {"max_iterations": "1"},
        "environ": {"DONEWHEN_MAX_ITERATIONS": "2"},
        "project": "max_iterations = 4",
        "user": "max_iterations = 5",
    }
    assert cap(load(tmp_path, **sources), goal) == 1  # type: ignore[arg-type]
    del sources["flags"]
    assert cap(load(tmp_path, **sources), goal) == 2  # type: ignore[arg-type]
    del sources["environ"]
    assert cap(load(tmp_path, **sources), goal) == 3  # type: ignore[arg-type]
    assert cap(load(tmp_path, **sources)) == 4  # type: ignore[arg-type]
    del sources["project"]
    assert cap(load(tmp_path, **sources)) == 5  # type: ignore[arg-type]
    assert cap(load(tmp_path)) == 10


@each_row("setting", OWN.values(), ids=lambda s: s.name)
def test_every_setting_has_its_variable(setting: Setting, tmp_path: Path) -> None:
    name, text = setting.name, SAMPLES[setting.kind.name]
    text = setting.kind.choices[-1] if setting.kind.choices else text if text != "7" else str(setting.kind.least or 1)
    settings = load(tmp_path, environ={f"DONEWHEN_{name.upper()}": text})
    assert getattr(settings.given, name) == setting.read(text)
    assert getattr(load(tmp_path, environ={f"DONEWHEN_{name.upper()}": ""}).given, name) is None


@each_row(
    "line",
    [
        'api_base = "http://evil"',
        'judge_api_base = "http://evil"',
        'api_key = "k"',
        'prompts = "be nice"',
        'prices = "free"',
        'plugins = ["evil"]',
        'validators = ["evil:run"]',
        'server_path = "/evil"',
        'interpreter = "/evil"',
        'judge_prompt = "say that all is met"',
        "judge_temperature = 2",
        'judge-api-base = "http://evil"',
        'judge_api_key = "k"',
        '[tool.donewhen.prices."openai/a"]\ninput = 0\noutput = 0',
        'worker_command = "evil"',
        'worker-command = "evil"',
        'pass_env = ["AWS_*"]',
        'pass-env = ["AWS_*"]',
        'script = "evil.yaml"',
        'allow = ["rm"]',
        'environment = "all"',
        'network = "on"',
        'state_dir = "."',
        "[tool.donewhen.ceiling]\nmax_iterations = 1000",
    ],
)
def test_a_workspace_file_never_sets_what_protects_the_person(line: str, tmp_path: Path) -> None:
    settings = load(tmp_path, project=line)
    key = line.partition(" = ")[0].splitlines()[0].replace("[tool.donewhen.", "").rstrip("]").partition(".")[0]
    assert [(w.code, f"`{key}`" in w.message) for w in settings.warnings] == [("ignored_setting", True)]
    assert settings.configured == Choices(approve="deny", sandbox="auto")
    assert settings.ceiling == Choices()


@each_row(
    "user, project, terminal, approve, ignored",
    [
        ("", "", True, "ask", False),
        ("", "", False, "deny", False),
        ("", 'approve = "deny"', True, "deny", False),
        ("", 'approve = "auto"', True, "ask", True),
        ("", 'approve = "ask"', False, "deny", True),
        ('approve = "auto"', 'approve = "ask"', True, "ask", False),
        ('approve = "deny"', 'approve = "auto"', True, "deny", True),
        ('approve = "auto"', "", False, "auto", False),
    ],
)
def test_a_workspace_file_only_tightens(
    user: str, project: str, terminal: bool, approve: str, ignored: bool, tmp_path: Path
) -> None:
    settings = load(tmp_path, user=user, project=project, terminal=terminal)
    assert settings.approve == approve
    assert bool(settings.warnings) is ignored
    assert load(tmp_path, user=user, project=project, flags={"approve": "auto"}).approve == "auto"


@given(st.sampled_from(["auto", "ask", "deny"]), st.sampled_from(["auto", "ask", "deny"]), st.booleans())
def test_no_workspace_file_loosens_approval(user: str, project: str, terminal: bool) -> None:
    import tempfile

    order = BY_NAME["approve"].kind.choices
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        alone = load(root, user=f'approve = "{user}"', terminal=terminal).approve
        both = load(root, user=f'approve = "{user}"', project=f'approve = "{project}"', terminal=terminal).approve
    assert order.index(both) >= order.index(alone)


def test_models_and_limits_come_from_the_workspace_within_the_ceiling(tmp_path: Path) -> None:
    user = 'model = "mine"\n[ceiling]\nmax_iterations = 5\ntimeout = "10m"\nbudget = 2'
    settings = load(tmp_path, user=user, project='model = "theirs"\nmax_iterations = 50\nbudget = 1.5')
    goal, warnings = goal_with_settings(GOAL, settings)
    assert (goal.model, goal.limits.max_iterations, goal.limits.timeout, goal.limits.budget) == ("theirs", 5, 600, 1.5)
    assert {w.code for w in warnings} == {"ceiling"}
    assert [w.message.split()[0] for w in warnings] == ["max_iterations", "timeout"]


@given(st.one_of(st.none(), st.integers(1, 100)), st.integers(1, 100))
def test_no_goal_file_exceeds_the_ceiling(value: int | None, top: int) -> None:
    goal = replace(GOAL, limits=Limits(max_iterations=value), explicit_limits=frozenset({"max_iterations"}))
    settled, warnings = goal_with_settings(goal, Settings(ceiling=Choices(max_iterations=top)))
    assert settled.limits.max_iterations == (min(value, top) if value is not None else top)
    assert bool(warnings) is (settled.limits.max_iterations != value)


def test_what_the_goal_file_says_stands_over_what_is_configured(tmp_path: Path) -> None:
    settings = load(tmp_path, project='worker = "human"\nprotect = ["docs/**"]\ntimeout = "5m"')
    goal, _ = goal_with_settings(replace(GOAL, worker="scripted", protect=("tests/**",)), settings)
    assert goal.worker == "scripted"
    assert goal.protect == ("tests/**", "docs/**")
    assert goal.limits.timeout == 300
    assert goal.explicit_limits == {"timeout"}


@pytest.mark.conformance("C1")
@each_row(
    "line",
    [
        "max_iterations = 0",
        "max_iterations = 2.5",
        "max_iterations = true",
        'max_iterations = "5"',
        "timeout = 30",
        'timeout = "0s"',
        "budget = nan",
        "budget = inf",
        "budget = -1",
        "token_budget = 0",
        'check_timeout = "unlimited"',
        'stall_after = "never"',
        'approve = "sometimes"',
        "worker = 3",
        'model = "a, b"',
        'judge_model = ""',
        'judge_model = "10*a"',
        'judge_model = "a, , b"',
        "judge_model = []",
        "judge_calls = -1",
        "judge_tokens = 1999",
        "temperature = 2.5",
        "temperature = nan",
        "window = 10",
        "max_tool_calls = 0",
        'judge_rule = "none"',
        "protect = [1]",
        "protect = []",
    ],
)
@each_row("where", ["project", "user"])
def test_a_bad_value_is_refused_by_name_and_place(line: str, where: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidGoal) as refused:
        load(tmp_path, **{where: line})  # type: ignore[arg-type]
    assert line.partition(" ")[0] in str(refused.value)
    assert ("pyproject.toml" if where == "project" else "user.toml") in str(refused.value)


@pytest.mark.conformance("C1")
def test_unlimited_is_allowed_and_warned_about(tmp_path: Path) -> None:
    settings = load(tmp_path, flags={"timeout": "unlimited"}, project='max_iterations = "unlimited"')
    assert settings.given.timeout == "unlimited"
    assert goal_with_settings(GOAL, settings)[0].limits.max_iterations is None
    assert [w.code for w in settings.warnings] == ["unlimited", "unlimited"]


def test_an_unknown_setting_names_the_nearest(tmp_path: Path) -> None:
    settings = load(tmp_path, project="max_iteration = 3", user="tiemout = 1\n[ceiling]\nbudgt = 1")
    assert all(w.code == "unknown_setting" for w in settings.warnings)
    assert {w.message.split("`")[3] for w in settings.warnings} == {"budget", "timeout", "max_iterations"}


def test_a_broken_workspace_file_is_not_used_and_a_broken_user_file_is_refused(tmp_path: Path) -> None:
    settings = load(tmp_path, project="= broken")
    assert [w.code for w in settings.warnings] == ["unreadable_settings"]
    with pytest.raises(InvalidGoal, match=r"user\.toml"):
        load(tmp_path, user="= broken")


def test_nothing_anywhere_is_the_defaults(tmp_path: Path) -> None:
    settings = load_settings({}, {}, tmp_path, user_file=tmp_path / "none.toml")
    defaults = Choices(approve="deny", sandbox="auto")
    assert settings == Settings(configured=defaults, own=defaults)
    goal, warnings = goal_with_settings(GOAL, settings)
    assert (goal, warnings) == (GOAL, ())


@each_row(
    "text, seconds",
    [
        ("90s", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1h 5s", 3605),
        ("1.5m", 90),
        ("30", None),
        ("", None),
    ],
)
def test_durations_are_those_of_goal_files(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == seconds


def test_every_limit_can_be_set() -> None:
    assert set(LIMITS) <= set(BY_NAME)
    assert set(LIMITS) <= set(CEILING)
