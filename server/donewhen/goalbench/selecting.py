"""Which cases can be played here, and with which judge."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence

from donewhen.goalbench.cases import Case


def missing(case: Case) -> tuple[str, ...]:
    """What the case's commands need and isn't here: modules of Python, or programs."""
    return tuple(name for name in case.needs if importlib.util.find_spec(name) is None and shutil.which(name) is None)


def with_any_judge(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases that are about the run, and not about a judge of a certain kind."""
    return tuple(case for case in cases if case.judge in ("honest", "gullible"))
