"""Keys: which provider needs one, where it may come from, and what to say if it is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from donewhen.core.calls import CallRole

OWN_KEY: Mapping[CallRole, str] = {"worker": "DONEWHEN_API_KEY", "judge": "DONEWHEN_JUDGE_API_KEY"}

PROVIDER_KEYS: Mapping[str, tuple[str, ...]] = {
    "ai21": ("AI21_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "codestral": ("CODESTRAL_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    "friendliai": ("FRIENDLI_TOKEN",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "github": ("GITHUB_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    "hyperbolic": ("HYPERBOLIC_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "novita": ("NOVITA_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN", "TOGETHER_API_KEY"),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
}
"""The providers that accept only a key. Others need none (Ollama), or have credentials of their own (Bedrock, Vertex
AI, Azure), which litellm finds by itself."""

OPTIONAL_KEYS: Mapping[str, tuple[str, ...]] = {
    "azure": ("AZURE_API_KEY",),
    "azure_ai": ("AZURE_AI_API_KEY",),
    "databricks": ("DATABRICKS_API_KEY",),
    "hosted_vllm": ("HOSTED_VLLM_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
    "ollama_chat": ("OLLAMA_API_KEY",),
}
NO_KEY_NEEDED = "none"
"""Sent to an endpoint of the user's own if no key is set: clients refuse to send nothing."""

_KEY_NAME = re.compile(r"API_?KEY|_KEY$|_TOKEN$|SECRET|PASSWORD", re.IGNORECASE)
_CREDENTIALS = re.compile(r"^(AWS|AZURE|GOOGLE|VERTEX\w*|GCLOUD|WATSONX|WX|OCI|SNOWFLAKE|DATABRICKS)_", re.IGNORECASE)


def find_base(provider: str | None, environment: Mapping[str, str]) -> str | None:
    """The address in a provider's usual variables. litellm would follow them unnoticed; so they are read here, to be
    treated as an `api_base`, and the model host doesn't get them."""
    return next((found for name in _base_names(provider) if (found := environment.get(name, "").strip())), None)


def _base_names(provider: str | None) -> tuple[str, ...]:
    """The variables to read. Those of providers without an address of their own stay in place: litellm needs them."""
    if provider is None or provider not in PROVIDER_KEYS:
        return ()
    return (f"{provider.upper()}_BASE_URL", f"{provider.upper()}_API_BASE")


def needs_key(provider: str | None) -> bool:
    """Whether the provider's own endpoint refuses requests without a key."""
    return (provider or "") in PROVIDER_KEYS


def missing_key(model: str) -> str:
    return f"there is no key for {model}"


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables that look like keys, except those that providers' credential chains read, and
    without variables that would redirect a provider or make litellm print messages."""
    hidden = {name for provider in PROVIDER_KEYS for name in _base_names(provider)} | {"LITELLM_LOG", "DEBUG_OTEL"}
    return {
        name: value
        for name, value in environment.items()
        if name not in hidden and (_CREDENTIALS.match(name) or not _KEY_NAME.search(name))
    }


def usual_keys(provider: str | None, *, at_provider: bool) -> tuple[str, ...]:
    """The provider's usual variables, as far as they are sent: never to an address of somebody else's. Providers in
    OPTIONAL_KEYS have no host of their own: their key is for the API base."""
    optional = OPTIONAL_KEYS.get(provider or "", ())
    return optional or (PROVIDER_KEYS.get(provider or "", ()) if at_provider else ())


def named_variables(provider: str | None, role: CallRole, *, at_provider: bool = True) -> str:
    """The variables that a key is read from, in words."""
    return " or ".join((*usual_keys(provider, at_provider=at_provider)[:1], OWN_KEY[role]))
