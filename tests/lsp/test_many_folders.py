"""Many workspace folders in one server: when each is let go, and what there is where they are too many."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from donewhen.app.services import Services
from donewhen.lsp.host import AT_ONCE, Host

from .editor import Editor, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="counts descriptors")


@pytest.fixture
def editor(own_editor: Editor) -> Editor:
    return own_editor


def folders_in(place: Path, number: int) -> list[Path]:
    made = [place / f"w{one}" for one in range(number)]
    for folder in made:
        folder.mkdir()
        (folder / "GOAL.md").write_text("# G\n\n- [ ] `test -f done.txt` passes\n")
    return made


def begin(editor: Editor, folders: list[Path]) -> None:
    editor.start(
        capabilities={"workspace": {"workspaceFolders": True}}, workspaceFolders=[named(one) for one in folders]
    )


def named(folder: Path) -> dict[str, str]:
    return {"uri": folder.as_uri(), "name": folder.name}


def change(editor: Editor, *, added: list[Path] | None = None, removed: list[Path] | None = None) -> None:
    event = {"added": [named(one) for one in added or ()], "removed": [named(one) for one in removed or ()]}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})


def check(editor: Editor, folder: Path) -> Any:
    return editor.execute("donewhen.goal.check", {"goalUri": (folder / "GOAL.md").as_uri()})


def held() -> tuple[int, int]:
    """The descriptors of this process, and its threads that watch a folder or keep its record."""
    kept = [one for one in threading.enumerate() if one.name.startswith(("watching", "ledger"))]
    return psutil.Process().num_fds(), len(kept)


def test_a_removed_folder_is_let_go_and_opened_again_when_it_is_back(editor: Editor, tmp_path: Path) -> None:
    folders = folders_in(tmp_path, 3)
    before = held()
    begin(editor, folders)
    for folder in folders:
        check(editor, folder)
    wait_until(lambda: held()[1] >= before[1] + 2 * len(folders))
    change(editor, removed=folders)
    # Threads of the loop's own pool stay, with the descriptors that the loop has for itself.
    wait_until(lambda: held()[1] <= before[1] and held()[0] < before[0] + 2 * len(folders))
    change(editor, added=folders)
    assert check(editor, folders[0])["counts"]["unmet"] == 1
    assert editor.goodbye() == 0


@pytest.mark.slow
def test_a_removed_folder_is_kept_as_long_as_it_is_at_work_or_its_goal_is_open(editor: Editor, tmp_path: Path) -> None:
    working, shown = folders_in(tmp_path, 2)
    before = held()[1]
    begin(editor, [working, shown])
    goal = editor.open(shown / "GOAL.md")
    checked = check(editor, shown)["runId"]
    uri = (working / "GOAL.md").as_uri()
    run_id = editor.execute("donewhen.run.start", {"goalUri": uri, "worker": "human"})["runId"]
    change(editor, removed=[working, shown])
    (working / "done.txt").write_text("")
    assert editor.snapshot(run_id, lambda told: told["status"] == "complete")["complete"]
    (shown / "done.txt").write_text("")
    editor.snapshot(checked, lambda told: told["freshness"] is not None and not told["freshness"]["fresh"])
    editor.notify("textDocument/didClose", {"textDocument": {"uri": goal}})
    wait_until(lambda: held()[1] <= before)
    assert editor.goodbye() == 0


def limited(soft: int, hard: int) -> list[str]:
    limits = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))"
    return [sys.executable, "-c", f"{limits}; from donewhen.__main__ import main; raise SystemExit(main(['serve']))"]


@pytest.mark.slow
def test_more_folders_than_descriptors_are_refused_and_the_others_work(tmp_path: Path) -> None:
    folders = folders_in(tmp_path, 9)
    editor = Editor(tmp_path / "state", command=limited(80, 128))
    try:
        begin(editor, folders)
        assert "128 files" in str(editor.expect("window/showMessage")["params"]["message"])
        asked = [
            editor.begin(
                "workspace/executeCommand",
                {"command": "donewhen.goal.check", "arguments": [{"goalUri": (one / "GOAL.md").as_uri()}]},
            )
            for one in folders
        ]
        answers = [editor.response(number) for number in asked]
        refused = [answer["error"] for answer in answers if "error" in answer]
        assert [one["code"] for one in refused] == [-32803, -32803]
        assert all("enough for 7 folders" in one["message"] for one in refused)
        assert "Traceback" not in editor.stderr
        assert editor.goodbye() == 0
    finally:
        editor.close()


@pytest.mark.slow
async def test_few_folders_begin_at_once_and_one_that_takes_long_holds_nobody_up() -> None:
    host, begun, go_on = Host(Services()), asyncio.Queue[int](), asyncio.Event()

    async def one(number: int) -> None:
        async with host.turn():
            begun.put_nowait(number)
            await go_on.wait()

    tasks = [asyncio.ensure_future(one(number)) for number in range(3 * AT_ONCE)]
    async with asyncio.timeout(20):
        first = [await begun.get() for _ in range(AT_ONCE)]
        assert begun.empty()
        after = [await begun.get() for _ in range(AT_ONCE)]
        go_on.set()
        await asyncio.gather(*tasks)
    assert sorted((*first, *after, *(begun.get_nowait() for _ in range(AT_ONCE)))) == list(range(3 * AT_ONCE))
