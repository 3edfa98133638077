"""`donewhen models`: what is really here, and a test call that says in words what is wrong."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from donewhen.app.found_models import (
    FoundModels,
    LocalServer,
    ServedModel,
    Trial,
    TrialState,
    found_models,
    is_fit,
    served_at,
    window_served,
)
from donewhen.app.services import Services
from donewhen.cli.calling import ServeOptions
from donewhen.cli.main import main
from donewhen.cli.models import found_lines
from donewhen.cli.terminal import Terminal
from donewhen.ports import ModelNote
from donewhen.store.model_notes import KeptModelNotes
from tests.cli.fakes import Typed
from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, fails, says

SECRET = "sk-never-to-be-shown"


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def no_server(options: ServeOptions) -> int:
    raise AssertionError("nothing is served here")


def tried(folder: Path, *argv: str, **variables: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    places = ["--workspace", str(folder), "--state-dir", str(folder / "state"), "models"]
    terminal = Terminal(out, err, Typed(()), variables)
    user = folder / "user.toml"
    code = main([*places, *argv], Services(), no_server, terminal=terminal, user_file=user, log_folder=folder)
    return code, out.getvalue() + err.getvalue()


async def test_keys_are_found_by_name_and_servers_by_their_answer() -> None:
    with ScriptedModels({"qwen2.5:1.5b": [], "other": []}) as models:
        ports = {"Ollama": models.port, "vLLM": free_port()}
        found = await found_models({"OPENAI_API_KEY": SECRET, "DONEWHEN_API_KEY": SECRET, "GROQ_API_KEY": " "}, ports)
    assert found.keys == {"openai": ("OPENAI_API_KEY",), "Done When": ("DONEWHEN_API_KEY",)}
    (server,) = found.servers
    assert (server.kind, server.api_base) == ("Ollama", models.base_url.replace("localhost", "127.0.0.1"))
    assert [one.name for one in server.models] == ["qwen2.5:1.5b", "other"]
    text = "\n".join(found_lines(found))
    assert f"--model openai/qwen2.5:1.5b --api-base {server.api_base}" in text
    assert "openai: OPENAI_API_KEY" in text
    assert SECRET not in text


def test_what_is_not_a_model_server_is_not_listed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert served_at(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", 0.1) is None
    assert served_at(f"http://127.0.0.1:{free_port()}/v1", 0.1) is None


def test_nothing_here_says_what_to_do() -> None:
    (line,) = found_lines(FoundModels({}, ()))
    assert "Set a provider's key" in line
    empty = "\n".join(found_lines(FoundModels({}, (LocalServer("Ollama", "http://127.0.0.1:11434/v1", ()),))))
    assert "it serves no model yet" in empty
    small = LocalServer("vLLM", "http://127.0.0.1:8000/v1", (ServedModel("m", 4_096),))
    assert "(4,096 tokens of context)" in "\n".join(found_lines(FoundModels({}, (small,))))


def by_schema(call: ModelCall) -> Reply:
    if call.body.get("tools"):
        return says("The sky is blue.")
    return says(json.dumps({"tool": "note_colour", "arguments": {"colour": "blue"}}))


@pytest.mark.parametrize(
    ("plays", "code", "said", "noted"),
    [
        (lambda call: calls("note_colour", colour="blue"), 0, "✓ openai/m: it calls tools", "tools"),
        (by_schema, 0, "gives actions under a schema", "actions"),
        (lambda call: says("The sky is blue."), 1, "✗ openai/m: it answers in words alone", None),
        (lambda call: fails(401), 1, "check DONEWHEN_API_KEY", None),
    ],
    ids=["tools", "actions", "words", "key"],
)
def test_a_test_call_says_what_came_back_and_is_remembered(
    tmp_path: Path, plays: object, code: int, said: str, noted: str | None
) -> None:
    with ScriptedModels({"m": plays}) as models:
        ended, text = tried(tmp_path, "openai/m", "--api-base", models.base_url)
    assert ended == code, text
    assert said in text
    assert KeptModelNotes(tmp_path / "state").of("openai/m", models.base_url).calling == noted


def test_a_wrong_name_is_answered_with_those_that_are_served(tmp_path: Path) -> None:
    with ScriptedModels({"one": [], "two": []}) as models:
        code, text = tried(tmp_path, "openai/onne", "--api-base", models.base_url)
        assert not models.requests
    assert code == 1
    assert "has no model onne: it serves one, two" in text


def test_a_server_that_does_not_run_is_named(tmp_path: Path) -> None:
    base = f"http://127.0.0.1:{free_port()}/v1"
    code, text = tried(tmp_path, "openai/m", "--api-base", base)
    assert code == 1
    assert f"no server answers at {base}" in text
    assert "start it, or correct --api-base" in text


def test_a_provider_without_its_key_is_named(tmp_path: Path) -> None:
    code, text = tried(tmp_path, "anthropic/claude-sonnet-4-5")
    assert code == 1
    assert "there is no key for anthropic/claude-sonnet-4-5: set ANTHROPIC_API_KEY or DONEWHEN_API_KEY" in text


def test_an_address_alone_is_refused(tmp_path: Path) -> None:
    code, text = tried(tmp_path, "--api-base", "http://127.0.0.1:1/v1")
    assert code == 2
    assert "donewhen models PROVIDER/NAME --api-base URL" in text


def test_an_address_without_v1_is_completed_and_that_is_said(tmp_path: Path) -> None:
    with ScriptedModels({"m": lambda call: calls("note_colour", colour="blue")}) as models:
        base = models.base_url.removesuffix("/v1")
        code, text = tried(tmp_path, "openai/m", "--api-base", base)
    assert code == 0, text
    assert f"it is served at {base}/v1: add /v1 to the address" in text


def test_a_name_without_a_provider_is_told_how_to_write_it(tmp_path: Path) -> None:
    with ScriptedModels({"qwen3:4b": [], "other": []}) as models:
        code, text = tried(tmp_path, "qwen3:4b", "--api-base", models.base_url)
    assert code == 1
    assert "write openai/qwen3:4b" in text


@contextmanager
def plain_server(status: int, body: object) -> Iterator[int]:
    """A server that gives one answer to every GET."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the terminal."""

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join(60)


