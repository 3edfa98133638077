"""The real packages, in an environment of their own, on the models of a scripted server."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.environment import ROOT, agents_python
from tests.library.test_migrating import REAL, Example, check_printed, judge, run
from tests.scripted_models import ModelCall, Part, Reply, ScriptedModels, calls, says

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PACKAGES = ("strands", "openhands", "cubeloop", "pydantic_ai", "openai_agents", "langgraph")
RED = "from price import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
GOES_ON = 7.0
"""Seconds in which a stopped agent is watched."""

WORK = (
    says("All tests pass.").spending(100, 10),
    calls("fix").spending(200, 20),
    says("It is mended.").spending(300, 30),
)
SCRIPT = {
    "works": (*WORK, *WORK),
    "answers": (says("the first answer"), says("the second answer")),
    "evaluated": (calls("fix"), says("Mended, I think."), says("It really is.")),
    "claimed": (calls("fix"), says("It is mended.")),
    "stops": Part([calls("wait")], when_out="repeat_last"),
}


def variables(python: Path) -> dict[str, str]:
    """What the packages need to start fast, and to say no more than they are asked."""
    return {
        "PYTHONPATH": str(ROOT / "server"),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(python.parent.parent / "pycache"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks the network for prices as it is imported
        "OPENHANDS_SUPPRESS_BANNER": "1",
        "LOG_LEVEL": "ERROR",
    }


def environment(state: Path, python: Path) -> dict[str, str]:
    dropped = ("DONEWHEN_", "OPENAI_", "ANTHROPIC_", "OTEL_", "AWS_")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(dropped) and "proxy" not in name.casefold()
    }
    places = {name: str(state) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return {**kept, **places, **variables(python)}


@pytest.fixture(scope="module")
def python() -> Path:
    return agents_python()


@pytest.fixture(scope="module", params=PACKAGES)
def played(request: pytest.FixtureRequest, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What all scenarios of one package came to, played in one process."""
    folder = tmp_path_factory.mktemp(request.param)
    for name in SCRIPT:
        (folder / name).mkdir()
        (folder / name / "test_price.py").write_text(RED)
    program = [str(python), str(ROOT / "tests/adapters/peers.py"), request.param]
    with ScriptedModels(SCRIPT) as models, (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            [*program, models.base_url, str(folder)], env=environment(folder / "state", python), cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            told = first_json(process.stdout)
            assert told is not None, (folder / "errors").read_text()[-4000:]
            asked = len(models.requests)
            with pytest.raises(TimeoutError):
                models.wait(lambda models: len(models.requests) > asked, within=GOES_ON)
            out, _ = process.communicate("\n", timeout=60)
        finally:
            process.kill()
            process.communicate()
        told["waits_later"] = json.loads(out.splitlines()[-1])["waits"]
        assert not models.failures
        yield told


def first_json(lines: Iterator[str]) -> dict[str, Any] | None:
    """What the program says first; the packages print, too."""
    return next((json.loads(line) for line in lines if line.startswith('{"')), None)


def test_an_agent_works_until_the_server_s_own_tests_are_green(played: Any) -> None:
    worked = played["works"]
    assert (worked["status"], worked["iterations"], worked["again"]) == ("complete", 2, "complete"), worked


def test_what_it_cost_is_read(played: Any) -> None:
    assert played["works"]["tokens"] == [600, 60]
    assert played["works"]["cost"] is None  # nobody knows the price of a scripted model


def test_it_makes_no_call_once_it_is_stopped(played: Any) -> None:
    """That no model is called is watched while it is played."""
    stopped = played["stops"]
    assert (stopped["status"], stopped["warnings"]) == ("cancelled", [])
    assert played["waits_later"] <= stopped["waits"]


def test_a_validator_is_given_the_answer_as_text(played: Any) -> None:
    answered = played["answers"]
    assert [one["text"].strip() for one in answered["given"]] == ["the first answer", "the second answer"]
    assert all(one["same"] for one in answered["given"])
    assert answered["stop_reason"] == "satisfied"


def test_an_evaluator_reads_the_conversation_with_its_tool_calls(played: Any) -> None:
    read = played["evaluated"]["read"][-1]
    assert "price.py is written" in read
    assert "fix" in read
    assert "It really is." in read
    assert played["evaluated"]["goal"]["status"] == "achieved"


def test_its_messages_are_claims_and_its_model_is_found(played: Any, request: pytest.FixtureRequest) -> None:
    claimed = played["claimed"]
    roles = [role for role, _, _ in claimed["seen"] if role != "system"]
    assert roles in (["user", "assistant", "tool", "assistant"], ["user", "assistant", "user", "assistant"])  # Strands'
    assert "fix" in str(claimed["seen"])
    assert "price.py is written" in str(claimed["seen"])
    assert (claimed["response"], claimed["status"]) == ("It is mended.", "complete")
    if request.node.callspec.params["played"] == "langgraph":
        assert "has no name that is known here" in claimed["model"][0]
    else:
        name, place, key = claimed["model"]
        assert (name, key) == ("openai/claimed", "sk-of-nobody-0123456789abcdef")
        assert place.startswith("http://127.0.0.1:")


# ------------------------------------------------------------------------------------- the guide's examples

LONG = "Sunlight enters each drop, bends, bounces off its far side and bends once more on its way out."
SHORT = "Sunlight bends in raindrops."
SAID = {
    "openhands": (LONG, SHORT, "Drops refract light.", SHORT),
    "strands": (
        "Dispersion refracts the spectrum.",
        "Raindrops bend sunlight. Each colour bends its own way.",
        "word " * 60,
        SHORT,
    ),
    "cubeloop": ("Red, green and blue.", "Red, orange, yellow, green, blue, indigo and violet."),
}


@pytest.mark.parametrize("example", REAL, ids=lambda one: re.search("^from (\\w+)", one.code, re.MULTILINE)[1])
def test_an_example_of_the_guide_with_the_package_s_own_agent(example: Example, python: Path, tmp_path: Path) -> None:
    said = iter(next((answers for name, answers in SAID.items() if f"from {name}" in example.code), (LONG, SHORT)))

    def agent(call: ModelCall) -> Reply:
        """The agent's model; where nobody named another one, its judge's, too."""
        return judge(call) if "the response itself" in call.text else says(next(said))

    with ScriptedModels({"gpt-5.5": agent, "gpt-4o": agent, "gpt-5.5-mini": judge}) as models:
        printed = run(example, tmp_path, models.base_url, str(python), **variables(python))
        assert not models.failures
    check_printed(printed, example.printed)
    assert next(said, None) is None
