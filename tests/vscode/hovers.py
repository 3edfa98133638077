"""What an editor offers at a place: the hover under the pointer, the menu of quick fixes, lenses."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.vscode.editing import ACTIVE
from tests.vscode.palette import Palette
from tests.vscode.screen import Screen

AGAIN = 4.0
"""Seconds after which the pointer is moved anew: each move puts a hover off."""
HOVER = ".monaco-hover:not(.hidden) .monaco-hover-content"

# Where a text stands in the active editor: lines are drawn in a font of equal widths.
PLACE = """([editor, wanted]) => {
  for (const line of document.querySelectorAll(editor + ' .view-line')) {
    const text = line.textContent.replaceAll('\\u00a0', ' ');
    const at = text.indexOf(wanted);
    if (at < 0) continue;
    const box = line.firstElementChild.getBoundingClientRect();
    return [box.left + box.width * (at + wanted.length / 2) / text.length, box.top + box.height / 2];
  }
  return null;
}"""

# The row is clicked in the same step in which it is found: the list may be drawn anew between two.
FIX = """title => {
  for (const row of document.querySelectorAll('.action-widget .monaco-list-row.action')) {
    if (row.innerText.trim() === title) { row.click(); return true; }
  }
  return false;
}"""


@dataclass(frozen=True, slots=True)
class Hover:
    """`links` are the words and the targets of what can be pressed; `tags` the names of all elements."""

    text: str
    links: tuple[tuple[str, str], ...]
    tags: frozenset[str]


class Hovers:
    def __init__(self, screen: Screen, palette: Palette) -> None:
        self._screen = screen
        self._palette = palette

    def over(self, place: str, *wanted: str) -> Hover:
        """Rests the pointer on a text of the active editor until the hover holds all that is wanted."""
        self._rest(place)
        moved = time.monotonic()

        def shown() -> Hover | None:
            nonlocal moved
            found = self._read()
            if found is not None and all(text in found.text for text in wanted):
                return found
            if time.monotonic() - moved > AGAIN:
                self._rest(place)
                moved = time.monotonic()
            return None

        return self._screen.until(shown, f"a hover with {wanted}")

    def _rest(self, place: str) -> None:
        found = self._screen.until(lambda: self._screen.page.evaluate(PLACE, [ACTIVE, place]), f"a line with {place!r}")
        self._screen.page.mouse.move(2, 2)
        self._screen.page.mouse.move(*found)

    def text(self) -> str:
        """What the hover says that is shown, however it came; empty without one."""
        found = self._read()
        return "" if found is None else found.text

    def press(self, words: str) -> None:
        """Presses a link of the hover that is shown."""
        self._screen.page.locator(f"{HOVER} a").filter(has_text=words).first.click()

    def fixes(self) -> list[str]:
        """The entries of the quick fix menu at the cursor, which is opened."""
        rows = ".action-widget .monaco-list-row.action"

        def shown() -> list[str] | None:
            found = self._screen.read(rows, "e.innerText.trim()")
            if not found:
                self._screen.page.keyboard.press("Control+.")
                self._screen.page.wait_for_timeout(300)
            return found or None

        return self._screen.until(shown, "quick fixes")

    def fix(self, title: str) -> None:
        """Takes an entry of the menu that is open."""
        self._screen.until(lambda: self._screen.page.evaluate(FIX, title), f"{title!r} among the quick fixes")

    def refusal(self) -> str:
        """What is said at the cursor, such as that a document can't be edited."""
        return " ".join(self._screen.page.locator(".monaco-editor-overlaymessage").all_inner_texts())

    def _read(self) -> Hover | None:
        found = self._screen.read(
            HOVER,
            "[e.innerText, [...e.querySelectorAll('a')].map(a => [a.innerText, a.dataset.href ?? a.href]),"
            " [...e.querySelectorAll('*')].map(one => one.tagName)]",
        )
        if not found:
            return None
        text, links, tags = found[0]
        return Hover(text.replace("\u00a0", " "), tuple((words, target) for words, target in links), frozenset(tags))
