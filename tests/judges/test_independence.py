"""When judge and worker count as one model (C14)."""

from __future__ import annotations

import pytest

from donewhen.core.verdict import same_model
from tests.tools import each_row


@each_row(
    "worker, judge, same",
    [
        ("openai/gpt-5", "openai/gpt-5", True),
        ("gpt-5", "openai/gpt-5", True),
        ("azure/gpt-5", "openrouter/openai/gpt-5", True),
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5-20250929", True),
        ("anthropic/claude-sonnet-4-5", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("vertex_ai/claude-sonnet-4-5@20250929", "openrouter/anthropic/claude-sonnet-4.5", True),
        ("openrouter/x/model:free", "x/model", True),
        ("OpenAI/GPT-5", " openai/gpt-5 ", True),
        ("openai/gpt-5", "openai/gpt-5-mini", False),
        ("openai/gpt-5", "anthropic/claude-sonnet-4-5", False),
        ("ollama/llama3:8b", "ollama/llama3:70b", False),
        (None, "openai/gpt-5", False),
        ("openai/gpt-5", None, False),
    ],
)
@pytest.mark.conformance("C14")
def test_one_model_under_two_names_is_one(worker: str | None, judge: str | None, same: bool) -> None:
    assert same_model(worker, judge) is same
