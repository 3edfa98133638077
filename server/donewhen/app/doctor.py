"""The facts behind `donewhen doctor`: what checks run in, whether commands can be contained, models, and plugins."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from donewhen.app.keys import key_variables
from donewhen.app.plugins import GATE, approval_gate
from donewhen.app.resolver import KnownFacts, judge_identity, lacked_extra, models_asked
from donewhen.app.workspace_context import plugins_there
from donewhen.core.calls import CallRole
from donewhen.core.commands.simple import SHELL_WORDS
from donewhen.core.errors import DoneWhenError
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.verdict import panel
from donewhen.evidence.known_runners import read_line
from donewhen.evidence.runner import CommandChecker
from donewhen.goalfile.files import WorkspaceGoalFiles, find_goals
from donewhen.installation import ModelExtra
from donewhen.models.catalogue import facts_of, is_full_name, provider_of
from donewhen.models.failures import names_no_provider
from donewhen.models.keys import OWN_KEY, PROVIDER_KEYS, find_base, needs_key
from donewhen.plugins.loading import from_source
from donewhen.plugins.opening import installed_plugins
from donewhen.plugins.registering import Named, registered
from donewhen.ports import Checker, Measured, ModelFacts, ModelNotes, Price, Processes
from donewhen.settings.loading import Settings, user_settings_file
from donewhen.store.folders import state_folder
from donewhen.store.model_notes import KeptModelNotes
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.choosing import BestRooms
from donewhen.workspace.rooms.live import MountedLiveRooms
from donewhen.workspace.rooms.overlay import others_files
from donewhen.workspace.watching import watcher_for

OLDEST = (1, 100)
BROKEN = (1, 106)
"""Every 1.106 version breaks any call with tools on the base install."""
OFF = "switched off in your settings"
WATCHED_BY = {"linux": "inotify", "darwin": "FSEvents", "win32": "ReadDirectoryChangesW"}
_WATCHED_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class CheckProgram:
    """The program that a check's command resolves to in the checks' environment; None if it is not installed."""

    command: str
    program: str | None


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """A configured model. `served` is its API base; None means its provider. `price` is a text, None if unknown; `key`
    is the variable that holds its key, None if none of `wanted` is set; `window` is in tokens."""

    role: Literal["worker", "judge"]
    model: str
    served: str | None = None
    window: int | None = None
    price: str | None = None
    key: str | None = None
    wanted: tuple[str, ...] = ()
    needs_key: bool = True
    lacks: ModelExtra | None = None
    """The extra to install before it can be called."""
    misnamed: str = ""
    """Why that can't be the name of a model; empty if it can."""


@dataclass(frozen=True, slots=True)
class ModelsFacts:
    """The state of models here: litellm's version (None: not installed), whether that version works here, the
    configured models, the names of the variables with keys that are set, and how the configured judge did when it was
    measured (None: it was not)."""

    installed: str | None = None
    usable: bool = False
    configured: tuple[ConfiguredModel, ...] = ()
    keys: tuple[str, ...] = ()
    measured: Measured | None = None


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """A plugin as runs here would use it. `source` says where it comes from, `provides` names the points that it
    implements; `problem` says why it can't be used, and `how` what to do about it."""

    name: str
    source: str = ""
    provides: tuple[str, ...] = ()
    problem: str = ""
    how: str = ""


@dataclass(frozen=True, slots=True)
class DoctorFacts:
    """What Done When finds on this machine, and in this workspace folder. `interpreter` is the Python that comes first
    on `path`, and `why` says why; `goals` are the goal files in the folder itself, whose checks are examined."""

    interpreter: str | None = None
    why: str = ""
    path: tuple[str, ...] = ()
    checks: tuple[CheckProgram, ...] = ()
    watcher: str = ""
    """What reports changes in the workspace folder; if nothing does, `watcher_hindrance` says why."""
    watcher_hindrance: str = ""
    state_folder: str = ""
    problems: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    goals_elsewhere: int = 0
    models: ModelsFacts = ModelsFacts()
    plugins: tuple[PluginFacts, ...] = ()
    """In the order in which they are called."""
    rooms: str = ""
    """How rooms are made here, empty if unknown; `rooms_hindrance` says why they can't be overlays."""
    rooms_hindrance: str = ""
    rooms_owners: str = ""
    """The files in the workspace that can't be changed in a room, because somebody else owns them."""
    containment_hindrance: str | None = None
    """Why commands can't be contained in rooms here; empty if they can, None if unknown."""


