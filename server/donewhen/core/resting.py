"""What a goal's proof rests on, as data: the files that are proof, by the reason why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from donewhen.core.proof_files import ROLES, ProofFiles, Role, Standing

_ORDER: tuple[Role, ...] = (
    "goal", "asked", "named", "test", "data", "inline", "runner", "config", "task", "shared", "manifest", "vendored"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """The files that are proof for one reason. `partly`: a part of each is, the rest is product."""

    role: Role
    why: str
    files: tuple[Standing, ...]
    partly: bool = False


@dataclass(frozen=True, slots=True)
class Resting:
    """`groups` in the order of their reasons; `may_change` are the proof files whose change the goal wants; `product`
    counts all other files."""

    groups: tuple[Group, ...]
    may_change: tuple[str, ...]
    product: int


def resting(files: ProofFiles, paths: Sequence[str], holding: Collection[str]) -> Resting:
    """`holding` are the sources that hold tests among their code."""
    found: dict[Role, list[Standing]] = {}
    product = 0
    for path in paths:
        one = files.standing(path)
        if one.side == "product" or (one.role == "inline" and path not in holding):
            product += 1
            continue
        found.setdefault(one.role, []).append(one)
    groups = tuple(
        Group(role, ROLES[role], tuple(found[role]), partly=role in ("inline", "shared", "manifest"))
        for role in _ORDER
        if role in found
    )
    changing = tuple(one.path for group in groups for one in group.files if files.changeable(one.path))
    return Resting(groups, changing, product)
