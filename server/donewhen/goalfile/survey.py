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
        tried = (_trial_line(one) for one in self.checks if one.drafted and one.standing)
        return (*tried, *_left_out(self.checks), *map("not drafted: {}".format, self.unknown))


def _trial_line(check: FoundCheck) -> str:
    took = "" if check.seconds is None or check.standing == "slow" else f" ({check.seconds:.1f} s)"
    return f"{check.standing}: `{check.command}`: {check.reason}{took}"


def _left_out(checks: Sequence[FoundCheck]) -> list[str]:
    return [f"not drafted: `{one.command}` ({one.why}): {one.left_out}" for one in checks if one.left_out is not None]
