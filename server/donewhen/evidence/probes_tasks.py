"""What task runners call by a name: Makefile targets, package.json scripts, tox, nox, just, pre-commit, cargo, ..."""

from __future__ import annotations

import fnmatch
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from donewhen.core.wrapped_commands import Segment, option_values
from donewhen.evidence.probes_configs import excerpt, python_part
from donewhen.evidence.probes_makefile import makefile_definition
from donewhen.regular import read_bytes

_LARGEST = 262_144


@dataclass(frozen=True, slots=True)
class Definition:
    """What a name stands for. `counted` is what is compared, empty where the name stands for nothing; `text` is what
    a person is shown, from `line` on; `commands` run in `folder`."""

    name: str
    path: str
    counted: str = ""
    line: int = 0
    text: str = ""
    commands: tuple[str, ...] = ()
    folder: str = ""


Resolver = Callable[[Path, Sequence[str], str], Iterator[Definition]]


def tasks_of(root: Path, segment: Segment, folder: str) -> Iterator[Definition]:
    """The definitions that a simple command names; none where its program is no task runner."""
    if not segment.tool:
        return
    # `npm test` is no wrapper, but `npm exec` and `npx` are: then the tool is what they run.
    for words in (segment.words, segment.tool):
        resolver = _RESOLVERS.get(words[0].rpartition("/")[2]) if words else None
        if resolver is not None:
            yield from resolver(root, words, folder)
            return


# ---------------------------------------------------------------------------------------------- make


def _make(root: Path, words: Sequence[str], folder: str) -> Iterator[Definition]:
    inside = option_values(words, ("-C", "--directory"))
    folder = posixpath.normpath(posixpath.join(folder, inside[-1])) if inside else folder
    named = option_values(words, ("-f", "--file", "--makefile"))
    names = named or ["GNUmakefile", "makefile", "Makefile"]
    path = next(
        (p for n in names if (root / (p := posixpath.join(folder, n))).is_file()), posixpath.join(folder, names[-1])
    )
    text = _text(root / path)
    for target in _make_targets(words):
        name = f"make {target}".strip()
        if text is None:
            yield Definition(name, path)
            continue
        found = makefile_definition(text, target)
        line, shown = excerpt(text.splitlines(), found.lines)
        yield Definition(name, path, found.counted, line, shown, found.commands, folder)
        for number, included in enumerate(found.includes):
            there = posixpath.join(folder, included)
            yield Definition(
                f"{name} include {number}", there, _text(root / there) or "", 0, (_text(root / there) or "")[:8000]
            )


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


def _package_script(root: Path, words: Sequence[str], folder: str) -> Iterator[Definition]:
    inside = option_values(words, ("--prefix", "-C", "--cwd", "--dir"))
    folder = posixpath.normpath(posixpath.join(folder, inside[-1])) if inside else folder
    names = [
        w
        for i, w in enumerate(words)
        if i and not w.startswith("-") and words[i - 1] not in ("--prefix", "-C", "--cwd", "--dir")
    ]
    verb = names[0] if names else ""
    if not verb or verb in _NOT_SCRIPTS:
        return
    script = names[1] if verb in ("run", "run-script") and len(names) > 1 else "test" if verb == "t" else verb
    if script in ("run", "run-script"):
        return
    path = posixpath.join(folder, "package.json")
    text = _text(root / path) or ""
    scripts = _scripts(text)
    for name in (f"pre{script}", script, f"post{script}"):
        command = scripts.get(name, "")
        line = next((i for i, one in enumerate(text.splitlines()) if re.match(rf'\s*"{re.escape(name)}"\s*:', one)), 0)
        shown = f'"{name}": "{command}"' if command else ""
        yield Definition(f"{words[0]} run {name}", path, command, line, shown, (command,) if command else (), folder)


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


