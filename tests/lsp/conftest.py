"""A server process per test, ended with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
