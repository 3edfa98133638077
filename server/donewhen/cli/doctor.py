"""`doctor`: what is installed and available here, and how to get the rest."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from donewhen.app.agents import FoundAgent, found_agents
from donewhen.app.doctor import ConfiguredModel, DoctorFacts, ModelsFacts, PluginFacts
from donewhen.cli.calling import Call
from donewhen.cli.formatting import plain, shown_path
from donewhen.core.agents import AGENTS, agents_in, passed_names, variables_of
from donewhen.core.workers import WORKERS
from donewhen.installation import how_to_get
from donewhen.settings.loading import price_example, user_settings_file
from donewhen.version import __version__

LISTED = "donewhen models lists them, and the model servers on this machine"
State = Literal["ok", "missing", "problem"]
SYMBOLS: dict[State, str] = {"ok": "✓", "missing": "-", "problem": "✗"}


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """One line of the report: `how` says how to get what is missing."""

    name: str
    state: State
    detail: str = ""
    how: str = ""


def doctor(call: Call) -> int:
    """Always returns 0; problems are in the report."""
    facts = call.services.doctor_facts(call.root, call.settings)
    groups = {
        "installation": list(_installation()),
        "workspace": list(_workspace_lines(call, facts)),
        "workers, judges and models": list(_workers(facts.models, call)),
        "plugins": list(_plugins(facts.plugins)),
        "rooms for commands": list(_containment(call, facts)),
        "what checks run in": list(_environment(facts)),
    }
    if call.json:
        findings = [{"group": group, **asdict(line)} for group, lines in groups.items() for line in lines]
        call.terminal.document({"version": __version__, "findings": findings})
        return 0
    for group, lines in groups.items():
        if lines:
            call.terminal.result(group)
        for line in lines:
            detail = f": {plain(line.detail)}" if line.detail else ""
            how = f" → {line.how}" if line.how else ""
            call.terminal.result(f"  {SYMBOLS[line.state]} {line.name}{detail}{how}")
    return 0


def _installation() -> Iterator[DoctorLine]:
    yield DoctorLine("donewhen", "ok", __version__)
    yield DoctorLine("python", "ok", f"{platform.python_version()} ({sys.executable})")
    yield DoctorLine("platform", "ok", platform.platform())
    git = shutil.which("git")
    how = "" if git else "install git: ignore rules are read and files are compared faster with it"
    yield DoctorLine("git", "ok" if git else "missing", git or "not found", how)
    for package in ("pygls", "watchfiles", "pydantic", "rich"):
        try:
            yield DoctorLine(package, "ok", version(package))
        except PackageNotFoundError:
            yield DoctorLine(package, "problem", "not installed", "install donewhen again")


def _workspace_lines(call: Call, facts: DoctorFacts) -> Iterator[DoctorLine]:
    yield DoctorLine("folder", "ok", str(call.root))
    yield DoctorLine("watching", "ok" if facts.watcher else "missing", facts.watcher or facts.watcher_hindrance)
    # Whether runs can be recorded: in the folder, or in the nearest existing one above it.
    folder = str(call.state_dir or facts.state_folder)
    existing = next((path for path in (Path(folder), *Path(folder).parents) if path.is_dir()), None)
    writable = existing is not None and os.access(existing, os.W_OK | os.X_OK)
    how = "" if writable else "make it writable, or give another one with --state-dir"
    yield DoctorLine("state folder", "ok" if writable else "problem", folder, how)
    goals = ", ".join(shown_path(path) for path in facts.goals) or "none here"
    goals += f" ({facts.goals_elsewhere} more in folders below)" if facts.goals_elsewhere else ""
    how = "" if facts.goals else "donewhen init"
    yield DoctorLine("goal files", "ok" if facts.goals else "missing", goals, how)
    for problem in facts.problems:
        yield DoctorLine("problem", "problem", problem)


def _workers(models: ModelsFacts, call: Call) -> Iterator[DoctorLine]:
    agents = [one.model for one in models.configured if one.role == "worker"]
    judges = [one.model for one in models.configured if one.role == "judge"]
    lacking = {one.role for one in models.configured if one.lacks is not None or one.misnamed}
    agent: State = "ok" if agents and "worker" not in lacking else "missing"
    how = "" if agents else "set a model: --model PROVIDER/NAME, DONEWHEN_MODEL or `model` in your settings"
    found: dict[str, tuple[State, str, str]] = {
        "agent": (agent, ", ".join(agents) or "no model is set", how),
        "command": ("ok", *_command_worker(call)),
    }
    agents_here = found_agents(call.terminal.environ)
    found |= {agent.preset: _headless(agent) for agent in agents_here}
    found["acp"] = _acp(agents_here)
    for kind in WORKERS.values():
        if not kind.offered:
            continue
        state, detail, how = found.get(kind.name, ("ok", kind.detail, ""))
        yield DoctorLine(f"worker {kind.name}", state, detail, how)
    how = (
        "" if judges else "set one: --judge-model PROVIDER/NAME, DONEWHEN_JUDGE_MODEL or `judge_model` in your settings"
    )
    detail = ", ".join(judges) or "none is set: you are asked about what no check decides"
    yield DoctorLine("judge", "ok" if judges and "judge" not in lacking else "missing", detail, how)
    if judges:
        yield _measured(models, call.settings.pick("judge_model") or "")
    yield _litellm(models)
    for one in models.configured:
        yield _model(one)
    named = ", ".join(models.keys) or "none is set"
    yield DoctorLine("keys", "ok" if models.keys else "missing", named, LISTED)


def _measured(models: ModelsFacts, judge: str) -> DoctorLine:
    """What the judge's verdicts are worth."""
    name = "judge, measured"
    if models.measured is None:
        return DoctorLine(name, "missing", "not yet", f"donewhen bench --quick --judge-model '{judge}'")
    if models.measured.weak:
        how = "choose another judge, or bind checks to what it decides"
        return DoctorLine(name, "problem", f"weak: {models.measured}", how)
    return DoctorLine(name, "ok", str(models.measured))


