"""Whole runs with models that never call a tool, behind a server that takes tools and never tells its model of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from donewhen.ports import Measured, ModelNote
from donewhen.store.folders import private_folder
from donewhen.store.model_notes import KeptModelNotes
from tests.agent.site import PYTEST, Site, judge_says, met, prompts
from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, says

GOAL = f"""# An exporter

`row` joins cells by commas and doubles quotes.

- [ ] `{PYTEST}` passes
"""
BROKEN = 'def row(cells):\n    return ",".join(cells)\n'
REPAIRED = "def row(cells):\n    return ','.join(one.replace('\"', '\"\"') for one in cells)\n"
TEST = "from writer import row\n\n\ndef test_quotes():\n    assert row(['a\"b', 'c']) == 'a\"\"b,c'\n"


class ProseModel:
    """A model that only ever answers in text: prose where it is offered tools, an action where a schema asks for
    one."""

    def __init__(self, actions: Sequence[dict[str, object]]) -> None:
        self.actions = iter(actions)
        self.asked: list[str] = []

    def __call__(self, call: ModelCall) -> Reply:
        kind = (call.response_format or {}).get("type")
        self.asked.append("tools" if call.body.get("tools") else str(kind))
        if kind != "json_schema":
            return says("I would look at writer.py and double the quotes.")
        action = next(self.actions, {"tool": "report", "arguments": {"state": "finished", "text": "done"}})
        return says(json.dumps(action))


def project(site: Site) -> None:
    site.goal(GOAL)
    (site.root / "writer.py").write_text(BROKEN)
    (site.root / "test_writer.py").write_text(TEST)


def repair() -> list[dict[str, object]]:
    return [
        {"say": "Look.", "tool": "read_file", "arguments": {"path": "writer.py"}},
        {"tool": "write_file", "arguments": {"path": "writer.py", "content": REPAIRED}},
    ]


@pytest.mark.slow
def test_a_model_that_only_answers_in_text_repairs_a_project_under_a_schema(site: Site) -> None:
    project(site)
    worker = ProseModel(repair())
    with ScriptedModels({"worker": worker}) as models:
        code, last = site.run(models, "--max-iterations", "2")
        assert (code, last["status"], met(last)) == (0, "complete", ["met"]), last["reason"]
        assert worker.asked == ["tools", "json_schema", "json_schema", "json_schema"]

        # The next run begins with what was found out in this one.
        (site.root / "writer.py").write_text(BROKEN)
        seen = len(worker.asked)
        worker.actions = iter(repair())
        code, last = site.run(models, "--max-iterations", "2")
        assert (code, last["status"]) == (0, "complete"), last["reason"]
        assert worker.asked[seen:] == ["json_schema"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("said", ["report, impossible", '{"name": "report", "arguments": {"state": "impossible"}}'])
def test_a_claim_that_is_only_written_down_changes_nothing(site: Site, said: str) -> None:
    project(site)
    with ScriptedModels({"worker": lambda call: says(said)}) as models:
        code, last = site.run(models, "--max-iterations", "2")
        asked = prompts(models, "worker")
    assert code == 3 or last["status"] in ("paused", "capped", "blocked")
    assert last["status"] not in ("complete", "impossible"), last
    assert not last["interrupts"]  # nobody is asked about a claim that nobody made
    assert met(last) == ["unmet"]
    assert (site.root / "writer.py").read_text() == BROKEN
    assert "writes down tool calls as text" in json.dumps(last)
    assert asked


@pytest.mark.slow
@pytest.mark.parametrize("accepted", [False, True])
def test_a_judge_that_failed_its_measurement_proves_nothing_by_itself(site: Site, accepted: bool) -> None:
    site.goal("# A note\n\n- [ ] The note says hello\n  - file: `note.txt`\n")
    worker = [calls("write_file", path="note.txt", content="hello\n"), says("Done.")]
    with ScriptedModels({"worker": worker, "judge": judge_says()}) as models:
        failed = Measured("2026-01-02", "c0ffee", accepted=5, false=6, rejected=0, true=6)
        KeptModelNotes(private_folder(site.state)).add("openai/judge", models.base_url, ModelNote(measured=failed))
        code, last = site.run(models, *(("--accept-weak-judge", "on") if accepted else ()))
    (one,) = last["requirements"]
    if not accepted:
        assert (code, last["status"], one["status"]) == (1, "blocked", "unverified"), last
        assert "only a weak judge says that it is met" in one["reason"]
        return
    assert (code, last["status"], one["decidedBy"], one["grade"]) == (0, "complete", "judge", "weak_judge"), last[
        "reason"
    ]
    assert last["reason"] == "every requirement is proven or on the word of a weak judge (R1)"
    (warning,) = [one for one in last["warnings"] if one["code"] == "weak_judge"]
    assert "openai/judge accepted 5 of 6 false cases, rejected 0 of 6 true ones (2026-01-02)" in warning["message"]
    receipt = site.cli("report").stdout
    assert "weak judge `openai/judge`" in receipt
    assert "accepted 5 of 6 false cases" in receipt
    for form in ("short", "markdown", "html", "json", "junit", "sarif", "in-toto"):
        assert "weak" in site.cli("report", "--format", form).stdout, form
    assert "on the word of a weak judge" in site.cli("report", "--format", "short").stdout
