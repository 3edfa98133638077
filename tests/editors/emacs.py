"""Emacs with eglot, without a terminal: a daemon that is driven through emacsclient."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("drive.el")
HAS_EGLOT = "(kill-emacs (if (progn (package-activate-all) (require 'eglot nil t)) 0 1))"
STARTING_SECONDS = 20.0
ANSWER_SECONDS = 90.0


def find_emacs() -> str | None:
    """The Emacs on PATH, if it has eglot and emacsclient."""
    emacs = shutil.which("emacs")
    if emacs is None or shutil.which("emacsclient") is None or os.name == "nt":
        return None
    asked = subprocess.run([emacs, "-q", "--batch", "--eval", HAS_EGLOT], capture_output=True, check=False, timeout=30)
    return emacs if asked.returncode == 0 else None


class Emacs:
    """One editor process, in `folder`, configured with the Lisp of `config`."""

    def __init__(self, binary: str, folder: Path, config: str, env: Mapping[str, str]) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="emacs-"))  # socket paths must be short
        self._socket = self._home / "s"
        init = self._home / "init.el"
        driver = DRIVER.read_text(encoding="utf-8")
        init.write_text(f"{driver}\n(package-activate-all)\n{config}", encoding="utf-8")
        self._log = (self._home / "log").open("wb")
        self.process = subprocess.Popen(
            [binary, "-q", f"--fg-daemon={self._socket}", "--load", str(init)],
            cwd=folder, env={**os.environ, **env, "HOME": str(self._home)},
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._await_socket()

    def lisp(self, code: str) -> Any:
        """Evaluates Lisp and returns its value. Fails with its error."""
        answer = self._remote(f"(drive {json.dumps(code, ensure_ascii=False)})")
        assert answer.returncode == 0, answer.stderr
        told = json.loads(json.loads(answer.stdout))
        assert "problem" not in told, told["problem"]
        return told["value"]

    def wait(self, condition: str, seconds: float = 60.0) -> Any:
        """Waits until the Lisp expression is true, and returns its value."""
        return self.lisp(f"(drive-wait (lambda () {condition}) {seconds})")

    def edit(self, path: Path) -> None:
        self.lisp(f"(drive-edit {quoted(path)})")

    def order(self, code: str) -> None:
        """Evaluates Lisp after which there may be nobody to answer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._remote(f"(with-current-buffer drive-buffer {code} t)", timeout=10)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)
        self._log.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _remote(self, expression: str, timeout: float = ANSWER_SECONDS) -> subprocess.CompletedProcess[str]:
        command = ["emacsclient", "-s", str(self._socket), "--eval", expression]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)

    def _await_socket(self) -> None:
        deadline = time.monotonic() + STARTING_SECONDS
        while not self._socket.exists() or self._remote("1").returncode != 0:
            assert self.process.poll() is None, (self._home / "log").read_text(errors="replace")
            assert time.monotonic() < deadline, (self._home / "log").read_text(errors="replace")
            time.sleep(0.02)


def quoted(value: object) -> str:
    """A Lisp string."""
    return json.dumps(str(value), ensure_ascii=False)
