"""The models of the editor as worker and judge: the server asks the client, which leaves or says what is wrong."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from donewhen.app.services import Services
from donewhen.lsp.client_profile import ClientProfile
from donewhen.lsp.host import Host
from donewhen.lsp.protocol import Server
from donewhen.lsp.session import Session
from donewhen.ports import EditorSilent

from .editor import Editor
from .rawclient import Message

COMPLETE = "donewhen/model/complete"
WORKER, JUDGE = "editor/test/worker", "editor/test/judge"
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
    return folder


def start(editor: Editor, root: Path, *, offers: bool = True, **settings: Any) -> str:
    """Starts a run of the editor's model, and consents to it."""
    chosen = {"worker": "agent", "model": WORKER, "maxIterations": 1, "approve": "ask", "sandbox": "off"} | settings
    features = {"interrupts": True, "languageModels": offers}
    editor.start(root=root, options={"settings": chosen, "clientFeatures": features})
    uri = editor.open(root / "GOAL.md")
    run_id = editor.execute("donewhen.run.start", {"goalUri": uri}, timeout=60)["runId"]
    (asked,) = editor.snapshot(run_id, lambda one: bool(one["interrupts"]), timeout=60)["interrupts"]
    assert WORKER in asked["preview"]
    editor.execute("donewhen.run.answer", {"runId": run_id, "interruptId": asked["id"], "response": "approve"})
    return run_id


def asked_for(editor: Editor) -> Message:
    return editor.expect(COMPLETE, timeout=60)


def calling(name: str, **arguments: str) -> Message:
    return {"text": "", "calls": [{"id": "c1", "name": name, "arguments": json.dumps(arguments)}], "inputTokens": 900}


def test_the_editors_model_works_and_its_usage_is_kept_without_a_cost(editor: Editor, root: Path) -> None:
    run_id = start(editor, root)
    question = asked_for(editor)
    assert question["params"]["model"] == WORKER
    assert "write_file" in [one["name"] for one in question["params"]["tools"]]
    editor.reply(question, calling("write_file", path="done.txt", content="hi\n"))
    editor.reply(asked_for(editor), calling("report", state="finished", text="It says hi."))
    last = editor.snapshot(run_id, lambda one: one["status"] == "complete", timeout=60)
    assert last["cost"]["usd"] is None
    assert last["cost"]["worker"]["inputTokens"] == 1800
    assert editor.goodbye() == 0


def test_a_judge_without_consent_pauses_the_run_and_heard_no_word_of_the_worker(editor: Editor, root: Path) -> None:
    (root / "GOAL.md").write_text("# Say hi\n\n- [ ] done.txt greets politely\n  - file: `done.txt`\n")
    run_id = start(editor, root, judgeModel=JUDGE)
    editor.reply(asked_for(editor), calling("write_file", path="done.txt", content="hi\n"))
    editor.reply(asked_for(editor), calling("report", state="finished", text="It says hi."))
    question = asked_for(editor)
    assert question["params"]["model"] == JUDGE
    assert "It says hi." not in json.dumps(question["params"])
    editor.reply(question, {"problem": {"kind": "consent", "message": "denied"}})
    last = editor.snapshot(run_id, lambda one: one["status"] == "paused", timeout=60)
    assert "was not allowed to use editor/test/judge" in json.dumps(last)
    assert editor.goodbye() == 0


def test_a_missing_consent_ends_the_run_with_what_to_do(editor: Editor, root: Path) -> None:
    run_id = start(editor, root)
    editor.reply(asked_for(editor), {"problem": {"kind": "consent", "message": "denied"}})
    last = editor.snapshot(run_id, lambda one: one["status"] not in ("running", "waiting"), timeout=60)
    assert "was not allowed to use editor/test/worker" in json.dumps(last)
    assert editor.goodbye() == 0


def test_an_editor_that_offers_no_models_is_not_asked(editor: Editor, root: Path) -> None:
    run_id = start(editor, root, offers=False)
    last = editor.snapshot(run_id, lambda one: one["status"] not in ("running", "waiting"), timeout=60)
    assert "is a model of an editor" in json.dumps(last)
    assert editor.goodbye() == 0


def test_a_stopped_run_withdraws_the_question(editor: Editor, root: Path) -> None:
    run_id = start(editor, root)
    question = asked_for(editor)
    editor.execute("donewhen.run.stop", {"runId": run_id}, timeout=60)
    withdrawn = editor.expect("$/cancelRequest", timeout=60)
    assert withdrawn["params"]["id"] == question["id"]
    assert editor.goodbye() == 0


@pytest.mark.asyncio
async def test_a_window_that_closes_while_it_is_asked_is_silent_and_the_next_one_is_asked() -> None:
    host, question = Host(Services()), {"model": WORKER}
    first = Session(Server(), host, ClientProfile(language_models=True), outlived=True)
    asking = asyncio.ensure_future(host.ask_editor(question, 60))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await first.disconnect("the editor is gone")
    with pytest.raises(EditorSilent, match="closed before its model answered"):
        await asking
    with pytest.raises(EditorSilent, match="no editor window that offers models is connected"):
        await host.ask_editor(question, 60)
    second = Session(Server(), host, ClientProfile(language_models=True), outlived=True)
    with pytest.raises(EditorSilent, match=r"did not answer donewhen/model/complete within 0.01 s"):
        await host.ask_editor(question, 0.01)
    await second.disconnect("the editor is gone")
