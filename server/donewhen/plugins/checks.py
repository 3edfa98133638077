"""Checks that plugins bring: `check:NAME argument` in a goal file, run in this process, strictly, never a crash."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.evidence import CheckResult, EditorReport, Outcome
from donewhen.core.goal import Check, Requirement
from donewhen.core.verdict import judged
from donewhen.plugins.collecting import Offered
from donewhen.plugins.records import NewCheck
from donewhen.plugins.registering import error_text
from donewhen.ports import Checker
from donewhen.threads import called

PREFIX = "check:"


@dataclass(frozen=True, slots=True)
class PluginChecker:
    """A `ports.Checker` for the checks that plugins registered; all others go to `commands`."""

    checks: Mapping[str, Offered[NewCheck]]
    commands: Checker
    root: Path

    async def run(self, check: Check, *, timeout: float, token: str, test_run: bool = False) -> CheckResult:
        one, argument = self._offered_check(check)
        if one is None:
            return await self.commands.run(check, timeout=timeout, token=token, test_run=test_run)
        started, begun = time.time(), time.perf_counter()
        outcome, reason = await self._run_offered(check, one, argument, timeout)
        seconds = time.perf_counter() - begun
        return CheckResult(
            check.id,
            check.command,
            outcome,
            reason,
            started_at=started,
            seconds=seconds,
            program=f"plugin {one.plugin}",
            environment=self.environment(check),
        )

    def environment(self, check: Check) -> str:
        one, _ = self._offered_check(check)
        if one is None:
            return self.commands.environment(check)
        return hashlib.sha256(f"plugin {one.plugin} {PREFIX}{one.record.name}".encode()).hexdigest()

    async def editor_report(self, requirement: Requirement) -> EditorReport:
        return await self.commands.editor_report(requirement)

    def _offered_check(self, check: Check) -> tuple[Offered[NewCheck] | None, str]:
        word, _, argument = check.command.strip().partition(" ")
        name = word.removeprefix(PREFIX) if word.startswith(PREFIX) else ""
        return self.checks.get(name), argument.strip()

    async def _run_offered(
        self, check: Check, one: Offered[NewCheck], argument: str, timeout: float
    ) -> tuple[Outcome, str]:
        if check.expected_exit != 0:
            return Outcome.NOT_RUN, f"{PREFIX}{one.record.name} is a plugin's check: it has no exit code to expect"
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                outcome, reason = judged(await called(one.record.run, argument, self.root))
        except Exception as error:  # noqa: BLE001  # an exception is a failed check with its message
            if limit.expired():
                return Outcome.TIMED_OUT, f"timed out after {timeout:g} s"
            return Outcome.FAILED, f"the plugin {one.plugin} failed: {error_text(error)}"
        return outcome, reason if outcome is not Outcome.NOT_RUN else f"the plugin {one.plugin}: {reason}"
