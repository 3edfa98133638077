"""What a task runner's words run: targets of a Makefile, scripts of package.json, tox, just and Taskfile."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from donewhen.core.commands.wrapped import Segment, option_values
from donewhen.evidence.makefile import recipe
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
    text = next((t for n in names if (t := text_of(root / folder / n)) is not None), "")
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
    scripts = _scripts(text_of(root / folder / "package.json") or "")
    for name in (f"pre{script}", script, f"post{script}"):
        if name in scripts:
            yield Task((scripts[name],), folder)


def _scripts(text: str) -> Mapping[str, str]:
    try:
        document: Any = json.loads(text)
    except ValueError:
        return {}
    scripts: Any = cast("Mapping[str, Any]", document).get("scripts") if isinstance(document, dict) else None
    if not isinstance(scripts, dict):
        return {}
    return {str(k): v for k, v in cast("Mapping[str, Any]", scripts).items() if isinstance(v, str)}


# ------------------------------------------------------------------------------------- files of tasks


def _lines_of(*names: str) -> Resolver:
    """Every line of the first of these files that exists, whichever of the lines a task runs."""

    def resolve(root: Path, words: Sequence[str], folder: str) -> Iterator[Task]:
        del words
        text = next((t for name in names if (t := text_of(root / folder / name)) is not None), "")
        lines = [line.strip() for line in text.splitlines()]
        found = [
            re.sub(r"^(?:commands\w*\s*=|- (?:cmd: )?|@)\s*", "", line) for line in lines if not line.startswith("#")
        ]
        yield Task(tuple(line for line in found if line), folder)

    return resolve


def text_of(path: Path) -> str | None:
    """A small file's text; None for one that can't be read or is large."""
    try:
        if path.stat().st_size > _LARGEST:
            return None
        return read_bytes(path).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


_RESOLVERS: Mapping[str, Resolver] = {
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package_script),
    "tox": _lines_of("tox.ini"),
    "just": _lines_of("justfile", "Justfile", ".justfile"),
    "task": _lines_of("Taskfile.yml", "Taskfile.yaml"),
}
