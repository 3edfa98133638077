"""One VS Code window, as a person has it before them: `with opened(chrome, server, folder) as window`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests.vscode.codeserver import CodeServer
from tests.vscode.editing import Editors
from tests.vscode.hovers import Hovers
from tests.vscode.keyboard import Keyboard
from tests.vscode.notices import Notices
from tests.vscode.palette import Palette
from tests.vscode.rig import browser_path
from tests.vscode.screen import Screen
from tests.vscode.views import Views

EXPLORER = ".explorer-viewlet"
OTHER_HOSTS = re.compile(r"^(?:https?|wss?)://(?!127\.0\.0\.1[:/])")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip

# A browser gives a page no time to save when it goes: the window remembers its editors every few seconds.
REMEMBERED = """async () => {
  const asked = request => new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
  const found = [];
  for (const { name } of await indexedDB.databases()) {
    if (!name.startsWith('vscode-web-state-db')) continue;
    const db = await asked(indexedDB.open(name));
    if (db.objectStoreNames.contains('ItemTable')) {
      const items = db.transaction('ItemTable', 'readonly').objectStore('ItemTable');
      found.push(String(await asked(items.get('memento/workbench.parts.editor'))));
    }
    db.close();
  }
  return found.join(' ');
}"""


class Workbench:
    """`outside` are the requests to other hosts, none of which is let through."""

    def __init__(self, page: Page, server: CodeServer) -> None:
        self.page = page
        self.server = server
        self.console: list[str] = []
        self.outside: list[str] = []
        self.screen = Screen(page)
        self.palette = Palette(self.screen)
        self.editor = Editors(self.screen, self.palette)
        self.hovers = Hovers(self.screen, self.palette)
        self.notices = Notices(self.screen)
        self.views = Views(self.screen, self.palette)
        self.keys = Keyboard(self.screen, self.palette)
        self.until = self.screen.until
        page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        page.context.route(OTHER_HOSTS, self._refuse)

    def _refuse(self, route: Route) -> None:
        self.outside.append(route.request.url)
        route.abort()

    def wait_drawn(self) -> None:
        """Until the editors are restored; extensions may start after that."""
        restored = "() => performance.getEntriesByName('code/LifecyclePhase/Restored').length > 0"
        self.page.locator(".monaco-workbench .statusbar").wait_for(timeout=60_000)
        self.page.wait_for_function(restored, timeout=60_000, polling=50)

    def remembers(self, *editors: str) -> None:
        """Waits until these editors, by words of theirs, are among those that come back after a reload."""

        def saved() -> bool:
            found: str = self.page.evaluate(REMEMBERED)
            return all(one in found for one in editors)

        self.until(saved, f"remembered: {editors}")

    def reload(self) -> None:
        """As the command Reload Window does: the extension host ends and another one starts."""
        self.page.reload(wait_until="commit")
        self.wait_drawn()

    def wait_folders(self) -> None:
        """For a workspace file: VS Code in a browser may read it too early, and has no folders then until a reload."""
        rows = "e.classList.contains('monaco-list-row') ? 'folders' : 'none'"
        for _ in range(5):
            shown = f"{EXPLORER} .monaco-list-row, {EXPLORER} .welcome-view-content"
            found = self.until(lambda shown=shown: self.screen.read(shown, rows), "the explorer's folders")
            if "folders" in found:
                return
            self.reload()
        raise AssertionError(f"VS Code knows no folder of the workspace file: {self.screen.state()}")

    def trust(self) -> None:
        """Out of Restricted Mode, as a person gets out of it."""
        self.palette.run("Workspaces: Manage Workspace Trust")
        self.page.locator(".workspace-trust-editor").get_by_role("button", name="Trust", exact=True).click()

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(path))


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium without a screen, for any number of windows."""
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        try:
            yield chrome
        finally:
            chrome.close()


@contextlib.contextmanager
def opened(
    chrome: Browser, server: CodeServer, folder: Path | None, size: tuple[int, int] = (1280, 800), scale: float = 1
) -> Iterator[Workbench]:
    """A window with a browser profile of its own."""
    context = chrome.new_context(viewport={"width": size[0], "height": size[1]}, device_scale_factor=scale)
    page = context.new_page()
    try:
        window = Workbench(page, server)
        page.goto(server.address(folder), wait_until="commit", timeout=60_000)
        window.wait_drawn()
        if folder is not None and folder.suffix == ".code-workspace":
            window.wait_folders()
        yield window
    finally:
        # Leaving the page says goodbye to the server, which ends the window's extension host.
        with contextlib.suppress(PlaywrightError):
            page.goto("about:blank", timeout=5000)
        context.close()
