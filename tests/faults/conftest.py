from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.site import GOAL, SCRIPT, Site


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes workspaces, and ends what is left of their processes."""
    made: list[Site] = []

    def make(goal: str = GOAL, script: str = SCRIPT, name: str = "site") -> Site:
        made.append(Site.make(tmp_path / f"{name}{len(made)}", goal, script))
        return made[-1]

    yield make
    for site in made:
        site.clean_up()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()
