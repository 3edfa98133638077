"""What is a row and a module: no row without its module, and each front end offers exactly the rows."""

from __future__ import annotations

from importlib import import_module
from typing import get_args

import pytest

from donewhen.core.workers import WORKERS, unavailable
from donewhen.settings.table import BY_NAME
from donewhen.wire.reports import FORMATS, ReportFormat


def test_settings_and_goal_files_offer_every_worker() -> None:
    assert BY_NAME["worker"].kind.choices == tuple(WORKERS)


@pytest.mark.parametrize("name", [one.name for one in WORKERS.values() if one.available])
def test_every_worker_that_is_offered_can_be_made(name: str) -> None:
    assert callable(import_module(f"donewhen.workers.{name}").make)


def test_a_worker_that_is_promised_says_what_to_use_instead() -> None:
    assert [unavailable(one) for one in WORKERS.values() if not one.available] == [
        "worker acp is not available in this version: use command to run an agent's own command line"
    ]


def test_every_report_format_that_is_offered_can_be_rendered() -> None:
    assert tuple(FORMATS) == get_args(ReportFormat)
    for name in FORMATS:
        assert callable(import_module(f"donewhen.wire.reports.{name}").render)
