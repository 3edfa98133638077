"""Plugins from the user's settings, through the real command line: named, halted, answered, failed, listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_processes import Place

PLUGIN = '''\
"""Waits until the office opens; brings a worker; and one that fails."""

from pathlib import Path
from typing import Any

from donewhen.plugins import Claim, Halt, NewWorker, PluginContext, RunOptions, TurnResult, hookimpl


class Toucher:
    name, waits_for_person = "toucher", False

    async def work(self, turn: Any, context: Any) -> TurnResult:
        Path(ROOT, "done.txt").touch()
        return TurnResult(Claim("finished", "touched"))


def make(options: RunOptions) -> Toucher:
    return Toucher()


class Office:
    name = "office"

    @hookimpl
    def before_turn(self, context: PluginContext) -> None:
        if not context.get_state(bool, default=False):
            raise Halt("it is closed", {"opens": "at nine"})

    @hookimpl
    async def on_resume(self, data: Any, context: PluginContext) -> None:
        if not data:
            raise ValueError("say that it is open")
        await context.set_state(True)

    @hookimpl
    def register_worker(self) -> NewWorker:
        return NewWorker("toucher", make)


class Clumsy:
    name = "clumsy"

    @hookimpl
    def before_audit(self) -> None:
        raise KeyError("oops")
'''


class Office(Place):
    """A workspace of a person whose settings name two plugins."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        plugin = folder / "plugins" / "office.py"
        plugin.parent.mkdir()
        plugin.write_text(f"ROOT = {str(self.root)!r}\n\n\n{PLUGIN}", encoding="utf-8")
        settings = self._state / "donewhen" / "config.toml"
        settings.parent.mkdir(parents=True)
        named = [f"{plugin}:{name}" for name in ("Office", "Clumsy", "Absent")]
        settings.write_text(f"plugins = {json.dumps(named[:2])}\n", encoding="utf-8")
        self.all = f"plugins = {json.dumps(named)}\n"
        self.settings = settings
        self.goal("`test -f done.txt` passes")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Office]:
    made = Office(tmp_path)
    yield made
    made.close()


def last(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found


@pytest.mark.conformance("C23", "C24")
def test_a_plugins_halt_and_worker_on_the_command_line(place: Office) -> None:
    halted = place.run("run", "--worker", "toucher", "--json")
    assert halted.returncode == 3, halted.stderr
    assert "donewhen resume" in halted.stderr
    shown = last(halted.stdout)
    assert (shown["worker"], shown["status"]) == ("toucher", "waiting")
    assert shown["halt"] == {
        "plugin": "office",
        "reason": "it is closed",
        "data": {"opens": "at nine"},
        "resumable": True,
    }
    (failed,) = [one["message"] for one in shown["warnings"] if one["code"] == "plugin_failed"]
    assert "clumsy" in failed
    assert "oops" in failed
    again = place.run("resume", "--json")
    assert (again.returncode, "say that it is open" in again.stderr) == (2, True)
    assert place.newest()["halt"] == shown["halt"]
    done = place.run("resume", "--data", "true", "--json")
    assert done.returncode == 0, done.stderr
    assert (last(done.stdout)["runId"], last(done.stdout)["complete"]) == (shown["runId"], True)
    receipt = place.run("report", shown["runId"]).stdout
    assert "### Plugins that failed and were switched off\n\n- `clumsy` in before_audit: " in receipt


def test_a_worker_that_nobody_brings_is_said_to_be_none(place: Office) -> None:
    refused = place.run("run", "--worker", "touchr", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "touchr" in refused.stderr
    assert "did you mean toucher" in refused.stderr


def test_the_doctor_lists_plugins_and_what_is_wrong_with_one(place: Office) -> None:
    told = json.loads(place.run("doctor", "--json").stdout)["findings"]
    found = {one["name"]: one for one in told if one["group"] == "plugins"}
    assert {"office", "clumsy"} <= set(found)
    assert {one["state"] for one in found.values()} == {"ok"}
    place.settings.write_text(place.all, encoding="utf-8")
    told = json.loads(place.run("doctor", "--json").stdout)["findings"]
    wrong = [one for one in told if one["group"] == "plugins" and one["state"] == "problem"]
    assert any("Absent" in one["name"] + one["detail"] for one in wrong)
    refused = place.run("run", "--worker-command", "true")
    assert refused.returncode == 2
    assert "Absent" in refused.stderr
