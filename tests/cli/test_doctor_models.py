"""What the doctor says about models, without a value of any key."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.app.doctor import BROKEN, OLDEST, ConfiguredModel, DoctorFacts, ModelsFacts, models_facts, usable
from donewhen.ports import Measured, ModelNote
from donewhen.settings.loading import Choices, ModelPrice, Settings
from donewhen.store.model_notes import KeptModelNotes
from tests.cli.fakes import desk
from tests.tools import each_row

SECRET = "sk-never-to-be-shown"
WITH_KEY = ConfiguredModel("worker", "anthropic/m", None, 200_000, "$3.00 in", "ANTHROPIC_API_KEY", ("A",))
WITHOUT = ConfiguredModel("judge", "openai/j", wanted=("DONEWHEN_JUDGE_API_KEY", "OPENAI_API_KEY"))
LOCAL = ConfiguredModel("judge", "openai/local", "http://localhost:1", needs_key=False)


def told(root: Path, models: ModelsFacts) -> str:
    call = desk(root, facts=DoctorFacts(models=models))
    assert call("doctor") == 0
    return call.out


def test_nothing_installed_and_nothing_set_says_how_to_get_both(tmp_path: Path) -> None:
    out = told(tmp_path, ModelsFacts())
    assert "- litellm: not installed: it calls other providers than OpenAI and Anthropic, and knows prices → " in out
    assert "[litellm]" in out
    assert "- worker agent: no model is set → set a model: --model PROVIDER/NAME" in out
    assert "- judge: none is set: you are asked about what no check decides → set one: --judge-model" in out
    assert "- keys: none is set" in out
    assert "- worker acp" in out


def test_a_version_that_doesnt_work_is_a_problem(tmp_path: Path) -> None:
    out = told(tmp_path, ModelsFacts("1.106.2", configured=(WITH_KEY,)))
    assert "✗ litellm: 1.106.2 doesn't work here" in out
    assert "✓ worker agent: anthropic/m" in out  # by the official client


def test_what_is_configured_is_told_with_price_window_and_key(tmp_path: Path) -> None:
    out = told(tmp_path, ModelsFacts("1.105.3", True, (WITH_KEY, WITHOUT, LOCAL), ("ANTHROPIC_API_KEY",)))
    assert "✓ worker agent: anthropic/m" in out
    assert "✓ judge: openai/j, openai/local" in out
    assert "✓ worker's model anthropic/m: 200,000 tokens of context, $3.00 in, key in ANTHROPIC_API_KEY" in out
    assert "✗ judge's model openai/j: context unknown, price unknown, no key" in out
    assert "→ set DONEWHEN_JUDGE_API_KEY or OPENAI_API_KEY" in out
    local = next(line for line in out.splitlines() if "openai/local:" in line)
    assert local.startswith("  ✓")
    assert "served at http://localhost:1" in local
    assert '[prices."openai/local"], input = ' in local
    assert "✓ keys: ANTHROPIC_API_KEY" in out


def test_the_facts_are_those_of_the_settings_and_the_catalogue() -> None:
    choices = Choices(model="anthropic/claude-sonnet-4-5", judge_model="2*openai/mine", judge_api_base="http://j")
    prices = {"openai/mine": ModelPrice(1, 2.5, 0.125, 9_000)}
    environ = {"ANTHROPIC_API_KEY": SECRET, "DONEWHEN_JUDGE_API_KEY": SECRET, "PATH": "/bin"}
    facts = models_facts(Settings(given=choices, prices=prices), environ, KeptModelNotes())
    assert facts.installed is not None
    assert facts.usable
    assert facts.keys == ("DONEWHEN_JUDGE_API_KEY", "ANTHROPIC_API_KEY")
    worker, judge = facts.configured
    assert (worker.role, worker.key, worker.served) == ("worker", "ANTHROPIC_API_KEY", None)
    assert worker.window is not None
    assert worker.price is not None
    assert judge == ConfiguredModel(
        "judge",
        "openai/mine",
        "http://j",
        9_000,
        "$1.00 in, $2.50 out, $0.125 cached a million tokens",
        "DONEWHEN_JUDGE_API_KEY",
        ("DONEWHEN_JUDGE_API_KEY",),
        needs_key=False,
    )
    assert SECRET not in repr(facts)


def test_a_model_without_its_key_is_told() -> None:
    (facts,) = models_facts(Settings(given=Choices(model="anthropic/unknown-model")), {}, KeptModelNotes()).configured
    assert (facts.key, facts.needs_key, facts.price, facts.window) == (None, True, None, None)
    assert facts.wanted == ("DONEWHEN_API_KEY", "ANTHROPIC_API_KEY")
    (keyless,) = models_facts(Settings(given=Choices(model="ollama/qwen")), {}, KeptModelNotes()).configured
    assert not keyless.needs_key


@pytest.mark.parametrize(("name", "lacks"), [("qwen3:4b", "provider"), ("/x", "provider"), ("openai/", "model")])
def test_a_name_that_is_no_models_is_a_problem(tmp_path: Path, name: str, lacks: str) -> None:
    found = models_facts(Settings(given=Choices(model=name)), {}, KeptModelNotes())
    assert f"✗ worker's model {name}: `{name}` names no {lacks}: write `provider/model`" in told(tmp_path, found)
    assert f"- worker agent: {name}" in told(tmp_path, found)


def test_how_a_judge_was_measured_is_told_with_what_to_do(tmp_path: Path) -> None:
    notes = KeptModelNotes()
    settings = Settings(given=Choices(judge_model="openai/mine", judge_api_base="http://j"))
    assert models_facts(settings, {}, notes).measured is None
    notes.add("openai/mine", "http://j", ModelNote(measured=Measured("2026-11-01", "v1", 5, 6, 0, 6)))
    found = models_facts(settings, {}, notes)
    assert "- judge, measured: not yet → donewhen bench --quick" in told(tmp_path, replace(found, measured=None))
    assert "✗ judge, measured: weak: accepted 5 of 6 false cases" in told(tmp_path, found)
    good = replace(found, measured=Measured("2026-11-01", "v1", 0, 6, 0, 6))
    assert "✓ judge, measured: accepted 0 of 6 false cases" in told(tmp_path, good)


def test_keys_name_the_command_that_lists_what_is_here(tmp_path: Path) -> None:
    assert "donewhen models lists them" in told(tmp_path, ModelsFacts())


@each_row(
    "version, works",
    [("1.105.3", True), ("1.100.0", True), ("1.107.0rc1", True), ("2.0", True), ("1.99.9", False), ("1.106.1", False)],
)
def test_some_versions_of_litellm_dont_work(version: str, works: bool) -> None:
    assert usable(version) is works


def test_the_package_asks_for_the_same_versions() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    (wanted,) = [one for one in project["project"]["optional-dependencies"]["litellm"]]
    oldest, broken = (".".join(map(str, version)) for version in (OLDEST, BROKEN))
    assert wanted == f"litellm>={oldest},!={broken}.*,<2"
