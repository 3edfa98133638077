"""`models`: the models that are really here, and a test call to one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from donewhen.app.found_models import FoundModels, found_models, is_fit, try_model
from donewhen.cli.calling import Call
from donewhen.cli.formatting import plain
from donewhen.cli.outcome import COMPLETE, NOT_COMPLETE
from donewhen.core.errors import UsageError

NOTHING = (
    "No key is set, and no server answers on this machine. Set a provider's key (such as ANTHROPIC_API_KEY), or start "
    "Ollama, llama.cpp, vLLM or LM Studio."
)


async def models(call: Call) -> int:
    """Without a model, 0: lists what is here. With one, 0 if the agent can work with it, else 1."""
    named: str | None = call.arguments.name
    if named is not None:
        return await _try_named_model(call, named)
    if call.arguments.api_base is not None:
        raise UsageError(
            "--api-base is for the model that is to be tried: donewhen models PROVIDER/NAME --api-base URL"
        )
    found = await found_models(call.terminal.environ)
    if call.json:
        call.terminal.document({"keys": dict(found.keys), "servers": [asdict(one) for one in found.servers]})
        return COMPLETE
    for line in found_lines(found):
        call.terminal.result(line)
    return COMPLETE


async def _try_named_model(call: Call, name: str) -> int:
    settings = call.settings
    base: str | None = call.arguments.api_base
    if base is None and name == settings.pick("model"):
        base = settings.pick("api_base")
    call.terminal.message(f"donewhen: asking {name} for a tool call")
    trial = await try_model(settings, call.state_dir, name, base, call.terminal.environ)
    if call.json:
        call.terminal.document({"model": name, "apiBase": base, **asdict(trial)})
    else:
        window = f" ({trial.window:,} tokens of context)" if trial.window is not None else ""
        call.terminal.result(f"{'✓' if is_fit(trial) else '✗'} {name}{window}: {plain(trial.said)}")
    return COMPLETE if is_fit(trial) else NOT_COMPLETE


def found_lines(found: FoundModels) -> Iterator[str]:
    """What is here, with what a person types to use it."""
    if found.keys:
        yield "keys that are set"
    for provider, names in sorted(found.keys.items()):
        yield f"  {provider}: {', '.join(names)}"
    if found.servers:
        yield "servers on this machine"
    for server in found.servers:
        state = "" if server.models else ": it serves no model yet"
        if server.starting:
            state = ": it is starting, and loads its model still"
        yield f"  {server.kind}'s port, {server.api_base}{state}"
        for one in server.models:
            window = "" if one.window is None else f"  ({one.window:,} tokens of context)"
            yield f"    --model openai/{plain(one.name)} --api-base {server.api_base}{window}"
    if not found.keys and not found.servers:
        yield NOTHING
    else:
        yield "Try one with a call: donewhen models PROVIDER/NAME [--api-base URL]"
