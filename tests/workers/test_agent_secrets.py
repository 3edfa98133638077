"""Secrets that the agent is shown masked: the mask never takes their place in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.evidence.text import Masker

from .agent_models import report, use
from .agent_turns import Agent, agent_in

SECRET = "hunter2-of-the-person"
TEXT = f'A = 1\nURL = "postgres://u:{SECRET}@h/db"\n'
SEEN = TEXT.replace(SECRET, "[masked]")


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    agent = agent_in(tmp_path)
    agent.mask = Masker([SECRET]).mask
    agent.write("conf.py", TEXT)
    return agent


async def test_a_secret_is_not_overwritten_by_what_hides_it(agent: Agent) -> None:
    whole = use("write_file", path="conf.py", content=SEEN.replace("A = 1", "A = 2"))
    piece = use("edit_file", path="conf.py", old="A = 1", new="A = '[masked]'")
    await agent.plays([use("read_file", path="conf.py"), whole, piece, report()])
    assert all("contains a secret" in told and "edit_file" in told for told in agent.told[1:3])
    assert agent.text("conf.py") == TEXT


async def test_what_stands_around_a_secret_can_be_edited(agent: Agent) -> None:
    await agent.plays([use("edit_file", path="conf.py", old="A = 1", new="A = 2"), report()])
    assert agent.text("conf.py") == TEXT.replace("A = 1", "A = 2")


async def test_the_mask_is_text_like_any_other_where_it_hides_nothing(agent: Agent) -> None:
    agent.write("notes.md", "Keys are hidden.\n")
    await agent.plays(
        [
            use("edit_file", path="notes.md", old="hidden", new="shown as [masked]"),
            use("write_file", path="new.md", content="[masked]\n"),
            report(),
        ]
    )
    assert agent.text("notes.md") == "Keys are shown as [masked].\n"
    assert agent.text("new.md") == "[masked]\n"
