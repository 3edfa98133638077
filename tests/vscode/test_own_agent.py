"""VS Code's own agent, with a model that a script plays: it reads the hook that `gate install` wrote, and is held."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.scripted_models import ModelCall, Reply, calls, says
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, environment, path_without_suite
from tests.vscode.models import Models
from tests.vscode.packages import offering_extension
from tests.vscode.site import PYTEST, RIGHT, WRONG, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SETTINGS = {"chat.disableAIFeatures": False, "chat.byokUtilityModelDefault": "mainAgent"}
DISABLED = "extensionsIdentifiers/disabled"

# A window that nobody signed in to switches the extension off that the agent is part of, and remembers that.
SWITCH_ON = """async key => {
  const asked = request => new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
  let found = false;
  for (const { name } of await indexedDB.databases()) {
    const db = await asked(indexedDB.open(name));
    if (db.objectStoreNames.contains('ItemTable')) {
      const items = db.transaction('ItemTable', 'readwrite').objectStore('ItemTable');
      if (String(await asked(items.get(key))).includes('copilot')) {
        await asked(items.delete(key));
        found = true;
      }
    }
    db.close();
  }
  return found;
}"""


@pytest.fixture(scope="module")
def server(chrome: object, models: Models, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    offering = offering_extension(tmp_path_factory.mktemp("offering") / "offering.vsix", models.served.base_url)
    folder = tmp_path_factory.mktemp("vscode")
    settings: dict[str, Any] = {"settings": SETTINGS, "machine": SETTINGS, "env": environment(folder), "whole": True}
    with CodeServer(folder, **settings) as server:
        server.install(offering)
        yield server.start()


def donewhen(server: CodeServer, folder: Path, *words: str) -> str:
    """The command line in the folder, with the state of the agent's hooks."""
    env = {**os.environ, "XDG_STATE_HOME": str(server.folder / "xdg_state_home"), "PATH": path_without_suite()}
    done = subprocess.run(
        [sys.executable, "-m", "donewhen", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def ask_agent(window: Workbench, models: Models, objective: str) -> None:
    """Types it into the chat. VS Code asks to sign in where the agent isn't there yet: then it is typed again."""
    window.until(lambda: window.page.evaluate(SWITCH_ON, DISABLED), "the agent's extension, switched off", 60)
    window.reload()
    window.page.keyboard.press("Control+Alt+I")
    window.until(
        lambda: any("Scripted" in one for one in picked(window)), "the model that another extension brings", 90
    )
    asked = len(models.served.requests)

    def reached() -> bool:
        if window.notices.dialogs():
            window.page.keyboard.press("Escape")
            window.until(lambda: not window.notices.dialogs(), "no dialog")
        window.page.locator(".interactive-session .interactive-input-editor").first.click()
        window.page.keyboard.type(objective)
        window.page.keyboard.press("Enter")
        window.until(lambda: len(models.served.requests) > asked or window.notices.dialogs(), "a model that is asked")
        return len(models.served.requests) > asked

    window.until(reached, "an agent that works", 120)


def picked(window: Workbench) -> list[str]:
    return window.screen.read(".interactive-session .chat-input-toolbars .action-item", "e.innerText")


def hooked(server: CodeServer) -> str:
    """What VS Code wrote down of its hooks."""
    return "".join(text for name, text in server.logs().items() if "Chat Hooks" in name)


def sent_back(call: ModelCall) -> bool:
    return any("Done When ran its checks itself" in one.text for one in call.messages)


def edited(call: ModelCall) -> bool:
    return any(one.role == "tool" for one in call.messages)


def test_an_agent_that_lies_is_sent_back_and_may_stop_once_the_goal_is_proven(
    server: CodeServer, open_window: Opener, models: Models, tmp_path: Path
) -> None:
    folder = project(tmp_path / "held", PYTEST)
    donewhen(server, folder, "gate", "install", "vscode", "--yes")

    def agent(call: ModelCall) -> Reply:
        if not sent_back(call):
            return says("All tests pass now.")
        if edited(call):
            return says("It adds.")
        path = str(folder / "calc.py")
        return calls("replace_string_in_file", filePath=path, oldString=WRONG, newString=RIGHT, explanation="Add")

    models.play(worker=agent, judge=agent)
    window = open_window(server, folder)
    ask_agent(window, models, "Make the tests pass")
    window.until(lambda: "complete" in donewhen(server, folder, "list"), "a run that is proven", 90)
    assert (folder / "calc.py").read_text() == RIGHT
    said = hooked(server)
    assert '"decision":"block"' in said
    assert "R1 (unmet)" in said
