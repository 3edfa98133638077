"""What `donewhen doctor` says: what is installed and available here, and how to get the rest."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from donewhen.app.agents import FoundAgent, found_agents
from donewhen.app.keys import key_variables
from donewhen.app.plugins import GATE, approval_gate
from donewhen.app.resolver import KnownFacts, judge_identity, lacked_extra, models_asked
from donewhen.app.workspace_context import plugins_there
from donewhen.core.agents import AGENTS, agents_in, passed_names, variables_of
from donewhen.core.calls import CallRole
from donewhen.core.commands.simple import SHELL_WORDS
from donewhen.core.errors import DoneWhenError
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.verdict import panel
from donewhen.core.workers import WORKERS
from donewhen.evidence.known_runners import read_line
from donewhen.evidence.runner import CommandChecker
from donewhen.goalfile.files import WorkspaceGoalFiles, find_goals
from donewhen.installation import how_to_get
from donewhen.models.catalogue import facts_of, is_full_name, provider_of
from donewhen.models.failures import names_no_provider
from donewhen.models.keys import OWN_KEY, PROVIDER_KEYS, find_base, needs_key
from donewhen.plugins.loading import from_source
from donewhen.plugins.opening import installed_plugins
from donewhen.plugins.registering import Named, registered
from donewhen.ports import Checker, Measured, ModelNotes, Price, Processes
from donewhen.settings.loading import Settings, user_settings_file
from donewhen.settings.personal import price_example
from donewhen.store.folders import state_folder
from donewhen.store.model_notes import KeptModelNotes
from donewhen.version import __version__
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.live import MountedLiveRooms
from donewhen.workspace.rooms.showing import RoomSpec
from donewhen.workspace.rooms.trials import TrialRooms, others_files
from donewhen.workspace.watching import watcher_for

OLDEST = (1, 100)
BROKEN = (1, 106)
"""Every 1.106 version breaks any call with tools on the base install."""
OFF = "switched off in your settings"
WATCHED_BY = {"linux": "inotify", "darwin": "FSEvents", "win32": "ReadDirectoryChangesW"}
_WATCHED_WITHIN = 5.0
LISTED = "donewhen models lists them, and the model servers on this machine"
State = Literal["ok", "missing", "problem"]


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """One line of the report: `how` says how to get what is missing."""

    name: str
    state: State
    detail: str = ""
    how: str = ""


DoctorReport = Mapping[str, Sequence[DoctorLine]]
"""Its lines, by what they are about."""


def examined(root: Path, settings: Settings, environ: Mapping[str, str]) -> DoctorReport:
    """Inspects only: it changes nothing except a scratch folder, which it removes afterwards."""
    with tempfile.TemporaryDirectory(prefix="donewhen-doctor-") as scratch:
        checker = CommandChecker(SystemProcesses(), root, Path(scratch), lambda: dict(environ))
        problems: list[str] = []
        try:
            state = state_folder(settings.state_dir)
        except DoneWhenError as error:
            problems.append(str(error))
            state = None
        tried_in = state or Path(scratch)
        notes = KeptModelNotes(state)
        goals, checks = goal_lines(root, checker)
        return {
            "installation": list(_installation()),
            "workspace": [
                DoctorLine("folder", "ok", str(root)),
                asyncio.run(_watcher(root, Path(scratch))),
                _state_line(settings.state_dir or state),
                *goals,
                *(DoctorLine("problem", "problem", each) for each in problems),
            ],
            "workers, judges and models": [
                *worker_lines(settings, environ, litellm_version(), notes),
            ],
            "plugins": list(plugin_lines(root, settings)),
            "rooms for commands": list(
                containment_lines(settings, asyncio.run(_containment_hindrance(root, tried_in, checker)))
            ),
            "what checks run in": [
                *_environment(checker),
                rooms_line(*asyncio.run(_rooms(root, tried_in, checker))),
                *checks,
            ],
        }


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


# -------------------------------------------------------------------------------------------- workspace


def _state_line(folder: Path | None) -> DoctorLine:
    """Whether runs can be recorded: in the folder, or in the nearest existing one above it."""
    above = (folder, *folder.parents) if folder is not None else ()
    existing = next((path for path in above if path.is_dir()), None)
    writable = existing is not None and os.access(existing, os.W_OK | os.X_OK)
    how = "" if writable else "make it writable, or give another one with --state-dir"
    return DoctorLine("state folder", "ok" if writable else "problem", str(folder or ""), how)


def goal_lines(root: Path, checker: CommandChecker) -> tuple[list[DoctorLine], list[DoctorLine]]:
    """The goal files of the folder itself with what is wrong with them, and the programs of their checks."""
    goals = find_goals(root)
    own = [path for path in goals if "/" not in path]
    below = f" ({len(goals) - len(own)} more in folders below)" if len(goals) > len(own) else ""
    how = "" if own else "donewhen init"
    lines = [DoctorLine("goal files", "ok" if own else "missing", f"{', '.join(own) or 'none here'}{below}", how)]
    files, checks = WorkspaceGoalFiles(root, plugins_there), dict[str, DoctorLine]()
    for path in own:
        try:
            goal = files.load(path)
        except DoneWhenError as error:
            lines.append(DoctorLine("problem", "problem", str(error)))
            continue
        for check in goal.checks:
            words = {part.words[0] for part in read_line(check.command) if part.words}
            builtin = "the shell" if words and words <= SHELL_WORDS else None
            program = checker.program(check) or builtin
            how = "" if program else "not installed here: install it, or correct the goal"
            line = DoctorLine(f"`{check.command}`", "ok" if program else "missing", program or "no program", how)
            checks.setdefault(check.command, line)
    return lines, list(checks.values())


async def _watcher(root: Path, scratch: Path) -> DoctorLine:
    """What reports changes in the folder, found out by watching it, and why nothing does."""
    watcher = watcher_for(root, scratch)
    watcher.start(lambda: None)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WATCHED_WITHIN):
                while await watcher.drain() and not watcher.polls:
                    watcher.take()
                    await asyncio.sleep(0.01)
                if watcher.warning is None:
                    begun = time.monotonic()
                    await watcher.drain()
                    heard = 1000 * (time.monotonic() - begun)
                    system = WATCHED_BY.get(sys.platform, sys.platform)
                    noticed = f"changes are noticed within {heard:.0f} ms"
                    told = f"{system}, through watchfiles {version('watchfiles')}: {noticed}"
                    return DoctorLine("watching", "ok", told)
    finally:
        watcher.close()
    why = watcher.warning or "the system reports no changes: files are checked every few seconds"
    return DoctorLine("watching", "missing", why)


# ----------------------------------------------------------------------------- workers, judges and models


def worker_lines(
    settings: Settings, environ: Mapping[str, str], litellm: str | None, notes: ModelNotes
) -> Iterator[DoctorLine]:
    """Reads only the names of variables, never their values. `litellm` is its version, None if it isn't installed;
    `notes` keeps how judges were measured."""
    model, judges = settings.pick("model"), panel(settings.pick("judge_model") or "") or ()
    agent = AgentOptions(model, settings.pick("api_base")) if model else None
    judging = JudgeOptions(judges, settings.pick("judge_api_base")) if judges else None
    options = RunOptions(None, agent=agent, judging=judging)
    configured = [(asked[0], _model(*asked, options, settings, environ)) for asked in models_asked(options)]
    lacking = {role for role, (_, lacks) in configured if lacks}
    how = "" if model else "set a model: --model PROVIDER/NAME, DONEWHEN_MODEL or `model` in your settings"
    state: State = "ok" if model and "worker" not in lacking else "missing"
    found: dict[str, tuple[State, str, str]] = {
        "agent": (state, model or "no model is set", how),
        "command": ("ok", *_command_worker(settings, environ)),
    }
    agents_here = found_agents(environ)
    found |= {agent.preset: _headless(agent) for agent in agents_here}
    found["acp"] = _acp(agents_here)
    for kind in WORKERS.values():
        if kind.offered:
            yield DoctorLine(f"worker {kind.name}", *found.get(kind.name, ("ok", kind.detail, "")))
    how = "set one: --judge-model PROVIDER/NAME, DONEWHEN_JUDGE_MODEL or `judge_model` in your settings"
    detail = ", ".join(dict.fromkeys(judges)) or "none is set: you are asked about what no check decides"
    state = "ok" if judges and "judge" not in lacking else "missing"
    yield DoctorLine("judge", state, detail, "" if judges else how)
    if judging is not None:
        measured = notes.of(judge_identity(judging), judging.api_base).measured
        yield measured_line(measured, settings.pick("judge_model") or "")
    yield litellm_line(litellm)
    yield from (line for _, (line, _) in configured)
    usual = [name for names in PROVIDER_KEYS.values() for name in names]
    keys = [name for name in dict.fromkeys((*OWN_KEY.values(), *usual)) if environ.get(name, "").strip()]
    yield DoctorLine("keys", "ok" if keys else "missing", ", ".join(keys) or "none is set", LISTED)


def measured_line(measured: Measured | None, judge: str) -> DoctorLine:
    """What the judge's verdicts are worth."""
    name = "judge, measured"
    if measured is None:
        return DoctorLine(name, "missing", "not yet", f"donewhen bench --quick --judge-model '{judge}'")
    if measured.weak:
        how = "choose another judge, or bind checks to what it decides"
        return DoctorLine(name, "problem", f"weak: {measured}", how)
    return DoctorLine(name, "ok", str(measured))


