"""Several attempts at one goal, side by side, each in a copy of the workspace: pursued, compared, one of them applied.

Begin with `pursuing.py`: `Attempts` has what can be done with them. `command.py` is `donewhen attempts` and what
`donewhen run --attempts` does, `editor.py` has the commands of an editor, both in the words of `comparing.py`.
`choosing.py` says which attempt is kept and is pure, `record.py` what is on record, `duplicating.py` makes the copies,
`applying.py` brings changes home.

Invariant: nothing of an attempt's proof comes with its changes; the goal is audited again where they are applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def resumed_by(root: Path) -> tuple[str, Path] | None:
    """What goes on with the run in that folder where it is the copy of an attempt: the words of the command, and the
    workspace in which it is typed. None for any other folder."""
    from donewhen.extras.attempts.record import group_of_copy

    found = group_of_copy(root)
    return None if found is None else (f"attempts resume {found[0].id}", found[1])
