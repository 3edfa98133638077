"""What a task runner's words run: targets of a Makefile, scripts of package.json, tox, just and Taskfile."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import cast

from donewhen.core.commands.wrapped import Segment, option_values
from donewhen.core.decoding import json_object
from donewhen.core.goal import Goal
from donewhen.evidence.known_runners import read_line
from donewhen.regular import read_bytes

_LARGEST = 262_144


@dataclass(frozen=True, slots=True)
class Task:
    """The command lines of a task, which run in `folder`, relative to the workspace."""

    commands: tuple[str, ...]
    folder: str


Resolver = Callable[[Path, Sequence[str], str], Iterator[Task]]


def tasks_of(root: Path, segment: Segment, folder: str) -> Iterator[Task]:
    """The tasks that a simple command names; none where its program is not a task runner."""
    if not segment.tool:
        return
    # `npm test` is not a wrapper, but `npm exec` and `npx` are: then the tool is what they run.
    for words in (segment.words, segment.tool):
        resolver = _RESOLVERS.get(words[0].rpartition("/")[2]) if words else None
        if resolver is not None:
            yield from resolver(root, words, folder)
            return


# ---------------------------------------------------------------------------------------------- make


def _make(root: Path, words: Sequence[str], folder: str) -> Iterator[Task]:
    inside = option_values(words, ("-C", "--directory"))
    folder = posixpath.normpath(posixpath.join(folder, inside[-1])) if inside else folder
    named = option_values(words, ("-f", "--file", "--makefile"))
    names = named or ["GNUmakefile", "makefile", "Makefile"]
    text = next((t for n in names if (t := text_of(root, posixpath.join(folder, n))) is not None), "")
    for target in _make_targets(words):
        yield Task(recipe(text, target), folder)


def _make_targets(words: Sequence[str]) -> Sequence[str]:
    targets: list[str] = []
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-C", "-f", "--directory", "--file", "--makefile", "-I", "-o", "-W"):
            skip = True
        elif not word.startswith("-") and "=" not in word:
            targets.append(word)
    return targets or [""]


# --------------------------------------------------------------------------------------- package.json

_NOT_SCRIPTS = frozenset(
    {"install", "i", "ci", "add", "remove", "exec", "dlx", "node", "x", "init", "create", "workspace", "why"}
)
_FOLDER_OPTIONS = ("--prefix", "-C", "--cwd", "--dir")


def _package_script(root: Path, words: Sequence[str], folder: str) -> Iterator[Task]:
    inside = option_values(words, _FOLDER_OPTIONS)
    folder = posixpath.normpath(posixpath.join(folder, inside[-1])) if inside else folder
    names = [w for i, w in enumerate(words) if i and not w.startswith("-") and words[i - 1] not in _FOLDER_OPTIONS]
    verb = names[0] if names else ""
    if not verb or verb in _NOT_SCRIPTS:
        return
    script = names[1] if verb in ("run", "run-script") and len(names) > 1 else "test" if verb == "t" else verb
    scripts = _scripts(text_of(root, posixpath.join(folder, "package.json")) or "")
    for name in (f"pre{script}", script, f"post{script}"):
        if name in scripts:
            yield Task((scripts[name],), folder)


def _scripts(text: str) -> Mapping[str, str]:
    scripts = (json_object(text) or {}).get("scripts")
    if not isinstance(scripts, dict):
        return {}
    return {name: line for name, line in cast("dict[str, object]", scripts).items() if isinstance(line, str)}


# ------------------------------------------------------------------------------------- files of tasks


def _lines_of(*names: str) -> Resolver:
    """Every line of the first of these files that exists, whichever of the lines a task runs."""

    def resolve(root: Path, words: Sequence[str], folder: str) -> Iterator[Task]:
        del words
        text = next((t for name in names if (t := text_of(root, posixpath.join(folder, name))) is not None), "")
        lines = [line.strip() for line in text.splitlines()]
        found = [
            re.sub(r"^(?:commands\w*\s*=|- (?:cmd: )?|@)\s*", "", line) for line in lines if not line.startswith("#")
        ]
        yield Task(tuple(line for line in found if line), folder)

    return resolve


def text_of(root: Path, path: str) -> str | None:
    """A small file's text; None for one that can't be read or is large."""
    try:
        return read_bytes(path, _LARGEST, within=root).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


_RESOLVERS: Mapping[str, Resolver] = {
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package_script),
    "tox": _lines_of("tox.ini"),
    "just": _lines_of("justfile", "Justfile", ".justfile"),
    "task": _lines_of("Taskfile.yml", "Taskfile.yaml"),
}


# What `make TARGET` runs: the lines of its recipe and of those of its prerequisites.


_RULE = re.compile(r"^([^\s#:=][^:=]*?)\s*::?(?!=)\s*([^=;]*?)(?:;(.*))?$")


@dataclass(slots=True)
class _Makefile:
    rules: dict[str, list[tuple[list[str], list[str]]]] = field(
        default_factory=dict[str, list[tuple[list[str], list[str]]]]
    )
    first: str = ""


def recipe(text: str, target: str) -> tuple[str, ...]:
    """The commands of the target, without make's prefixes; none where there is no such target. An empty target is the
    first one. Variables are left as they are written."""
    makefile = _parse_makefile(text.splitlines())
    found: list[str] = []
    waiting, seen = [target or makefile.first], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for lines, prerequisites in makefile.rules.get(name, []):
            found += lines
            waiting += prerequisites
    return tuple(found)


def _parse_makefile(lines: Sequence[str]) -> _Makefile:
    makefile = _Makefile()
    current: list[str] = []
    continued = False
    for line in lines:
        if continued and current:
            current[-1] = f"{current[-1][:-1]} {line.strip()}"
        elif line.startswith("\t"):
            if command := line.strip().lstrip("@-+").strip():
                current.append(command)
        elif line.strip() and not line.startswith("#"):
            current = _recipe_of_rule(makefile, line)
        continued = line.endswith("\\")
    return makefile


def _recipe_of_rule(makefile: _Makefile, line: str) -> list[str]:
    """Notes a rule, and returns the list that its recipe goes to; whatever else stands there has none."""
    commands: list[str] = []
    if rule := _RULE.match(line):
        commands += [rule[3].strip()] if rule[3] else []
        for name in rule[1].split():
            makefile.rules.setdefault(name, []).append((commands, rule[2].replace("|", " ").split()))
            if not makefile.first and not name.startswith("."):
                makefile.first = name
    return commands


# The commands that a goal's checks start: their own, and those of the tasks and scripts that they name.


_DEEPEST = 5  # a target that runs a script that runs a target ...: no honest project nests deeper
_MOST = 500  # commands of one check
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "source", "."})
_SHELL_SCRIPT = re.compile(r".*\.(?:sh|bash|zsh)")

_segments = lru_cache(maxsize=4096)(read_line)  # the same few lines, audit after audit


@dataclass(frozen=True, slots=True)
class TaskCommand:
    """A simple command and the folder that it runs in, relative to the workspace. `nested`: a task or a script has
    it."""

    check_id: str
    segment: Segment
    folder: str
    nested: bool = False


def started_commands(root: Path, goal: Goal) -> tuple[TaskCommand, ...]:
    """Level by level. Reads only small files of the workspace."""
    found: list[TaskCommand] = []
    for check in goal.checks:
        if check.kind == "command":
            own: list[TaskCommand] = []
            _add(root, check.id, check.command, "", 0, own)
            found += own
    return tuple(found)


def _add(root: Path, check_id: str, line: str, folder: str, depth: int, found: list[TaskCommand]) -> None:
    for segment in _segments(line):
        if segment.words[:1] == ("cd",) and len(segment.words) > 1:
            folder = posixpath.normpath(posixpath.join(folder, segment.words[1]))
            continue
        # What a substitution runs is what the script looks at: most often the product itself.
        if not segment.words or segment.inner or len(found) >= _MOST:
            continue
        command = TaskCommand(check_id, segment, "" if folder == "." else folder, depth > 0)
        found.append(command)
        if depth < _DEEPEST:
            for task in (*tasks_of(root, segment, command.folder), *_script(root, command)):
                for one in task.commands:
                    _add(root, check_id, one, task.folder, depth + 1, found)


def _script(root: Path, command: TaskCommand) -> Iterator[Task]:
    """The lines of a shell script of the workspace that is run."""
    words = command.segment.words
    by_shell = words[0].rpartition("/")[2] in _SHELLS
    named = next((w for w in words[1:] if not w.startswith("-")), None) if by_shell else words[0]
    if named is None or named.startswith(("/", "~", "$")) or ("/" not in named and not by_shell):
        return
    text = text_of(root, posixpath.normpath(posixpath.join(command.folder, named))) or ""
    if (
        by_shell
        or _SHELL_SCRIPT.fullmatch(named)
        or text.startswith(("#!/bin/", "#!/usr/bin/env bash", "#!/usr/bin/env sh"))
    ):
        lines = (line.strip() for line in text.splitlines())
        yield Task(tuple(line for line in lines if line and not line.startswith("#")), command.folder)
