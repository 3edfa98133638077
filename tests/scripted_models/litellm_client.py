"""Asks the scripted models through litellm, and prints what it made of their replies: run as a process of its own.

Arguments: the base URL. Output: one JSON object, with a key for each situation.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

os.environ |= {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
}

import litellm

litellm.suppress_debug_info = True
TOOLS = [{"type": "function", "function": {"name": "run_command", "parameters": {"type": "object", "properties": {}}}}]


async def ask(model: str, **more: Any) -> Any:
    return await litellm.acompletion(
        model=f"openai/{model}",
        messages=[{"role": "user", "content": "Hello"}],
        api_base=sys.argv[1],
        api_key="sk-test",
        max_retries=0,
        timeout=10,
        **more,
    )


async def plain() -> Any:
    response = await ask("plain", tools=TOOLS)
    message = response.choices[0].message
    return {
        "text": message.content,
        "reasoning": getattr(message, "reasoning_content", None),
        "calls": [[one.id, one.function.name, one.function.arguments] for one in message.tool_calls],
        "finish": response.choices[0].finish_reason,
        "prompt": response.usage.prompt_tokens,
        "cached": response.usage.prompt_tokens_details.cached_tokens,
    }


async def streaming() -> Any:
    stream = await ask("streaming", tools=TOOLS, stream=True, stream_options={"include_usage": True})
    chunks = [chunk async for chunk in stream]
    whole: Any = litellm.stream_chunk_builder(chunks)
    message = whole.choices[0].message
    return {
        "text": message.content,
        "calls": [[one.id, one.function.name, one.function.arguments] for one in message.tool_calls],
        "finish": whole.choices[0].finish_reason,
        "completion": whole.usage.completion_tokens,
        "chunks": len(chunks),
    }


async def failing(model: str, **more: Any) -> Any:
    try:
        response = await ask(model, **more)
        if more.get("stream"):
            async for _ in response:
                pass
    except Exception as error:  # noqa: BLE001 - which one it is, is the question
        headers = getattr(error, "litellm_response_headers", None) or {}
        return {
            "error": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "retry_after": headers.get("retry-after"),
            "text": str(error)[:300],
        }
    return {"error": "none"}


async def leaving() -> Any:
    stream = await ask("endless", stream=True)
    seen = 0
    async for _ in stream:
        seen += 1
        if seen == 3:
            break
    await stream.aclose()
    return {"seen": seen}


async def main() -> dict[str, Any]:
    found = {"plain": await plain(), "streaming": await streaming(), "leaving": await leaving()}
    for model in ("limited", "exceeded", "unauthorized", "unsupported", "html", "truncated", "drops", "down"):
        found[model] = await failing(model)
    for model in ("cut", "breaks"):
        found[model] = await failing(model, stream=True)
    await litellm.close_litellm_async_clients()
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))
