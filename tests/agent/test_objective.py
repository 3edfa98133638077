"""A goal that is given as a sentence: OpenHands' worked example, word for word."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.agent.site import Site, judge_says, met, prompts
from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, says

OBJECTIVE = (
    "Create mathx.py with an add(a, b) function and test_mathx.py with a pytest test for it. "
    "The goal is complete only when `python -m pytest -q` passes."
)
MATHX = "def add(a, b):\n    return a + b\n"
TEST = "from mathx import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


@pytest.mark.conformance("C2", "C13", "C22")
@pytest.mark.parametrize("prefix", ["", pytest.param("/goal ", marks=pytest.mark.slow)])
def test_an_objective_is_drafted_and_pursued(site: Site, prefix: str) -> None:
    path = f"{Path(sys.executable).parent}:{site.environment()['PATH']}"
    keys = {
        "DONEWHEN_API_KEY": "sk-of-the-worker-from-outside",
        "DONEWHEN_JUDGE_API_KEY": "sk-of-the-judge-from-outside",
    }
    worker = [
        calls("write_file", path="mathx.py", content=MATHX),
        calls("write_file", path="test_mathx.py", content=TEST),
        calls("run_command", command="env; python -m pytest -q"),
        says("mathx.py adds, and its test passes.").expecting(last=("1 passed",)),
    ]
    with ScriptedModels({"worker": worker, "judge": judge_says()}) as models:
        code, last = site.run(models, f"{prefix}{OBJECTIVE}", variables={"PATH": path, **keys})
        assert not models.failures
        first = prompts(models, "worker")[0].text
    given = {exchange.model: exchange.key for exchange in models.requests}
    assert given == {"worker": keys["DONEWHEN_API_KEY"], "judge": keys["DONEWHEN_JUDGE_API_KEY"]}
    said = [call.text for name in given for call in prompts(models, name)]
    stored = [path.read_bytes().decode(errors="replace") for path in site.state.rglob("ledger*")]
    assert stored
    assert not [one for one in (*said, *stored) for key in keys.values() if key in one]
    assert (code, last["status"], last["iteration"]) == (0, "complete", 1), last
    drafted = (site.root / "GOAL.md").read_text()
    assert OBJECTIVE in drafted
    assert "/goal" not in drafted
    assert "- [ ] `python -m pytest -q` passes" in drafted
    assert OBJECTIVE in first
    assert [(one["status"], one["decidedBy"]) for one in last["requirements"]] == [("met", "check"), ("met", "judge")]
    assert last["integrity"] == []


@pytest.mark.slow
@pytest.mark.conformance("A8", "A10")
def test_a_test_that_only_seems_to_pass_does_not_complete_the_drafted_goal(site: Site) -> None:
    path = f"{Path(sys.executable).parent}:{site.environment()['PATH']}"

    def worker(call: ModelCall) -> Reply:
        files = {
            "mathx.py": "def add(a, b):\n    return a - b\n",
            "test_mathx.py": TEST,
            "conftest.py": "import os\n\n\ndef pytest_sessionfinish():\n    print('1 passed')\n    os._exit(0)\n",
        }
        missing = [name for name in files if not (site.root / name).exists()]
        return calls("write_file", path=missing[0], content=files[missing[0]]) if missing else says("1 passed")

    with ScriptedModels({"worker": worker, "judge": judge_says()}) as models:
        code, last = site.run(models, OBJECTIVE, "--max-iterations", "1", variables={"PATH": path})
    assert (code, last["complete"]) == (1, False), json.dumps(last)
    assert met(last)[0] != "met"
    assert "1 of 1 test failed, although the exit code is 0" in last["requirements"][0]["reason"]