def _tox(root: Path, words: Sequence[str], folder: str) -> Iterator[Definition]:
    del words
    path = posixpath.join(folder, "tox.ini")
    text = _text(root / path)
    if text is not None:
        lines = text.splitlines()
        picked = [
            i for i, section in _sections(lines) if fnmatch.fnmatchcase(section, "tox") or section.startswith("testenv")
        ]
        yield _of_lines("tox", path, lines, picked, folder)
    else:
        yield Definition("tox", path)
    yield from _toml("tox", "tool.tox")(root, (), folder)


def _nox(root: Path, words: Sequence[str], folder: str) -> Iterator[Definition]:
    named = option_values(words, ("-f", "--noxfile"))
    path = posixpath.join(folder, named[-1] if named else "noxfile.py")
    text = _text(root / path)
    yield Definition("nox", path, python_part(text)[0] if text else "", 0, (text or "")[:8000])


def _file(name: str, *paths: str) -> Resolver:
    """The whole of the first of these files that there is."""

    def resolve(root: Path, words: Sequence[str], folder: str) -> Iterator[Definition]:
        del words
        there = [posixpath.join(folder, p) for p in paths]
        path = next((p for p in there if (root / p).is_file()), there[0])
        lines = (_text(root / path) or "").splitlines()
        yield _of_lines(name, path, lines, range(len(lines)), folder)

    return resolve


def _toml(name: str, *tables: str) -> Resolver:
    """Tables of pyproject.toml in which tasks are defined."""

    def resolve(root: Path, words: Sequence[str], folder: str) -> Iterator[Definition]:
        del words
        path = posixpath.join(folder, "pyproject.toml")
        text = _text(root / path) or ""
        counted = _toml_values(text, tables)
        lines = text.splitlines()
        headers = [(i, s) for i, s in _sections(lines) if any(s == t or s.startswith(f"{t}.") for t in tables)]
        line, shown = excerpt(lines, [i for i, _ in headers])
        yield Definition(f"{name} (pyproject.toml)", path, counted, line, shown if counted else "")

    return resolve


def _toml_values(text: str, tables: Sequence[str]) -> str:
    try:
        document: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ""
    found: dict[str, Any] = {}
    for table in tables:
        value: Any = document
        for key in table.split("."):
            value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, dict) else None
        if value is not None:
            found[table] = value
    return json.dumps(found, sort_keys=True, default=str) if found else ""


def _of_lines(name: str, path: str, lines: Sequence[str], picked: Sequence[int], folder: str) -> Definition:
    kept = [lines[i].strip() for i in picked if lines[i].strip() and not lines[i].strip().startswith("#")]
    line, shown = excerpt(lines, picked)
    commands = tuple(k.partition("=")[2].strip() if k.startswith("commands") else k for k in kept)
    return Definition(name, path, "\n".join(kept), line, shown, commands, folder)


def _sections(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each line with the name of the section that it stands in."""
    current = ""
    for number, line in enumerate(lines):
        match = re.match(r"\[\[?\s*([^\]]+?)\s*\]\]?", line)
        current = match[1] if match else current
        yield number, current


def _text(path: Path) -> str | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        return read_bytes(path).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


_RESOLVERS: Mapping[str, Resolver] = {
    "make": _make,
    "gmake": _make,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package_script),
    "tox": _tox,
    "nox": _nox,
    "just": _file("just", "justfile", "Justfile", ".justfile"),
    "task": _file("task", "Taskfile.yml", "Taskfile.yaml"),
    "rake": _file("rake", "Rakefile", "rakefile", "Rakefile.rb"),
    "invoke": _file("invoke", "tasks.py"),
    "inv": _file("invoke", "tasks.py"),
    "pre-commit": _file("pre-commit", ".pre-commit-config.yaml"),
    "cargo": _file("cargo aliases", ".cargo/config.toml", ".cargo/config"),
    "poe": _toml("poe", "tool.poe"),
    "hatch": _toml("hatch", "tool.hatch.envs"),
    "pdm": _toml("pdm", "tool.pdm.scripts"),
}
