"""The models that are really here: keys that are set, servers on this machine that answer, and a test call.

Nothing is asked before a person asks for it. Servers are looked for on loopback alone, each for half a second.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from donewhen.app.models import FolderModels
from donewhen.core.calls import Message
from donewhen.core.errors import ModelFailed
from donewhen.evidence.text import Masking
from donewhen.models.hosted import as_calls, in_words
from donewhen.models.keys import OPTIONAL_KEYS, OWN_KEY, PROVIDER_KEYS
from donewhen.ports import Calling, Model, ModelNote, ModelRequest, ToolSpec
from donewhen.settings.loading import Settings
from donewhen.store.folders import state_folder
from donewhen.store.model_notes import KeptModelNotes

SERVERS: Mapping[str, int] = {"Ollama": 11434, "llama.cpp": 8080, "vLLM": 8000, "LM Studio": 1234}
"""The port where each listens unless told otherwise."""
PATIENCE = 0.5
"""Seconds for each question to a server on this machine."""
MAX_BODY = 2_000_000
LEAST_WINDOW = 4_000
"""Tokens: the agent's short prompt takes about 1,000 of them before any work."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model as its server names it; `window` is in tokens, None where the server doesn't say."""

    name: str
    window: int | None = None


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server on this machine that answered, `kind` by its usual port; `models` may be empty. `starting`: it loads its
    model still."""

    kind: str
    api_base: str
    models: tuple[ServedModel, ...]
    starting: bool = False


class ServerStarting(Exception):
    """A server answers that it is not ready yet (503), as llama.cpp does while it loads its model."""


@dataclass(frozen=True, slots=True)
class FoundModels:
    """`keys` are the names of the variables that are set, by provider, never their values."""

    keys: Mapping[str, tuple[str, ...]]
    servers: tuple[LocalServer, ...]


TrialState = Literal["tools", "actions", "words", "failed"]


@dataclass(frozen=True, slots=True)
class Trial:
    """How a model took a test call: by a tool call, by an action under a schema, by words alone, or not at all.
    `said` says what that means and what to do; `window` is what its server says."""

    state: TrialState
    said: str
    window: int | None = None


async def found_models(environ: Mapping[str, str], servers: Mapping[str, int] = SERVERS) -> FoundModels:
    """What is here now. Takes half a second where a port is open and nobody answers."""
    asked = [asyncio.to_thread(_server, kind, f"http://127.0.0.1:{port}/v1") for kind, port in servers.items()]
    found = await asyncio.gather(*asked)
    keys: dict[str, tuple[str, ...]] = {}
    for provider, names in {**PROVIDER_KEYS, **OPTIONAL_KEYS, "Done When": tuple(OWN_KEY.values())}.items():
        if known := tuple(name for name in names if environ.get(name, "").strip()):
            keys[provider] = known
    return FoundModels(keys, tuple(one for one in found if one is not None))


def _server(kind: str, api_base: str) -> LocalServer | None:
    try:
        models = served_at(api_base)
    except ServerStarting:
        return LocalServer(kind, api_base, (), starting=True)
    return None if models is None else LocalServer(kind, api_base, models)


def served_at(api_base: str, patience: float = PATIENCE) -> tuple[ServedModel, ...] | None:
    """The models that a server lists (`GET /v1/models`); None if nothing there speaks OpenAI's API. Raises
    ServerStarting."""
    listed = _object_at(f"{api_base.rstrip('/')}/models", patience)
    entries = listed.get("data") if listed is not None else None
    if not isinstance(entries, list):
        return None
    models = [cast("dict[str, Any]", one) for one in cast("list[Any]", entries) if isinstance(one, dict)]
    named = [(one, one.get("id")) for one in models]
    found = tuple(ServedModel(name, _window(one)) for one, name in named if isinstance(name, str) and name)
    if len(found) == 1 and found[0].window is None:
        return (ServedModel(found[0].name, _props(api_base, patience)),)
    return found


def _window(entry: Mapping[str, Any]) -> int | None:
    """vLLM says `max_model_len`, LM Studio `loaded_context_length`."""
    sizes = (entry.get("max_model_len"), entry.get("loaded_context_length"))
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)


def _props(api_base: str, patience: float) -> int | None:
    """llama.cpp serves one model, and says beside it with which context it was started."""
    props = _object_at(f"{api_base.rstrip('/').removesuffix('/v1')}/props", patience) or {}
    settings = props.get("default_generation_settings")
    size = cast("dict[str, Any]", settings).get("n_ctx") if isinstance(settings, dict) else None
    return size if isinstance(size, int) and size > 0 else None


