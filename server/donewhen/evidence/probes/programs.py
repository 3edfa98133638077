"""What checks run in: the programs that their words resolve to, and what those would run unasked."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

from donewhen.core.ecosystems import ECOSYSTEMS, TOOLS
from donewhen.core.integrity import FileFact, ProgramFact
from donewhen.evidence.tasks import TaskCommand
from donewhen.regular import read_bytes, read_text

_SMALL = 2_000_000  # bytes: a program up to this size is compared by content, a larger one by size and time
_MOST_FILES = 2_000  # of one package that runs tests
_BUILTINS = frozenset(
    {
        "cd",
        "echo",
        "test",
        "[",
        "true",
        "false",
        "export",
        "set",
        "exit",
        "source",
        ".",
        "if",
        "then",
        "fi",
        "for",
        "do",
    }
    | {"done", "while", "case", "esac", "else", "elif", "return", "local", "shift", "eval", "exec", "unset", "printf"}
    | {"pwd", "read", "trap", "wait", "umask", "ulimit", "type", "command", "alias", ":", "{", "}", "!", "[[", "]]"}
)
_STARTUP = frozenset({"sitecustomize.py", "usercustomize.py"})
_INSTALLED = ("site-packages", "dist-packages")
_RUNNER_PACKAGES = ("_pytest", "pytest", "pluggy")
_HARMLESS_PTH = re.compile(
    r"import (__editable___\w+_finder); \1\.install\(\)|import _virtualenv"
    r"|import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os\.environ\.get\(var, 'local'\) == 'local'; "
    r"enabled and __import__\('_distutils_hack'\)(?:\.add_shim\(\))?;?"
)

_GIT_SETTINGS = ("/.gitconfig", "/git/config")
_HARMLESS_SECTION = re.compile(r"\[(?:user|author|committer|safe|credential|init|commit|push|pull|color|gpg)\b")
"""Who commits, and how: an agent that sets its name changes no proof."""

Signature = tuple[int, int, int, int]


class Environment:
    """Looks at files that the revision doesn't cover; contents are read again only if stat says that they changed."""

    def __init__(self) -> None:
        self._digests: dict[str, tuple[Signature, str]] = {}
        self._plugins: dict[str, tuple[Signature, str]] = {}

    def programs(
        self, root: Path, commands: Sequence[TaskCommand], environment: Mapping[str, str]
    ) -> tuple[ProgramFact, ...]:
        """One fact for each program that a check's commands start, itself or through what their words stand for."""
        found: dict[tuple[str, str], ProgramFact] = {}
        places: dict[tuple[str, str, bool], Path | None] = {}
        for command in commands:
            for name in _program_words(command):
                if (command.check_id, name) in found:
                    continue
                place = (name, command.folder, command.nested)
                if place not in places:
                    # Package scripts find what is installed beside the package before anything else.
                    beside = f"{_BESIDE}/{name}" if command.nested and "/" not in name else name
                    found_beside = which(beside, root, command.folder, environment)
                    places[place] = found_beside or which(name, root, command.folder, environment)
                path = places[place]
                # Not every word of a script is a program: those of the goal's own commands are.
                if path is not None or not command.nested:
                    digest, shown = ("", "") if path is None else (self._digest(path), _shown_path(root, path))
                    found[command.check_id, name] = ProgramFact(command.check_id, name, digest, shown)
        return tuple(found[key] for key in sorted(found))

    def startup_files(self, root: Path, folders: Sequence[str], environment: Mapping[str, str]) -> tuple[FileFact, ...]:
        """What Python runs before a check does, and the test runner's own package in a virtual environment."""
        found: dict[str, FileFact] = {}
        places: list[Path] = []
        for folder in _python_folders(root, folders, environment):
            places += [folder / name for name in _STARTUP if (folder / name).is_file()]
            found |= {fact.path: fact for fact in self._plugins_in(root, folder)}
        for packages in _site_packages(root, environment):
            places += [
                Path(e.path) for e in _sorted_dir_entries(packages) if e.name in _STARTUP or e.name.endswith(".pth")
            ]
            for package in (packages / name for name in _RUNNER_PACKAGES):
                if package.is_dir():
                    path = _shown_path(root, package)
                    found[path] = FileFact(path, self._folder_digest(package))
            found |= {fact.path: fact for fact in self._plugins_in(root, packages)}
            for folder in _folders_of_pth(packages):
                found |= {fact.path: fact for fact in self._plugins_in(root, folder)}
        for place in places:
            path = _shown_path(root, place)
            # A line that begins with `import` is run by Python at its start; a folder's name is only looked in last.
            if place.suffix == ".pth" and not any(
                line.startswith(("import ", "import\t")) and not _HARMLESS_PTH.fullmatch(line.strip())
                for line in _lines_of_pth(place)
            ):
                continue
            found[path] = FileFact(path, self._digest(place))
        return tuple(found[path] for path in sorted(found))

    def settings(self, environment: Mapping[str, str]) -> tuple[FileFact, ...]:
        """What tools of any ecosystem read in the home folder unasked; an empty digest for what isn't there."""
        home = environment.get("HOME") or environment.get("USERPROFILE")
        if not home:
            return ()
        config = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
        places = [
            f"{config}/{name.removeprefix('.config/')}" if name.startswith(".config/") else f"{home}/{name}"
            for ecosystem in ECOSYSTEMS
            for name in ecosystem.settings
        ]
        return tuple(FileFact(place, self._setting(Path(place))) for place in sorted(set(places)))

    def runner_packages(self, root: Path, folders: Iterable[str]) -> tuple[FileFact, ...]:
        """Installed packages that run tests, below the folders that checks run in."""
        packages = [
            root / folder / name for folder in folders for ecosystem in ECOSYSTEMS for name in ecosystem.runner_packages
        ]
        return tuple(
            FileFact(_shown_path(root, one), self._folder_digest(one)) for one in sorted(packages) if one.is_dir()
        )

    def _setting(self, path: Path) -> str:
        digest = self._digest(path)
        if not digest or not path.as_posix().endswith(_GIT_SETTINGS):
            return digest
        lines, counts = list[str](), True
        try:
            text = read_text(path, "utf-8", "replace")
        except OSError:  # gone meanwhile
            return ""
        for line in text.splitlines():
            if line.lstrip().startswith("["):
                counts = _HARMLESS_SECTION.match(line.strip()) is None
            lines += [line] if counts and line.strip() else []
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] if lines else ""

    def _plugins_in(self, root: Path, packages: Path) -> Iterator[FileFact]:
        """Distributions that pytest loads by itself, by what they announce: another version of one is not a change."""
        for entry in _sorted_dir_entries(packages):
            if entry.name.endswith((".dist-info", ".egg-info")) and entry.is_dir():
                entry_points = f"{entry.path}/entry_points.txt"
                announced = self._once(self._plugins, entry_points, lambda path, stat: _announced(path))
                if announced:
                    installed = f"{_shown_path(root, packages)}/{entry.name.partition('-')[0]} (pytest plugin)"
                    file = _shown_path(root, Path(entry_points))
                    yield FileFact(installed if packages.name in _INSTALLED else file, announced)

    def _folder_digest(self, folder: Path) -> str:
        whole = hashlib.sha256()
        for count, file in enumerate(_source_files(str(folder))):
            if count == _MOST_FILES:
                break
            whole.update(f"{file[len(str(folder)) :]}\0{self._digest(file)}\0".encode())
        return whole.hexdigest()[:16]

    def _digest(self, path: Path | str) -> str:
        return self._once(self._digests, str(path), _program_digest)

    def _once(
        self,
        known: dict[str, tuple[Signature, str]],
        path: str,
        read: Callable[[str, os.stat_result], str],
    ) -> str:
        """What is read of a file, again only if stat says that it changed; empty if it can't be read."""
        try:
            stat = os.stat(path)  # noqa: PTH116  # called for each file of a runner's package: Path takes longer than stat
            signature = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
            if path not in known or known[path][0] != signature:
                known[path] = (signature, read(path, stat))
        except OSError:
            return ""
        return known[path][1]


