"""A window without a mouse: keys alone, and where the focus is after them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from tests.vscode.palette import Palette
from tests.vscode.screen import Screen

ENTRY = ".quick-input-widget .monaco-list-row.focused"
SPOKEN = "e.ariaLabel ?? e.innerText.trim()"
FOCUSED = """() => {
  const e = document.activeElement;
  const spoken = e.getAttribute('aria-activedescendant');
  const said = (spoken && document.getElementById(spoken)) || e;
  return said.ariaLabel ?? said.innerText ?? '';
}"""


class Keyboard:
    """`alone` from there on, `pointed` tells how often a pointer was pressed all the same."""

    def __init__(self, screen: Screen, palette: Palette) -> None:
        self._screen = screen
        self._palette = palette
        self._keys = screen.page.keyboard

    def alone(self) -> None:
        self._screen.page.evaluate(
            "() => { window.pointed = 0; addEventListener('pointerdown', () => { window.pointed += 1; }, true); }"
        )

    def pointed(self) -> int:
        return int(self._screen.page.evaluate("() => window.pointed"))

    def press(self, *keys: str) -> None:
        for key in keys:
            self._keys.press(key)

    def press_until(self, key: str, holds: Callable[[], bool], what: str) -> None:
        """The first press may but close a hover."""

        def held() -> bool:
            self.press(key)
            with contextlib.suppress(AssertionError):
                return self._screen.until(holds, what, 2)
            return False

        self._screen.until(held, what)

    def type(self, text: str) -> None:
        self._keys.type(text)

    def command(self, title: str) -> None:
        """Types a command's whole title into the palette and takes the first entry, once it is that command."""

        def offered() -> bool:
            if not self._palette.open:
                self.press("F1")
                self._palette.box.wait_for(timeout=3000)
                self.type(title)
            found = self._screen.read(ENTRY, "e.querySelector('.label-name')?.textContent ?? ''")
            if found and str(found[0]).replace("\u00a0", " ").strip() == title:
                return True
            # A command that the window doesn't know yet: only others like it, or none.
            if not found or str(found[0]).replace("\u00a0", " ").strip() not in title:
                self.press("Escape")
            return False

        self._screen.until(offered, f"the command {title!r}")
        self.press("Enter")

    def show(self, title: str) -> None:
        """Runs a command that puts the focus into a tree. One that isn't drawn yet takes none."""

        def there() -> bool:
            self.command(title)
            try:
                return self._screen.until(lambda: self.within("[role=tree]"), "in the tree", 3)
            except AssertionError:
                return False

        self._screen.until(there, f"in the tree of {title!r}")

    def open_file(self, name: str) -> None:
        """A file that has just come may not be found at first: what a picker shows of it doesn't change."""

        def offered() -> bool:
            self.press("Control+P")
            self._palette.box.wait_for()
            self.type(name)
            try:
                return self._screen.until(lambda: name in self.entry(), f"{name} in the picker", 5)
            except AssertionError:
                self.press("Escape")
                return False

        self._screen.until(offered, f"{name} in a picker")
        self.press("Enter")

    def entry(self) -> str:
        """The entry of the picker that Enter takes."""
        return " ".join(self._screen.read(ENTRY, SPOKEN))

    def focused(self) -> str:
        """What a screen reader says of what has the focus, outside webviews."""
        return str(self._screen.page.evaluate(FOCUSED))

    def within(self, part: str) -> bool:
        """Whether the focus is in a part of the window, by its selector."""
        return bool(self._screen.page.evaluate("part => document.activeElement.closest(part) !== null", part))

    def go(self, key: str, text: str, most: int = 60) -> str:
        """Presses a key until what has the focus says the text."""
        for _ in range(most):
            with contextlib.suppress(AssertionError):
                return self._screen.until(lambda: self._said(text), f"on {text!r}", 0.4)
            self.press(key)
        raise AssertionError(f"{key} never comes to {text!r}: {self.focused()!r}; {self._screen.state()}")

    def go_into(self, key: str, part: str, most: int = 20) -> None:
        """Presses a key until the focus is in that part of the window."""
        for _ in range(most):
            if self.within(part):
                return
            self.press(key)
            self._screen.page.wait_for_function("() => document.activeElement !== null")
        raise AssertionError(f"{key} never comes into {part}: {self.focused()!r}")

    def _said(self, text: str) -> str | None:
        said = self.focused()
        return said if text in said else None
