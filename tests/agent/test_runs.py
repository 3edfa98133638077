"""Whole runs with the built-in agent and a judge: real processes, real HTTP, models played on loopback."""

from __future__ import annotations

import json

import pytest

from tests.agent.site import PYTEST, Site, judge_says, met, prompts
from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, fails, says

MATHX = "def add(a, b):\n    return a + b\n"
TEST = "from mathx import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
GOAL = f"""# An adder

Create mathx.py with an add(a, b) function and test_mathx.py with a pytest test for it. The goal is complete only
when `python -m pytest -q` passes.

- [ ] `{PYTEST}` passes
- [ ] mathx.py defines `add(a, b)`, and test_mathx.py tests it
  - file: `mathx.py`
  - file: `test_mathx.py`
"""


@pytest.mark.conformance("C2", "C3", "C10", "A8", "A16")
def test_the_worked_mathx_example(site: Site) -> None:
    """OpenHands' example: an agent that stops half-way is sent on until pytest passes and the judge agrees."""
    site.goal(GOAL)
    worker = [
        calls("write_file", path="mathx.py", content=MATHX),
        says("All done: 5 passed."),
        calls("write_file", path="test_mathx.py", content=TEST).expecting("no test"),
        calls("run_command", command=PYTEST),
        calls("report", state="finished", text="The test passes.").expecting("1 passed"),
    ]
    with ScriptedModels({"worker": worker, "judge": judge_says()}) as models:
        code, last = site.run(models, "--max-iterations", "3")
        assert not models.failures
    assert (code, last["status"], last["iteration"]) == (0, "complete", 2), last["reason"]
    assert met(last) == ["met", "met"]
    assert [one["decidedBy"] for one in last["requirements"]] == ["check", "judge"]
    assert "All done: 5 passed" not in "".join(call.text for call in prompts(models, "judge"))
    assert last["cost"]["worker"]["inputTokens"] > 0
    assert last["cost"]["judge"]["outputTokens"] > 0
    assert last["cost"]["usd"] is None  # nobody knows the price of these models


@pytest.mark.slow
@pytest.mark.conformance("C23", "A2")
def test_an_open_approval_is_answered_after_the_process_ended(site: Site) -> None:
    site.goal("# A note\n\n- [ ] `test -f note.txt` passes\n")

    def worker(call: ModelCall) -> Reply:
        if call.last.role == "tool":
            return says("done")
        return calls("run_command", command="touch note.txt")

    with ScriptedModels({"worker": worker}) as models:
        code, last = site.run_asking(models, "--sandbox", "off")
        assert (code, last["status"]) == (3, "paused"), last["reason"]
        (asked,) = last["interrupts"]
        assert (asked["tool"], asked["input"]) == ("run_command", {"command": "touch note.txt"})
        assert not (site.root / "note.txt").exists()
        answered = site.cli("answer", last["runId"], asked["id"], "approve")
        assert answered.returncode in (0, 3), answered.stderr
        done = site.cli("resume", last["runId"], "--json")
        assert len(prompts(models, "worker")) == 2
    final = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, final["status"]) == (0, "complete"), final


@pytest.mark.slow  # the default suite does the same in an editor
@pytest.mark.conformance("A6")
def test_a06_a_judge_that_is_down_pauses_the_run(site: Site) -> None:
    site.goal("# A note\n\n- [ ] The note says hello\n  - file: `note.txt`\n")
    worker = [calls("write_file", path="note.txt", content="hello\n"), says("done")]
    with ScriptedModels({"worker": worker, "judge": lambda call: fails(401)}) as models:
        code, last = site.run(models)
        assert (code, last["status"], last["iteration"]) == (3, "paused", 1)
        assert "DONEWHEN_JUDGE_API_KEY" in last["reason"]
    with ScriptedModels({"judge": judge_says()}, port=models.port) as again:
        done = site.cli("resume", last["runId"], "--json")
        assert len(prompts(again, "judge")) == 1
    final = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, final["status"], final["iteration"]) == (0, "complete", 1)


def test_a_wrong_key_pauses_the_run_at_once_and_says_what_to_set(site: Site) -> None:
    site.goal("# A note\n\n- [ ] `test -f note.txt` passes\n")
    with ScriptedModels({"worker": [says("hello")]}, key="right") as models:
        wrong = {"DONEWHEN_API_KEY": "sk-wrong-key-of-mine-1234567890"}
        code, last = site.run(models, variables=wrong)
        typed = site.cli("resume", variables=wrong)
    assert (code, last["status"], last["iteration"]) == (3, "paused", 0)
    assert last["modelTrouble"]["repairs"][0] == "set_key"
    assert "DONEWHEN_API_KEY" in typed.stderr
    assert "sk-wrong-key" not in json.dumps(last) + typed.stdout + typed.stderr


def test_a_dollar_budget_with_an_unknown_price_refuses_to_start(site: Site) -> None:
    site.goal("# A note\n\n- [ ] `test -f note.txt` passes\n")
    with ScriptedModels({"worker": [says("hello")]}) as models:
        done = site.cli(
            "run", "--worker", "agent", "--model", "openai/worker", "--api-base", models.base_url, "--budget", "1"
        )
        assert not models.requests
    assert done.returncode == 2
    assert "price" in done.stderr
    assert "token" in done.stderr
