"""The active text editor of a window: it shows lines, takes keys, and marks what is wrong."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator

from tests.vscode.palette import Palette
from tests.vscode.screen import Screen
from tests.vscode.waiting import PATIENCE

ACTIVE = ".editor-group-container.active .editor-instance .monaco-editor"

# Lines and marks are drawn in layers of their own, which have the height in common only.
MARKED = """severity => {
  const editor = document.querySelector('.editor-group-container.active .editor-instance .monaco-editor');
  if (editor === null) return [];
  const box = e => e.getBoundingClientRect();
  const marks = [...editor.querySelectorAll('.squiggly-' + severity)].map(e => box(e).top + box(e).height / 2);
  const hit = line => marks.some(y => y > box(line).top && y < box(line).bottom);
  const lines = [...editor.querySelectorAll('.view-line')].filter(hit);
  return lines.map(line => line.textContent.replaceAll('\\u00a0', ' ').trim());
}"""


class Editors:
    """Only lines in view are drawn, so that only they are seen here."""

    def __init__(self, screen: Screen, palette: Palette) -> None:
        self._screen = screen
        self._palette = palette

    @property
    def active(self) -> Locator:
        return self._screen.page.locator(ACTIVE).first

    def open(self, path: str, within: float = PATIENCE) -> None:
        """Opens a file of the folder by its relative path and waits for its text."""
        self._palette.open_file(path, within)
        self.shown(path.rpartition("/")[2], within)

    def shown(self, name: str, within: float = PATIENCE) -> None:
        """Waits until the file of this name is the active editor, with its text."""
        self._screen.until(lambda: name == self.name() and self.lines(), f"showing {name}", within)

    def name(self) -> str:
        found = self._screen.read(".editor-group-container.active .tab.active", "e.dataset.resourceName")
        return str(found[0]) if found else ""

    def title(self) -> str:
        """What a screen reader says of the active editor's tab."""
        found = self._screen.read(".editor-group-container.active .tab.active", "e.ariaLabel")
        return str(found[0]) if found else ""

    def compared(self) -> tuple[str, str]:
        """The two texts of the diff editor."""
        sides = [self._lines(f".monaco-diff-editor .editor.{side}") for side in ("original", "modified")]
        return "\n".join(sides[0]), "\n".join(sides[1])

    def press_tab(self, title: str) -> None:
        """Shows the tab of which a screen reader says this first."""
        self._screen.page.locator(f'.tabs-container .tab[aria-label^="{title}"]').first.click()

    def lines(self) -> list[str]:
        return self._lines(ACTIVE)

    def _lines(self, editor: str) -> list[str]:
        found: list[Any] = self._screen.read(
            f"{editor} .view-line", "[e.getBoundingClientRect().top, e.textContent.replaceAll('\\u00a0', ' ')]"
        )
        return [text for _, text in sorted(found)]

    def text(self) -> str:
        return "\n".join(self.lines())

    def marked(self, severity: str = "error") -> list[str]:
        """The lines under which there is a squiggle: "error", "warning", "info" or "hint"."""
        return sorted(set(self._screen.page.evaluate(MARKED, severity)))

    def wait_marked(self, *texts: str, severity: str = "error", within: float = PATIENCE) -> None:
        """Until squiggles are under lines that hold these texts, one each and no others; without any, under none."""

        def as_wanted() -> bool:
            lines = self.marked(severity)
            return len(lines) == len(texts) and all(any(text in line for line in lines) for text in texts)

        self._screen.until(as_wanted, f"marked as {severity}: {texts}", within)

    def lenses(self) -> list[str]:
        return self._screen.read(f"{ACTIVE} .codelens-decoration", "e.innerText.replaceAll('\\u00a0', ' ').trim()")

    def wait_lens(self, text: str, within: float = PATIENCE) -> None:
        """Until the lenses above a line hold the text."""
        shown: list[str] = []

        def there() -> bool:
            shown[:] = [" ".join(one.split()) for one in self.lenses()]
            return any(text in one for one in shown)

        try:
            self._screen.until(there, f"a lens {text!r}", within)
        except AssertionError as error:
            error.add_note(f"the lenses: {shown}")
            raise

    def press_lens(self, title: str) -> None:
        self.active.locator(".codelens-decoration a", has_text=title).first.click()

    def replace_line(self, number: int, text: str) -> None:
        """Types over a line, as a person would: its indentation stays."""
        keys = self._screen.page.keyboard
        self._palette.go_to(number)
        self._screen.until(lambda: not self._palette.open, "at the line")
        keys.press("Home")
        keys.press("Shift+End")
        keys.type(text)

    def save(self) -> None:
        """Saves what was changed."""
        tab = ".editor-group-container.active .tab.active"
        self._screen.until(lambda: self._screen.read(f"{tab}.dirty", "true"), "changed")
        self._screen.page.keyboard.press("Control+S")
        self._screen.until(lambda: self._screen.read(f"{tab}:not(.dirty)", "true"), "saved")