def doctor_facts(root: Path, settings: Settings) -> DoctorFacts:
    """Inspects only: it changes nothing except a scratch folder, which it removes afterwards."""
    with tempfile.TemporaryDirectory(prefix="donewhen-doctor-") as scratch:
        checker = CommandChecker(SystemProcesses(), root, Path(scratch), lambda: dict(os.environ))
        variables = checker.variables()
        path = variables.get("PATH", "")
        python = shutil.which("python3", path=path) or shutil.which("python", path=path)
        environment = variables.get("VIRTUAL_ENV") or variables.get("CONDA_PREFIX")
        goals = find_goals(root)
        own = tuple(path for path in goals if "/" not in path)
        checks, problems = _checks(root, own, checker)
        state = _state_folder(settings.state_dir, problems)
        watcher, unwatched = asyncio.run(_watcher(root, Path(scratch)))
        rooms, hindrance, owners = asyncio.run(_rooms(root, Path(state or scratch), checker))
        return DoctorFacts(
            interpreter=python,
            why=f"from {environment}" if environment else "the first on PATH",
            path=tuple(path.split(os.pathsep)),
            checks=checks,
            watcher=watcher,
            watcher_hindrance=unwatched,
            state_folder=state,
            problems=tuple(problems),
            goals=own,
            goals_elsewhere=len(goals) - len(own),
            models=models_facts(settings, os.environ, KeptModelNotes(Path(state) if state else None)),
            plugins=plugins_facts(root, settings),
            rooms=rooms,
            rooms_hindrance=hindrance,
            rooms_owners=owners,
            containment_hindrance=asyncio.run(_containment_hindrance(root, Path(state or scratch), checker)),
        )


async def _rooms(root: Path, state: Path, checker: CommandChecker) -> tuple[str, str, str]:
    """How rooms are made in the state folder, found out by making one; why they are not better; and what in the
    workspace they can't change."""

    def inside(processes: Processes, root: Path, writable: Path, written: Path | None) -> Checker:
        return checker

    with tempfile.TemporaryDirectory(prefix="doctor-", dir=state) as folder:
        best = BestRooms(Path(folder), SystemProcesses(), inside, checker.variables)
        chosen = await best.chosen()
        owners = others_files(root) if chosen.kind == "overlay" else ""
        return chosen.kind, best.why, owners


async def _containment_hindrance(root: Path, state: Path, checker: CommandChecker) -> str:
    """Why commands can't be contained here, found out by opening a room."""
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=state) as folder:
        return await MountedLiveRooms(root, Path(folder), checker.variables).hindrance()


def _checks(root: Path, goals: Sequence[str], checker: CommandChecker) -> tuple[tuple[CheckProgram, ...], list[str]]:
    files = WorkspaceGoalFiles(root, plugins_there)
    found: dict[str, CheckProgram] = {}
    problems: list[str] = []
    for goal_path in goals:
        try:
            goal = files.load(goal_path)
        except DoneWhenError as error:
            problems.append(str(error))
            continue
        for check in goal.checks:
            words = {part.words[0] for part in read_line(check.command) if part.words}
            builtin = "the shell" if words and words <= SHELL_WORDS else None
            found.setdefault(check.command, CheckProgram(check.command, checker.program(check) or builtin))
    return tuple(found.values()), problems


async def _watcher(root: Path, scratch: Path) -> tuple[str, str]:
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
                    return f"{system}, through watchfiles {version('watchfiles')}: {noticed}", ""
    finally:
        watcher.close()
    return "", watcher.warning or "the system reports no changes: files are checked every few seconds"


def _state_folder(override: Path | None, problems: list[str]) -> str:
    try:
        return str(state_folder(override))
    except DoneWhenError as error:
        problems.append(str(error))
        return ""


# ----------------------------------------------------------------------------------------------- models


