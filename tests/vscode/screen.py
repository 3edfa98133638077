"""The page that a window is drawn on: reading many elements at once, and waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page

from tests.vscode.waiting import PATIENCE, until

T = TypeVar("T")


class Screen:
    def __init__(self, page: Page) -> None:
        self.page = page

    def read(self, selector: str, value: str) -> list[Any]:
        """`value`, in terms of the element `e`, of each visible element: in one step, since the page is drawn anew."""
        script = f"s => [...document.querySelectorAll(s)].filter(e => e.offsetParent !== null).map(e => {value})"
        return list(self.page.evaluate(script, selector))

    def until(self, probe: Callable[[], T | None], what: str, within: float = PATIENCE) -> T:
        """As `waiting.until`; the error says what the window shows.

        A probe that reads a page while it is drawn anew fails with an error of Playwright's: that is not yet an answer.
        """
        redrawn: list[PlaywrightError] = []

        def answer() -> T | None:
            try:
                return probe()
            except PlaywrightError as error:
                redrawn[:] = [error]
                return None

        try:
            return until(answer, what, within, lambda seconds: self.page.wait_for_timeout(seconds * 1000))
        except AssertionError as error:
            error.add_note(self.state())
            for last in redrawn:
                error.add_note(f"the last error of a probe: {last}")
            raise

    def state(self) -> str:
        """What a person would look at first, for messages of failed tests."""
        shown = {
            "status bar": self.read(".statusbar-item.left[id]", "e.innerText.trim()"),
            "notifications": self.read(".notification-list-item-message", "e.innerText"),
            "dialogs": self.read(".monaco-dialog-box .dialog-message-container", "e.innerText"),
            "picker": self.read(".quick-input-widget .monaco-list-row", "e.ariaLabel"),
            "tabs": self.read(".tabs-container .tab", "e.dataset.resourceName"),
        }
        return "the window shows " + "; ".join(f"{name}: {text}" for name, text in shown.items() if text)
