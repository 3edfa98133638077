"""Whether the judge is a different model from the worker's."""

from __future__ import annotations

import re

_DATE = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_VARIANT = re.compile(r"-v\d+:\d+$|:(?:free|beta|nitro|floor|thinking|extended|online|latest)$")


def same_model(worker: str | None, judge: str | None) -> bool:
    """True if both names are one model's, whichever provider serves it, by whichever date or spelling."""
    if not worker or not judge:
        return False
    return _plain(worker) == _plain(judge)


def _plain(name: str) -> str:
    """Without provider prefixes (`openrouter/anthropic/`, `us.anthropic.`), date and version suffixes."""
    last = name.strip().casefold().rstrip("/").rpartition("/")[2]
    last = re.sub(r"^(?:[a-z]{2,4}\.)?(?:anthropic|meta|amazon|mistral|cohere|deepseek|openai|google)\.", "", last)
    last = _VARIANT.sub("", last)
    return _DATE.sub("", last).replace(".", "-").replace("_", "-")
