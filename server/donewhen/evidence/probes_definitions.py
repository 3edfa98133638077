"""What the commands of a goal's checks stand for: the scripts, targets and tasks behind their words, and theirs."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from donewhen.core.globs import any_matches
from donewhen.core.goal import Check, Goal
from donewhen.core.integrity import DefinitionFact
from donewhen.core.wrapped_commands import Segment, option_values
from donewhen.evidence.known_runners import read_line
from donewhen.evidence.probes_configs import RUNNER_NAMES, SYNONYMS, python_part
from donewhen.evidence.probes_tasks import Definition, tasks_of
from donewhen.regular import read_bytes

_DEEPEST = 5  # a target that runs a script that runs a target ...: no honest project nests further
_MOST = 60  # definitions of one check
_LARGEST = 262_144
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "source", ".", "pwsh", "powershell", "cmd"})
_INTERPRETERS = re.compile(r"(?:python|pypy)[0-9.]*|py|node|deno|bun|ruby|perl|php|tsx|ts-node|Rscript|lua")
_SHELL_SCRIPT = re.compile(r".*\.(?:sh|bash|zsh|bat|cmd|ps1)")
# A script with such a word in its path is there to check something; any other program may be what is worked on.
_PROOF = re.compile(
    r"(?:^|[/_.-])(?:check|tests?|verify|lint|validate|ci|audit|assert|spec|qa|e2e|smoke)[a-z]{0,3}(?=[/_.-]|$)", re.I
)
_CONFIG_OPTIONS = ("-c", "--config", "--config-file", "--rcfile", "--cov-config", "-p", "--project", "--configuration")
_FILE = re.compile(r"[\w./-]+\.\w+|\.\w+")
_WORD = re.compile(r"[A-Za-z][\w.-]*")


_segments = lru_cache(maxsize=4096)(read_line)  # the same few lines, audit after audit


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command and the folder that it runs in, relative to the workspace. `nested`: a definition has it."""

    check_id: str
    segment: Segment
    folder: str
    nested: bool = False


