"""The demo's sample and a wrong sum as workspaces, and real agents whose models a script plays on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, says
from tests.scripted_models.elsewhere import ScriptedGemini, ScriptedMessages, ScriptedResponses
from tests.tools import NPM

CODEX = """\
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "Scripted"
base_url = "{base}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
    "model": {"name": "gemini-2.5-pro"},
}
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1", "GEMINI_TELEMETRY_ENABLED": "false", "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "AIDER_ANALYTICS": "false",
}  # fmt: skip
"""Nothing leaves the machine: what these programs do besides asking their model is off."""


@dataclass(frozen=True)
class Ran:
    code: int
    last: dict[str, Any]
    errors: str

    @property
    def summaries(self) -> list[str]:
        return [one["error"] or one["summary"] for one in self.last["iterations"]]


@dataclass
class Rig:
    """A workspace with a sum that is wrong and a test that says so, and an agent's home folder."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.root, self.home, self.temporary = (self.folder / name for name in ("workspace", "home", "tmp"))
        for folder in (self.root, self.home, self.temporary):
            folder.mkdir()
        (self.root / "calc.py").write_text("def add(a, b):\n    return a - b\n")
        (self.root / "test_calc.py").write_text(
            "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
        )
        check = f"{sys.executable} -m pytest -q -p no:cacheprovider"
        (self.root / "GOAL.md").write_text(f"# Sums are right\n\n- [ ] the tests pass\n  - check: `{check}`\n")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def variables(self) -> dict[str, str]:
        """The environment of a command: the agents' programs, and nothing of this machine's settings."""
        places = [NPM / "node_modules" / ".bin", Path(sys.executable).parent, Path(sys.prefix) / "tools" / "bin"]
        kept = {name: os.environ[name] for name in ("LANG",) if name in os.environ}
        return {
            **kept,
            **QUIET,
            "PATH": os.pathsep.join([*map(str, places), os.environ["PATH"]]),
            "HOME": str(self.home),
            # Codex puts its sandbox's helper into its home, and refuses to below the folder for temporary files.
            "TMPDIR": str(self.temporary),
            "DONEWHEN_STATE_DIR": str(self.folder / "state"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.environment,
        }

    def donewhen(self, *argv: str) -> Ran:
        """A command of Done When in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "donewhen", *argv], cwd=self.root, env=self.variables(), capture_output=True,
            text=True, timeout=110, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        assert lines, done.stderr
        return Ran(done.returncode, json.loads(lines[-1]), done.stderr)

    def run(self, *argv: str, iterations: int = 2) -> Ran:
        return self.donewhen("run", "--json", "--max-iterations", str(iterations), *argv)

    def settings(self, path: str, text: str) -> None:
        place = self.home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


Script = Callable[[ModelCall], Reply]


def tool_results(call: ModelCall) -> int:
    """How many tools have answered in the conversation so far."""
    return sum(message["role"] == "tool" for message in call.body["messages"])


def plays(*steps: Reply) -> Script:
    """Takes the steps, one after each answer of a tool, then says that it is done."""
    return lambda call: steps[tool_results(call)] if tool_results(call) < len(steps) else says("I repaired the sum.")


SENT_BACK = "Not proven yet"
"""What only a prompt says that sends the agent back."""
LIE = "I repaired the sum. All tests pass, the goal is complete."


@dataclass(frozen=True)
class Real:
    """A real agent: its server, how it is told where that is, and what its model calls to repair the sum."""

    preset: str
    serve: Callable[[Script], ScriptedModels]
    tell: Callable[[Rig, ScriptedModels], None]
    edits: Callable[[Rig], Sequence[Reply]]
    command: Callable[[str], Reply] | None = None


def _claude(rig: Rig, server: ScriptedModels) -> None:
    assert isinstance(server, ScriptedMessages)
    rig.environment |= {"ANTHROPIC_BASE_URL": server.root_url, "ANTHROPIC_API_KEY": "sk-ant-dummy"}


def _codex(rig: Rig, server: ScriptedModels) -> None:
    rig.environment["OPENAI_API_KEY"] = "sk-dummy"
    rig.settings(".codex/config.toml", CODEX.format(base=server.base_url))


def _gemini(rig: Rig, server: ScriptedModels) -> None:
    assert isinstance(server, ScriptedGemini)
    rig.environment |= {"GOOGLE_GEMINI_BASE_URL": server.root_url, "GEMINI_API_KEY": "dummy"}
    rig.settings(".gemini/settings.json", json.dumps(GEMINI))


def _opencode(rig: Rig, server: ScriptedModels) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": server.base_url, "apiKey": "dummy"},
        "models": {"scripted": {"name": "Scripted"}},
    }
    told = {"model": "scripted/scripted", "provider": {"scripted": provider}, "autoupdate": False, "share": "disabled"}
    rig.settings(".config/opencode/opencode.json", json.dumps(told))


def _aider(rig: Rig, server: ScriptedModels) -> None:
    rig.environment |= {"OPENAI_API_BASE": server.base_url, "OPENAI_API_KEY": "dummy"}
    rig.settings(
        ".aider.conf.yml", "model: openai/scripted\nedit-format: diff\nmap-tokens: 1000\nshow-model-warnings: false\n"
    )
    rig.settings(".aider/caches/model_prices_and_context_window.json", '{"none": {}}')
    rig.settings(".gitconfig", "[user]\nname = Somebody\nemail = somebody@example.com\n")


BLOCK = "calc.py\n```python\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```\n"
REAL: Sequence[Real] = (
    Real(
        "claude", lambda script: ScriptedMessages({"*": script}), _claude,
        lambda rig: (
            calls("Read", file_path=str(rig.root / "calc.py")),
            calls("Edit", file_path=str(rig.root / "calc.py"), old_string="a - b", new_string="a + b"),
        ),
        lambda command: calls("Bash", command=command, description="try it"),
    ),
    Real(
        "codex", lambda script: ScriptedResponses({"*": script}), _codex,
        lambda rig: (calls("exec_command", cmd="sed -i 's/a - b/a + b/' calc.py"),),
        lambda command: calls(
            "exec_command", cmd=command, sandbox_permissions="require_escalated", justification="needed"
        ),
    ),
    Real(
        "gemini", lambda script: ScriptedGemini({"*": script}), _gemini,
        lambda rig: (
            calls(
                "replace", file_path=str(rig.root / "calc.py"), instruction="mend it", old_string="a - b",
                new_string="a + b",
            ),
        ),
    ),
    Real(
        "opencode", lambda script: ScriptedModels({"*": script}), _opencode,
        lambda rig: (calls("edit", filePath=str(rig.root / "calc.py"), oldString="a - b", newString="a + b"),),
    ),
    Real("aider", lambda script: ScriptedModels({"*": script}), _aider, lambda rig: (says(BLOCK),)),
)  # fmt: skip
BY_PRESET = {real.preset: real for real in REAL}


def a_lie_first(real: Real, rig: Rig) -> Script:
    """In the first turn it only says that it is done; sent back, it repairs the sum."""
    repairs = plays(*real.edits(rig))

    def play(call: ModelCall) -> Reply:
        return repairs(call) if SENT_BACK in json.dumps(call.body) else says(LIE)

    return play
