"""Panels and views of a window: Problems, trees of extensions, webviews."""

from __future__ import annotations

import json
import re

from playwright.sync_api import FrameLocator, Locator

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

    def expand(self, view: str, text: str, *, opened: bool = True) -> None:
        """Opens a node of a tree where it is closed, or closes it."""
        row = self._row(view, text)
        wanted = str(opened).lower()

        def done() -> bool:
            if row.get_attribute("aria-expanded") != wanted:
                row.locator(".monaco-tl-twistie").click()
                self._screen.page.wait_for_timeout(500)  # a tree that is just drawn anew loses the click: then again
            return row.get_attribute("aria-expanded") == wanted

        self._screen.until(done, f"opened or closed: {text}")

    def _row(self, view: str, text: str) -> Locator:
        """The first row that holds the text, in just these letters: a string would match any case."""
        return self._screen.page.locator(_rows(view)).filter(has_text=re.compile(re.escape(text))).first

    def press_row(self, view: str, text: str, action: str | None = None) -> None:
        """Clicks a node of a tree, or one of the buttons that it shows on the right."""
        row = self._row(view, text)
        row.hover()
        if action is None:
            row.locator(".monaco-icon-label").first.click()
        else:
            row.get_by_role("button", name=action, exact=True).click()

    def badge(self, container: str) -> str:
        """What the icon of a container in the activity bar says with its badge; empty without one."""
        icons = ".activitybar .action-item:has(.badge:not([style*='none'])) .action-label"
        return " ".join(one for one in self._screen.read(icons, "e.ariaLabel ?? ''") if one.startswith(container))

    def menu(self) -> list[str]:
        """The entries of the context menu that is open."""
        return [one.strip() for one in self._screen.page.locator(".monaco-menu .action-label").all_inner_texts()]

    def pick_menu(self, entry: str) -> None:
        """Goes to an entry of the menu that is open, with the keys, and takes it."""
        focused = self._screen.page.locator(".monaco-menu .action-item.focused .action-label")

        def there() -> bool:
            if focused.count() and focused.first.inner_text().strip() == entry:
                return True
            self._screen.page.keyboard.press("ArrowDown")
            return False

        self._screen.until(there, f"at {entry} in the menu")
        self._screen.page.keyboard.press("Enter")

    # -------------------------------------------------------------------------------------- webviews

    def webview(self, index: int = 0) -> FrameLocator:
        """The inside of a webview: a frame within a frame."""
        return self._screen.page.frame_locator("iframe.webview.ready").nth(index).frame_locator("iframe#active-frame")


def _tree(view: str) -> str:
    return f"[role=tree][aria-label^={json.dumps(view)}]"


def _rows(view: str) -> str:
    return f"{_tree(view)} [role=treeitem]"
