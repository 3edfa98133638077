"""Writes the settings by which an agent asks the gate, and takes them out again: shown first. All else that the file
holds stays, in its order; a file that is not plain JSON is left alone.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, cast

from donewhen.cli.calling import Call
from donewhen.cli.gate.forms import COMMAND, FORMS, Form
from donewhen.core.errors import UsageError
from donewhen.core.words import sentence
from donewhen.regular import expanded, homeless, read_text

_INDENT = re.compile(r"\n([ \t]+)\"")


async def install(call: Call) -> int:
    """Adds the hooks to the agent's settings; 0 where they are there, 1 where the person says no."""
    form, file = _chosen(call)
    command = _gate_command(call, form)
    before = _text_or_empty(file)
    settings = _settings_in(form, file, before, f"add this to it: {json.dumps(with_hooks({}, form, command))}")
    changed = with_hooks(without_hooks(settings, form), form, command)
    if not await _written(call, file, before, before if changed == settings else _text_of(changed, before)):
        return 1
    if form.then:
        call.terminal.message(sentence(form.then))
    option = " --user" if call.arguments.user else ""
    call.terminal.message(f"to remove it again: donewhen gate uninstall {form.name}{option}")
    return 0


async def uninstall(call: Call) -> int:
    """Takes out what `install` added."""
    form, file = _chosen(call)
    before = _text_or_empty(file)
    settings = _settings_in(form, file, before, "take out the hooks that call `donewhen gate`")
    left = without_hooks(settings, form)
    if left == settings:
        call.terminal.message(f"{file} has no gate hook, so there is nothing to remove")
        return 0
    after = "" if left in ({}, form.base) else _text_of(left, before)
    return 0 if await _written(call, file, before, after) else 1


HookFile = dict[str, Any]
"""What an agent's file of settings holds: lists of `hooks`, by events, among others."""


def with_hooks(settings: HookFile, form: Form, command: str) -> HookFile:
    """The settings with the gate's hooks as the last ones of their events."""
    entry = {key: command if value == COMMAND else value for key, value in form.entry.items()}
    item = {"hooks": [entry]} if form.wrapped else entry
    hooks: HookFile = settings.get("hooks", {})
    added = {event: [*hooks.get(event, ()), item] for event in form.names.values()}
    return {**(settings or form.base), "hooks": {**hooks, **added}}


def without_hooks(settings: HookFile, form: Form) -> HookFile:
    """The settings without the gate's hooks, whichever of the agents that read this file they were written for, and
    without what is empty then."""
    ours = [f"gate --agent {one.name}" for one in FORMS.values() if one.project == form.project]
    left: HookFile = {}
    for event, known in settings.get("hooks", {}).items():
        if not isinstance(known, list):  # an option of the agent's own, such as Gemini's `enabled`
            left[event] = known
            continue
        before = cast("list[Any]", known)
        kept = [one for one in before if not any(our in json.dumps(one, ensure_ascii=False) for our in ours)]
        if kept or not before:
            left[event] = kept
    if left or not settings.get("hooks"):
        return {**settings, "hooks": left} if "hooks" in settings else settings
    return {key: value for key, value in settings.items() if key != "hooks"}


def _settings_in(form: Form, file: Path, text: str, by_hand: str) -> HookFile:
    """Raises UsageError for what is not such settings, and for a file with comments: they would be lost."""
    try:
        settings: Any = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as wrong:
        raise UsageError(
            f"{file} can't be changed: it is not plain JSON ({wrong}). If it is broken, fix it, and try again; if it "
            f"has comments, {by_hand}"
        ) from wrong
    hooks: Any = cast("HookFile", settings).get("hooks", {}) if isinstance(settings, dict) else None
    known = cast("HookFile", hooks) if isinstance(hooks, dict) else None
    if known is None or not all(isinstance(known.get(event, []), list) for event in form.names.values()):
        raise UsageError(f"{file} can't be changed: `hooks` must be an object of lists: fix it, and try again")
    return cast("HookFile", settings)


def _text_of(settings: HookFile, before: str) -> str:
    """The settings as text, indented as they were."""
    found = _INDENT.search(before)
    return json.dumps(settings, indent=found[1] if found else 2, ensure_ascii=False) + "\n"


def _chosen(call: Call) -> tuple[Form, Path]:
    """The agent, and the file of its settings: the project's, unless the user's own are asked for."""
    name: str | None = call.arguments.name
    if name is None or name not in FORMS:
        raise UsageError(f"name the agent: {', '.join(FORMS)}")
    form = FORMS[name]
    if not call.arguments.user:
        return form, call.root / form.project
    home = expanded("~")
    if homeless(home):
        raise UsageError("this user has no home folder, where an agent's own settings are: set HOME")
    return form, home / form.user


def _text_or_empty(file: Path) -> str:
    if not file.exists():
        return ""
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} can't be read ({error}): nothing was changed") from error


def _gate_command(call: Call, form: Form) -> str:
    """How an agent's shell calls the gate. By name where it is installed for every program, so that a project's file
    holds for everybody; as this installation in a person's own file, and where only an activated environment has the
    name: an editor that is started without it would not find the hook, and its agent would stop unheld."""
    found = shutil.which("donewhen")
    active = [os.environ[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    own = [sys.prefix] if sys.prefix != sys.base_prefix else []
    for_every_program = found is not None and not any(Path(found).is_relative_to(one) for one in (*active, *own))
    words = ["donewhen"] if for_every_program and not call.arguments.user else [sys.executable, "-m", "donewhen"]
    named: Path | None = getattr(call.arguments, "state_dir", None)
    if named is not None:
        words += ["--state-dir", str(call.state_dir)]
    return shlex.join([*words, "gate", "--agent", form.name])


async def _written(call: Call, file: Path, before: str, after: str) -> bool:
    """Shows the difference, asks, and writes. An empty text removes the file."""
    if before == after:
        call.terminal.message(f"{file} is already set up")
        return True
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), lineterm="")
    for line in lines:
        call.terminal.result(line)
    if not call.arguments.yes:
        if not call.interactive:
            raise UsageError("nothing was changed: there is no terminal to ask on; --yes accepts what is shown above")
        if not await call.confirmed("write this? [y/N] "):
            call.terminal.message("nothing was changed")
            return False
    try:
        _write_hooks(file, after)
    except (OSError, UnicodeEncodeError) as error:
        raise UsageError(f"{file} can't be written ({error}): nothing was changed") from error
    call.terminal.message(f"wrote {file}" if after else f"removed {file}, which held nothing else")
    return True


def _write_hooks(file: Path, text: str) -> None:
    """Whole or not at all; a link stays one."""
    if not text:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    place = file.resolve()
    unfinished = place.with_name(f".{place.name}.donewhen")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    if place.exists():
        shutil.copymode(place, unfinished)
    unfinished.replace(place)
