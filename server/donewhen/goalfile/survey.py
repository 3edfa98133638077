"""A survey of a workspace's checks, made before a goal is drafted for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Standing = Literal["green", "red", "slow"]
"""How a check ended when it was tried: it passed, it said no, it was still running when its time was over."""


@dataclass(frozen=True, slots=True)
class FoundCheck:
    """A check that the workspace seems to have, and what made it seem so. `drafted`: a draft holds it.

    `standing` is None if it was not tried; `reason` is the outcome, `seconds` what it took. `left_out` says why
    a draft that should hold it doesn't, and what to do: what it needs is not installed, say.
    """

    command: str
    why: str
    purpose: str = "other"
    drafted: bool = False
    standing: Standing | None = None
    reason: str = ""
    seconds: float | None = None
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """The checks of a workspace, those that a draft holds first, and in its order."""

    checks: tuple[FoundCheck, ...] = ()
    unknown: tuple[str, ...] = ()
    """What the project runs to check itself, and is offered by nobody: each with where it stands."""

    @property
    def commands(self) -> tuple[str, ...]:
        """Those of the draft."""
        return tuple(check.command for check in self.checks if check.drafted)

    @property
    def green(self) -> bool:
        """True if every check of the draft is known to pass: then nothing in it has to change for it to be met."""
        drafted = [check for check in self.checks if check.drafted]
        return bool(drafted) and all(check.standing == "green" for check in drafted)

    def picked(self, commands: Sequence[str]) -> Survey:
        """The same look, where a person picked what the draft holds."""
        known = {check.command: check for check in self.checks}
        chosen = [known.get(one) or FoundCheck(one, "picked") for one in dict.fromkeys(commands)]
        others = [replace(one, drafted=False) for one in self.checks if one.command not in commands]
        return Survey((*(replace(one, drafted=True, left_out=None) for one in chosen), *others))

    def notes(self) -> tuple[str, ...]:
        """What a person should know about a draft, a line each."""
        notes: list[str] = []
        for one in self.checks:
            if one.drafted and one.standing:
                took = "" if one.seconds is None or one.standing == "slow" else f" ({one.seconds:.1f} s)"
                notes.append(f"{one.standing}: `{one.command}`: {one.reason}{took}")
        left_out = [one for one in self.checks if one.left_out is not None]
        notes += [f"not drafted: `{one.command}` ({one.why}): {one.left_out}" for one in left_out]
        notes += [f"not drafted: {one}" for one in self.unknown]
        return tuple(notes)
