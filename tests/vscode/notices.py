"""What a window tells a person: the status bar, notifications, dialogs."""

from __future__ import annotations

import re

from tests.vscode.screen import Screen
from tests.vscode.waiting import PATIENCE

TOAST = ".notifications-toasts .notification-list-item"
CENTRE = ".notifications-center"

PRESS = """([box, wanted, button]) => {
  for (const notice of document.querySelectorAll(box)) {
    if (notice.offsetParent === null || !notice.innerText.includes(wanted)) continue;
    for (const one of notice.querySelectorAll('.monaco-button, .notification-list-item-message a')) {
      if (one.innerText.trim() === button) { one.click(); return true; }
    }
  }
  return false;
}"""


class Notices:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    # ------------------------------------------------------------------------------------ status bar

    def bar(self, item: str) -> str:
        """The text of a status bar item whose id ends so; empty where there is none."""
        found = self._screen.read(f'.statusbar-item[id$="{item}"]', "e.innerText")
        return " ".join(str(found[0]).split()) if found else ""

    def bar_label(self, item: str) -> str:
        """What a screen reader says for the item."""
        label = "(e.querySelector('[aria-label]') ?? e).ariaLabel"
        found = self._screen.read(f'.statusbar-item[id$="{item}"]', label)
        return str(found[0]) if found else ""

    def wait_bar(self, item: str, pattern: str, within: float = PATIENCE) -> str:
        def shown() -> str | None:
            text = self.bar(item)
            return text if re.search(pattern, text) else None

        return self._screen.until(shown, f"in the status bar: {pattern}", within)

    def press_bar(self, item: str) -> None:
        self._screen.page.locator(f'.statusbar-item[id$="{item}"] a').first.click()

    def bar_tooltip(self, item: str, text: str) -> str:
        """What rests under the pointer, as soon as it holds the text."""
        self._screen.page.mouse.move(2, 2)
        self._screen.page.locator(f'.statusbar-item[id$="{item}"] a').first.hover()

        def shown() -> str | None:
            found = self._screen.read(".monaco-hover .hover-contents", "e.innerText")
            return next((one for one in found if text in one), None)

        return self._screen.until(shown, f"a tooltip with {text!r}")

    # --------------------------------------------------------------------------------- notifications

    def toasts(self) -> list[str]:
        return self._screen.read(TOAST, "e.innerText.trim()")

    def links(self) -> list[str]:
        """What can be clicked in the text of the notifications."""
        return self._screen.read(f"{TOAST} .notification-list-item-message a", "e.innerText")

    def wait(self, text: str, within: float = PATIENCE) -> str:
        """The notification that holds the text, with what stands on its buttons."""
        return self._screen.until(
            lambda: next((one for one in self.toasts() if text in one), None), f"a notification with {text!r}", within
        )

    def press(self, text: str, button: str, within: float = PATIENCE) -> None:
        """Presses a button of the notification that holds the text, or a link in it."""
        self._screen.until(
            lambda: self._screen.page.evaluate(PRESS, [TOAST, text, button]), f"{button} in {text!r}", within
        )

    def close(self, text: str) -> None:
        """Closes the notification that holds the text, without an answer."""
        self._screen.page.locator(TOAST).filter(has_text=text).first.hover()
        self._screen.page.locator(TOAST).filter(has_text=text).first.get_by_role("button", name="Clear").click()
        self.gone(text)

    def ignore(self, text: str) -> None:
        """Waits for the notification that holds the text, which then goes out of sight, as it does by itself later."""
        self.wait(text)

        def hidden() -> bool:
            self._screen.page.keyboard.press("Escape")
            return not self.toasts()

        self._screen.until(hidden, f"{text!r} out of sight")

    def put_off(self, text: str) -> None:
        """Puts off the question that holds the text, without an answer."""
        self.press(text, "Later")
        self.gone(text)

    def listed(self) -> list[str]:
        """The notifications in the editor's list of them, which is opened for that."""
        self.press_bar("status.notifications")
        found = self._screen.read(f"{CENTRE} .notification-list-item", "e.innerText.trim()")
        self.press_bar("status.notifications")
        return found

    def gone(self, text: str, within: float = PATIENCE) -> None:
        self._screen.until(lambda: not any(text in one for one in self.toasts()), f"rid of {text!r}", within)

    # --------------------------------------------------------------------------------------- dialogs

    def dialogs(self) -> list[str]:
        return self._screen.read(".monaco-dialog-box", "e.innerText.trim()")

    def press_dialog(self, text: str, button: str, within: float = PATIENCE) -> None:
        self._screen.until(
            lambda: self._screen.page.evaluate(PRESS, [".monaco-dialog-box", text, button]),
            f"{button} in the dialog {text!r}", within,
        )  # fmt: skip
