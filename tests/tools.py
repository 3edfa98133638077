"""What tests of several folders share: programs that may be missing, how often a property is tried, tables of rows."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from hypothesis import settings

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
T = TypeVar("T")
Ids = Callable[[Any], Any] | Sequence[Any] | None
ParameterSet: Any = type(pytest.param(None))  # what `pytest.param` makes, which pytest doesn't export


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where the program is missing, but never in CI."""
    missing = shutil.which(program) is None and not os.environ.get("CI")
    return pytest.mark.skipif(missing, reason=f"{program} is not installed")


NPM = Path(sys.prefix) / "npm"
"""Where `.ci/run` installs programs from npm."""


def npm_program(name: str) -> str:
    """The path of a program that npm installed: there, or on the PATH; its bare name where it is missing."""
    return shutil.which(name, path=str(NPM / "node_modules" / ".bin")) or shutil.which(name) or name


def needs_npm(name: str) -> pytest.MarkDecorator:
    """As `needs`, for a program from npm."""
    return needs(npm_program(name))


def needs_tool(name: str) -> pytest.MarkDecorator:
    """As `needs`, for a program from PyPI that `.ci/run` installs beside this Python."""
    return needs(shutil.which(name, path=str(Path(sys.prefix) / "tools" / "bin")) or name)


def runs(process: int | psutil.Process) -> bool:
    """Whether it runs: a zombie has ended. The only way to ask: a process may end between any two looks at it."""
    try:
        found = psutil.Process(process) if isinstance(process, int) else process
        return found.is_running() and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def below(pid: int, word: str = "") -> list[psutil.Process]:
    """The processes below this one, of which each may end at any moment; those whose command line has the word."""
    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for one in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                if not word or word in " ".join(one.cmdline()):
                    found.append(one)
    return found


async def in_flight(play: Callable[[float], Awaitable[T]], begun: Callable[[T], object]) -> T:
    """What `play` gives where the limit that it gets, in seconds, passes after something has begun: on a busy machine a
    short one may pass before."""
    for limit in (0.3, 3.0):
        if begun(found := await play(limit)):
            return found
    return await play(15.0)


def examples(full: int, **others: Any) -> settings:
    """A property that is tried so often with `--hypothesis-profile=full`, and a fifth as often otherwise."""
    return settings(max_examples=max(1, full * settings().max_examples // 100), **others)


def each_row(names: str, rows: Iterable[Any], *, ids: Ids | Iterable[Any] = None) -> Decorator:
    """A table under one test: calls it with every row, and fails with all that fail, each named.

    As `pytest.mark.parametrize`, for rows that are cheap and touch nothing outside: as a test of its own each would
    cost more than what it tests. What else the test takes, its rows share; of `tmp_path` each has a folder. No row can
    be skipped: the others would not be seen to be.
    """
    wanted = [name.strip() for name in names.split(",")]
    known = ids if ids is None or callable(ids) else list(ids)
    table = [
        (_row_id(row, at, values, known), values)
        for at, row in enumerate(rows)
        for values in [_row_values(row, len(wanted))]
    ]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        assert not inspect.iscoroutinefunction(test), "rows of a coroutine are tests of their own"

        @functools.wraps(test)
        def every_row(**shared: Any) -> None:
            wrong: dict[str, Exception] = {}
            for at, (name, values) in enumerate(table):
                own = _own_folder(shared, at)
                try:
                    test(**own, **dict(zip(wanted, values, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001  # told below
                    wrong[name] = error if isinstance(error, Exception) else AssertionError(f"{name}: {error!r}")
                    wrong[name].add_note(f"row {name}")
            if wrong:
                told = "\n".join(wrong)
                raise ExceptionGroup(f"{len(wrong)} of {len(table)} rows:\n{told}\n", list(wrong.values()))

        given = inspect.signature(test)
        left = [one for name, one in given.parameters.items() if name not in wanted]
        every_row.__signature__ = given.replace(parameters=left)  # type: ignore[attr-defined]  # pytest reads it
        return every_row

    assert table, "a table without rows tests nothing"
    return decorate


def _own_folder(shared: dict[str, Any], row: int) -> dict[str, Any]:
    if "tmp_path" not in shared:
        return shared
    folder: Path = shared["tmp_path"] / str(row)
    folder.mkdir()
    return {**shared, "tmp_path": folder}


def _row_id(row: Any, at: int, values: Sequence[Any], ids: Ids) -> str:
    if isinstance(row, ParameterSet) and row.id:
        return f"{at}: {row.id}"
    if ids is None:
        return f"{at}: {row!r:.200}"
    if not callable(ids):
        return f"{at}: {ids[at]}"
    return f"{at}: {' '.join(str(ids(value)) for value in values)}"


def _row_values(row: Any, count: int) -> Sequence[Any]:
    if isinstance(row, ParameterSet):
        assert not row.marks, "a row with marks is a test of its own"
        return row.values
    return (row,) if count == 1 else row
