"""Writes the settings by which an agent asks the gate, and takes them out again: shown first, and nothing else of the
file changes."""

from __future__ import annotations

import difflib
import json
import os
import shlex
import shutil
import sys
from pathlib import Path

from donewhen.cli.calling import Call
from donewhen.cli.gate.forms import COMMAND, FORMS, Form
from donewhen.cli.gate.json_edits import NotJson, with_item, without_items
from donewhen.core.errors import UsageError
from donewhen.core.words import sentence
from donewhen.regular import expanded, homeless, read_text


async def install(call: Call) -> int:
    """Adds the hooks to the agent's settings; 0 where they are there, 1 where the person says no."""
    form, file = _chosen(call)
    before = _text_or_empty(file)
    after = _without(form, file, before)
    command = _gate_command(call, form)
    entry = {key: command if value == COMMAND else value for key, value in form.entry.items()}
    item = {"hooks": [entry]} if form.wrapped else entry
    try:
        for event in ("start", "stop"):
            after = with_item(after, ("hooks", form.names[event]), item, form.base)
    except NotJson as wrong:
        raise UsageError(f"{file} can't be changed: {wrong}: fix it, and try again") from wrong
    if not await _written(call, file, before, after):
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
    after = _without(form, file, before)
    if after == before:
        call.terminal.message(f"{file} has no gate hook, so there is nothing to remove")
        return 0
    return 0 if await _written(call, file, before, after) else 1


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


def _without(form: Form, file: Path, text: str) -> str:
    """Without the gate's hooks, whichever of the agents that read this file they were written for."""
    if not text.strip():
        return text
    ours = tuple(f"gate --agent {one.name}" for one in FORMS.values() if one.project == form.project)
    try:
        left = without_items(text, ("hooks",), lambda item: any(one in item for one in ours))
    except NotJson as wrong:
        raise UsageError(f"{file} can't be changed: {wrong}: fix it, and try again") from wrong
    empty = ("{}", "".join(json.dumps(form.base).split()))
    return "" if left != text and "".join(left.split()) in empty else left


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
        _write_whole(file, after)
    except OSError as error:
        raise UsageError(f"{file} can't be written ({error}): nothing was changed") from error
    call.terminal.message(f"wrote {file}" if after else f"removed {file}, which held nothing else")
    return True


def _write_whole(file: Path, text: str) -> None:
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
