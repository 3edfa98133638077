"""What holds for all tests."""

from __future__ import annotations

import ast
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import settings
from xdist.scheduler.loadfile import LoadFileScheduling

if TYPE_CHECKING:
    from tests.agent.host import SharedHost

# Whoever started the tests may have these ignored, as nohup and a shell's `&` do: programs that are tested would
# inherit that, and would not end by them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Checks say `python`: they mean this one, on machines whose PATH has another or none.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), *filter(None, [os.environ.get("PATH")])])

if sys.version_info < (3, 12):
    # There, `ast.parse` fails by chance where another one begins before it ends (gh-106905), as one may while pytest
    # prints a failure: the whole run would end.
    _parse = ast.parse

    def _parse_again(*given: Any, **named: Any) -> Any:
        for _ in range(5):
            with contextlib.suppress(SystemError):
                return _parse(*given, **named)
        return _parse(*given, **named)

    ast.parse = _parse_again

# How long an example takes says nothing of what it tests, on a machine that others use too. `quick` is a fifth of
# `full`, which `.ci/run` takes for the same tests; see `tests.tools.examples` for those that name a number.
_given = settings.get_profile(settings.get_current_profile_name())
settings.register_profile("full", _given, deadline=None, max_examples=100)
settings.register_profile("quick", _given, deadline=None, max_examples=20)
settings.load_profile("quick")

HERE = Path(__file__).parent
FIRST = ("agent", "lsp", "rooms", "models", "cli", "faults", "acts", "library", "trials", "goalbench", "evidence")
"""The folders whose tests start processes: what takes longest begins first, so that no worker is left with it."""
HOSTED = ("tests/agent/", "tests/models/", "tests/rooms/test_contained_runs.py")
"""What one worker takes whole: these tests share a model host, which takes seconds of CPU to start."""
PARSING = "tests/architecture/"
"""So do these: each worker would parse the whole source once more."""

TABLES = ("tests/trials/test_cheats.py", "tests/goalbench/test_table.py")
"""Files whose tests share nothing, and take minutes: they are handed out in parts."""
PARTS = 8


class ByFile(LoadFileScheduling):
    """Hands a file's tests to one worker, and so all that share what is dear; the long tables in parts."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file in TABLES:
            return f"{file} {crc32(nodeid.encode()) % PARTS}"
        if file.startswith(PARSING):
            return "parsing"
        return "hosted" if file.startswith(HOSTED) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # the order is that of the collection, see below
    return ByFile(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """For `-n auto`: two more than there are cores, since a third of the time the tests wait for processes."""
    return (os.cpu_count() or 1) + 2


@pytest.fixture(scope="session")
def shared_host() -> Iterator[SharedHost]:
    """The model host of this worker, which is started with the first call."""
    from tests.agent.host import SharedHost  # most workers do without the engine's models

    with SharedHost() as host:
        yield host


def pytest_configure(config: pytest.Config) -> None:
    # Checks that tests run inherit this: a pytest in a workspace starts in half the time without the plugins that are
    # installed for this one. Not yet in the process that hands out the tests: its workers need theirs.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # Thousands of tests and their modules stay to the end: each collection of garbage would look through them again.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        order = {name: number for number, name in enumerate(FIRST)}
        items.sort(key=lambda item: order.get(item.path.relative_to(HERE).parts[0], len(FIRST)))
