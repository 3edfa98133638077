"""Which key goes with a call to a model: a key is never sent to another host than the one that it was set for.

Keys come from the editor's secret storage (`donewhen/setSecret`), else from the environment; never from files.
"""

from __future__ import annotations

from collections.abc import Mapping

from donewhen.core.calls import CallRole
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.verdict import panel
from donewhen.models.catalogue import at_its_provider, provider_of
from donewhen.models.keys import OWN_KEY, usual_keys
from donewhen.settings.table import Choices


def key_for(
    role: CallRole,
    model: str,
    options: RunOptions,
    environ: Mapping[str, str],
    secrets: Mapping[str, str],
    own: Choices | None = None,
) -> str | None:
    """The key, or None if none is set: some servers need none, and some providers find credentials themselves.

    Keys from the editor come first, then the environment; in each, the first of `key_variables` that is set.
    """
    names = key_variables(role, model, options, own)
    found = (source.get(name, "").strip() for source in (secrets, environ) for name in names)
    return next((key for key in found if key), None)


def key_variables(role: CallRole, model: str, options: RunOptions, own: Choices | None = None) -> tuple[str, ...]:
    """The variables that may hold the key for a call, in order of preference.

    For the worker: DONEWHEN_API_KEY. For the judge: DONEWHEN_JUDGE_API_KEY (in a panel, for the provider of its first
    member), and DONEWHEN_API_KEY if the judge is served by the worker's provider at the worker's API base, or if no
    worker has a model. Last, the provider's usual variables, unless the API base belongs to somebody else. `own` holds
    the person's own settings only: if they name a model of another provider, then a workspace file named this model,
    and it gets only its provider's usual key.
    """
    own = own or Choices()
    if role == "worker":
        base = options.agent.api_base if options.agent is not None else None
        names = (OWN_KEY["worker"],)
    else:
        base = options.judging.api_base if options.judging is not None else None
        names = _of_the_judge(model, base, options.agent, options.judging)
    return (
        *(name for name in names if _meant_for(model, name, own)),
        *usual_keys(provider_of(model), at_provider=at_its_provider(model, base)),
    )


def _meant_for(model: str, name: str, own: Choices) -> bool:
    named = own.model if name == OWN_KEY["worker"] else next(iter(panel(own.judge_model or "") or ()), None)
    return named is None or provider_of(named) == provider_of(model)


def _of_the_judge(
    model: str, base: str | None, agent: AgentOptions | None, judging: JudgeOptions | None
) -> tuple[str, ...]:
    provider = provider_of(model)
    if judging is not None and provider_of(judging.models[0]) != provider:
        return ()
    shared = agent is None or (provider_of(agent.model), agent.api_base) == (provider, base)
    return (OWN_KEY["judge"], OWN_KEY["worker"]) if shared else (OWN_KEY["judge"],)