def _object_at(url: str, patience: float) -> Mapping[str, Any] | None:
    """The object at a plain address; None for anything else. No proxy is asked, and no redirection is followed."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=patience)
    try:
        connection.request("GET", parts.path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        if answer.status == 503:
            raise ServerStarting
        found: Any = json.loads(answer.read(MAX_BODY)) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else None


# ------------------------------------------------------------------------------------------- a test call


_PROBE = ToolSpec(
    "note_colour",
    "Notes the colour of the sky.",
    {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
        "additionalProperties": False,
    },
)
_ASKED = Message(
    "user", "Note the colour of the sky on a clear day with the tool note_colour. Reply with that call alone."
)


async def try_model(
    settings: Settings,
    state_dir: Path | None,
    model: str,
    api_base: str | None,
    environ: Mapping[str, str] | None = None,
) -> Trial:
    """Asks a model for one tool call, and for an action under a schema where none comes back; what came back is
    remembered for the agent. Costs two short calls at most."""
    look = await asyncio.to_thread(_looked_at, model, api_base)
    if look.refusal is not None:
        return look.refusal
    window, api_base = look.window, look.api_base
    variables = dict(os.environ if environ is None else environ)
    folder = state_folder(state_dir)
    models = FolderModels(lambda: variables, {}, lambda: settings, Masking(lambda: variables, {}).mask)
    try:
        calling = await _calling(models.model("worker", model, api_base))
    except ModelFailed as failure:
        return Trial("failed", str(failure), window)
    finally:
        await models.close()
    if calling is None:
        said = (
            "it answers in words alone, with tools and with a schema: the agent can't work with it. Set another model, "
            "or start its server with a tool parser (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice)"
        )
        return Trial("words", said, window)
    KeptModelNotes(folder).add(model, api_base, ModelNote(calling, window))
    ways: Mapping[Calling, str] = {
        "tools": "it calls tools",
        "actions": "it calls no tools, and gives actions under a schema: the agent asks it that way from now on",
    }
    return Trial(calling, ways[calling] + _about_window(window) + look.added, window)


def is_fit(trial: Trial) -> bool:
    """Whether the agent can work with the model as it is served now."""
    return trial.state in ("tools", "actions") and (trial.window is None or trial.window >= LEAST_WINDOW)


def _about_window(window: int | None) -> str:
    if window is None or window >= LEAST_WINDOW:
        return ""
    return (
        f"; its context of {window:,} tokens is too small: the agent's prompt takes about 1,000 before any work. Start "
        "the server with 8,192 or more (llama.cpp: -c, Ollama: OLLAMA_CONTEXT_LENGTH, vLLM: --max-model-len)"
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """What a server says before it is asked: `api_base` is where its model is, `added` what had to be added to the
    address."""

    api_base: str | None
    window: int | None = None
    added: str = ""
    refusal: Trial | None = None


def window_served(model: str, api_base: str | None) -> int | None:
    """The window that a server of the person's own tells; None for any other, and where none is told within 3 s."""
    return _looked_at(model, api_base).window


def _looked_at(model: str, api_base: str | None) -> _Look:
    """The window of a model behind an address of the person's own, and what is wrong without a call: nothing answers
    there, or it serves other models."""
    parts = urlsplit(api_base or "")
    if parts.scheme != "http" or not parts.hostname or api_base is None:
        return _Look(api_base)
    try:
        socket.create_connection((parts.hostname, parts.port or 80), timeout=2 * PATIENCE).close()
        served, base, added = _served_below(api_base)
    except OSError as error:
        said = f"no server answers at {api_base} ({error.strerror or error}): start it, or correct --api-base"
        return _Look(api_base, refusal=Trial("failed", said))
    except ServerStarting:
        said = f"the server at {api_base} is still loading its model: try again in a moment"
        return _Look(api_base, refusal=Trial("failed", said))
    if not served:
        return _Look(api_base)  # it may still answer: not every server lists its models
    name = model.partition("/")[2] or model
    known = next((one for one in served if one.name in (name, f"{name}:latest")), None)
    if "/" not in model:
        said = f"write openai/{model}: a name begins with its provider, which is openai for a server of your own"
        return _Look(base, refusal=Trial("failed", said))
    if known is None and len(served) > 1:
        names = ", ".join(one.name for one in served[:20])
        return _Look(base, refusal=Trial("failed", f"the server at {api_base} has no model {name}: it serves {names}"))
    # A server of one model, such as llama.cpp, answers to any name.
    found = known or next(iter(served))
    if known is None:
        added += f"; it serves {found.name}, whichever name is asked for"
    return _Look(base, found.window, added)


def _served_below(api_base: str) -> tuple[tuple[ServedModel, ...] | None, str, str]:
    """What is served at an address, else at /v1 below it, which is often left out."""
    served, base = served_at(api_base, 2 * PATIENCE), api_base.rstrip("/")
    if served is not None or base.endswith("/v1"):
        return served, api_base, ""
    served = served_at(f"{base}/v1", 2 * PATIENCE)
    if served is None:
        return None, api_base, ""
    return served, f"{base}/v1", f"; it is served at {base}/v1: add /v1 to the address"


async def _calling(model: Model) -> Calling | None:
    request = ModelRequest((_ASKED,), (_PROBE,), timeout=120.0)
    if (await model.complete(request)).message.calls:
        return "tools"
    reply = await model.complete(in_words(request))
    return "actions" if as_calls(reply.message, request.tools).calls else None
