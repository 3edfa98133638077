"""Every name that a span has. Those of OpenTelemetry's conventions for generative AI are in flux: they stand here only
(https://opentelemetry.io/docs/specs/semconv/gen-ai/)."""

from __future__ import annotations

from collections.abc import Mapping

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
