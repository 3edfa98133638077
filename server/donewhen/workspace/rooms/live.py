"""Live rooms (`ports.LiveRooms`): commands work on the workspace itself, at its own path, and reach nothing else."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from donewhen.ports import Grants, LiveRoom, Processes, ProcessResult
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.mounting import Mounter, mounters
from donewhen.workspace.rooms.opening import PATIENCE, Opener
from donewhen.workspace.rooms.showing import RoomSpec

_NO_NETWORK = re.compile(
    r"could ?n.?o?t resolve|resolve host|name resolution|name or service not known|network is unreachable|ENOTFOUND"
    r"|EAI_AGAIN|getaddrinfo|no such host|nodename nor servname|NameResolutionError|ENETUNREACH",
    re.IGNORECASE,
)
_NOTHING_LISTENS = re.compile(r"connection refused|ECONNREFUSED|actively refused", re.IGNORECASE)
_READ_ONLY = re.compile(r"read-only file ?system|EROFS|Errno 30\b|device or resource busy", re.IGNORECASE)


class MountedLiveRooms:
    """`ports.LiveRooms` on Linux. `folder` is where rooms are kept, `variables` are those that commands run with,
    `hidden` are folders that no room shows, `outside` runs the processes that are not in a room."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        variables: Callable[[], Mapping[str, str]],
        hidden: tuple[Path, ...] = (),
        outside: Processes | None = None,
        programs: Callable[[Mapping[str, str]], Sequence[Mounter]] = mounters,
        patience: float = PATIENCE,
    ) -> None:
        self._spec = RoomSpec("live", root, hidden)
        self._outside = outside or SystemProcesses()
        self._opener = Opener(self._spec, folder, variables, self._outside, programs, patience)

    async def hindrance(self) -> str:
        """See `ports.LiveRooms`."""
        return await self._opener.hindrance()

    @asynccontextmanager
    async def open(self, grants: Grants) -> AsyncGenerator[LiveRoom]:
        """See `ports.LiveRooms`."""
        async with self._opener.open(replace(self._spec, grants=grants)) as (_, inside):
            yield LiveRoom(inside, self._outside, contained=True, hint=partial(_room_hint, network=grants.network))


def _room_hint(result: ProcessResult, *, network: bool) -> str:
    if result.exit_code == 0:
        return ""
    if not network and _NO_NETWORK.search(result.output):
        return "there is no network in the room that it ran in"
    if not network and _NOTHING_LISTENS.search(result.output):
        return "there is no network in the room that it ran in: what listens on this machine is out of reach there"
    if _READ_ONLY.search(result.output):
        return "in the room that it ran in, only the workspace can be changed, except what git and editors keep there"
    return ""
