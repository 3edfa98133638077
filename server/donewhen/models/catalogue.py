"""What is known of a model without a request: litellm's packaged catalogue, read without importing litellm."""

from __future__ import annotations

import importlib.util
import json
import mmap
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from donewhen.core.verdict import is_editors
from donewhen.ports import ModelFacts, Price

_FILE = "model_prices_and_context_window_backup.json"
_MILLION = 1_000_000
_NOTHING: Mapping[str, Any] = {}
_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
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


def facts_of(name: str, api_base: str | None = None, own: Mapping[str, ModelFacts] | None = None) -> ModelFacts:
    """The person's `own` figures first, by model, then the catalogue's; None means unknown. A model that is not served
    by its own provider counts as a different one, whatever its name, and the catalogue knows nothing about it.

    Searches 3 MB in a few milliseconds, once for each name; only the entry is parsed and kept.
    """
    entry = _model_entry(name) if at_its_provider(name, api_base) else _NOTHING
    said = (own or {}).get(name, ModelFacts())
    return ModelFacts(
        window=said.window or _positive_int(entry.get("max_input_tokens") or entry.get("max_tokens")),
        max_output=_positive_int(entry.get("max_output_tokens")),
        price=said.price or _price(entry),
    )


def provider_of(name: str) -> str | None:
    """The provider by litellm's name: the first part of the model's name, or the catalogue's for a name without one."""
    prefix, slash, _ = name.partition("/")
    if slash:
        return prefix or None
    entry = _model_entry(name)
    return str(entry.get("litellm_provider") or "") or None if entry else None


def is_full_name(name: str) -> bool:
    """Whether it names a provider that there is, and a model there; the editor's own models are none of these."""
    prefix, slash, model = name.partition("/")
    if is_editors(name):
        return True
    return bool(prefix and model) and _is_provider(prefix) if slash else provider_of(name) is not None


@cache
def _is_provider(name: str) -> bool:
    """Whether litellm knows a provider by that name, or models of one, without importing it, which takes seconds. True
    where it isn't installed, or lists its providers otherwise."""
    known, listed = _of_litellm("types/utils.py"), _of_litellm("llms/openai_like/providers.json")
    enum = re.search(r"^class LlmProviders\b.*\n((?:[ \t].*\n|\n)+)", known.read_text("utf-8"), re.M) if known else None
    names = set(re.findall(r'^    [A-Z0-9_]+ = "([^"]+)"', enum[1], re.M)) if enum else set[str]()
    if not names or name in names or (listed and f'"{name}"' in listed.read_text("utf-8")):
        return True
    with _catalogue() as text:
        return text.find(f'"{name}/'.encode()) >= 0


def at_its_provider(name: str, api_base: str | None) -> bool:
    """Whether requests go to the provider's own endpoint."""
    if not api_base:
        return True
    provider = provider_of(name) or ""
    host = urlsplit(api_base if "//" in api_base else f"//{api_base}").hostname or ""
    owns = _OWN_BASES.get(provider, ())
    return provider in _ANY_BASE or any(host == own or (own[0] == "." and host.endswith(own)) for own in owns)


def mode_of(name: str) -> str | None:
    """By which kind of interface its provider serves the model, such as `chat` or `responses`; None if unknown."""
    mode = _model_entry(name).get("mode")
    return mode if isinstance(mode, str) else None


def cost_of(name: str, given: int, taken: int, cached: int, written: int = 0) -> float | None:
    """What a call cost at the provider's own endpoint, in US dollars, None if the catalogue has no price. Tokens of the
    prompt: `given` in all, of these `cached` were read from the provider's cache, and `written` were written to it."""
    entry = _model_entry(name)
    # The rates that hold for a prompt of this length end in the highest bound that it passes.
    bounds = [int(found[1]) for key in entry if (found := _ABOVE.fullmatch(key)) and given > int(found[1]) * 1000]
    tier = f"_above_{max(bounds)}k_tokens" if bounds else ""

    def rate(kind: str) -> float | None:
        value = entry.get(kind + tier, entry.get(kind))
        return float(value) if isinstance(value, int | float) else None

    full, reply = rate("input_cost_per_token"), rate("output_cost_per_token")
    if full is None or reply is None:
        return None
    cached = min(max(cached, 0), given)
    written = min(max(written, 0), given - cached)  # a negative count would raise a budget
    read, write = rate("cache_read_input_token_cost"), rate("cache_creation_input_token_cost")
    return (
        (given - cached - written) * full
        + cached * (full if read is None else read)
        + written * (full if write is None else write)
        + taken * reply
    )


def _price(entry: Mapping[str, Any]) -> Price | None:
    """US dollars per million tokens, rounded to hide the imprecise last digits of a float."""
    given, taken = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(given, int | float) or not isinstance(taken, int | float):
        return None
    cached = entry.get("cache_read_input_token_cost")
    return Price(
        round(given * _MILLION, 6),
        round(taken * _MILLION, 6),
        round(cached * _MILLION, 6) if isinstance(cached, int | float) else None,
    )


def _positive_int(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


@cache
def _model_entry(name: str) -> Mapping[str, Any]:
    """The entry of that name, or of the name without its provider if the entry belongs to that provider."""
    provider, slash, rest = name.partition("/")
    with _catalogue() as text:
        if found := _find(text, name):
            return found
        short = _find(text, rest) if slash else _NOTHING
    return short if str(short.get("litellm_provider", "")).startswith(provider) else _NOTHING


def _find(text: mmap.mmap | bytes, name: str) -> Mapping[str, Any]:
    """Parses one entry, a top-level object: parsing everything would take 50 ms and 30 MB."""
    start = text.find(f"\n    {json.dumps(name)}: ".encode())
    end = text.find(b"\n    }", start)
    if start < 0 or end < 0:
        return _NOTHING
    try:
        whole = json.loads(b"{" + text[start:end] + b"}}")
    except ValueError:
        return _NOTHING
    return cast(Mapping[str, Any], whole[name])


@contextmanager
def _catalogue() -> Generator[mmap.mmap | bytes]:
    """The file's text; empty if litellm isn't installed. It is mapped: a search takes 1 ms, and nothing is kept."""
    path = _of_litellm(_FILE)
    if path is None:
        yield b""
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        yield text


def _of_litellm(file: str) -> Path | None:
    found = importlib.util.find_spec("litellm")
    folders = (found.submodule_search_locations if found else None) or ()
    return next((path for folder in folders if (path := Path(folder) / file).is_file()), None)
