"""The box at the top of a window: the command palette, opening files, and the pickers of an extension."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator

from tests.vscode.screen import Screen
from tests.vscode.waiting import PATIENCE

# Finding the entry and clicking it is one step in the page: between two, a picker may be drawn anew, and a click from
# outside that is given up on a busy machine may still arrive, and be the second.
CLICK = """([wanted, whole, detail]) => {
  for (const row of document.querySelectorAll('.quick-input-widget .monaco-list-row')) {
    if (row.offsetParent === null) continue;
    const text = part => row.querySelector(part)?.textContent.replaceAll('\\u00a0', ' ').trim() ?? '';
    const label = text('.label-name') || row.textContent.trim();
    const fits = whole ? label === wanted : label.includes(wanted);
    if (fits && text('.label-description').endsWith(detail)) { row.click(); return true; }
  }
  return false;
}"""


class Palette:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._keys = screen.page.keyboard

    @property
    def box(self) -> Locator:
        return self._screen.page.locator(".quick-input-widget:visible .quick-input-box input")

    @property
    def open(self) -> bool:
        return self.box.is_visible()

    def title(self) -> str:
        return " ".join(self._screen.read(".quick-input-widget .quick-input-title", "e.innerText"))

    def options(self) -> list[str]:
        """The entries in view, as a screen reader says them."""
        return self._screen.read(".quick-input-widget .monaco-list-row", "e.ariaLabel ?? e.textContent")

    # ------------------------------------------------------------------------------ what a person does

    def run(self, title: str, within: float = PATIENCE) -> None:
        """Runs a command by its full title, such as "Done When: Set Goal", as soon as there is such a command."""
        self._search("F1", ">", title, (title, True, ""), within)

    def open_file(self, path: str, within: float = PATIENCE) -> None:
        folder, _, name = path.rpartition("/")
        self._search("Control+P", "", path, (name, True, folder), within)

    def go_to(self, line: int, column: int = 1) -> None:
        self._search("Control+G", ":", f"{line}:{column}", (f"line {line}", False, ""), PATIENCE)

    def commands(self, prefix: str) -> list[str]:
        """The commands in view that the palette offers for a beginning."""
        self._keys.press("F1")
        self.box.wait_for()
        self.box.fill(f">{prefix}")
        found = self._screen.until(
            lambda: [one for one in self.options() if one.startswith(prefix)], f"commands of {prefix}"
        )
        self.dismiss()
        return found

    def pick(self, text: str, within: float = PATIENCE) -> None:
        """Takes the first entry whose label holds the text; in a checklist it ticks or unticks it."""
        self._screen.until(lambda: self._click(text, False, ""), f"an entry with {text!r}", within)

    def answer(self, text: str) -> None:
        """Types into the box that is open and presses Enter."""
        self.box.wait_for()
        self.box.fill(text)
        self.box.press("Enter")

    def accept(self) -> None:
        self.box.press("Enter")

    def dismiss(self) -> None:
        self._keys.press("Escape")
        self._screen.until(lambda: not self.open, "a closed picker")

    def _typed(self) -> str | None:
        """What stands in the box, None where there is none."""
        found = self._screen.read(".quick-input-widget .quick-input-box input", "e.value")
        return found[0] if found else None

    def _click(self, *entry: Any) -> bool:
        return bool(self._screen.page.evaluate(CLICK, list(entry)))

    def _search(self, key: str, prefix: str, text: str, entry: tuple[str, bool, str], within: float) -> None:
        """A window that starts may not know key or command yet, or take the focus away: so all is tried again."""
        deadline = time.monotonic() + within
        while True:
            with contextlib.suppress(PlaywrightError, AssertionError):
                if not self.open:
                    self._keys.press(key)
                    self.box.wait_for(timeout=1500)
                self.box.fill(prefix + text, timeout=1500)
                self._screen.until(lambda: self._click(*entry), "chosen", 1.5)
                # Else the next words would be typed into it, not into what the command asks for.
                self._screen.until(lambda: self._typed() != prefix + text, "done with it")
                return
            shown = self.options()
            assert time.monotonic() < deadline, f"{text!r} isn't offered; shown: {shown}; {self._screen.state()}"
            with contextlib.suppress(PlaywrightError):
                self.box.press("Escape", timeout=500)  # so that it is asked anew; it may be another question's, too
