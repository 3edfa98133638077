"""What the doctor says about models, without a value of any key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from donewhen.app.doctor import BROKEN, OLDEST, DoctorLine, litellm_line, measured_line, worker_lines
from donewhen.ports import Measured, ModelFacts, ModelNote, Price
from donewhen.settings.loading import Settings
from donewhen.settings.table import Choices
from donewhen.store.model_notes import KeptModelNotes
from tests.tools import each_row

SECRET = "sk-never-to-be-shown"
KEYS = {"ANTHROPIC_API_KEY": SECRET, "DONEWHEN_JUDGE_API_KEY": SECRET, "PATH": "/bin"}


def told(
    choices: Choices | None = None,
    environ: Mapping[str, str] = MappingProxyType({}),
    litellm: str | None = "1.105.3",
    notes: KeptModelNotes | None = None,
    **settings: Any,
) -> dict[str, DoctorLine]:
    chosen = Settings(given=choices or Choices(), **settings)
    return {one.name: one for one in worker_lines(chosen, environ, litellm, notes or KeptModelNotes())}


def test_nothing_installed_and_nothing_set_says_how_to_get_both() -> None:
    lines = told(litellm=None)
    said = "not installed: it calls other providers than OpenAI and Anthropic, and knows prices"
    assert (lines["litellm"].state, lines["litellm"].detail) == ("missing", said)
    assert "[litellm]" in lines["litellm"].how
    assert (lines["worker agent"].state, lines["worker agent"].detail) == ("missing", "no model is set")
    assert lines["worker agent"].how.startswith("set a model: --model PROVIDER/NAME")
    assert lines["judge"].detail == "none is set: you are asked about what no check decides"
    assert lines["judge"].how.startswith("set one: --judge-model")
    assert (lines["keys"].state, lines["keys"].detail) == ("missing", "none is set")
    assert "donewhen models lists them" in lines["keys"].how
    assert lines["worker acp"].state == "missing"
    assert lines["worker human"].state == "ok"


def test_a_version_that_doesnt_work_is_a_problem() -> None:
    lines = told(Choices(model="anthropic/claude-sonnet-4-5"), litellm="1.106.2")
    assert (lines["litellm"].state, lines["litellm"].detail) == ("problem", "1.106.2 doesn't work here")
    assert lines["worker agent"].state == "ok"  # by the official client


def test_what_is_configured_is_told_with_price_window_and_key() -> None:
    choices = Choices(model="anthropic/claude-sonnet-4-5", judge_model="2*openai/mine", judge_api_base="http://j")
    prices = {"openai/mine": ModelFacts(9_000, price=Price(1, 2.5, 0.125))}
    lines = told(choices, KEYS, prices=prices)
    assert lines["worker agent"] == DoctorLine("worker agent", "ok", "anthropic/claude-sonnet-4-5")
    assert lines["judge"] == DoctorLine("judge", "ok", "openai/mine")
    worker = lines["worker's model anthropic/claude-sonnet-4-5"]
    assert worker.state == "ok"
    assert worker.detail.endswith("tokens of context, $3.00 in, $15.00 out, $0.30 cached a million tokens, key in "
                                  "ANTHROPIC_API_KEY")  # fmt: skip
    cost = "$1.00 in, $2.50 out, $0.125 cached a million tokens"
    served = f"served at http://j, 9,000 tokens of context, {cost}, key in DONEWHEN_JUDGE_API_KEY"
    assert lines["judge's model openai/mine"] == DoctorLine("judge's model openai/mine", "ok", served)
    assert lines["keys"].detail == "DONEWHEN_JUDGE_API_KEY, ANTHROPIC_API_KEY"
    assert SECRET not in repr(lines)


def test_a_model_without_its_key_is_told() -> None:
    line = told(Choices(model="anthropic/unknown-model"))["worker's model anthropic/unknown-model"]
    assert (line.state, line.detail) == ("problem", "context unknown, price unknown, no key")
    assert line.how == "set DONEWHEN_API_KEY or ANTHROPIC_API_KEY"
    keyless = told(Choices(model="ollama/qwen"))["worker's model ollama/qwen"]
    assert keyless.state == "ok"
    assert '[prices."ollama/qwen"], input = ' in keyless.how


@pytest.mark.parametrize(("name", "lacks"), [("qwen3:4b", "provider"), ("/x", "provider"), ("openai/", "model")])
def test_a_name_that_is_no_models_is_a_problem(name: str, lacks: str) -> None:
    lines = told(Choices(model=name))
    assert lines[f"worker's model {name}"].state == "problem"
    assert lines[f"worker's model {name}"].detail.startswith(f"`{name}` names no {lacks}: write `provider/model`")
    assert lines["worker agent"].state == "missing"


def test_how_a_judge_was_measured_is_told_with_what_to_do() -> None:
    notes, judge = KeptModelNotes(), Choices(judge_model="openai/mine", judge_api_base="http://j")
    line = told(judge, notes=notes)["judge, measured"]
    assert (line.state, line.detail) == ("missing", "not yet")
    assert line.how.startswith("donewhen bench --quick")
    notes.add("openai/mine", "http://j", ModelNote(measured=Measured("2026-11-01", "v1", 5, 6, 0, 6)))
    weak = told(judge, notes=notes)["judge, measured"]
    assert (weak.state, weak.detail.partition(",")[0]) == ("problem", "weak: accepted 5 of 6 false cases")
    good = measured_line(Measured("2026-11-01", "v1", 0, 6, 0, 6), "openai/mine")
    assert (good.state, good.detail.partition(",")[0]) == ("ok", "accepted 0 of 6 false cases")


@each_row(
    "version, works",
    [("1.105.3", True), ("1.100.0", True), ("1.107.0rc1", True), ("2.0", True), ("1.99.9", False), ("1.106.1", False)],
)
def test_some_versions_of_litellm_dont_work(version: str, works: bool) -> None:
    assert (litellm_line(version).state == "ok") is works


def test_the_package_asks_for_the_same_versions() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    (wanted,) = [one for one in project["project"]["optional-dependencies"]["litellm"]]
    oldest, broken = (".".join(map(str, version)) for version in (OLDEST, BROKEN))
    assert wanted == f"litellm>={oldest},!={broken}.*,<2"