def litellm_version() -> str | None:
    try:
        return version("litellm")
    except PackageNotFoundError:
        return None


def litellm_line(installed: str | None) -> DoctorLine:
    if installed is None:
        detail = "not installed: it calls other providers than OpenAI and Anthropic, and knows prices"
        return DoctorLine("litellm", "missing", detail, how_to_get("litellm"))
    numbers = tuple(int(number) for number in re.findall(r"\d+", installed)[:2])
    if numbers < OLDEST or numbers == BROKEN:
        return DoctorLine("litellm", "problem", f"{installed} doesn't work here", how_to_get("litellm"))
    return DoctorLine("litellm", "ok", installed)


def _model(
    role: CallRole, name: str, base: str | None, options: RunOptions, settings: Settings, environ: Mapping[str, str]
) -> tuple[DoctorLine, bool]:
    """What is known about a model, and whether something is lacking before it can be asked."""
    title = f"{role}'s model {name}"
    if not is_full_name(name):
        return DoctorLine(title, "problem", names_no_provider(name)), True
    lacks = lacked_extra(name, base, KnownFacts(environment=lambda: environ))
    if lacks is not None:
        return DoctorLine(title, "missing", f"needs the {lacks} extra", how_to_get(lacks)), True
    known = facts_of(name, base, settings.prices)
    window = (settings.pick("window") if role == "worker" else None) or known.window
    variables = key_variables(role, name, options, settings.own)
    key = next((variable for variable in variables if environ.get(variable, "").strip()), None)
    served = base or find_base(provider_of(name), environ)
    parts = [f"served at {served}"] if served else []
    parts += [f"{window:,} tokens of context" if window is not None else "context unknown"]
    parts += [_price(known.price)]
    parts += [f"key in {key}"] if key else []
    if key is None and served is None and needs_key(provider_of(name)):
        return DoctorLine(title, "problem", ", ".join((*parts, "no key")), f"set {' or '.join(variables)}"), False
    how = ""
    if known.price is None:
        lines = price_example(name).replace("\n", ", ")
        how = f"for a budget in dollars set its price in {user_settings_file()}: {lines}"
    return DoctorLine(title, "ok", ", ".join(parts), how), False


