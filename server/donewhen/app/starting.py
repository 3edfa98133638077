"""What a person's settings mean for a run that starts: shared by the front ends that read settings for each run."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from donewhen.regular import expanded

if TYPE_CHECKING:  # the engine's records cost start-up time, which `serve` must not pay
    from donewhen.engine.api import LimitChanges, StartOptions
    from donewhen.settings.loading import Settings


def start_options(settings: Settings, *, askable: bool | None = None) -> StartOptions:
    """The person's choices on the command line and in the environment, with the present safety settings."""
    from donewhen.engine.api import StartOptions

    given, configured = settings.given, settings.configured
    script = given.script or configured.script
    return StartOptions(
        worker=given.worker,
        worker_command=given.worker_command or configured.worker_command,
        agent_command=given.agent_command or configured.agent_command,
        # Absolute, because a run may be resumed from another folder than it was started in.
        script=str(expanded(script).resolve()) if script else None,
        model=given.model,
        judge_model=given.judge_model,
        api_base=given.api_base or configured.api_base,
        judge_api_base=given.judge_api_base or configured.judge_api_base,
        approve=settings.approve,
        sandbox=settings.sandbox,
        limits=limit_changes(settings),
        askable=askable,
    )


def limit_changes(settings: Settings) -> LimitChanges:
    """The limits that flags and the environment set."""
    from donewhen.engine.api import LimitChanges

    values: dict[str, Any] = {one.name: getattr(settings.given, one.name) for one in fields(LimitChanges)}
    return LimitChanges(**values)
