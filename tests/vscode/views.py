"""Panels and views of a window: Problems, trees of extensions, webviews."""

from __future__ import annotations

import json

from playwright.sync_api import FrameLocator

from tests.vscode.palette import Palette
from tests.vscode.screen import Screen
from tests.vscode.waiting import PATIENCE


class Views:
    def __init__(self, screen: Screen, palette: Palette) -> None:
        self._screen = screen
        self._palette = palette

    # -------------------------------------------------------------------------------------- problems

    def problems(self) -> list[str]:
        """The entries of the Problems panel, as a screen reader says them; it is opened where it isn't."""
        panel = self._screen.page.locator(".markers-panel-container:visible")
        if not panel.count():
            self._palette.run("Problems: Focus on Problems View")
            panel.wait_for()
        return self._screen.read(".markers-panel-container [role=treeitem]", "e.ariaLabel")

    def wait_problem(self, *texts: str, within: float = PATIENCE) -> str:
        """The entry that holds all the texts."""
        return self._screen.until(
            lambda: next((one for one in self.problems() if all(text in one for text in texts)), None),
            f"a problem with {texts}", within,
        )  # fmt: skip

    # ----------------------------------------------------------------------------------------- trees

    def tree(self, view: str) -> list[str]:
        """What is in view of a tree, by the view's title, as a screen reader says it."""
        return self._screen.read(f"{_rows(view)}", "e.ariaLabel ?? e.textContent.trim()")

    def wait_tree(self, view: str, text: str, within: float = PATIENCE) -> str:
        return self._screen.until(
            lambda: next((one for one in self.tree(view) if text in one), None), f"in {view}: {text!r}", within
        )

    def expand(self, view: str, text: str) -> None:
        """Opens a node of a tree where it is closed."""
        row = self._screen.page.locator(_rows(view)).filter(has_text=text).first
        if row.get_attribute("aria-expanded") == "false":
            row.locator(".monaco-tl-twistie").click()
            self._screen.until(lambda: row.get_attribute("aria-expanded") == "true", f"opened: {text}")

    def press_row(self, view: str, text: str, action: str | None = None) -> None:
        """Clicks a node of a tree, or one of the buttons that it shows on the right."""
        row = self._screen.page.locator(_rows(view)).filter(has_text=text).first
        row.hover()
        if action is None:
            row.locator(".monaco-icon-label").first.click()
        else:
            row.get_by_role("button", name=action).click()

    def welcome(self) -> str:
        return " ".join(self._screen.read(".pane-body .welcome-view", "e.innerText"))

    # -------------------------------------------------------------------------------------- webviews

    def webview(self, index: int = 0) -> FrameLocator:
        """The inside of a webview: a frame within a frame."""
        return self._screen.page.frame_locator("iframe.webview.ready").nth(index).frame_locator("iframe#active-frame")


def _rows(view: str) -> str:
    return f"[role=tree][aria-label^={json.dumps(view)}] [role=treeitem]"
