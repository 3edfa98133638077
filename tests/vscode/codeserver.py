"""VS Code as a server process with a profile of its own: it runs the extension host, and serves windows on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from tests.vscode.rig import rig
from tests.vscode.waiting import until

QUIET: dict[str, Any] = {
    "chat.disableAIFeatures": True,
    "editor.cursorBlinking": "solid",
    "editor.minimap.enabled": False,
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": "off",
    "extensions.ignoreRecommendations": True,
    "files.autoSave": "off",
    "files.hotExit": "off",
    "git.autofetch": False,
    "git.openRepositoryInParentFolders": "never",
    "remote.autoForwardPorts": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "window.confirmBeforeClose": "never",
    "window.dialogStyle": "custom",
    "workbench.colorTheme": "Light Modern",
    "workbench.editor.useModal": "off",
    "workbench.enableExperiments": False,
    "workbench.reduceMotion": "on",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}
"""What keeps a window still. Only names that this VS Code knows: it rewrites the file for those that it renamed."""

BUILT_IN = (
    "configuration-editing", "css", "diff", "git", "git-base", "github-authentication", "html", "ini", "javascript",
    "json", "json-language-features", "markdown-basics", "markdown-language-features", "python", "search-result",
    "shellscript", "theme-defaults", "theme-modern-icons", "theme-seti", "typescript-basics", "yaml",
)  # fmt: skip
"""What a window has of VS Code's own extensions, unless all are asked for: each window would read, and partly run, the
other seventy too, which takes two seconds of CPU."""

# What a terminal inside VS Code, and our own settings, would pass on to the server under test.
FOREIGN = re.compile(
    r"VSCODE_|CODE_SERVER_|DONEWHEN_|OPENAI_|ANTHROPIC_|OTEL_|(NODE_OPTIONS|PASSWORD|PORT)$|.*_proxy$", re.I
)


class CodeServer:
    """`settings` are the user's; `machine` those of scope machine(-overridable), which a window in a browser would
    get from the user's file only after its extensions have started. `whole` is with all that VS Code brings."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        machine: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        trust: bool = True,
        whole: bool = False,
    ) -> None:
        self.folder = folder.resolve()
        self.user = self.folder / "user"
        self.extensions = self.folder / "extensions"
        self.settings = {**QUIET, **(settings or {})}
        self.machine = dict(machine or {})
        self._trust = trust
        self._whole = whole
        kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
        # With VSCODE_CLI it takes this environment as it is, not that of a login shell.
        own = {"VSCODE_CLI": "1", "EXTENSIONS_GALLERY": "{}", "PYTHONDONTWRITEBYTECODE": "1"}
        self._env = {**kept, **own, **(env or {})}
        self._output = self.folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._sockets = ""
        self.port = 0

    # ------------------------------------------------------------------------------------------ life

    def __enter__(self) -> Self:
        self.extensions.mkdir(parents=True, exist_ok=True)
        # Its sockets go to the temporary folder, and their paths must stay short.
        self._sockets = tempfile.mkdtemp(prefix="dw-")
        self._env |= {"TMPDIR": self._sockets, "XDG_RUNTIME_DIR": self._sockets}
        self.configure()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._sockets, ignore_errors=True)

    def install(self, vsix: Path) -> None:
        done = subprocess.run(
            [*self._command(), "--install-extension", str(vsix), "--force"], env=self._env, capture_output=True,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        assert "successfully installed" in done.stdout, done.stdout + done.stderr

    def configure(self, user: Mapping[str, Any] | None = None, machine: Mapping[str, Any] | None = None) -> None:
        """Changes settings. The machine's reach open windows at once, the user's those that are opened later."""
        self.settings.update(user or {})
        self.machine.update(machine or {})
        for place, values in (("User", self.settings), ("Machine", self.machine)):
            target = self.user / place / "settings.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_suffix(".new")
            unfinished.write_text(json.dumps(values, indent=2), encoding="utf-8")
            unfinished.replace(target)

    def start(self) -> Self:
        options = [
            "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check",
            "--disable-getting-started-override",
            # How long the extension host of a window that was closed is kept, in seconds.
            "--reconnection-grace-time", "2",
        ]  # fmt: skip
        if self._trust:
            options.append("--disable-workspace-trust")
        if not self._whole:
            options += ["--builtin-extensions-dir", str(self._built_in())]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._command(), *options], env=self._env, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.port = int(until(self._listening, "a VS Code that listens", 60)[1])
        return self

    def _built_in(self) -> Path:
        place = self.folder / "built-in"
        if not place.exists():
            place.mkdir()
            # What its packages share is found from where each of them really is.
            for name in BUILT_IN:
                (place / name).symlink_to(rig() / "app/node_modules/code-server/lib/vscode/extensions" / name)
        return place

    def stop(self) -> None:
        """Ends the server with all that it started: its own group, and language servers in groups of theirs."""
        if self._process is None:
            return
        started = self.descendants()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        _, left = psutil.wait_procs(started, timeout=3)
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process = None

    def _listening(self) -> re.Match[str] | None:
        text = self._output.read_text(errors="replace")
        assert self._process is not None
        assert self._process.poll() is None, text
        return re.search(r"HTTP server listening on http://127\.0\.0\.1:(\d+)", text)

    def _command(self) -> list[str]:
        return [
            str(rig() / "bin" / "node"), str(rig() / "app/node_modules/code-server/out/node/entry.js"),
            "--config", str(self.folder / "config.yaml"), "--user-data-dir", str(self.user),
            "--extensions-dir", str(self.extensions),
        ]  # fmt: skip

    # ------------------------------------------------------------------------------------- processes

    def descendants(self) -> list[psutil.Process]:
        if self._process is None:
            return []
        try:
            return psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def language_servers(self) -> list[psutil.Process]:
        """The `donewhen serve` processes that extension hosts of this server started."""
        found: list[psutil.Process] = []
        for process in self.descendants():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                words = process.cmdline()
                if "serve" in words and any("donewhen" in word for word in words):
                    found.append(process)
        # A launcher of a virtual environment may stand above the interpreter proper.
        inner = {child.pid for process in found for child in _children(process)}
        return [process for process in found if process.pid not in inner]

    # ------------------------------------------------------------------------------------------ said

    def logs(self) -> dict[str, str]:
        """Logs of the extension hosts, output channels among them, by their path."""
        place = self.user / "logs"
        return {str(path.relative_to(place)): path.read_text(errors="replace") for path in sorted(place.rglob("*.log"))}

    def address(self, folder: Path | None) -> str:
        """Where the window of a folder, or of a .code-workspace file, is."""
        query = {"payload": json.dumps([["skipWelcome", "true"]])}
        if folder is None:
            query["ew"] = "true"
        else:
            query["workspace" if folder.suffix == ".code-workspace" else "folder"] = str(folder.resolve())
        return f"http://127.0.0.1:{self.port}/?{urllib.parse.urlencode(query)}"


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.NoSuchProcess:
        return []
