"""Checks of packages for Node: the scripts of package.json, run by the package manager of the lock file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from donewhen.core.commands.wrapped import segments
from donewhen.core.ecosystems.javascript import JAVASCRIPT, MANAGERS, Manager
from donewhen.goalfile.detect.checks import FETCHES, CheckPurpose, DetectedCheck, fetches, is_harmless
from donewhen.goalfile.detect.folder import Folder, as_table, shown_by

_SCRIPTS: tuple[tuple[str, CheckPurpose], ...] = (
    ("test", "test"), ("test:unit", "test"), ("unit", "test"), ("tests-only", "test"), ("test:ci", "test"),
    ("lint", "lint"), ("typecheck", "types"), ("type-check", "types"), ("check-types", "types"), ("tsc", "types"),
    ("check", "other"), ("format:check", "other"), ("build", "build"),
)  # fmt: skip
_NO_TEST = "no test specified"
_OTHERS = "cd echo exit test true false export set node npx cross-env run-s run-p"
_SHELLS_OWN = frozenset(_OTHERS.split()) | {manager.name for manager in MANAGERS}


def node_checks(folder: Folder) -> Iterator[DetectedCheck]:
    package = folder.json("package.json")
    scripts = {name: text for name, text in as_table(package.get("scripts")).items() if isinstance(text, str)}
    manager = _manager(folder, package)
    lacking = _lacking(folder, package, manager)
    purposes: set[str] = set()
    for name, purpose in _SCRIPTS:
        script = scripts.get(name, "")
        around = [scripts.get(one, "") for one in (f"pre{name}", name, f"post{name}")]
        fetched = fetches(around)
        started = re.match(r"node (?:--?[\w-]+ )*([\w./-]+\.[cm]?js)\s*$", script)
        # It installs and publishes nothing, and starts no missing file.
        runs = all(map(is_harmless, around)) and (started is None or folder.has(started[1]) is not None)
        if not script.strip() or _NO_TEST in script or not (fetched or runs):
            continue
        if purpose == "test" and purpose in purposes:
            continue  # `npm test` runs all of them
        purposes.add(purpose)
        command = f"{manager.name} test" if name == "test" and manager.has_test else f"{manager.run} {name}"
        needed = (manager.name, *_programs(folder, script))
        why = f'script "{name}" in package.json'
        lacks = lacking or (fetched and FETCHES.format(fetched[:80]))
        yield DetectedCheck(command, why, purpose, "node", True, name, needed, lacking=lacks)
    for tool in JAVASCRIPT.tools:
        for sign in tool.signs if tool.purpose not in purposes else ():
            shown = shown_by(sign, folder, JAVASCRIPT.tests) if not sign.group else None
            if shown is not None:
                program = sign.command.split(" ")[0]
                command = f"{manager.execute} {sign.command}" if tool.packaged else sign.command
                needed = dict.fromkeys((command.split(" ")[0], *_programs(folder, program)))
                yield DetectedCheck(
                    command, shown[0], tool.purpose, "node", tool=program, programs=tuple(needed), lacking=lacking
                )  # fmt: skip


def _manager(folder: Folder, package: object) -> Manager:
    """The one that package.json declares, else the one whose lock file exists, else the last of the table."""
    declared = str(as_table(package).get("packageManager", "")).split("@")[0]
    named = [manager for manager in MANAGERS if manager.name == declared]
    locked = [manager for manager in MANAGERS if folder.has(*manager.locks)]
    return next(iter((*named, *locked)), MANAGERS[-1])


def _lacking(folder: Folder, package: Mapping[str, object], manager: Manager) -> str:
    """Nothing in a package runs before its dependencies are installed."""
    needs = as_table(package.get("devDependencies")) or as_table(package.get("dependencies"))
    plug_and_play = folder.has(".pnp.cjs", ".pnp.js")
    if not needs or folder.is_folder("node_modules") or plug_and_play:
        return ""
    return f"its packages are not installed here: `{manager.name} install`"


def _programs(folder: Folder, script: str) -> Iterator[str]:
    """The programs of a script that its packages don't provide."""
    for first in (part.words[0] for part in segments(script) if part.words):
        known = first in _SHELLS_OWN or folder.has(f"node_modules/.bin/{first}")
        if re.fullmatch(r"[\w@-]+", first) and not known:
            yield first