def _announced(path: str) -> str:
    section = re.search(r"^\[pytest11\]\s*$(.*?)(?=^\[|\Z)", read_text(Path(path), "utf-8", "replace"), re.M | re.S)
    return " ".join(section[1].split()) if section else ""


def _program_digest(path: str, stat: os.stat_result) -> str:
    if stat.st_size > _SMALL:
        return f"{stat.st_size}:{stat.st_mtime_ns}"
    return hashlib.sha256(read_bytes(Path(path))).hexdigest()[:16]


def _source_files(folder: str) -> Iterator[str]:
    for entry in _sorted_dir_entries(folder):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _source_files(entry.path)
        elif entry.name.endswith((".py", ".js", ".mjs", ".cjs")):
            yield entry.path


def which(name: str, root: Path, folder: str, environment: Mapping[str, str]) -> Path | None:
    """The program that a word means, as the shell would find it from `folder`; links are not followed."""
    if "/" in name or "\\" in name:
        path = root / folder / name
        return path if path.is_file() else None
    found = shutil.which(name, path=_search_path(str(root / folder), environment.get("PATH", os.defpath)))
    return Path(found) if found else None


@lru_cache(maxsize=64)
def _search_path(folder: str, path: str) -> str:
    """A relative entry of PATH means a folder of the current one, not of the server's."""
    return os.pathsep.join(os.path.join(folder, entry) for entry in path.split(os.pathsep) if entry)  # noqa: PTH118


