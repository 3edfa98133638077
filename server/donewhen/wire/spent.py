"""What a call outside of any run took, as JSON: what a person waited for costs money too."""

from __future__ import annotations

from donewhen.core.work import Usage


def spent_json(usage: Usage) -> dict[str, float | None]:
    """The fields of a snapshot's `cost.judge`; `usd` is null if it is unknown, never 0."""
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cachedTokens": usage.cached_tokens,
        "usd": None if usage.usd is None else round(usage.usd, 6),
    }
