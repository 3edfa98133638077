"""What is known of a model without asking anybody: litellm's packaged catalogue, read without importing litellm."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from donewhen.ports import ModelFacts, Price

_FILE = "model_prices_and_context_window_backup.json"
_MILLION = 1_000_000
_NOTHING: Mapping[str, Any] = {}
_ANY_BASE = {"ollama", "ollama_chat"}
_OWN_BASES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("api.anthropic.com",),
    "azure": (".openai.azure.com", ".cognitiveservices.azure.com"),
    "azure_ai": (".azure.com",),
    "deepseek": ("api.deepseek.com",),
    "fireworks_ai": ("api.fireworks.ai",),
    "gemini": ("generativelanguage.googleapis.com",),
    "groq": ("api.groq.com",),
    "mistral": ("api.mistral.ai",),
    "openai": ("api.openai.com",),
    "openrouter": ("openrouter.ai",),
    "together_ai": ("api.together.xyz",),
    "xai": ("api.x.ai",),
}


def facts_of(
    name: str,
    api_base: str | None = None,
    prices: Mapping[str, Price] | None = None,
    windows: Mapping[str, int] | None = None,
) -> ModelFacts:
    """The user's own figures first, then the catalogue's; None is unknown. A model that is served elsewhere than at its
    provider is another one, whatever its name: of that the catalogue knows nothing.

    Reads 3 MB, in about 5 ms; only the entry is parsed and kept.
    """
    facts = _from_catalogue(name) if at_its_provider(name, api_base) else ModelFacts()
    if windows and name in windows:
        facts = replace(facts, window=windows[name])
    if prices and name in prices:
        facts = replace(facts, price=prices[name])
    return facts


@cache
def provider_of(name: str) -> str | None:
    """The provider as litellm names it: the first part of the name, or the catalogue's for a name without one."""
    prefix, slash, _ = name.partition("/")
    if slash:
        return prefix
    entry = _entry(name)
    return str(entry.get("litellm_provider") or "") or None if entry else None


def at_its_provider(name: str, api_base: str | None) -> bool:
    """Whether the model is asked where its provider serves it."""
    if not api_base:
        return True
    provider = provider_of(name) or ""
    host = urlsplit(api_base if "//" in api_base else f"//{api_base}").hostname or ""
    owns = _OWN_BASES.get(provider, ())
    return provider in _ANY_BASE or any(host == own or (own[0] == "." and host.endswith(own)) for own in owns)


@cache
def _from_catalogue(name: str) -> ModelFacts:
    entry = _entry(name)
    if not entry:
        return ModelFacts()
    return ModelFacts(
        window=_whole(entry.get("max_input_tokens") or entry.get("max_tokens")),
        max_output=_whole(entry.get("max_output_tokens")),
        price=_price(entry),
    )


def _price(entry: Mapping[str, Any]) -> Price | None:
    """US dollars per million tokens, rounded where a float's last digits would show."""
    given, taken = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(given, int | float) or not isinstance(taken, int | float):
        return None
    cached = entry.get("cache_read_input_token_cost")
    return Price(
        round(given * _MILLION, 6),
        round(taken * _MILLION, 6),
        round(cached * _MILLION, 6) if isinstance(cached, int | float) else None,
    )


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


def _entry(name: str) -> Mapping[str, Any]:
    """The entry of that name, or of the name without its provider where the entry is that provider's."""
    text = _catalogue()
    if found := _find(text, name):
        return found
    provider, slash, rest = name.partition("/")
    short = _find(text, rest) if slash else _NOTHING
    return short if str(short.get("litellm_provider", "")).startswith(provider) else _NOTHING


def _find(text: str, name: str) -> Mapping[str, Any]:
    """Parses one entry: the whole would take 50 ms and 30 MB."""
    key = f"\n    {json.dumps(name)}: "
    at = text.find(key)
    if at < 0:
        return _NOTHING
    try:
        found, _ = json.JSONDecoder().raw_decode(text, at + len(key))
    except ValueError:
        return _NOTHING
    return cast(Mapping[str, Any], found) if isinstance(found, dict) else _NOTHING


def _catalogue() -> str:
    """The file's text; empty where litellm isn't installed."""
    found = importlib.util.find_spec("litellm")
    for folder in found.submodule_search_locations or () if found else ():
        path = Path(folder) / _FILE
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return ""
