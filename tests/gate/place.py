"""A workspace and the hooks of an agent in it, called in this process with the real engine."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from donewhen.app.gate import keep_record, read_record
from donewhen.app.services import Services
from donewhen.cli.calling import ServeOptions
from donewhen.cli.main import main
from donewhen.cli.terminal import Terminal
from tests.cli.fakes import Typed


def served_elsewhere(options: ServeOptions) -> int:
    raise AssertionError("a server runs in a process of its own")


@dataclass(frozen=True)
class Said:
    """What a call printed. `block` is what the agent was sent back with, in Claude Code's form."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def block(self) -> str:
        return str(self.answer.get("reason", ""))

    @property
    def note(self) -> str:
        return str(self.answer.get("systemMessage", ""))


@dataclass
class Place:
    """`home` is the person's home folder."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    named: bool = True
    """The workspace is named on the command line, as in a hook of a project."""

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)

    @property
    def root(self) -> Path:
        return self.folder / "workspace"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def call(self, *words: str, sent: object = None, typed: list[str] | None = None) -> Said:
        """One call of the command line; a hook's JSON is `sent`, a person's lines are `typed`."""
        out, err = io.StringIO(), io.StringIO()
        text = sent if isinstance(sent, str) else "" if sent is None else json.dumps(sent)
        lines = typed if typed is not None else text.splitlines()
        terminal = Terminal(out, err, Typed(lines), self.environ, interactive=typed is not None)
        places = ["--state-dir", str(self.state), *(["--workspace", str(self.root)] if self.named else [])]
        code = main(
            [*places, *words],
            Services(),
            served_elsewhere,
            terminal=terminal,
            user_file=self.folder / "no",
            log_folder=self.folder,
        )
        return Said(code, out.getvalue(), err.getvalue())

    def hook(self, event: str, session: str = "s1", **fields: Any) -> Said:
        sent = {"hook_event_name": event, "session_id": session, "cwd": str(self.root), **fields}
        return self.call("gate", sent=sent)

    def start(self, session: str = "s1") -> Said:
        return self.hook("SessionStart", session, source="startup")

    def stop(self, session: str = "s1", **fields: Any) -> Said:
        return self.hook("Stop", session, **{"stop_hook_active": False, **fields})

    def forget_agents(self) -> None:
        """As if the agents had come from other processes than these tests do."""
        record = read_record(self.root, self.state)
        sessions = {name: replace(one, agent=None) for name, one in record.sessions.items()}
        keep_record(self.root, self.state, replace(record, sessions=sessions))

    def statuses(self) -> list[str]:
        return [one["status"] for one in json.loads(self.call("list", "--json").out)]
