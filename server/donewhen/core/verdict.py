"""What a judge or a check found. Construction is strict: nothing is coerced (A1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Finding = Literal["met", "unmet", "unverified"]
DecidedBy = Literal["check", "judge", "person"]
RequirementStatus = Literal["met", "unmet", "unverified", "stale", "waived", "regressed"]

FINDINGS: tuple[Finding, ...] = ("met", "unmet", "unverified")
PROVEN: tuple[RequirementStatus, ...] = ("met", "waived")


@dataclass(frozen=True, slots=True)
class RequirementVerdict:
    """A judge's finding for one requirement: `met` only with cited evidence."""

    requirement_id: str
    finding: Finding
    reason: str
    evidence_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.finding not in FINDINGS:
            raise ValueError(f"a finding is one of {', '.join(FINDINGS)}; it is {self.finding!r}")
        if not all(isinstance(part, str) for part in (self.requirement_id, self.reason, *self.evidence_ids)):  # pyright: ignore[reportUnnecessaryIsInstance]  # a judge's reply is data
            raise ValueError("a verdict's id, reason and citations are text")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's findings for every requirement that it was asked about, each exactly once (C10)."""

    findings: tuple[RequirementVerdict, ...]

    def answers(self, requirement_ids: tuple[str, ...]) -> bool:
        """True where it names exactly the requirements asked about, each once."""
        return sorted(f.requirement_id for f in self.findings) == sorted(requirement_ids)


@dataclass(frozen=True, slots=True)
class RequirementView:
    """Where one requirement stands now, with its reason and the evidence that it cites."""

    requirement_id: str
    number: int
    status: RequirementStatus
    reason: str
    evidence_ids: tuple[str, ...] = ()
    decided_by: DecidedBy | None = None
    flaky: bool = False
    renewing: bool = False
