"""Contains what workers run: the rooms, assembled for one workspace folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from donewhen.core.agents import agents_in
from donewhen.core.events import RunOptions
from donewhen.core.workers import is_program
from donewhen.ports import Grants, LiveRooms, Processes, RoomLimits
from donewhen.regular import expanded
from donewhen.settings.loading import Settings, user_settings_file
from donewhen.workspace.rooms.live import MountedLiveRooms
from donewhen.workspace.rooms.plain import EachInARoom, PlainRooms


def hidden_folders(folder: Path, runtime: Path) -> tuple[Path, ...]:
    """What no room shows: every record of Done When, the person's settings, and the doors through which a person acts.
    `folder` is the workspace's own folder in the state folder, `runtime` the folder of the doors."""
    return (folder.parents[1], user_settings_file().parent, runtime)


class ContainedWork:
    """The rooms of one workspace folder in which workers run commands. `folder` is the workspace's own folder in the
    state folder, `variables` are those that commands run with; `settings` is called at each start."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        processes: Processes,
        variables: Callable[[], Mapping[str, str]],
        settings: Callable[[], Settings],
        runtime: Path,
    ) -> None:
        self._processes = processes
        self._runtime = runtime
        self._root = root
        self._folder = folder
        self._variables = variables
        self._settings = settings
        self._live: MountedLiveRooms | None = None
        self._hindrance = "opening one has not been tried yet"

    async def prepare(self) -> None:
        """Finds out whether rooms can be opened here."""
        if self._settings().sandbox != "off":
            self._hindrance = await self._live_rooms().hindrance()

    def why(self) -> str:
        """Why no room can be opened here; empty if one can."""
        return self._hindrance

    def rooms(self, options: RunOptions) -> LiveRooms:
        return self._live_rooms() if options.contained else PlainRooms(self._processes)

    def processes(self, options: RunOptions) -> Processes:
        """Runs one command after another, each in its own room if the run is contained."""
        return EachInARoom(lambda: (self.rooms(options), self.grants(options)))

    def grants(self, options: RunOptions) -> Grants:
        """What the run's commands may do in their rooms, by its options and the person's settings."""
        settings, home = self._settings(), Path(self._variables().get("HOME", os.devnull))
        agents = agents_in(options.worker_command or "") if is_program(options.worker) else ()
        kept = [home / name for agent in agents for name in agent.keeps]
        needed = [home / name for agent in agents for name in agent.needs]
        return Grants(
            network=options.network,
            writes=(*kept, *self._places(settings.pick("room_writes"))),
            reads=(*needed, *self._places(settings.pick("room_reads"))),
            copied=tuple(home / name for agent in agents for name in agent.replaces),
            namespaces=is_program(options.worker),
            limits=limits_of(settings),
        )

    def checks(self, written: Sequence[Path]) -> Processes:
        """Runs checks: each in its own room if the person's settings say so, and then checks may change these folders
        too. Else they run as the person."""

        def chosen() -> tuple[LiveRooms, Grants]:
            settings = self._settings()
            writes = (*written, *self._places(settings.pick("room_writes")))
            reads = tuple(self._places(settings.pick("room_reads")))
            grants = Grants(network=settings.network, writes=writes, reads=reads, limits=limits_of(settings))
            return self._live_rooms() if settings.contains_checks else PlainRooms(self._processes), grants

        return EachInARoom(chosen)

    def _places(self, named: Sequence[str] | None) -> list[Path]:
        return [self._root / expanded(name) for name in named or ()]

    def _live_rooms(self) -> MountedLiveRooms:
        if self._live is None:
            hidden = hidden_folders(self._folder, self._runtime)
            rooms = self._folder / "rooms"
            self._live = MountedLiveRooms(self._root, rooms, self._variables, hidden, outside=self._processes)
        return self._live


def limits_of(settings: Settings) -> RoomLimits:
    """The limits of a contained command."""
    plain = RoomLimits()
    return RoomLimits(
        settings.pick("room_processes") or plain.processes,
        settings.pick("room_memory") or plain.memory,
        settings.pick("room_disk") or plain.disk,
    )
