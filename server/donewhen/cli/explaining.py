"""`check --explain`: what the proof of a goal rests on, for people and as JSON."""

from __future__ import annotations

from donewhen.cli.calling import Call
from donewhen.cli.wording import shown_path
from donewhen.core.resting import Group, Resting

SHOWN = 8


def say_what_proof_rests_on(call: Call, path: str, resting: Resting) -> int:
    """Always answers with 0: nothing was checked."""
    if call.json:
        call.terminal.document(_document(path, resting))
        return 0
    call.terminal.result(f"What the proof of {shown_path(path)} rests on:")
    for group in resting.groups:
        call.terminal.result(f"  {_counted(group)}: {group.why}")
        for one in group.files[:SHOWN]:
            rule = f"  ({one.rule})" if one.rule else ""
            call.terminal.result(f"    {shown_path(one.path)}{rule}")
        if len(group.files) > SHOWN:
            call.terminal.result(f"    and {len(group.files) - SHOWN} more: --json lists all")
    if not resting.groups:
        call.terminal.result("  no file: nothing here is proof")
    changing = ", ".join(shown_path(path) for path in resting.may_change[:SHOWN])
    if changing:
        more = f" and {len(resting.may_change) - SHOWN} more" if len(resting.may_change) > SHOWN else ""
        call.terminal.result(f"The goal wants these changed (may_change): {changing}{more}")
    call.terminal.result(
        f"Everything else is product: {_files(resting.product)}. `proof:` in the goal file adds to the list."
    )
    return 0


def _counted(group: Group) -> str:
    return ("a part of " if group.partly else "") + _files(len(group.files))


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def _document(path: str, resting: Resting) -> dict[str, object]:
    groups = [
        {
            "role": group.role,
            "why": group.why,
            "partly": group.partly,
            "files": [{"path": one.path, "rule": one.rule, "ecosystem": one.ecosystem} for one in group.files],
        }
        for group in resting.groups
    ]
    return {"goal": path, "proof": groups, "mayChange": list(resting.may_change), "product": resting.product}