def _plugins(plugins: Sequence[PluginFacts]) -> Iterator[DoctorLine]:
    for one in plugins:
        told = [one.source, ", ".join(one.provides), one.problem]
        detail = " · ".join(part for part in told if part)
        yield DoctorLine(one.name, "problem" if one.problem else "ok", detail, one.how)


def _litellm(models: ModelsFacts) -> DoctorLine:
    if models.installed is None:
        detail = "not installed: it calls other providers than OpenAI and Anthropic, and knows prices"
        return DoctorLine("litellm", "missing", detail, how_to_get("litellm"))
    if not models.usable:
        return DoctorLine("litellm", "problem", f"{models.installed} doesn't work here", how_to_get("litellm"))
    return DoctorLine("litellm", "ok", models.installed)


def _model(one: ConfiguredModel) -> DoctorLine:
    """Whether the model can be asked, and what is known about it."""
    parts = [f"served at {one.served}"] if one.served else []
    parts += [f"{one.window:,} tokens of context" if one.window is not None else "context unknown"]
    parts += [one.price or "price unknown"]
    parts += [f"key in {one.key}"] if one.key else []
    name = f"{one.role}'s model {one.model}"
    if one.misnamed:
        return DoctorLine(name, "problem", one.misnamed)
    if one.lacks is not None:
        return DoctorLine(name, "missing", f"needs the {one.lacks} extra", how_to_get(one.lacks))
    if one.key is None and one.needs_key:
        return DoctorLine(name, "problem", ", ".join((*parts, "no key")), f"set {' or '.join(one.wanted)}")
    how = ""
    if one.price is None:
        lines = price_example(one.model).replace("\n", ", ")
        how = f"for a budget in dollars set its price in {user_settings_file()}: {lines}"
    return DoctorLine(name, "ok", ", ".join(parts), how)


def _headless(agent: FoundAgent) -> tuple[State, str, str]:
    """Whether an agent's program is here."""
    if agent.program is None:
        return "missing", f"{agent.name} is not installed", agent.install
    return "ok", f"{agent.name}, {shown_path(agent.program)}", ""


def _acp(agents: Sequence[FoundAgent]) -> tuple[State, str, str]:
    """Which of the known agents that speak the protocol are here, and how to get the others."""
    here = [one.preset for one in agents if one.acp is not None]
    missing = [one for one in agents if one.acp is None and one.acp_install]
    how = ", ".join(f"{one.preset}: {one.acp_install}" for one in missing)
    if not here:
        return "missing", "none of the known agents is installed: --agent-command CMD starts any other", how
    return "ok", f"--agent-command {' or '.join(here)}", how


