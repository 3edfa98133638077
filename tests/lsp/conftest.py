"""A server process per test, ended with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .editor import GOAL, Editor
from .rawclient import RawClient

PROBE = Path(__file__).with_name("probe_server.py")


@pytest.fixture
def probe() -> Iterator[RawClient]:
    """The probe server over standard streams, not yet initialized."""
    client = RawClient([sys.executable, str(PROBE)])
    yield client
    client.close()


@pytest.fixture(scope="module")
def _one_process() -> Iterator[RawClient]:
    client = RawClient([sys.executable, str(PROBE)])
    client.initialize()
    yield client
    assert client.goodbye() == 0
    client.close()


@pytest.fixture
def shared(_one_process: RawClient) -> Iterator[RawClient]:
    """A server that several tests use one after the other; none may leave a message unread."""
    yield _one_process
    assert _one_process.result("probe/echo") == {"params": None}
    assert not _one_process.unread()


@pytest.fixture
def ready(probe: RawClient) -> RawClient:
    probe.initialize()
    return probe


@pytest.fixture(scope="module")
def _editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    client = Editor(tmp_path_factory.mktemp("state"))
    able = {
        "codeAction": {"codeActionLiteralSupport": {}},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "publishDiagnostics": {"relatedInformation": True},
    }
    client.start(capabilities={"textDocument": able})
    yield client
    assert client.goodbye() == 0
    client.close()


@pytest.fixture
def editor(_editor: Editor) -> Iterator[Editor]:
    """One server for the tests that don't end it; each has a workspace folder of its own."""
    yield _editor
    assert not _editor.unread()
    _editor.inbox.clear()


@pytest.fixture
def own_editor(tmp_path: Path) -> Iterator[Editor]:
    """A server of the test's own, not yet started, for one that ends it or looks at its whole life."""
    client = Editor(tmp_path / "state")
    yield client
    client.close()


@pytest.fixture
def goal(tmp_path: Path) -> Path:
    path = tmp_path / "GOAL.md"
    path.write_text(GOAL, encoding="utf-8")
    return path
