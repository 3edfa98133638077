"""Where `.ci/setup-vscode` put a VS Code that needs no desktop, and whether all of it is there."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

SETUP = Path(__file__).parents[2] / ".ci" / "setup-vscode"
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def rig() -> Path:
    """The folder of the versions that the script names."""
    home = Path(os.environ.get("DONEWHEN_VSCODE_HOME") or Path.home() / ".cache" / "donewhen-vscode")
    text = SETUP.read_text(encoding="utf-8")
    versions = [re.search(rf"^{name}=([\d.]+)", text, re.MULTILINE) for name in ("code_server", "node_wheel")]
    return home / "-".join(found[1] for found in versions if found)


def browser_path() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def what_is_missing() -> str | None:
    """What keeps a window from being opened here, for people."""
    if importlib.util.find_spec("playwright") is None:
        return 'Playwright is not installed: pip install -e ".[vscode]"'
    if browser_path() is None or not (rig() / "ready").is_file():
        return "the VS Code for tests is not installed: bash .ci/setup-vscode"
    return None


def node_environment() -> dict[str, str]:
    """The environment with the rig's Node and npm first."""
    return {**os.environ, "PATH": f"{rig() / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