class Definitions:
    """Resolves what a goal's commands name, one level after the other. Reads small files of the workspace only."""

    def __init__(self, root: Path, goal: Goal, environment: Mapping[str, str]) -> None:
        self._root = root
        self._goal = goal
        self._environment = environment
        self._worked_on = tuple(glob for r in goal.requirements for glob in r.files)
        self._found: dict[tuple[str, str], DefinitionFact] = {}
        self.commands: list[Command] = []

    @property
    def facts(self) -> tuple[DefinitionFact, ...]:
        return tuple(self._found[key] for key in sorted(self._found))

    def resolve(self) -> None:
        for check in self._goal.checks:
            if check.kind == "command":
                self._command(check, check.command, "", 0)

    def runners(self) -> frozenset[str]:
        """The runners whose configurations count. pytest's always do: what a command runs can't always be told."""
        words = {w for c in self.commands for word in c.segment.words for w in _WORD.findall(word)}
        words |= {w for fact in self._found.values() for w in _WORD.findall(fact.text)}
        named = words & RUNNER_NAMES
        return frozenset({"pytest", *named, *(other for name in named for other in SYNONYMS.get(name, ()))})

    def runs_unittest(self) -> bool:
        tools = {c.segment.tool[0] for c in self.commands if c.segment.tool}
        return bool(tools & {"unittest", "nose2", "trial", "manage.py", "stestr"}) or any(
            "manage.py" in c.segment.words for c in self.commands
        )

    def named_files(self) -> frozenset[str]:
        """Files that a test runner's command names: it collects them whatever they are called."""
        return frozenset(
            posixpath.normpath(posixpath.join(c.folder, word.partition("::")[0]))
            for c in self.commands
            if c.segment.tool[:1] in (("pytest",), ("py.test",), ("unittest",))
            for word in c.segment.tool[1:]
            if ".py" in word
        )

    def folders(self) -> tuple[str, ...]:
        return tuple(sorted({c.folder for c in self.commands} | {""}))

    def program_names(self) -> frozenset[str]:
        return frozenset(
            name for c in self.commands for name in (*c.segment.words[:1], *c.segment.tool[:1]) if "/" not in name
        )

    # -- one level

    def _command(self, check: Check, text: str, folder: str, depth: int) -> None:
        for segment in _segments(text):
            if segment.words[:1] == ("cd",) and len(segment.words) > 1:
                folder = posixpath.normpath(posixpath.join(folder, segment.words[1]))
                continue
            # What a substitution runs is what the script looks at: most often the product itself.
            if not segment.words or segment.inner:
                continue
            command = Command(check.id, segment, "" if folder == "." else folder, depth > 0)
            self.commands.append(command)
            for definition in self._definitions(command, depth):
                self._take(check, definition, depth)

    def _take(self, check: Check, definition: Definition, depth: int) -> None:
        key = (check.id, definition.name)
        if key in self._found or len(self._found) >= _MOST * max(1, len(self._goal.checks)):
            return
        digest = hashlib.sha256(definition.counted.encode()).hexdigest()[:16] if definition.counted else ""
        self._found[key] = DefinitionFact(
            check.id, "definition", definition.name, digest, definition.path, definition.line, definition.text
        )
        if depth < _DEEPEST:
            for line in definition.commands:
                self._command(check, line, definition.folder, depth + 1)

    def _definitions(self, command: Command, depth: int) -> Iterator[Definition]:
        yield from tasks_of(self._root, command.segment, command.folder)
        yield from self._named_configs(command)
        script = self._script(command, depth)
        if script is not None:
            yield script

    def _named_configs(self, command: Command) -> Iterator[Definition]:
        """`pytest -c ci.ini`, `tsc -p tsconfig.ci.json`: files that a command is told to read its options from."""
        tool = command.segment.tool
        if not tool or tool[0] in _SHELLS or _INTERPRETERS.fullmatch(tool[0]):
            return
        for value in option_values(tool, _CONFIG_OPTIONS):
            path = _inside(command.folder, value) if _FILE.fullmatch(value) else None
            text = _text(self._root / path) if path is not None else None
            if path is not None and text is not None:
                kept = "\n".join(line.strip() for line in text.splitlines() if line.strip())
                yield Definition(path, path, kept, 0, text[:8000])

    def _script(self, command: Command, depth: int) -> Definition | None:
        path, is_shell = _script_path(command)
        if path is None or path.startswith("../") or any_matches(self._worked_on, path):
            return None
        text = _text(self._root / path)
        shell = (
            is_shell
            or _SHELL_SCRIPT.fullmatch(path) is not None
            or (text or "").startswith(("#!/bin/", "#!/usr/bin/env bash", "#!/usr/bin/env sh"))
        )
        if not shell and not _PROOF.search(path):
            return None
        if text is None:
            return Definition(path, path)
        if shell:
            kept = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
            return Definition(path, path, "\n".join(kept), 0, text[:8000], tuple(kept), command.folder)
        counted = python_part(text)[0] if path.endswith(".py") else text
        return Definition(path, path, counted, 0, text[:8000])


def _script_path(command: Command) -> tuple[str | None, bool]:
    """The file that a command runs, as far as it is one of the workspace, and whether a shell runs it."""
    words = command.segment.words
    first = words[0].rpartition("/")[2]
    tool = command.segment.tool
    if first in _SHELLS or _INTERPRETERS.fullmatch(first):
        if "-m" in words[1:] and not first.startswith("node"):
            return _module_path(words, command.folder), False
        named = next((w for w in words[1:] if not w.startswith("-") and w not in ("run", "test")), None)
        if named is None or any(w in ("-c", "-e") for w in words[1:3]):
            return None, False
        return _inside(command.folder, named), first in _SHELLS
    if tool and tool[0] != first and _INTERPRETERS.fullmatch(tool[0]) and len(tool) > 1:
        return _inside(command.folder, tool[1]), False
    if "/" in words[0] or words[0].endswith((".py", ".sh", ".bat", ".cmd", ".ps1")):
        return (None, False) if _is_tool(words[0]) else (_inside(command.folder, words[0]), False)
    return None, False


def _is_tool(word: str) -> bool:
    """Installed into the workspace by a package manager: a program, not a script of the project."""
    return re.search(r"(?:^|/)(?:node_modules/\.bin|\.?venv/(?:bin|Scripts)|env/bin|vendor/bin)/", word) is not None


def _module_path(words: tuple[str, ...], folder: str) -> str | None:
    at = words.index("-m") + 1
    if at >= len(words) or words[at] in RUNNER_NAMES or words[at] == "unittest":
        return None
    return _inside(folder, words[at].replace(".", "/") + ".py")


def _inside(folder: str, word: str) -> str | None:
    if word.startswith(("/", "~", "$")):
        return None
    return posixpath.normpath(posixpath.join(folder, word))


def _text(path: Path) -> str | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        data = read_bytes(path)
    except (OSError, ValueError):
        return None
    return None if b"\0" in data[:4096] else data.decode("utf-8", "replace")
