"""Which runs a workspace keeps on record, and which are old enough to go. Decides; removes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Because = Literal["open", "newest", "kept", "in use", "recent"]
"""Why a run stays: it isn't over; it is the newest run, or the newest check, of its goal; a person keeps it; an
agent works with it; the policy doesn't reach it."""
Reason = Literal["runs", "age", "size"]


@dataclass(frozen=True, slots=True)
class Retention:
    """The policy; None means no limit. `runs`: the newest runs, and as many checks, of each goal. `age` is in seconds,
    since the run's last entry. `size`: bytes of all that is kept of a workspace's runs."""

    runs: int | None = 100
    age: float | None = 90 * 86_400.0
    size: int | None = 1024**3


@dataclass(frozen=True, slots=True)
class OnRecord:
    """A run as the policy sees it. `bytes` is what it takes. `stays`: why it stays, whatever the policy says."""

    run_id: str
    goal: str | None
    mode: str
    updated_at: float
    bytes: int
    stays: Because | None = None


@dataclass(frozen=True, slots=True)
class Going:
    """A run that goes, and which part of the policy says so."""

    run_id: str
    reason: Reason
    bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes, the oldest first, and why each other run stays."""

    going: tuple[Going, ...]
    staying: tuple[tuple[str, Because], ...]


def plan(runs: Sequence[OnRecord], policy: Retention, now: float) -> Plan:
    """`runs` are the newest first."""
    rank: Counter[tuple[str | None, str]] = Counter()
    going: dict[str, Going] = {}
    staying: dict[str, Because] = {}
    for run in runs:
        key = (run.goal, run.mode)
        rank[key] += 1
        because = run.stays or ("newest" if rank[key] == 1 else None)
        if because is not None:
            staying[run.run_id] = because
        elif policy.runs is not None and rank[key] > policy.runs:
            going[run.run_id] = Going(run.run_id, "runs", run.bytes)
        elif policy.age is not None and now - run.updated_at > policy.age:
            going[run.run_id] = Going(run.run_id, "age", run.bytes)
        else:
            staying[run.run_id] = "recent"
    left = sum(run.bytes for run in runs if run.run_id not in going)
    for run in reversed(runs):
        if policy.size is None or left <= policy.size:
            break
        if staying.get(run.run_id) == "recent":
            del staying[run.run_id]
            going[run.run_id] = Going(run.run_id, "size", run.bytes)
            left -= run.bytes
    order = [run.run_id for run in reversed(runs)]
    return Plan(tuple(going[one] for one in order if one in going), tuple(staying.items()))
