"""A Chromium and the packaged extension for all tests here, a VS Code for each module, a window for each flow."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.vscode.codeserver import CodeServer
from tests.vscode.extension import packaged
from tests.vscode.models import Models
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


def path_without_suite() -> str:
    """The PATH without the environment of this suite: nobody else has its `donewhen`."""
    own = str(Path(sys.executable).parent)
    return os.pathsep.join(one for one in os.environ["PATH"].split(os.pathsep) if one != own)


def environment(folder: Path) -> dict[str, str]:
    """State and settings in the folder, and a `python` for projects: checks never run in the server's environment."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    places = {name: str(folder / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    return {**places, "PATH": f"{python.parent}{os.pathsep}{path_without_suite()}"}


@contextmanager
def installed(vsix: Path, folder: Path, settings: Mapping[str, Any], **options: Any) -> Iterator[CodeServer]:
    """A VS Code with the extension, whose language server is run by this Python; `settings` are the user's."""
    machine = {"donewhen.interpreter": sys.executable, **settings}
    with CodeServer(folder, settings=settings, machine=machine, env=environment(folder), **options) as server:
        server.install(vsix)
        yield server.start()


@pytest.fixture(scope="module")
def server(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    with installed(vsix, tmp_path_factory.mktemp("vscode"), {}) as server:
        yield server


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    """The models that the workers and judges of a module call."""
    models = Models()
    with models.served:
        yield models


@pytest.fixture
def open_window(chrome: Browser, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens windows; after the test each leaves a picture, and none may have asked another host for anything."""
    opened = importlib.import_module("tests.vscode.workbench").opened
    pictures = Path(os.environ.get("DONEWHEN_VSCODE_PICTURES") or tmp_path) / Path(request.node.name).stem
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
            logs = window.server.logs().items()
            said = {name: text for name, text in logs if re.search("donewhen|exthost.log", name) and text}
            said["window"] = f"{window.screen.state()}\n" + "\n".join(window.console[-20:])
            report.sections.extend((name, text[-6000:]) for name, text in said.items())
    return report
