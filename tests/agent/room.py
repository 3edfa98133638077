"""A language server with an agent and judges in it, for many runs one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from donewhen.lsp.host import Host
from donewhen.lsp.server import serve_streams
from tests.agent.host import SharedHost
from tests.lsp.editor import SERVE, Editor, wait_until
from tests.scripted_models import ModelCall, Reply, ScriptedModels, fails
from tests.tools import below

KEY = "sk-of-the-worker-0123456789abcdef"
JUDGE_KEY = "sk-of-the-judge-0123456789abcdef"
ENDED = {"complete", "capped", "timed_out", "over_budget", "stalled", "blocked", "impossible", "cancelled", "crashed"}

Part = Sequence[Reply] | Callable[[ModelCall], Reply]
Snapshot = dict[str, Any]


class Room:
    """A workspace in an editor. With a `host` its server runs in this process and asks the models through that; without
    one it is a process of its own, for which `home` has the user's settings. `play` says what the models answer from
    now on; each test takes files of its own."""

    def __init__(
        self, folder: Path, home: Path | None = None, *, host: SharedHost | None = None, **settings: Any
    ) -> None:
        self._home, self._host = home, host
        self.root = folder / "workspace"
        self.root.mkdir()
        self.state = folder / "state"
        self._parts: dict[str, Part] = {}
        self._asked: dict[str, int] = {}
        self._from = 0
        self.models = ScriptedModels(self._answer)
        self.models.__enter__()
        self.settings = {
            "worker": "agent", "model": "openai/worker", "apiBase": self.models.base_url,
            "judgeModel": "openai/judge", "judgeApiBase": self.models.base_url, "approve": "auto", "maxIterations": 3,
        } | settings  # fmt: skip
        self.editor = self._opened()

    def _opened(self) -> Editor:
        if self._host is not None:
            services = self._host.services()
            editor = Editor(self.state, serve=lambda connect: serve_streams(Host(services), connect))
        else:
            command = SERVE if self._home is None else ["env", f"XDG_CONFIG_HOME={self._home}", *SERVE]
            editor = Editor(self.state, command=command)
        options = {"settings": self.settings, "clientFeatures": {"interrupts": True}}
        editor.start(root=self.root, options=options)
        for name, value in (("DONEWHEN_API_KEY", KEY), ("DONEWHEN_JUDGE_API_KEY", JUDGE_KEY)):
            editor.notify("donewhen/setSecret", {"name": name, "value": value})
        return editor

    def reopen(self) -> None:
        """Another server after one that has gone."""
        self.editor.close()
        self.editor = self._opened()

    def configure(self, **settings: Any) -> None:
        """These settings over the first ones, for the runs that start from now on."""
        self.editor.notify(
            "workspace/didChangeConfiguration", {"settings": {"donewhen": {**self.settings, **settings}}}
        )

    def close(self) -> None:
        self.editor.close()
        self.models.__exit__()

    # ------------------------------------------------------------------------------------- models

    def play(self, **parts: Part) -> None:
        self._parts = dict(parts)
        self._asked.clear()
        self._from = len(self.models.requests)

    def asked(self, model: str) -> list[ModelCall]:
        """What the model was asked since `play`."""
        told = [one.call for one in self.models.requests[self._from :]]
        return [call for call in told if call.model == model]

    def wait_asked(self, model: str, count: int = 1, within: float = 60.0) -> None:
        wait_until(lambda: len(self.asked(model)) >= count, within)

    def sound(self) -> None:
        """Nothing was asked that the script did not expect, and all of it was played."""
        assert not self.models.failures
        left = {name: len(part) - self._asked.get(name, 0) for name, part in self._parts.items() if not callable(part)}
        assert not any(left.values()), left

    def _answer(self, call: ModelCall) -> Reply:
        part = self._parts.get(call.model, ())
        if callable(part):
            return part(call)
        at = self._asked.get(call.model, 0)
        self._asked[call.model] = at + 1
        if at < len(part):
            return part[at]
        self.models.failures.append(f"{call.model}: nothing is left to say")
        return fails(400, "the script ran out")

    # --------------------------------------------------------------------------------------- runs

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def start(self, name: str, goal: str) -> str:
        """Starts a run of `NAME.goal.md`; its id."""
        path = self.write(f"{name}.goal.md", goal)
        return self.editor.execute("donewhen.run.start", {"goalUri": path.as_uri()}, 60)["runId"]

    def pursue(self, name: str, goal: str) -> Snapshot:
        """A run from its start to its end, or to where it waits for a person."""
        return self.end(self.start(name, goal))

    def end(self, run_id: str) -> Snapshot:
        return self.until(run_id, lambda s: s["status"] in ENDED | {"paused", "waiting"})

    def until(self, run_id: str, wanted: Callable[[Snapshot], bool], within: float = 60.0) -> Snapshot:
        return self.editor.snapshot(run_id, wanted, within)

    def waiting(self, run_id: str, about: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The question that the run waits with, once it does; the one with this input, where it is given."""

        def asks(snapshot: Snapshot) -> bool:
            return any(about is None or one["input"] == about for one in snapshot["interrupts"])

        snapshot = self.until(run_id, lambda s: s["status"] == "waiting" and asks(s))
        (asked,) = snapshot["interrupts"]
        return asked

    def accept(self, run_id: str) -> None:
        """Accepts the start of a run in which a person is asked."""
        asked = self.waiting(run_id)
        assert (asked["title"], asked["tool"]) == ("Start this run?", None)
        self.answer(run_id, asked, "approve")

    def answer(self, run_id: str, asked: Mapping[str, Any], response: str, **more: Any) -> Snapshot:
        argument = {"runId": run_id, "interruptId": asked["id"], "response": response, **more}
        return self.editor.execute("donewhen.run.answer", argument, 60)

    def stop(self, run_id: str) -> None:
        self.editor.execute("donewhen.run.stop", {"runId": run_id}, 60)

    def quiet(self) -> None:
        """Stops what a test left open; a run may end by itself before the stop reaches it."""
        for run_id in self._open():
            argument = {"command": "donewhen.run.stop", "arguments": [{"runId": run_id}]}
            answer = self.editor.request("workspace/executeCommand", argument, 60)
            assert "error" not in answer or "has ended" in answer["error"]["message"], answer
        wait_until(lambda: not self._open())

    def _open(self) -> list[str]:
        found = self.editor.execute("donewhen.run.status", {}, 60)["snapshots"]
        return [one["runId"] for one in found if one["status"] is not None and one["status"] not in ENDED]

    # ---------------------------------------------------------------------------------- processes

    def hosts(self) -> list[psutil.Process]:
        return model_hosts(os.getpid() if self._host is not None else self.editor.process.pid)


def model_hosts(pid: int) -> list[psutil.Process]:
    """The model hosts among the descendants of a process."""
    return below(pid, "donewhen.models.host")


def tool_results(call: ModelCall) -> list[str]:
    """What the tools answered so far, oldest first."""
    return [one.text for one in call.messages if one.role == "tool"]
