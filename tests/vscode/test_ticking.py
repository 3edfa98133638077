"""Boxes that tick themselves once a run is complete, and the receipt of it for a pull request."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vscode.conftest import Opener, installed
from tests.vscode.site import BAR, PYTEST, RIGHT, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_proven_boxes_tick_themselves_and_the_receipt_is_short(vsix: Path, open_window: Opener, tmp_path: Path) -> None:
    folder = project(tmp_path / "adder", PYTEST)
    goal = folder / "GOAL.md"
    with installed(vsix, tmp_path / "vscode", {"donewhen.tickBoxes": True, "donewhen.worker": "human"}) as server:
        window = open_window(server, folder)
        window.editor.open("GOAL.md")
        window.palette.run("Done When: Start")
        window.notices.wait_bar(BAR, "0 of 1 met")
        (folder / "calc.py").write_text(RIGHT, encoding="utf-8")
        window.notices.wait("Proven: 1 of 1 in", 60)

        # It is saved, as nothing else was unsaved, makes nothing stale, and can be undone.
        window.until(lambda: "- [x] " in goal.read_text(encoding="utf-8"), "ticked on the disk")
        window.until(lambda: any(one.startswith("Met") for one in window.editor.lenses()), "still met")
        window.screenshot(tmp_path / "ticked.png")

        window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        window.notices.press("Proven: 1 of 1 in", "Copy Receipt")
        clipboard = "navigator.clipboard.readText()"
        window.until(lambda: "`python -m pytest -q` passes" in window.page.evaluate(clipboard), "the receipt")
        receipt = window.page.evaluate(clipboard)
        assert len(receipt.splitlines()) <= 15
        assert "| ✅ | `python -m pytest -q` passes | `python -m pytest -q` | " in receipt

        window.editor.open("GOAL.md")
        window.page.keyboard.press("Control+z")
        window.until(lambda: any("- [ ]" in line for line in window.editor.lines()), "undone")
