"""A check that a workspace seems to have, and the choice of those that a draft holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from donewhen.ecosystems.table import Purpose

CheckPurpose = Purpose
Missing = Callable[["DetectedCheck"], str | None]
"""What a check needs that is not there; None if nothing is known to be missing."""


@dataclass(frozen=True, slots=True)
class DetectedCheck:
    """A command that checks this workspace, and `why` it is known: what it was found in.

    `purpose` and `group` (python, node, rust, ...; runner for make, just, tox) serve to choose one of each. `own`: the
    project runs it itself, in its CI say; else it is a guess from its files. `programs` must be on the PATH, `modules`
    be known to the `python` there; `lacking` says what the workspace itself lacks. `others` are other ways to run the
    same, in order.
    """

    command: str
    why: str
    purpose: CheckPurpose = "other"
    group: str = ""
    own: bool = False
    tool: str = ""
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    lacking: str = ""
    others: tuple[DetectedCheck, ...] = ()

    @property
    def ways(self) -> tuple[DetectedCheck, ...]:
        """This one first, then the others."""
        return (self, *self.others)

    def with_python(self, name: str) -> DetectedCheck:
        """The same where the interpreter has another name."""
        named = tuple(name if program == "python" else program for program in self.programs)
        changed = self.command.startswith("python ") and "python" in self.programs
        command = f"{name} {self.command.removeprefix('python ')}" if changed else self.command
        others = tuple(other.with_python(name) for other in self.others)
        return replace(self, command=command, programs=named, others=others)


def slots(checks: Sequence[DetectedCheck]) -> tuple[tuple[DetectedCheck, ...], ...]:
    """What a draft should hold: of each slot the first check that can be run.

    Of each group one test; the linters and type checkers that the project runs itself, else one of each; task runners
    and builds only for what lacks.
    """
    direct = {check.purpose for check in checks if check.group != "runner"}
    own = {(check.group, check.purpose) for check in checks if check.own and check.group != "runner"}
    found: dict[tuple[str, str, str], list[DetectedCheck]] = {}
    for check in _with_recipes(checks):
        if check.purpose == "other" or (check.purpose == "build" and "test" in direct):
            continue
        if check.group == "runner" and check.purpose in direct:
            continue
        several = check.purpose != "test" and (check.group, check.purpose) in own
        key = (check.group, check.purpose, check.tool if several else "")
        # A guess, or a recipe, beside what the project runs of another tool.
        if several and (not check.own or not check.tool) and key not in found:
            continue
        found.setdefault(key, []).append(check)
    in_order = (sorted(slot, key=lambda check: not check.own) for slot in found.values())
    return tuple(tuple(way for check in slot for way in check.ways) for slot in in_order)


def suggested(checks: Sequence[DetectedCheck], missing: Missing = lambda check: None) -> tuple[DetectedCheck, ...]:
    """The few for a draft, as far as that can be told without running them."""
    chosen = (next((one for one in slot if missing(one) is None), None) for slot in slots(checks))
    return tuple(one for one in chosen if one is not None)


def _with_recipes(checks: Sequence[DetectedCheck]) -> Iterator[DetectedCheck]:
    """A recipe of the project's own (`make test`) stands before a guess, where it is clear what it is about: one group
    alone has checks of that purpose."""
    groups: dict[str, set[str]] = {}
    for check in checks:
        if check.group != "runner":
            groups.setdefault(check.purpose, set()).add(check.group)
    for check in checks:
        about = groups.get(check.purpose, set())
        if check.group == "runner" and check.own and len(about) == 1:
            yield replace(check, group=next(iter(about)))
        else:
            yield check
