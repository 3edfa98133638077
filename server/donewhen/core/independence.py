"""Whether a judge is another model than the worker (C14)."""

from __future__ import annotations

import re

_DATE = re.compile(r"[-@:](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


def same_model(worker: str, judge: str) -> bool:
    """True where both names stand for one model, whoever serves it: the provider and a version's date tell none apart."""
    return _plain(worker) == _plain(judge)


def _plain(model: str) -> str:
    name = model.strip().casefold().rpartition("/")[2]
    return _DATE.sub("", name)