def _price(price: Price | None) -> str:
    if price is None:
        return "price unknown"
    cached = "" if price.cached is None else f", {_exact_dollars(price.cached)} cached"
    return f"{_exact_dollars(price.input)} in, {_exact_dollars(price.output)} out{cached} a million tokens"


def _exact_dollars(amount: float) -> str:
    return f"${amount:.2f}" if round(amount, 2) == amount else f"${amount:g}"


def _headless(agent: FoundAgent) -> tuple[State, str, str]:
    """Whether an agent's program is here."""
    if agent.program is None:
        return "missing", f"{agent.name} is not installed", agent.install
    return "ok", f"{agent.name}, {agent.program}", ""


def _acp(agents: Sequence[FoundAgent]) -> tuple[State, str, str]:
    """Which of the known agents that speak the protocol are here, and how to get the others."""
    here = [one.preset for one in agents if one.acp is not None]
    missing = [one for one in agents if one.acp is None and one.acp_install]
    how = ", ".join(f"{one.preset}: {one.acp_install}" for one in missing)
    if not here:
        return "missing", "none of the known agents is installed: --agent-command CMD starts any other", how
    return "ok", f"--agent-command {' or '.join(here)}", how


def _command_worker(settings: Settings, environ: Mapping[str, str]) -> tuple[str, str]:
    """What the command is, and which variables with keys it would get here."""
    command = settings.pick("worker_command") or ""
    names = passed_names(command, settings.pick("pass_env") or (), environ)
    passed = ", ".join(sorted(variables_of(names, environ))) or "no variable that holds a key"
    if not command:
        known = ", ".join(agent.name for agent in AGENTS)
        how = f"--pass-env NAME passes a key to it; what these log in with is passed automatically: {known}"
        return "any program: --worker command --worker-command CMD", how
    agent = "".join(f" ({one.name})" for one in agents_in(command))
    return f"`{command}`{agent} is passed {passed}", "" if names else "--pass-env NAME passes a key to it"


# ---------------------------------------------------------------------------------------------- plugins


