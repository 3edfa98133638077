"""The environment that checks run in: variables, interpreter, program (product.md, "What checks run in")."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from donewhen.evidence.text import is_sensitive
from donewhen.regular import read_bytes

_HASHED = 1024 * 1024  # larger programs are distinguished by their times: hashing them would hold up the server
_BIN = "Scripts" if os.name == "nt" else "bin"
_SITE = "Lib/site-packages" if os.name == "nt" else "lib/python*/*-packages"
_DISTRIBUTION = (".dist-info", ".egg-info", ".egg-link")
_NODE_PACKAGES = ("node_modules/.package-lock.json", "node_modules/.pnpm/lock.yaml", "node_modules/.yarn-integrity")
"""Where the managers of Node's packages write down what they have installed."""
# They differ between terminals and have no effect on checks.
_NOISE_NAMES = (
    "_ PWD OLDPWD SHLVL COLUMNS LINES WINDOWID TERM_SESSION_ID XDG_SESSION_ID SSH_CLIENT SSH_CONNECTION SSH_TTY "
    "SSH_AUTH_SOCK GPG_TTY DISPLAY WAYLAND_DISPLAY STARSHIP_SESSION_KEY TMUX TMUX_PANE STY WINDOW INVOCATION_ID "
    "JOURNAL_STREAM PYTEST_CURRENT_TEST"
)
_NOISE = frozenset(_NOISE_NAMES.split())
_NOISE_PREFIXES = ("VSCODE_", "ITERM_", "KITTY_", "WEZTERM_", "NVIM")


class CheckEnvironment:
    """Makes the environment of a check from that of whoever started Done When.

    `inherited` is asked each time; `interpreter` is the Python that the editor selected. `scratch` is a folder of the
    server's own, where Python keeps its bytecode unless `bytecode` is given, which several workspaces may share: a
    `__pycache__` that a worker wrote is never read. `home` is the Python environment that the server runs in.
    """

    def __init__(
        self,
        root: Path,
        scratch: Path,
        inherited: Callable[[], Mapping[str, str]],
        interpreter: Path | None = None,
        bytecode: Path | None = None,
        home: str = sys.prefix,
    ) -> None:
        self._root = root
        self._home = home
        self._inherited = inherited
        self.interpreter = interpreter
        self._digests: dict[tuple[str, int, int, int], str] = {}
        self._listed: dict[tuple[str, int], str] = {}
        self.bytecode = bytecode or scratch / "pycache"

    def inherited(self) -> Mapping[str, str]:
        """Everything, keys included: for masking only."""
        return self._inherited()

    def variables(self) -> dict[str, str]:
        """Without keys and DONEWHEN_*; the interpreter's folder comes first on PATH."""
        variables = {
            name: value
            for name, value in self._inherited().items()
            if not name.upper().startswith("DONEWHEN_") and not is_sensitive(name)
        }
        selected = self._python_environment()
        if selected is not None:
            folder, kind = selected
            variables["PATH"] = os.pathsep.join(p for p in (str(folder), variables.get("PATH", os.defpath)) if p)
            variables.pop("PYTHONHOME", None)
            variables.pop("VIRTUAL_ENV", None)
            if kind is not None:
                variables[kind] = str(folder if kind == "CONDA_PREFIX" and os.name == "nt" else folder.parent)
        variables["PYTHONPYCACHEPREFIX"] = str(self.bytecode)
        # It keeps the workspace clean, which the line above does too; together they would compile everything again.
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        return variables

    def _python_environment(self) -> tuple[Path, str | None] | None:
        """The folder of programs, and the variable that names the environment it belongs to."""
        if self.interpreter is not None:
            folder = self.interpreter.parent
            return folder, _kind(folder.parent) or _kind(folder)
        homes = [self._root / name for name in (".venv", "venv", ".conda", "env", ".pixi/envs/default")]
        own = Path(self._home)
        if own.is_relative_to(self._root):  # the one that the server runs in is the project's
            homes.append(own)
        for home in homes:
            kind = _kind(home)
            if kind is not None:
                return (home if kind == "CONDA_PREFIX" and os.name == "nt" else home / _BIN), kind
        return None

    def which(self, program: str, variables: Mapping[str, str]) -> str | None:
        """The absolute path of the executable that the shell would start; None if there is none."""
        if not program:
            return None
        if os.sep in program or "/" in program:
            found = shutil.which(str(self._root / program), path="")
        else:
            # The relative entries of PATH are seen from the workspace, where the shell is.
            entries = variables.get("PATH", os.defpath).split(os.pathsep)
            found = shutil.which(program, path=os.pathsep.join(str(self._root / entry) for entry in entries))
        return str(Path(found).absolute()) if found else None

    def digest(self, program: str | None, variables: Mapping[str, str]) -> str:
        """sha256 of the program's path and content, the Python that comes first on PATH, what is installed for it,
        beside the program and for Node, the variables that can matter, and the platform."""
        relevant = sorted(
            f"{name}={value}"
            for name, value in variables.items()
            if name not in _NOISE and not name.startswith(_NOISE_PREFIXES)
        )
        python = self.which("python", variables) or self.which("python3", variables)
        # Beside the program: the Python environment that it lies in, or that its link leads into.
        places = (Path(program), Path(program).resolve()) if program else ()
        beside = next((home for home in (one.parent.parent for one in places) if _kind(home)), None)
        homes = dict.fromkeys((python and Path(python).parent.parent, beside))
        installed = [
            *(one for home in homes if home for one in self._distributions(home)),
            *(self._content(str(self._root / one), whole=True) for one in _NODE_PACKAGES),
        ]
        programs = [program or "", self._content(program), self._content(python)]
        parts = [sys.platform, platform.machine(), *programs, *installed, *relevant]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()

    def _distributions(self, home: Path) -> Sequence[str]:
        """What is installed for a Python, as its `NAME-VERSION.dist-info` say; listed again only when that changed."""
        found: list[str] = []
        for folder in sorted(home.glob(_SITE)):
            with contextlib.suppress(OSError):
                key = (str(folder), folder.stat().st_mtime_ns)
                if key not in self._listed:
                    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(_DISTRIBUTION))
                    self._listed[key] = hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()
                found.append(self._listed[key])
        return found

    def _content(self, program: str | None, *, whole: bool = False) -> str:
        """Of the file that the program's links end at; read again only when it changed. `whole`: whatever its size."""
        if program is None:
            return ""
        try:
            path = Path(program).resolve()
            stat = path.stat()
            key = (str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            if stat.st_size > _HASHED and not whole:
                return ":".join(map(str, key))
            if key not in self._digests:
                self._digests[key] = hashlib.sha256(read_bytes(path)).hexdigest()
            return f"{path}:{self._digests[key]}"
        except OSError:
            return program


def _kind(home: Path) -> str | None:
    if (home / "pyvenv.cfg").is_file():
        return "VIRTUAL_ENV"
    return "CONDA_PREFIX" if (home / "conda-meta").is_dir() else None
