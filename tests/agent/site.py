"""A workspace, the command line in this process or in one of its own, and models that are played on loopback."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.cli.main import main
from donewhen.cli.terminal import Terminal
from tests import forked
from tests.agent.host import SharedHost
from tests.cli.fakes import Typed
from tests.cli.test_processes import served_elsewhere
from tests.scripted_models import ModelCall, Reply, ScriptedModels, says

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"


def verdict(call: ModelCall, status: str = "met", **others: str) -> str:
    """A verdict on every requirement that the prompt asks about; `others` are by label. Cites all that can be cited."""
    labels = asked(call)
    statuses = {label: others.get(label, status) for label in labels}
    cited = citable(call)
    return json.dumps(
        {
            "requirements": [
                {"id": label, "status": found, "reason": f"seen: {found}", "evidence_ids": cited}
                for label, found in statuses.items()
            ],
            "score": sum(found == "met" for found in statuses.values()) / len(statuses),
            "complete": all(found == "met" for found in statuses.values()),
            "missing": "" if all(found == "met" for found in statuses.values()) else "something is missing",
        }
    )


def asked(call: ModelCall) -> list[str]:
    """The labels that the schema of the reply allows, else those that the prompt names."""
    found = re.findall(r'"(R\d+)"', json.dumps(call.body.get("response_format", {})))
    found += re.findall(r'"(R\d+)"', json.dumps(call.body.get("tools", [])))
    return list(dict.fromkeys(found or re.findall(r"\bR\d+\b", call.text)))


def citable(call: ModelCall) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\bE\d+\b", call.text)))


def judge_says(status: str = "met", **others: str) -> Any:
    """A judge that finds the same at each audit."""
    return lambda call: says(verdict(call, status, **others))


@dataclass(frozen=True)
class Started:
    """A command that runs, and its snapshots so far."""

    process: subprocess.Popen[str]
    out: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        whole = [line for line in self.out.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [json.loads(line) for line in whole]

    @property
    def run_id(self) -> str:
        return next(line["runId"] for line in self.lines)

    def end(self, within: float = 60.0) -> tuple[int, dict[str, Any]]:
        """Its exit code and last snapshot, once it has ended."""
        code = self.process.wait(within)
        assert self.lines, self.out.with_suffix(".err").read_text()
        return code, self.lines[-1]


class Site:
    """One workspace with its own state folder; commands are called in this process where there is a `host` for them."""

    def __init__(
        self,
        folder: Path,
        root: Path | None = None,
        state: Path | None = None,
        home: Path | None = None,
        host: SharedHost | None = None,
    ) -> None:
        """A new workspace in the folder, or one that is there already; `home` is for the user's settings."""
        self._host = host
        self.root = root or folder / "workspace"
        self.root.mkdir(exist_ok=True)
        self.state = state or folder / "state"
        self.home = home or self.state
        self._lines = folder
        self.started: list[subprocess.Popen[str]] = []

    def goal(self, text: str) -> None:
        (self.root / "GOAL.md").write_text(text, encoding="utf-8")

    def run(
        self, models: ScriptedModels, *argv: str, approve: str = "auto", variables: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """`donewhen run --json` with worker and judge from the scripted server: exit code and final snapshot."""
        done = self.cli(*_command(models, approve, argv), variables=variables)
        lines = done.stdout.splitlines()
        assert lines, done.stderr
        return done.returncode, json.loads(lines[-1])

    def run_asking(self, models: ScriptedModels, *argv: str) -> tuple[int, dict[str, Any]]:
        """The same with approval by a person, who has accepted the start."""
        code, last = self.run(models, *argv, approve="ask")
        (start,) = last["interrupts"]
        assert (code, start["title"], start["tool"]) == (3, "Start this run?", None), last
        assert not models.requests
        answered = self.cli("answer", last["runId"], start["id"], "approve")
        assert answered.returncode in (0, 3), answered.stderr
        done = self.cli("resume", last["runId"], "--json")
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout.splitlines()[-1])

    def begin(self, models: ScriptedModels, *argv: str, approve: str = "auto") -> Started:
        """The same, started and left to itself."""
        return self.begin_cli(*_command(models, approve, argv))

    def begin_cli(self, *argv: str) -> Started:
        number = len(list(self._lines.glob("*.jsonl")))
        lines = self._lines / f"{number}.jsonl"
        # Files, not pipes: an orphan that keeps a pipe open would keep the test waiting.
        with lines.open("w") as out, lines.with_suffix(".err").open("w") as errors:
            process = forked.start(
                [sys.executable, "-m", "donewhen", "--state-dir", str(self.state), *argv], cwd=self.root,
                env=self.environment(), stdout=out, stderr=errors, text=True, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self.started.append(process)
        return Started(process, lines)

    def clean_up(self) -> None:
        """Ends what a failed test left."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait(60)

    def cli(self, *argv: str, variables: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        if self._host is None:
            return self.process(*argv, variables=variables)
        out, err, environment = io.StringIO(), io.StringIO(), self.environment(variables)
        places = ["--workspace", str(self.root), "--state-dir", str(self.state)]
        code = main(
            [*places, *argv],
            self._host.services(environment),
            served_elsewhere,
            terminal=Terminal(out, err, Typed([]), environment),
            user_file=self.home / "donewhen" / "config.toml",
            log_folder=self._lines,
        )
        return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())

    def process(self, *argv: str, variables: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A command in a process of its own, which starts a host of its own."""
        command = [sys.executable, "-m", "donewhen", "--state-dir", str(self.state), *argv]
        return forked.run(command, cwd=self.root, env=self.environment(variables), timeout=110)

    def environment(self, variables: dict[str, str] | None = None) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DONEWHEN_", "OPENAI_", "ANTHROPIC_", "OTEL_")) and "proxy" not in name.casefold()
        }
        return {**kept, "XDG_CONFIG_HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}


def _command(models: ScriptedModels, approve: str, argv: Sequence[str]) -> list[str]:
    return [
        "run", "--json", "--worker", "agent", "--model", "openai/worker", "--api-base", models.base_url,
        "--judge-model", "openai/judge", "--judge-api-base", models.base_url, "--approve", approve, *argv,
    ]  # fmt: skip


def met(snapshot: dict[str, Any]) -> list[str]:
    return [one["status"] for one in snapshot["requirements"]]


def prompts(models: ScriptedModels, model: str) -> Sequence[ModelCall]:
    return [exchange.call for exchange in models.requests if exchange.call and exchange.call.model == model]


__all__ = ["PYTEST", "Reply", "Site", "judge_says", "met", "prompts", "verdict"]
