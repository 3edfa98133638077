"""Whole runs whose worker is contained, by the command line: what asks, what gets out, what is said."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.host import SharedHost
from tests.agent.site import Site
from tests.rooms.conftest import mounter
from tests.scripted_models import ScriptedModels, calls, says

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rooms for commands need Linux")

GOAL = "# A note\n\n- [ ] `test -f note.txt` passes\n"


@pytest.fixture
def site(tmp_path: Path, shared_host: SharedHost) -> Iterator[Site]:
    mounter("bubblewrap")
    made = Site(tmp_path, host=shared_host)
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home" / ".ssh" / "key").write_text("s3cret")
    made.goal(GOAL)
    yield made
    made.clean_up()


def home(site: Site) -> dict[str, str]:
    return {"HOME": str(site.root.parent / "home")}


def outside(site: Site) -> list[str]:
    """The files beside the workspace that no run makes."""
    kept = ("workspace", "state")
    found = [path.relative_to(site.root.parent).as_posix() for path in site.root.parent.rglob("*") if path.is_file()]
    return sorted(one for one in found if not one.startswith(kept) and not one.endswith((".jsonl", ".err")))


def test_the_agents_commands_run_unasked_in_a_room_and_reach_nothing_else(site: Site) -> None:
    try_out = f"cat ~/.ssh/key; echo x > ~/new; echo x > {site.root.parent}/new; ls {site.state}; touch note.txt"
    worker = [
        calls("run_command", command=try_out),
        calls("run_command", command="pip install x").expecting(matches=["No such file"]),
        calls("run_command", command="echo y > ~/new", outside=True).expecting(matches=["(?i)not allowed"]),
        says("done").expecting(matches=["(?i)asks no one"]),
    ]
    with ScriptedModels({"worker": worker}) as models:
        code, last = site.run(models, approve="deny", variables=home(site))
        assert not models.failures
        asked = models.requests[0].call
        assert asked is not None
        assert "In a room of their own" in asked.text
        assert "s3cret" not in json.dumps([one.call.body for one in models.requests if one.call])
    assert (code, last["status"]) == (0, "complete"), last
    assert last["sandbox"] == {"contained": True, "network": False}
    assert outside(site) == ["home/.ssh/key"]
    assert "Commands run in a room: they can change only the workspace" in last["start"]["summary"]
    for words in (["report"], ["report", "--format", "short"], ["report", "--format", "junit"], ["status"]):
        assert "commands sandboxed, without the network" in site.cli(*words).stdout


@pytest.mark.slow
def test_what_a_person_approves_runs_outside(site: Site) -> None:
    worker = [calls("run_command", command="touch ../approved note.txt", outside=True), says("done")]
    with ScriptedModels({"worker": worker}) as models:
        code, last = site.run_asking(models)
        assert (code, last["status"]) == (3, "paused"), last["reason"]
        (asked,) = last["interrupts"]
        assert asked["title"] == "Run `touch ../approved note.txt` outside of the room?"
        assert not (site.root / "note.txt").exists()
        assert site.cli("answer", last["runId"], asked["id"], "approve").returncode in (0, 3)
        done = site.cli("resume", last["runId"], "--json")
    assert json.loads(done.stdout.splitlines()[-1])["status"] == "complete"
    assert (site.root.parent / "approved").exists()


def test_where_rooms_are_not_wanted_commands_ask(site: Site) -> None:
    worker = [calls("run_command", command="touch note.txt"), says("done")]
    with ScriptedModels({"worker": worker}) as models:
        _, last = site.run(models, "--sandbox", "off", "--max-iterations", "1", approve="deny")
    assert last["sandbox"] == {"contained": False, "network": True}
    assert not (site.root / "note.txt").exists()
    assert site.cli("resume", last["runId"], "--sandbox", "on", "--max-iterations", "5").returncode == 2


AGENT = """#!/bin/sh
cat > /dev/null
echo session >> ~/.claude/log
echo '{"new": 1}' > ~/.claude.json.tmp && mv ~/.claude.json.tmp ~/.claude.json
echo x > ~/.bashrc; echo x > ../new; cat ~/.ssh/key
git commit --allow-empty -qm x
touch note.txt
"""


def with_claude(site: Site) -> dict[str, str]:
    place = home(site)["HOME"]
    for name in (".claude", ".local/bin"):
        (Path(place) / name).mkdir(parents=True)
    (Path(place) / ".claude.json").write_text("{}")
    program = Path(place) / ".local" / "bin" / "claude"
    program.write_text(AGENT)
    program.chmod(0o755)
    path = site.environment()["PATH"]
    return {"HOME": place, "PATH": f"{program.parent}:{path}"}


def command(site: Site, sandbox: str, said: str, variables: dict[str, str]) -> tuple[int, dict[str, Any], str]:
    done = site.process(
        "run", "--json", "--worker-command", said, "--sandbox", sandbox, "--max-iterations", "1", variables=variables
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.slow
def test_another_agent_is_contained_where_that_is_said_with_its_own_folders(site: Site) -> None:
    variables = with_claude(site)
    code, last, _ = command(site, "on", "claude -p", variables)
    assert (code, last["status"]) == (0, "complete"), last
    place = Path(variables["HOME"])
    assert (place / ".claude" / "log").read_text() == "session\n"
    assert json.loads((place / ".claude.json").read_text()) == {"new": 1}
    assert outside(site) == ["home/.claude.json", "home/.claude/log", "home/.local/bin/claude", "home/.ssh/key"]
    assert last["sandbox"] == {"contained": True, "network": True}
    assert "s3cret" not in site.cli("report").stdout


@pytest.mark.slow
def test_another_agent_runs_outside_by_itself_and_that_is_said(site: Site) -> None:
    code, last, said = command(site, "auto", "claude -p", with_claude(site))
    assert (code, last["status"]) == (0, "complete"), last
    assert (site.root.parent / "new").exists()
    assert last["sandbox"] == {"contained": False, "network": True}
    assert "--sandbox on contains it" in said
    for words in (["report"], ["report", "--format", "short"], ["report", "--format", "junit"], ["status"]):
        assert "commands not sandboxed" in site.cli(*words).stdout


@pytest.mark.slow
def test_a_command_that_misses_something_of_home_is_told_what_to_do(site: Site) -> None:
    (Path(home(site)["HOME"]) / ".mine").mkdir()
    (Path(home(site)["HOME"]) / ".mine" / "login").write_text("me")
    said = "sh -c 'cat ~/.mine/login && touch note.txt'"
    code, last, _ = command(site, "on", said, home(site))
    assert code == 1
    told = json.dumps(last)
    assert "it ran in a room" in told
    assert "room_reads" in told
    code, last, _ = command(site, "on", said, {**home(site), "DONEWHEN_ROOM_READS": "~/.mine"})
    assert (code, last["status"]) == (0, "complete"), last


@pytest.mark.parametrize("setting", [pytest.param("off", marks=pytest.mark.slow), "on"])
def test_checks_run_in_rooms_by_setting(site: Site, setting: str) -> None:
    python = f"{sys.executable} -m pytest -q -p no:cacheprovider"
    (site.root / "test_a.py").write_text("def test_a():\n    assert True\n")
    out = "sh -c 'echo x > ../out; mkdir .git || mkdir .git/x'"
    site.goal(f"# Out\n\n- [ ] `{python}` passes\n- [ ] `{out}` passes\n")
    done = site.process("check", "--json", variables={**home(site), "DONEWHEN_SANDBOX_CHECKS": setting})
    last = json.loads(done.stdout)
    assert [one["status"] for one in last["requirements"]] == ["met", "unmet" if setting == "on" else "met"], last
    assert (site.root.parent / "out").exists() == (setting == "off")


@pytest.mark.slow
def test_a_check_that_fails_for_want_of_a_network_says_so(site: Site) -> None:
    asks = f"{sys.executable} -c 'import socket; socket.create_connection((\"127.0.0.1\", 9))'"
    site.goal(f"# Out\n\n- [ ] `{asks}` passes\n")
    done = site.cli("check", "--json", variables={**home(site), "DONEWHEN_SANDBOX_CHECKS": "on"})
    run = json.loads(done.stdout)["runId"]
    assert "there is no network in the room that it ran in" in site.cli("report", run, "--format", "json").stdout


def test_a_workspace_neither_loosens_nor_opens(site: Site) -> None:
    (site.root / "pyproject.toml").write_text(
        '[tool.donewhen]\nsandbox = "off"\nnetwork = "on"\nroom_writes = ["/"]\nsandbox_checks = "off"\n'
    )
    with ScriptedModels({"worker": [calls("run_command", command="touch note.txt"), says("done")]}) as models:
        _, last = site.run(models, approve="deny")
    assert last["sandbox"] == {"contained": True, "network": False}
    told = " ".join(one["message"] for one in last["warnings"])
    assert all(f"`{name}`" in told for name in ("sandbox", "network", "room_writes", "sandbox_checks"))