def plugin_lines(root: Path, settings: Settings) -> Iterator[DoctorLine]:
    """The plugins of the user's settings, then the gate, then those from packages, in the order in which they are
    called. Each is loaded as a run would."""
    off = settings.approvals.plugins_off
    for source in settings.approvals.plugins:
        try:
            named = from_source(source, root)
            where = f"{source}, {OFF}" if named.name in off else source
            yield plugin_line(named.name, where, _points(named.plugin))
        except DoneWhenError as error:
            how = f"fix it, or remove it from `plugins` in {user_settings_file()}"
            yield plugin_line(source, "your settings", (), str(error), how)
    yield plugin_line(GATE, "built in", _points(approval_gate(root, None)))
    for one in installed_plugins(root):
        source = one.package or "installed"
        if one.name in off:
            yield plugin_line(one.name, f"{source}, {OFF}", one.points)
        else:
            how = f'fix it, uninstall it, or add "{one.name}" to `plugins_off` in {user_settings_file()}'
            yield plugin_line(one.name, source, one.points, one.problem, how)


def plugin_line(name: str, source: str, points: Sequence[str], problem: str = "", how: str = "") -> DoctorLine:
    """`source` says where it comes from, `points` what it implements; `problem` why it can't be used, and `how` what
    to do about it."""
    detail = " · ".join(part for part in (source, ", ".join(points), problem) if part)
    return DoctorLine(name, "problem" if problem else "ok", detail, how if problem else "")


def _points(plugin: object) -> tuple[str, ...]:
    """The hooks that it implements. Raises UsageError if one can't be called."""
    found = registered([Named("looked-at", plugin)])
    return tuple(point for point, hooks in found.hooks.items() if hooks)


# ------------------------------------------------------------------------------------------------ rooms


async def _rooms(root: Path, state: Path, checker: CommandChecker) -> tuple[str, str]:
    """Why rooms are not overlays in the state folder, found out by making one, and the files in the workspace that
    can't be changed in a room, because somebody else owns them."""

    def inside(processes: Processes, root: Path, writable: Path, written: Path | None) -> Checker:
        return checker

    with tempfile.TemporaryDirectory(prefix="doctor-", dir=state) as folder:
        spec = RoomSpec("layered", root, contained=False)
        rooms = TrialRooms(spec, Path(folder), SystemProcesses(), inside, checker.variables)
        why = await rooms.why_copies()
        return why, "" if why else others_files(root)


async def _containment_hindrance(root: Path, state: Path, checker: CommandChecker) -> str:
    """Why commands can't be contained here, found out by opening a room."""
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=state) as folder:
        return await MountedLiveRooms(root, Path(folder), checker.variables).hindrance()


def rooms_line(hindrance: str, owners: str = "") -> DoctorLine:
    """What checks are tried in before a run completes."""
    if owners:
        return DoctorLine("rooms", "missing", f"overlays at the workspace's own path; {owners}")
    if not hindrance:
        return DoctorLine("rooms", "ok", "overlays at the workspace's own path")
    detail = f"copies of the workspace, which are slower, prove less and hide nothing of yours: {hindrance}"
    return DoctorLine("rooms", "missing", detail, _room_advice(hindrance))


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
    (r"is mounted in the workspace", "unmount it until the run has completed"),
    (r"is a link", "replace the link with the folder itself"),
    (r"this system", "work on Linux, such as in WSL, a dev container or a virtual machine"),
)
"""What prevents rooms, by a text in the message, and what helps."""


def _room_advice(hindrance: str) -> str:
    """What helps where no room opens; bubblewrap is not to be installed where the one that is here could not do it."""
    told = next((told for said, told in BETTER if re.search(said, hindrance)), "")
    able = "bubblewrap can't" in hindrance and not re.search(r"nknown option|setuid", hindrance)
    return told or ("" if able else how_to_get("rooms"))


def containment_lines(settings: Settings, hindrance: str) -> Iterator[DoctorLine]:
    """Whether the worker's commands can be contained."""
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
    said = (without if hindrance else {}).get(settings.sandbox, what[settings.sandbox])
    yield DoctorLine("sandbox", "ok" if settings.sandbox == "off" else state, said)
    if not settings.contains_checks:
        yield DoctorLine("checks", "ok", 'they run as you (sandbox_checks = "on" in your settings)')
    elif hindrance:
        yield DoctorLine("checks", state, "none can run, since sandbox_checks is on and no room opens")
    else:
        yield DoctorLine("checks", "ok", "they run in rooms")


def _environment(checker: CommandChecker) -> Iterator[DoctorLine]:
    variables = checker.variables()
    path = variables.get("PATH", "")
    python = shutil.which("python3", path=path) or shutil.which("python", path=path)
    environment = variables.get("VIRTUAL_ENV") or variables.get("CONDA_PREFIX")
    why = f"from {environment}" if environment else "the first on PATH"
    yield DoctorLine("python", "ok" if python else "missing", f"{python or 'none'} ({why})")
    yield DoctorLine("PATH", "ok", path)
