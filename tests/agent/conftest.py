"""A workspace of its own for each test, one model host for all commands, and one language server, on that host too, for
the tests that need none of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.host import SharedHost
from tests.agent.room import Room
from tests.agent.site import Site


@pytest.fixture
def site(tmp_path: Path, shared_host: SharedHost) -> Iterator[Site]:
    made = Site(tmp_path, host=shared_host)
    yield made
    made.clean_up()


@pytest.fixture(scope="session")
def shared_room(tmp_path_factory: pytest.TempPathFactory, shared_host: SharedHost) -> Iterator[Room]:
    room = Room(tmp_path_factory.mktemp("room"), host=shared_host)
    yield room
    room.close()


@pytest.fixture
def room(shared_room: Room) -> Iterator[Room]:
    """The shared room, with its settings as they were and without a run."""
    shared_room.models.failures.clear()
    shared_room.editor.inbox.clear()
    shared_room.configure()
    yield shared_room
    shared_room.quiet()