async def test_a_server_that_loads_its_model_is_starting(tmp_path: Path) -> None:
    with plain_server(503, {"error": {"message": "Loading model", "code": 503}}) as port:
        found = await found_models({}, {"llama.cpp": port})
        code, text = await asyncio.to_thread(tried, tmp_path, "openai/m", "--api-base", f"http://127.0.0.1:{port}/v1")
    assert [one.starting for one in found.servers] == [True]
    assert "it is starting" in "\n".join(found_lines(found))
    assert (code, "is still loading its model" in text) == (1, True), text


@pytest.mark.parametrize(
    ("state", "window", "fit"), [("tools", 8_192, True), ("tools", 2_048, False), ("words", None, False)]
)
def test_a_window_that_is_too_small_is_not_fit(state: TrialState, window: int | None, fit: bool) -> None:
    assert is_fit(Trial(state, "", window)) is fit


def test_the_window_that_was_found_is_kept(tmp_path: Path) -> None:
    notes = KeptModelNotes(tmp_path)
    notes.add("openai/m", "http://127.0.0.1:8080/v1", ModelNote(window=2_048))
    notes.add("openai/m", "http://127.0.0.1:8080/v1", ModelNote("actions"))
    assert KeptModelNotes(tmp_path).of("openai/m", "http://127.0.0.1:8080/v1/").window == 2_048
    assert notes.of("openai/other", None).window is None


async def test_the_window_that_a_server_tells_is_asked_before_the_work() -> None:
    told = {"data": [{"id": "m.gguf"}], "default_generation_settings": {"n_ctx": 2_048}}
    with plain_server(200, told) as port:
        assert await asyncio.to_thread(window_served, "openai/m", f"http://127.0.0.1:{port}/v1") == 2_048
    assert window_served("openai/m", f"http://127.0.0.1:{port}/v1") is None
    assert window_served("openai/gpt-5.5", None) is None
