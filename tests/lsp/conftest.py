"""Servers for tests: in this process unless the test, its class or its module is marked `process`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .editor import GOAL, SERVE, Editor
from .probe_server import probe as serve_probe
from .rawclient import InProcess, Process, RawClient

PROBE = Path(__file__).with_name("probe_server.py")


@pytest.fixture
def probe(request: pytest.FixtureRequest) -> Iterator[RawClient]:
    """The probe server, not yet initialized."""
    own = request.node.get_closest_marker("process") is not None
    client = RawClient(Process([sys.executable, str(PROBE)], forks=False) if own else InProcess(serve_probe))
    yield client
    client.close()


@pytest.fixture(scope="module")
def _one_server() -> Iterator[RawClient]:
    client = RawClient(InProcess(serve_probe))
    client.initialize()
    yield client
    assert client.goodbye() == 0
    client.close()


@pytest.fixture
def shared(_one_server: RawClient) -> Iterator[RawClient]:
    """A server that several tests use one after the other; none may leave a message unread."""
    yield _one_server
    assert _one_server.result("probe/echo") == {"params": None}
    assert not _one_server.unread()


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
def own_editor(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Editor]:
    """A server of the test's own, not yet started, for one that ends it or looks at its whole life."""
    own = request.node.get_closest_marker("process") is not None
    client = Editor(tmp_path / "state", command=SERVE if own else None)
    yield client
    client.close()


@pytest.fixture
def goal(tmp_path: Path) -> Path:
    path = tmp_path / "GOAL.md"
    path.write_text(GOAL, encoding="utf-8")
    return path
