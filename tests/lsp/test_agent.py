"""The built-in agent in an editor: keys from its secret storage, its unsaved text respected, its person asked."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, calls_all, fails, says, tool

from .editor import Editor
from .rawclient import Message

KEY = "sk-of-the-editor-1234567890"
GOAL = "# Say hi\n\n- [ ] `grep -q hi done.txt` passes\n"


@pytest.fixture
def editor(own_editor: Editor) -> Editor:
    own_editor.ignored.add("donewhen/activity")
    return own_editor


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "GOAL.md").write_text(GOAL)
    (folder / "words.txt").write_text("saved\n")
    return folder


def start(editor: Editor, root: Path, models: ScriptedModels, **options: object) -> str:
    settings = {"model": "openai/worker", "apiBase": models.base_url, "maxIterations": 1}
    settings |= {"approve": "ask", "sandbox": "off"}
    editor.start(root=root, options={"settings": settings} | options)
    editor.notify("donewhen/setSecret", {"name": "DONEWHEN_API_KEY", "value": KEY})
    uri = editor.open(root / "GOAL.md")
    return editor.execute("donewhen.run.start", {"goalUri": uri}, timeout=60)["runId"]


def about(topic: str) -> Callable[[Message], bool]:
    return lambda snapshot: [one["about"] for one in snapshot["interrupts"]] == [topic]


def accept_start(editor: Editor, run_id: str) -> Message:
    """Accepts the start by its id; returns what was asked."""
    (asked,) = editor.snapshot(run_id, about("start"), timeout=60)["interrupts"]
    answer = {"runId": run_id, "interruptId": asked["id"], "response": "approve"}
    editor.execute("donewhen.run.answer", answer)
    return asked


@pytest.mark.slow
@pytest.mark.conformance("A2", "A20")
def test_a_run_of_the_agent_asks_and_never_writes_over_unsaved_text(editor: Editor, root: Path) -> None:
    worker = [
        calls("write_file", path="words.txt", content="by the agent\n"),
        calls("run_command", command="echo no > done.txt").expecting("unsaved"),
        calls("report", state="finished", text="It says hi.").expecting("the person changed the command"),
    ]
    with ScriptedModels({"worker": worker}, key=KEY) as models:
        run_id = start(editor, root, models, clientFeatures={"interrupts": True})
        editor.open(root / "words.txt")
        editor.edit(root / "words.txt", "typed by a person\n")
        start_asked = accept_start(editor, run_id)
        assert "openai/worker" in start_asked["preview"]
        assert "Checks execute what the worker wrote" in start_asked["preview"]
        waiting = editor.snapshot(run_id, about("tool:run_command"), timeout=60)
        (asked,) = waiting["interrupts"]
        assert (waiting["worker"], waiting["model"], waiting["status"]) == ("agent", "openai/worker", "waiting")
        assert (asked["kind"], asked["tool"], asked["input"]) == (
            "approval",
            "run_command",
            {"command": "echo no > done.txt"},
        )
        # The write was refused: it is what the worker did before.
        assert (asked["folder"], asked["said"], asked["before"]) == (str(root), "", "wrote words.txt")
        assert not (root / "done.txt").exists()
        answer = {"runId": run_id, "interruptId": asked["id"], "response": "edit"}
        assert editor.execute_error("donewhen.run.answer", answer)["code"] == -32602
        editor.execute("donewhen.run.answer", answer | {"input": {"command": "echo hi > done.txt"}})
        last = editor.snapshot(run_id, lambda s: s["status"] == "complete", timeout=60)
        models.verify()
    assert (root / "words.txt").read_text() == "saved\n"
    assert (root / "done.txt").read_text() == "hi\n"
    assert last["cost"]["usd"] is None
    assert last["cost"]["worker"]["inputTokens"] > 0
    assert KEY not in editor.execute("donewhen.run.report", {"runId": run_id, "format": "json"})["text"]
    assert editor.goodbye() == 0


@pytest.mark.slow
@pytest.mark.conformance("A2")
def test_a_client_without_interrupts_gets_a_message_that_holds_the_command(editor: Editor, root: Path) -> None:
    worker = [
        calls("read_file", path="words.txt"),
        calls_all(tool("run_command", command="echo hi > done.txt"), text="I write it."),
        calls("report", state="finished", text="Done.").expecting("not run"),
    ]
    with ScriptedModels({"worker": worker}) as models:
        run_id = start(editor, root, models)
        request = editor.expect("window/showMessageRequest", timeout=60)
        assert request["params"]["message"].startswith("Start this run?\n")
        editor.reply(request, {"title": "Start"})
        request = editor.expect("window/showMessageRequest", timeout=60)
        lines = ["Run `echo hi > done.txt`?", "echo hi > done.txt", f"In {root}", "The worker says: I write it."]
        assert request["params"]["message"] == "\n".join([*lines, "Just before, it read words.txt"])
        assert [one["title"] for one in request["params"]["actions"]] == ["Deny", "Approve"]
        # A message that has gone out of sight is shown again for the lens "Answer".
        editor.execute("donewhen.run.answer", {"runId": run_id, "interruptId": "I2"})
        assert editor.expect("$/cancelRequest")["params"] == {"id": request["id"]}
        again = editor.expect("window/showMessageRequest", timeout=60)
        assert again["params"] == request["params"]
        assert editor.execute_error("donewhen.run.answer", {"runId": run_id, "interruptId": "I9"})["code"] == -32602
        editor.reply(again, {"title": "Deny"})
        editor.snapshot(run_id, lambda s: s["status"] == "capped", timeout=60)
        models.verify()
    assert not (root / "done.txt").exists()
    assert editor.goodbye() == 0


@pytest.mark.slow
def test_a_goal_that_is_set_is_proposed_by_the_judges_model(editor: Editor, root: Path) -> None:
    proposals = {"requirements": ["words.txt holds a greeting"]}
    with ScriptedModels({"judge": [says(json.dumps(proposals))]}, key=KEY) as models:
        settings = {"model": "openai/worker", "judgeModel": ["openai/judge"], "judgeApiBase": models.base_url}
        editor.start(root=root, options={"settings": settings})
        editor.notify("donewhen/setSecret", {"name": "DONEWHEN_JUDGE_API_KEY", "value": KEY})
        result = editor.execute("donewhen.goal.set", {"objective": "Greet"}, timeout=60)
        uri, notes = result["goalUri"], result["notes"]
        models.verify()
        assert "words.txt" in json.dumps(models.requests[0].body)
    text = (root / "greet.goal.md").read_text()
    assert uri.endswith("/greet.goal.md")
    assert "proposed by openai/judge: words.txt holds a greeting" in notes
    assert "<!--" not in text
    assert "- [ ] words.txt holds a greeting\n" in text
    assert editor.goodbye() == 0


def activity(editor: Editor, run_id: str, wanted: Callable[[dict[str, Message]], bool]) -> dict[str, Message]:
    """The steps that the client is told, by kind; of equal kinds the latest; once they are as wanted."""
    steps: dict[str, Message] = {}
    while not wanted(steps):
        told = editor.wait_for(lambda m: m.get("method") == "donewhen/activity", 60)["params"]
        assert told["runId"] == run_id
        steps |= {one["kind"]: one for one in told["steps"]}
    return steps


@pytest.mark.slow
def test_whoever_follows_a_run_is_told_each_step_and_a_hint_reaches_the_next_call(editor: Editor, root: Path) -> None:
    long = "x" * 9_000
    worker = [
        calls("read_file", path="words.txt"),
        calls("edit_file", path="words.txt", old="saved", new="edited by it"),
        calls("run_command", command=f"echo {long}; echo hi > done.txt"),
        calls("report", state="finished", text="It says hi."),
    ]
    heard: list[str] = []

    def part(call: ModelCall) -> Reply:
        heard.append(call.messages[-1].text)
        return worker[len([one for one in call.messages if one.role == "tool"])]

    with ScriptedModels({"worker": part}, key=KEY) as models:
        run_id = start(editor, root, models, clientFeatures={"interrupts": True})
        begun = editor.execute("donewhen.run.activity", {"runId": run_id, "follow": True})
        assert begun["runId"] == run_id
        accept_start(editor, run_id)
        waiting = editor.snapshot(run_id, about("tool:run_command"), timeout=60)
        seen = activity(editor, run_id, lambda steps: "asks" in steps and bool(steps.get("edits", {}).get("diff")))
        assert seen["reads"]["title"] == "read words.txt"
        edits = seen["edits"]
        assert (edits["diff"], edits["added"], edits["removed"]) == ("@@ -1 +1 @@\n-saved\n+edited by it", 1, 1)
        assert edits["uri"] == (root / "words.txt").as_uri()
        told = editor.execute("donewhen.run.hint", {"runId": run_id, "text": "say it in French"})
        assert told == {"when": "nextCall"}
        answer = {"runId": run_id, "interruptId": waiting["interrupts"][0]["id"], "response": "approve"}
        editor.execute("donewhen.run.answer", answer)
        editor.snapshot(run_id, lambda s: s["status"] == "complete", timeout=60)
    assert heard[-1].endswith("say it in French")
    assert not any("French" in one for one in heard[:-1])
    steps = {one["kind"]: one for one in editor.execute("donewhen.run.activity", {"runId": run_id})["steps"]}
    assert (steps["hint"]["text"], steps["hint"]["state"]) == ("say it in French", "done")
    ran = steps["runs"]
    assert ran["cut"] is True
    assert len(ran["text"]) < 5_000
    (full,) = editor.execute("donewhen.run.activity", {"runId": run_id, "stepId": ran["id"]})["steps"]
    assert long in full["text"]
    assert steps["end"]["title"].startswith("Complete")
    refused = editor.execute_error("donewhen.run.hint", {"runId": run_id, "text": "too late"})
    assert "has ended" in refused["message"]


def shown(view: Message) -> list[str]:
    """What is in view of a run at work: in the status bar, in the timeline, and under its goal."""
    return [view["status"]["text"], view["timeline"]["activity"], *[one["label"] for one in view["node"]["children"]]]


@pytest.mark.slow
def test_a_model_that_does_not_answer_is_told_of_at_once_wherever_a_person_looks(editor: Editor, root: Path) -> None:
    read = threading.Event()
    parts: list[Callable[[ModelCall], Reply]] = []

    def reading(call: ModelCall) -> Reply:
        assert read.wait(60)
        return fails(429, "Rate limit reached")

    parts.append(reading)
    with ScriptedModels({"worker": lambda call: parts[-1](call)}) as models:
        run_id = start(editor, root, models, clientFeatures={"interrupts": True, "views": True})
        accept_start(editor, run_id)

        def everywhere(pattern: str) -> Callable[[Message], bool]:
            return lambda snapshot: sum(bool(re.search(pattern, one)) for one in shown(snapshot["view"])) >= 3

        editor.snapshot(run_id, everywhere(r"thinking \(reading [\d,]+ tokens\), \d+ s"), timeout=60)
        read.set()
        editor.snapshot(run_id, everywhere("the model answers 429, trying again"), timeout=60)
        parts.append(lambda call: fails(401, "No such key"))
        view = editor.snapshot(run_id, lambda s: s["status"] == "paused", timeout=60)["view"]
        assert ("model unreachable" in view["status"]["text"], view["state"]) == (True, "model unreachable")
        assert "No such key" in view["outcome"]
        assert "--" not in view["outcome"]  # nobody in an editor has a command line or an environment before them
        assert "API_KEY" not in view["outcome"]
        assert view["repairs"][0]["label"] == "Set API Key…"
        parts.append(
            lambda call: (
                calls("report", state="finished", text="It says hi.")
                if any(one.role == "tool" for one in call.messages)
                else calls("write_file", path="done.txt", content="hi\n")
            )
        )
        editor.notify("donewhen/setSecret", {"name": "DONEWHEN_API_KEY", "value": KEY})
        editor.execute("donewhen.run.resume", {"runId": run_id})
        editor.snapshot(run_id, lambda s: s["status"] == "complete", timeout=60)
    assert editor.goodbye() == 0
