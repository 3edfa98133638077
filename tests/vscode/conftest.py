"""A Chromium and the packaged extension for all tests here, a VS Code for each module, a window for each flow."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.extension import packaged
from tests.vscode.rig import what_is_missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.vscode.workbench import Workbench

Opener = Callable[..., "Workbench"]


# Not for the session: while a Chromium is open, an event loop seems to run, which other tests need for themselves.
@pytest.fixture(scope="package")
def chrome() -> Iterator[Browser]:
    missing = what_is_missing()
    if missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    with importlib.import_module("tests.vscode.workbench").browser() as chrome:
        yield chrome


@pytest.fixture(scope="package")
def vsix(chrome: Browser) -> Path:
    return packaged()


def environment(folder: Path) -> dict[str, str]:
    """State, settings and caches in the folder, and this Python first: as in the shell of a project of its own."""
    places = {name: str(folder / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    return {**places, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    """With the extension installed, and this Python configured for the language server."""
    folder = tmp_path_factory.mktemp("vscode")
    with CodeServer(folder, machine={"donewhen.interpreter": sys.executable}, env=environment(folder)) as server:
        server.install(vsix)
        yield server.start()


@pytest.fixture
def open_window(chrome: Browser, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens windows; after the test each leaves a picture, and none may have asked another host for anything."""
    opened = importlib.import_module("tests.vscode.workbench").opened
    pictures = Path(os.environ.get("DONEWHEN_VSCODE_PICTURES") or tmp_path) / request.node.name
    windows: list[Workbench] = []
    with ExitStack() as stack:

        def opener(server: CodeServer, folder: Path | None, **options: Any) -> Workbench:
            window: Workbench = stack.enter_context(opened(chrome, server, folder, **options))
            windows.append(window)
            return window

        request.node.stash[WINDOWS] = windows
        yield opener
        for number, window in enumerate(windows):
            window.screenshot(pictures / f"last-{number}.png")
    assert [window.outside for window in windows] == [[] for _ in windows]


WINDOWS = pytest.StashKey[list[Any]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A test that fails tells what the windows showed and what the extension hosts logged."""
    report = yield
    if call.when == "call" and report.failed:
        for window in item.stash.get(WINDOWS, []):
            said = {name: text for name, text in window.server.logs().items() if "donewhen" in name.lower() and text}
            said["window"] = f"{window.screen.state()}\n" + "\n".join(window.console[-20:])
            report.sections.extend((name, text[-6000:]) for name, text in said.items())
    return report
