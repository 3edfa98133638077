"""What is kept of agents that call the gate: which run their work belongs to, how often each session was sent back, and
how the workspace stood when it was last looked at.

It is a file beside the ledger, which alone says what is proven. What is here decides how often an agent is asked to go
on, spares a second look at files that did not change, and tells an agent's own processes from a person's.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from donewhen.regular import read_text, write_whole
from donewhen.store.folders import TREES, kept_folder, workspace_folder

FILE = "gate.json"
MAX_SESSIONS = 50
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "cmd", "powershell", "pwsh", "env", "timeout"})
"""What stands between an agent and the command of its hook."""
OURS = ("donewhen", "python")


@dataclass(frozen=True, slots=True)
class Standing:
    """What the last audit for an agent found, and at which revision. `kept` names the files as they were then,
    `signature` tells two findings apart, `said` is for the agent: what is unproven; empty if everything is proven."""

    revision: str
    kept: str
    signature: str
    said: str = ""
    note: str = ""
    """For the person: what was told then."""


@dataclass(frozen=True, slots=True)
class GateSession:
    """One session of an agent. `last` is the signature of what it was sent back with last, `agent` its process."""

    blocks: int = 0
    last: str = ""
    agent: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class GateRecord:
    """The record of one workspace. `runs` and `standing` are by the goal's path, `sessions` by the agent's own ids, the
    latest last."""

    runs: dict[str, str] = field(default_factory=dict[str, str])
    standing: dict[str, Standing] = field(default_factory=dict[str, Standing])
    sessions: dict[str, GateSession] = field(default_factory=dict[str, GateSession])

    def session(self, name: str) -> GateSession:
        return self.sessions.get(name, GateSession())

    def with_session(self, name: str, session: GateSession) -> GateRecord:
        others = {key: one for key, one in self.sessions.items() if key != name}
        return replace(self, sessions=dict([*others.items(), (name, session)][-MAX_SESSIONS:]))

    def with_run(self, goal: str, run_id: str) -> GateRecord:
        standing = {key: one for key, one in self.standing.items() if key != goal}
        return replace(self, runs={**self.runs, goal: run_id}, standing=standing)

    def with_standing(self, goal: str, standing: Standing) -> GateRecord:
        return replace(self, standing={**self.standing, goal: standing})


def read_record(root: Path, state_dir: Path | None) -> GateRecord:
    """What is kept of this workspace; nothing if it can't be read. Creates nothing."""
    return _read_record(kept_folder(root, state_dir))


def keep_record(root: Path, state_dir: Path | None, record: GateRecord) -> None:
    """Keeps it, in place of what was kept. Raises OSError, and LedgerUnavailable."""
    folder = workspace_folder(kept_folder(root, state_dir).parents[1], root)
    write_whole(folder / FILE, json.dumps(asdict(record), ensure_ascii=True))


def agents_of(folder: Path, run_id: str) -> Collection[tuple[int, str]]:
    """The processes of agents that work for a run, each with its birth."""
    record = _read_record(folder)
    if run_id not in record.runs.values():
        return ()
    return [one.agent for one in record.sessions.values() if one.agent is not None]


def runs_of_gate(folder: Path) -> Collection[str]:
    """The runs that agents' work belongs to."""
    return frozenset(_read_record(folder).runs.values())


def unchanged(root: Path, state_dir: Path | None, standing: Standing) -> bool:
    """Whether the files are still those of that look: a stat of each, and a read of what changed in its last moment."""
    # Imported here, since most calls of the command line don't need them.
    from donewhen.workspace.ignoring import Coverage
    from donewhen.workspace.manifest import FileEntry
    from donewhen.workspace.remembered import load_result
    from donewhen.workspace.scanning import Scanner

    folder = kept_folder(root, state_dir)
    kept = load_result(folder / TREES / "results", standing.kept, standing.revision)
    if kept is None or kept.written:
        return False  # what checks write is compared by their own record: the whole look does that

    def as_it_is(path: str, entry: FileEntry) -> FileEntry:
        return entry

    ours = [place for place in (folder.parents[1],) if place.resolve().is_relative_to(root.resolve())]
    excluded = [place.resolve().relative_to(root.resolve()).as_posix() for place in ours]
    coverage = Coverage(kept.frozen.rules, kept.frozen.tracked, kept.named, excluded, kept.frozen.streams)
    scanner = Scanner(root.absolute(), coverage, lambda place: None, as_it_is)
    return scanner.sieve(scanner.walk(kept.manifest)).revision == standing.revision


def agent_above() -> tuple[int, str] | None:
    """The process that this hook's command was started by, past shells and our own."""
    from donewhen.workspace.locks import birth
    from donewhen.workspace.people import ancestors, program_of

    for one in ancestors()[1:]:
        name = program_of(one.pid)
        if name and name not in SHELLS and not name.startswith(OURS):
            born = birth(one.pid)
            return (one.pid, born) if born is not None and one.pid != 1 else None
    return None


def alive_above(record: GateRecord) -> bool:
    """Whether an agent that is known already is above this process: then no session begins here that wasn't its own."""
    from donewhen.workspace.locks import birth
    from donewhen.workspace.people import ancestors

    known = {one.agent for one in record.sessions.values() if one.agent is not None}
    return bool(known) and any((one.pid, birth(one.pid) or "") in known for one in ancestors())


def _read_record(folder: Path) -> GateRecord:
    try:
        kept: dict[str, Any] = json.loads(read_text(folder / FILE))
        return GateRecord(
            {str(goal): str(run) for goal, run in kept["runs"].items()},
            {str(goal): Standing(**one) for goal, one in kept["standing"].items()},
            {str(name): _session(one) for name, one in kept["sessions"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return GateRecord()


def _session(kept: dict[str, Any]) -> GateSession:
    agent = kept.get("agent")
    return GateSession(int(kept["blocks"]), str(kept["last"]), (int(agent[0]), str(agent[1])) if agent else None)