def models_facts(settings: Settings, environ: Mapping[str, str], notes: ModelNotes) -> ModelsFacts:
    """Reads only the names of variables, never their values. `notes` keeps how judges were measured."""
    model, judges = settings.pick("model"), panel(settings.pick("judge_model") or "") or ()
    agent = AgentOptions(model, settings.pick("api_base")) if model else None
    judging = JudgeOptions(judges, settings.pick("judge_api_base")) if judges else None
    options = RunOptions(None, agent=agent, judging=judging)
    usual = [name for names in PROVIDER_KEYS.values() for name in names]
    return ModelsFacts(
        installed=(found := _litellm()),
        usable=found is not None and usable(found),
        configured=tuple(_configured_model(*asked, options, settings, environ) for asked in models_asked(options)),
        keys=tuple(name for name in dict.fromkeys((*OWN_KEY.values(), *usual)) if environ.get(name, "").strip()),
        measured=notes.of(judge_identity(judging), judging.api_base).measured if judging is not None else None,
    )


def usable(found: str) -> bool:
    """Whether this version of litellm works here."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:2])
    return numbers >= OLDEST and numbers[:2] != BROKEN


def _litellm() -> str | None:
    try:
        return version("litellm")
    except PackageNotFoundError:
        return None


def _configured_model(
    role: CallRole, name: str, base: str | None, options: RunOptions, settings: Settings, environ: Mapping[str, str]
) -> ConfiguredModel:
    own = settings.prices.get(name)
    known = facts_of(name, base)
    if own is not None:
        known = ModelFacts(own.window or known.window, known.max_output, Price(own.input, own.output, own.cached))
    window = (settings.pick("window") if role == "worker" else None) or known.window
    variables = key_variables(role, name, options, settings.own)
    served = base or find_base(provider_of(name), environ)
    return ConfiguredModel(
        role=role,
        model=name,
        served=served,
        window=window,
        price=_price(known.price),
        key=next((variable for variable in variables if environ.get(variable, "").strip()), None),
        wanted=variables,
        needs_key=served is None and needs_key(provider_of(name)),
        lacks=lacked_extra(name, base, KnownFacts(environment=lambda: environ)),
        misnamed="" if is_full_name(name) else names_no_provider(name),
    )


def _price(price: Price | None) -> str | None:
    if price is None:
        return None
    cached = "" if price.cached is None else f", {_exact_dollars(price.cached)} cached"
    return f"{_exact_dollars(price.input)} in, {_exact_dollars(price.output)} out{cached} a million tokens"


def _exact_dollars(amount: float) -> str:
    return f"${amount:.2f}" if round(amount, 2) == amount else f"${amount:g}"


# ---------------------------------------------------------------------------------------------- plugins


def plugins_facts(root: Path, settings: Settings) -> tuple[PluginFacts, ...]:
    """The plugins of the user's settings, then the gate, then those from packages. Each is loaded as a run would."""
    off = settings.approvals.plugins_off
    found: list[PluginFacts] = []
    for source in settings.approvals.plugins:
        try:
            named = from_source(source, root)
            where = f"{source}, {OFF}" if named.name in off else source
            found.append(PluginFacts(named.name, where, _points(named.plugin)))
        except DoneWhenError as error:
            how = f"fix it, or remove it from `plugins` in {user_settings_file()}"
            found.append(PluginFacts(source, "your settings", problem=str(error), how=how))
    found.append(PluginFacts(GATE, "built in", _points(approval_gate(root, None))))
    for one in installed_plugins(root):
        source = one.package or "installed"
        if one.name in off:
            found.append(PluginFacts(one.name, f"{source}, {OFF}", one.points))
        else:
            how = f'fix it, uninstall it, or add "{one.name}" to `plugins_off` in {user_settings_file()}'
            found.append(PluginFacts(one.name, source, one.points, one.problem, how if one.problem else ""))
    return tuple(found)


def _points(plugin: object) -> tuple[str, ...]:
    """The hooks that it implements. Raises UsageError if one can't be called."""
    found = registered([Named("looked-at", plugin)])
    return tuple(point for point, hooks in found.hooks.items() if hooks)
