"""Which files of a workspace can hold facts, by their names alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from posixpath import dirname

from donewhen.evidence.probes_configs import is_config

_PYTHON_TEST = re.compile(r"(?:test_[^/]*|[^/]*_test|tests?[^/]*)\.py")
_SCRIPT_TEST = re.compile(
    r"[^/]*[._-](?:test|spec)\.(?:[cm]?[jt]sx?|vue|svelte)|[^/]*_test\.go|[^/]*\.rs|test[-_.][^/]*\.[cm]?[jt]sx?"
)
_SCRIPT = re.compile(r"[^/]*\.[cm]?[jt]sx?")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "spec", "specs", "__tests__", "e2e"})
_DISABLED_TEST = re.compile(r"[^/]*test[^/]*\.py(?:\.[A-Za-z_]+|_|~)?|_*test_[^/]*", re.IGNORECASE)
_STARTUP = frozenset({"sitecustomize.py", "usercustomize.py"})


class FileKind(Enum):
    PYTHON_TEST = "python_test"
    SCRIPT_TEST = "script_test"
    CONFIG = "config"
    STARTUP = "startup"


class Layout:
    """The files that can hold facts. Learning the same files again costs next to nothing."""

    def __init__(self) -> None:
        self._paths: tuple[str, ...] = ()
        self.kinds: Mapping[str, FileKind] = {}

    def learn(self, paths: Sequence[str]) -> None:
        if tuple(paths) == self._paths:
            return
        self._paths = tuple(paths)
        with_tests = {dirname(p) for p in self._paths if _PYTHON_TEST.fullmatch(p.rpartition("/")[2])}
        self.kinds = {p: kind for p in self._paths if (kind := _kind(p, with_tests)) is not None}

    def startup_files(self) -> tuple[str, ...]:
        return tuple(p for p, kind in self.kinds.items() if kind is FileKind.STARTUP)


def in_tests(path: str) -> bool:
    """Whether a folder that it is in holds tests, by its name."""
    return not _TEST_FOLDERS.isdisjoint(path.split("/")[:-1])


def _kind(path: str, with_tests: set[str]) -> FileKind | None:
    folder, _, name = path.rpartition("/")
    if name in _STARTUP or (name.endswith(".pth")):
        return FileKind.STARTUP
    if is_config(name):
        return FileKind.CONFIG
    among = in_tests(path)
    if _DISABLED_TEST.fullmatch(name) or (name.endswith(".py") and (among or folder in with_tests)):
        return FileKind.PYTHON_TEST
    if _SCRIPT_TEST.fullmatch(name) or (among and _SCRIPT.fullmatch(name)):
        return FileKind.SCRIPT_TEST
    return None
