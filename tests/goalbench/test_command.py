"""`donewhen bench`, as a person calls it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from donewhen.app.services import Services
from donewhen.cli.calling import ServeOptions
from donewhen.cli.main import main
from donewhen.cli.terminal import Terminal
from tests.cli.fakes import Typed, desk
from tests.scripted_models import ModelCall, Reply, ScriptedModels, fails, says


@dataclass
class Called:
    code: int
    out: str
    err: str


def _no_server(options: ServeOptions) -> int:
    raise AssertionError("nothing is served here")


def bench(folder: Path, *arguments: str) -> Called:
    stdout, stderr = io.StringIO(), io.StringIO()
    terminal = Terminal(stdout, stderr, Typed(()), {})
    argv = ["--workspace", str(folder), "--state-dir", str(folder / "state"), "bench", *arguments]
    code = main(argv, Services(), _no_server, terminal=terminal, user_file=folder / "user.toml", log_folder=folder)
    return Called(code, stdout.getvalue(), stderr.getvalue())


@pytest.mark.slow
def test_without_a_model_the_scripted_judges_are_measured(tmp_path: Path) -> None:
    called = bench(tmp_path, "--case", "lie-nothing-done", "judged-names-an-option-only", "judged-every-file")

    assert called.code == 0
    assert "| lies | 1 | 0 of 1 (0%) | - | - |" in called.out
    assert "| honest | 0 of 1 (0%) | 0 of 1 (0%) | 0 of 2 (0%) | - |" in called.out
    assert "| gullible | 1 of 1 (100%) | 0 of 1 (0%) | 0 of 2 (0%) | - |" in called.out
    assert "| hostile | 0 of 1 (0%) | 1 of 1 (100%) | 2 of 2 (100%) | - |" in called.out
    assert "--judge-model PROVIDER/NAME" in called.out
    assert "lie-nothing-done: capped" in called.err


@pytest.mark.slow
def test_the_same_as_json(tmp_path: Path) -> None:
    called = bench(tmp_path, "--json", "--case", "judged-names-an-option-only")
    found = json.loads(called.out)

    assert called.code == 0
    (case,) = found["cases"]
    assert (case["id"], case["asExpected"], case["requirements"]) == (
        "judged-names-an-option-only",
        True,
        {"R1": "unmet"},
    )
    rates = {judge["judge"]: judge["falseAccepts"] for judge in found["judges"]}
    assert rates["honest"] == {"wrong": 0, "of": 1}
    assert rates["gullible"] == {"wrong": 1, "of": 1}
    assert found["broken"] == []


def test_cases_are_listed_with_what_they_are_about(tmp_path: Path) -> None:
    called = bench(tmp_path, "--list", "--case", "lies")

    assert called.code == 0
    assert called.out.startswith("lies\n  lie-nothing-done: The worker changes nothing")
    assert "judged" not in called.out
    assert (
        json.loads(bench(tmp_path, "--list", "--json", "--case", "lie-nothing-done").out)["cases"][0]["group"] == "lies"
    )


@pytest.mark.parametrize("more", [(), ("--list",), ("--judge-model", "openai/gpt-x")])
def test_an_unknown_case_is_refused(tmp_path: Path, more: tuple[str, ...]) -> None:
    called = bench(tmp_path, "--case", "lie-nothing-donne", *more)

    assert called.code == 2
    assert "there is no case 'lie-nothing-donne': did you mean 'lie-nothing-done'" in called.err
    assert "donewhen bench --list" in called.err
    assert called.out == ""


def answering(wrong: str) -> Callable[[ModelCall], Reply]:
    """A model that finds everything met, but for the goals that `wrong` stands in."""

    def reply(call: ModelCall) -> Reply:
        (label,) = set(re.findall(r"^(R\d+): ", call.text, re.MULTILINE))
        cited = sorted(set(re.findall(r' id="(E\d+)"', call.text.partition("# Evidence")[2])))
        status = "unmet" if wrong in call.text else "met"
        found = {"id": label, "status": status, "reason": "as it is shown", "evidence_ids": cited}
        whole = status == "met"
        return says(
            json.dumps(
                {
                    "requirements": [found],
                    "score": float(whole),
                    "complete": whole,
                    "missing": "" if whole else "what it should do",
                }
            )
        )

    return reply


@pytest.mark.slow
def test_a_model_is_measured_with_its_rates_and_its_cost(tmp_path: Path) -> None:
    chosen = ("judged-names-an-option-only", "judged-comment-instead-of-code", "judged-every-file", "lie-nothing-done")
    with ScriptedModels({"judge": answering("leaves out names")}) as models:
        model = ("--judge-model", "openai/judge", "--judge-api-base", models.base_url)
        called = bench(tmp_path, *model, "--case", *chosen)

    assert called.code == 0, called.err
    assert "false accept: 1 of 2 (50%)" in called.out
    assert "false reject: 0 of 1 (0%)" in called.out
    assert "| lies | 1 | 0 of 1 (0%) | - | - | - | - |" in called.out
    assert "cost: cost unknown" in called.out
    assert "A false accept lets a run end as complete" in called.out


@pytest.mark.slow
def test_a_model_is_measured_as_json(tmp_path: Path) -> None:
    with ScriptedModels({"judge": answering("no such text")}) as models:
        model = ("--judge-model", "openai/judge", "--judge-api-base", models.base_url)
        called = bench(tmp_path, *model, "--json", "--case", "judged-every-file")

    (judge,) = json.loads(called.out)["judges"]
    assert (judge["judge"], judge["falseRejects"], judge["usd"]) == ("openai/judge", {"wrong": 0, "of": 1}, None)
    assert judge["tokens"] > 0


@pytest.mark.slow
def test_a_model_that_cannot_be_asked_ends_it_at_once(tmp_path: Path) -> None:
    with ScriptedModels({"judge": lambda call: fails(401)}) as models:
        model = ("--judge-model", "openai/judge", "--judge-api-base", models.base_url)
        called = bench(tmp_path, *model, "--case", "judged", "lies")

    assert called.code != 0
    assert called.out == ""
    assert "openai/judge could not be asked, so nothing was measured" in called.err
    assert "lie-nothing-done" not in called.err


@pytest.mark.parametrize("interactive", [True, False])
def test_no_more_than_the_command_says_what_takes_minutes(interactive: bool, tmp_path: Path) -> None:
    call = desk(tmp_path, interactive=interactive)
    assert call("bench") == 2
    assert "with scripted judges, which takes minutes" in " ".join(call.err.split())
