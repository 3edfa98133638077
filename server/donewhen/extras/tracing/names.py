"""Every name that a span has. Those of OpenTelemetry's conventions for generative AI are in flux: they stand here only
(https://opentelemetry.io/docs/specs/semconv/gen-ai/).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from donewhen.core.calls import Message

# The variable that lets messages be told
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

# Operations
INVOKE_WORKFLOW = "invoke_workflow"
INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

# Attributes of the conventions
OPERATION = "gen_ai.operation.name"
WORKFLOW = "gen_ai.workflow.name"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL = "gen_ai.tool.call.id"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
ERROR_TYPE = "error.type"

# The event of a verdict
EVALUATION = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"

# Our own
RUN = "donewhen.run.id"
MODE = "donewhen.run.mode"
STATUS = "donewhen.run.status"
REASON = "donewhen.reason"
GOAL = "donewhen.goal.title"
WORKER = "donewhen.worker"
JUDGE = "donewhen.judge"
ITERATION = "donewhen.iteration"
CLAIM = "donewhen.claim"
CHANGED_FILES = "donewhen.changed_files"
REVISION = "donewhen.revision"
CACHED_VERDICT = "donewhen.verdict.cached"
DROPPED_VERDICT = "donewhen.verdict.dropped"
REQUIREMENT = "donewhen.requirement.id"
FINDINGS = "donewhen.integrity.findings"
CHECK = "donewhen.check.command"
OUTCOME = "donewhen.check.outcome"
EXIT_CODE = "donewhen.check.exit_code"
USD = "donewhen.usage.usd"
SUMMARY = "donewhen.tool.summary"

_PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_BARE: Mapping[str, str] = {"gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude": "anthropic"}


def provider_and_model(model: str) -> tuple[str, str]:
    """What the conventions call the provider of `anthropic/claude-x`, and the model's name there."""
    prefix, slash, name = model.partition("/")
    if slash:
        return _PROVIDERS.get(prefix, prefix), name
    return next((provider for start, provider in _BARE.items() if model.startswith(start)), "_OTHER"), model


# What was said, as attributes of spans: only where content capture is on, masked and bounded.


LONGEST = 64_000
"""Characters of one attribute. Its tail is kept, where the news are."""


class Contents:
    """Nothing without `capture`."""

    def __init__(self, capture: bool, mask: Callable[[str], str]) -> None:
        self.capture = capture
        self._mask = mask

    def kept_text(self, text: str) -> str:
        """Masked and bounded: what secrets there were is gone before anything is cut."""
        masked = self._mask(text)
        return masked if len(masked) <= LONGEST else f"[... cut ...]{masked[-LONGEST:]}"

    def messages(self, messages: Sequence[Message], finish: str | None = None) -> str:
        """Messages as the conventions write them; the oldest are left out where they are too many."""
        left = LONGEST
        shown: list[dict[str, Any]] = []
        for message in reversed(messages):
            one = self._message_parts(message)
            left -= len(json.dumps(one))
            if left < 0 and shown:
                break
            shown.append(one if finish is None else {**one, "finish_reason": finish})
        return json.dumps(shown[::-1], ensure_ascii=False)

    def _message_parts(self, message: Message) -> dict[str, Any]:
        text = self.kept_text(message.text)
        if message.role == "tool":
            return {"role": "tool", "parts": [{"type": "tool_call_response", "id": message.answers, "response": text}]}
        parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
        parts += [
            {"type": "tool_call", "id": call.id, "name": call.name, "arguments": self.kept_text(call.arguments)}
            for call in message.calls
        ]
        return {"role": message.role, "parts": parts}
