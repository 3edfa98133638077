"""Workers change the workspace, turn by turn, and claim things; nothing that they say is proof.

A built-in worker is a row of `core/workers.py` and a module here of that name, with `make(parts: WorkerParts)`; its
tools are in `tools/`. A worker imports the core, the ports and, of the other adapters, only `models/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from donewhen.core.events import RunOptions
from donewhen.ports import FilesOf, Grants, LiveRooms, Model, ModelNotes, Processes


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """The parts that a worker of one run may be made of. `environment` are the variables of what it runs, in `rooms`
    with `grants`; `processes` runs one command after the other, each in a room of its own where the run is contained.

    `model` is the one that the run's options name, and raises UsageError where they name none. `files` gives the
    workspace's files as one turn may change them. `mask` hides secrets in a text. `notes` are what is known of models
    from earlier runs; `served_window` asks the model's own server for its window, and blocks while it does.
    """

    options: RunOptions
    environment: Callable[[], Mapping[str, str]]
    rooms: LiveRooms
    grants: Grants
    processes: Callable[[], Processes]
    model: Callable[[], Model]
    files: FilesOf
    mask: Callable[[str], str]
    notes: ModelNotes
    served_window: Callable[[], int | None]
