"""The real Claude Code, from npm, with a model that a script plays on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.tools import npm_program


def claude(
    prompt: str, *, workspace: Path, home: Path, base_url: str, state: Path, timeout: float = 100.0
) -> subprocess.CompletedProcess[str]:
    """One `claude -p`. Nothing leaves the machine: its traffic beside the model is off, by its documented variables."""
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    variables = {
        **kept,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
        "DONEWHEN_STATE_DIR": str(state),
        "XDG_CONFIG_HOME": str(home / "config"),
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": "sk-ant-dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }
    return subprocess.run(
        [npm_program("claude"), "-p", prompt, "--allowedTools", "Bash", "--output-format", "json"],
        cwd=workspace,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