def _command_worker(call: Call) -> tuple[str, str]:
    """What the command is, and which variables with keys it would get here."""
    command, environ = call.settings.pick("worker_command") or "", call.terminal.environ
    names = passed_names(command, call.settings.pick("pass_env") or (), environ)
    passed = ", ".join(sorted(variables_of(names, environ))) or "no variable that holds a key"
    if not command:
        known = ", ".join(agent.name for agent in AGENTS)
        how = f"--pass-env NAME passes a key to it; what these log in with is passed automatically: {known}"
        return "any program: --worker command --worker-command CMD", how
    agent = "".join(f" ({one.name})" for one in agents_in(command))
    return f"`{command}`{agent} is passed {passed}", "" if names else "--pass-env NAME passes a key to it"


def _rooms(facts: DoctorFacts) -> DoctorLine:
    """What checks are tried in before a run completes."""
    if facts.rooms_owners:
        return DoctorLine("rooms", "missing", f"overlays at the workspace's own path; {facts.rooms_owners}")
    if not facts.rooms_hindrance:
        return DoctorLine("rooms", "ok", "overlays at the workspace's own path")
    detail = f"copies of the workspace, which are slower, prove less and hide nothing of yours: {facts.rooms_hindrance}"
    return DoctorLine("rooms", "missing", detail, _room_advice(facts.rooms_hindrance))


BETTER = (
    (
        r"uid map|Permission denied|Operation not permitted|No permissions",
        "it may not create namespaces here: on Ubuntu, `sudo sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0` or an "
        "AppArmor profile for bwrap; start a container with `--security-opt seccomp=unconfined --security-opt "
        "apparmor=unconfined`",
    ),
    (r"No space left|max_user_namespaces", "`sudo sysctl user.max_user_namespaces=10000`"),
    (r"home folder", "open the project's own folder"),
    (r"is mounted in the workspace", "unmount it while a run completes"),
    (r"is a link", "replace the link with the folder itself"),
    (r"this system", "work on Linux, such as in WSL, a dev container or a virtual machine"),
)
"""What prevents rooms, by a text in the message, and what helps."""


def _room_advice(hindrance: str) -> str:
    """What helps where no room opens; bubblewrap is not to be installed where the one that is here could not do it."""
    told = next((told for said, told in BETTER if re.search(said, hindrance)), "")
    able = "bubblewrap can't" in hindrance and not re.search(r"nknown option|setuid", hindrance)
    return told or ("" if able else how_to_get("rooms"))


def _containment(call: Call, facts: DoctorFacts) -> Iterator[DoctorLine]:
    """Whether the worker's commands can be contained."""
    settings = call.settings
    hindrance = facts.containment_hindrance
    if hindrance is None:
        return
    state: State = "missing" if hindrance else "ok"
    if hindrance:
        what_then = "none opens here" if settings.sandbox == "on" else "commands run as you, and need approval"
        yield DoctorLine("rooms", state, f"{what_then}: {hindrance}", _room_advice(hindrance))
    else:
        yield DoctorLine("rooms", state, "they can change the workspace, and nothing else")
    network = "reach the network" if settings.network else 'reach no network (network = "on" in your settings)'
    what = {
        "off": "what workers run is not contained (sandbox is off)",
        "auto": f"the built-in agent's commands are contained, and {network}; other agents with --sandbox on",
        "on": f"what workers run is contained, or nothing runs; commands {network}",
    }
    without = {
        "auto": "nothing that workers run is contained, since no room opens",
        "on": "no worker starts, since sandbox is on and no room opens",
    }
    said = (without if facts.containment_hindrance else {}).get(settings.sandbox, what[settings.sandbox])
    yield DoctorLine("sandbox", "ok" if settings.sandbox == "off" else state, said)
    if not settings.contains_checks:
        yield DoctorLine("checks", "ok", 'they run as you (sandbox_checks = "on" in your settings)')
    elif facts.containment_hindrance:
        yield DoctorLine("checks", state, "none can run, since sandbox_checks is on and no room opens")
    else:
        yield DoctorLine("checks", "ok", "they run in rooms")


def _environment(facts: DoctorFacts) -> Iterator[DoctorLine]:
    why = f" ({facts.why})" if facts.why else ""
    yield DoctorLine("python", "ok" if facts.interpreter else "missing", f"{facts.interpreter or 'none'}{why}")
    yield DoctorLine("PATH", "ok", os.pathsep.join(facts.path))
    if facts.rooms:
        yield _rooms(facts)
    for check in facts.checks:
        state: State = "ok" if check.program else "missing"
        how = "" if check.program else "not installed here: install it, or correct the goal"
        yield DoctorLine(f"`{check.command}`", state, check.program or "no program", how)
