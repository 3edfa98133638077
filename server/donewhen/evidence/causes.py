"""What a failed check says in its output, and what helps if the cause is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from donewhen.core.why import clipped

_ERROR = re.compile(
    r"^(?:E\s+)?(?:(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Exit)\b(?::.*)?"
    r"|(?:\S+: )?(?:fatal|error|ERROR|Error|FAIL|FAILED|panic)\b.*"
    r"|.*\b(?:not found|No such file|[Pp]ermission denied|No module named|[Cc]annot|[Cc]ould not)\b.*"
    r"|.*\b(?:unrecognized|refused)\b.*)$"
)
_NOISE = re.compile(
    r"^(?:\W*|make(?:\[\d+\])?: \*\*\*.*"
    r"|npm (?:ERR!|error) (?:A complete log.*|code \S+|errno \S+|path .*|command .*|Lifecycle.*)"
    r"|error Command failed with exit code.*|error: Recipe .*|exit status \d+|Error: Process completed.*|ELIFECYCLE.*)$"
)


def telling_line(output: str, *, errors_only: bool = False) -> str:
    """The last line that says that something is wrong, else the last line; empty if there is none."""
    lines = [line.strip() for line in output.splitlines()[-400:]]
    lines = [line for line in lines if not _NOISE.fullmatch(line)]
    wrong = next(
        (line for line in reversed(lines) if _ERROR.fullmatch(line)), lines[-1] if lines and not errors_only else ""
    )
    return clipped(wrong.removeprefix("E ") if wrong.startswith("E  ") else wrong)


_DISTRIBUTIONS = {
    "attr": "attrs", "bs4": "beautifulsoup4", "Crypto": "pycryptodome", "cv2": "opencv-python", "dateutil":
    "python-dateutil", "docx": "python-docx", "dotenv": "python-dotenv", "fitz": "PyMuPDF", "git": "GitPython",
    "jwt": "PyJWT", "magic": "python-magic", "MySQLdb": "mysqlclient", "OpenSSL": "pyOpenSSL", "PIL": "Pillow",
    "pkg_resources": "setuptools", "psycopg2": "psycopg2-binary", "serial": "pyserial", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "win32api": "pywin32", "yaml": "PyYAML", "zmq": "pyzmq",
}  # fmt: skip
"""Distributions by module, for modules whose name differs from their distribution's."""
_PYTEST_PLUGINS = {
    "cov": "pytest-cov", "no-cov": "pytest-cov", "timeout": "pytest-timeout", "numprocesses": "pytest-xdist",
    "dist": "pytest-xdist", "asyncio-mode": "pytest-asyncio", "benchmark-skip": "pytest-benchmark", "reruns":
    "pytest-rerunfailures", "randomly-seed": "pytest-randomly", "ds": "pytest-django", "mypy": "pytest-mypy",
    "snapshot-update": "syrupy", "html": "pytest-html", "count": "pytest-repeat", "mocker": "pytest-mock",
    "httpx_mock": "pytest-httpx", "benchmark": "pytest-benchmark", "requests_mock": "requests-mock", "freezer":
    "pytest-freezer", "snapshot": "syrupy", "live_server": "pytest-django", "respx_mock": "respx",
}  # fmt: skip
"""Plugins by the option or fixture that they provide."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause that the output tells, and what helps: `helps` gets the match and the check's command."""

    says: re.Pattern[str]
    helps: Callable[[re.Match[str], str], str]


def _cause(says: str, helps: Callable[[re.Match[str], str], str] | str) -> Cause:
    compiled = re.compile(says, re.MULTILINE)
    if isinstance(helps, str):
        return Cause(compiled, lambda match, command: match.expand(helps))
    return Cause(compiled, helps)


def _python_module(match: re.Match[str], command: str) -> str:
    module = match["name"].partition(".")[0]
    name = _DISTRIBUTIONS.get(module, module)
    helps = _add(name, command)
    own = "; the project's own package with `python -m pip install -e .`" if "pip install" in helps else ""
    return f"`{module}` is not installed here: {helps}{own}"


def _add(name: str, command: str) -> str:
    """How to install a distribution where the command runs."""
    if re.search(r"\buv run\b", command):
        return f"`uv sync`, or `uv add {name}` where the project doesn't list it"
    if re.search(r"\bpoetry run\b", command):
        return f"`poetry install`, or `poetry add {name}` where the project doesn't list it"
    if re.search(r"\bpdm run\b", command):
        return f"`pdm install`, or `pdm add {name}` where the project doesn't list it"
    return f"`python -m pip install {name}` in the workspace's environment"


def _node_module(match: re.Match[str], command: str) -> str:
    name = match["name"]
    package = "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
    manager = next((one for one in ("pnpm", "yarn", "bun") if re.search(rf"\b{one}\b", command)), "npm")
    every, one = ("npm ci", "npm install") if manager == "npm" else (f"{manager} install", f"{manager} add")
    return f"`{package}` is not installed here: `{every}`, or `{one} {package}` where package.json doesn't list it"


def _plugin(match: re.Match[str], command: str) -> str:
    option = match["name"].partition("=")[0].lstrip("-")
    name = _PYTEST_PLUGINS.get(option, "pytest-xdist" if match["name"].startswith("-n") else "")
    return f"`{name}` is not installed here: {_add(name, command)}" if name else ""


_CAUSES: tuple[Cause, ...] = (
    _cause(r"No module named ['\"](?P<name>[A-Za-z_][\w.]*)['\"]", _python_module),
    _cause(r"^\S*(?:python|pypy)\S*: No module named (?P<name>[A-Za-z_][\w.]*)$", _python_module),
    _cause(r"Cannot find (?:module|package) ['\"](?P<name>@?[A-Za-z][\w./@-]*)['\"]", _node_module),
    _cause(r"\bnode_modules (?:is )?missing\b", "nothing is installed here: `npm ci`"),
    _cause(r"unrecognized arguments: (?P<name>\S+)", _plugin),
    _cause(r"^E\s+fixture '(?P<name>\w+)' not found", _plugin),
    _cause(r"toolchain '(?P<name>[^']+)' is not installed", r"`rustup toolchain install \g<name>`"),
    _cause(r"^error: no such command: `(?P<name>[\w-]+)`", r"`cargo install cargo-\g<name>`"),
    _cause(r"no required module provides package (?P<name>[^\s;]+)", r"`go get \g<name>`"),
    _cause(r"missing go\.sum entry", "`go mod download`"),
    _cause(r"go\.mod requires go >= (?P<name>\S+)", r"install Go \g<name> or later from https://go.dev/dl"),
    _cause(
        r"cannot load such file -- |Could not find .* in (?:any of the sources|locally installed gems)",
        "`bundle install`",
    ),
    _cause(
        r"^(?:\S*sh: )?(?:line )?(?:\d+: )?(?P<name>\.{0,2}/?[\w./-]+): Permission denied$",
        r"`chmod +x \g<name>`, if it should be run",
    ),
)  # fmt: skip


def hint_for(output: str, command: str) -> str:
    """What helps against the first known cause, as a clause; empty if no cause is known."""
    for cause in _CAUSES:
        match = cause.says.search(output)
        if match is not None and (helps := cause.helps(match, command)):
            return clipped(helps)
    return ""


NOTHING_COLLECTED = (
    "no test was found there: look at the paths, at `-k` and `-m`, and at what the configuration collects"
)