def _program_words(command: TaskCommand) -> Iterator[str]:
    segment = command.segment
    first = segment.words[0]
    plain = first not in _BUILTINS and re.fullmatch(r"[\w.~+/\\:][\w./\\+~:-]*", first) is not None
    if plain and ("/" not in first or re.search(r"(?:^|/)(?:bin|Scripts|\.bin)/[^/]+$", first)):
        yield first
    if segment.tool and segment.tool[0] != first:
        installed = f"{_BESIDE}/{segment.tool[0]}"
        if first in ("npx", "npm", "pnpm", "yarn", "bunx"):
            yield installed
    elif segment.tool and command.folder == "" and first in _PACKAGED:
        yield f"{_BESIDE}/{first}"


_BESIDE = "node_modules/.bin"
_PACKAGED = frozenset(name for tool in TOOLS if tool.packaged for name in tool.names)


def _shown_path(root: Path, path: Path) -> str:
    """Relative to the workspace where it is inside it, else absolute; posix."""
    try:
        return Path(os.path.normpath(path)).relative_to(root).as_posix()
    except ValueError:
        return PurePath(path).as_posix()


def _python_folders(root: Path, folders: Iterable[str], environment: Mapping[str, str]) -> Iterator[Path]:
    """Folders of the workspace that Python looks in before its own library: the current one, and PYTHONPATH."""
    seen: set[Path] = set()
    listed = [e for e in environment.get("PYTHONPATH", "").split(os.pathsep) if e]
    for folder in [*folders, *listed]:
        path = Path(os.path.normpath(root / folder))
        if path not in seen and path.is_relative_to(root) and path.is_dir():
            seen.add(path)
            yield path


def _site_packages(root: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Those of the environments in the workspace, of the one that its Python comes from, and the user's own."""
    prefixes = [root / name for name in (".venv", "venv", "env")]
    python = which("python", root, "", environment)
    if python is not None and (python.parent.parent / "pyvenv.cfg").is_file():
        prefixes.append(python.parent.parent)
    seen: set[Path] = set()
    prefixes += [Path(environment["HOME"]) / ".local"] if environment.get("HOME") else []
    for prefix in prefixes:
        for packages in [*sorted(prefix.glob("lib/python3*/site-packages")), prefix / "Lib" / "site-packages"]:
            if packages not in seen and packages.is_dir():
                seen.add(packages)
                yield packages


def _folders_of_pth(packages: Path) -> Iterator[Path]:
    """The folders that Python adds to its path, as for an editable installation: pytest finds plugins there too."""
    for entry in _sorted_dir_entries(packages):
        if entry.name.endswith(".pth"):
            for line in _lines_of_pth(Path(entry.path)):
                if line.strip() and not line.startswith(("#", "import")):
                    yield packages / line.strip()


def _lines_of_pth(pth: Path) -> list[str]:
    try:
        return read_text(pth, "utf-8", "replace").splitlines()
    except OSError:
        return []


def _sorted_dir_entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda e: e.name)
    except OSError:
        return []
