"""What `donewhen doctor` finds out about models: what is installed, configured, known and keyed. Asks none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from donewhen.cli.services import ConfiguredModel, ModelsFacts
from donewhen.config import Settings
from donewhen.core.calls import CallRole
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.panel import panel
from donewhen.keys import key_variables
from donewhen.models.catalogue import facts_of, provider_of
from donewhen.models.keys import OWN_KEY, PROVIDER_KEYS, find_base, needs_key
from donewhen.ports import ModelFacts, Price

OLDEST = (1, 100)
BROKEN = (1, 106)
"""Every 1.106 fails any call with tools on the base install."""


def models_facts(settings: Settings, environ: Mapping[str, str]) -> ModelsFacts:
    """Names of variables only, never a value of one."""
    model, judges = settings.pick("model"), panel(settings.pick("judge_model") or "") or ()
    agent = AgentOptions(model, settings.pick("api_base")) if model else None
    judging = JudgeOptions(judges, settings.pick("judge_api_base")) if judges else None
    options = RunOptions(None, agent=agent, judging=judging)
    asked: list[tuple[CallRole, str, str | None]] = []
    if agent is not None:
        asked.append(("worker", agent.model, agent.api_base))
    if judging is not None:
        asked.extend(("judge", name, judging.api_base) for name in dict.fromkeys(judging.models))
    usual = [name for names in PROVIDER_KEYS.values() for name in names]
    return ModelsFacts(
        installed=(found := _installed()),
        usable=found is not None and usable(found),
        configured=tuple(_configured(role, name, base, options, settings, environ) for role, name, base in asked),
        keys=tuple(name for name in dict.fromkeys((*OWN_KEY.values(), *usual)) if environ.get(name, "").strip()),
    )


def usable(found: str) -> bool:
    """Whether this version of litellm is one that works here."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:2])
    return numbers >= OLDEST and numbers[:2] != BROKEN


def _installed() -> str | None:
    try:
        return version("litellm")
    except PackageNotFoundError:
        return None


def _configured(
    role: CallRole, name: str, base: str | None, options: RunOptions, settings: Settings, environ: Mapping[str, str]
) -> ConfiguredModel:
    own = settings.prices.get(name)
    known = facts_of(name, base)
    if own is not None:
        known = ModelFacts(own.window or known.window, known.max_output, Price(own.input, own.output, own.cached))
    window = (settings.pick("window") if role == "worker" else None) or known.window
    variables = key_variables(role, name, options, settings.own)
    served = base or find_base(provider_of(name), environ)
    return ConfiguredModel(
        role=role,
        model=name,
        served=served,
        window=window,
        price=_price(known.price),
        key=next((variable for variable in variables if environ.get(variable, "").strip()), None),
        wanted=variables,
        needs_key=served is None and needs_key(provider_of(name)),
    )


def _price(price: Price | None) -> str | None:
    if price is None:
        return None
    cached = "" if price.cached is None else f", {_dollars(price.cached)} cached"
    return f"{_dollars(price.input)} in, {_dollars(price.output)} out{cached} a million tokens"


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if round(amount, 2) == amount else f"${amount:g}"
