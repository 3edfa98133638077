"""The server as a program, and scripts as files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from donewhen.core.errors import InvalidGoal
from tests import forked
from tests.scripted_models import ScriptedModels, read_script
from tests.scripted_models.client import Client
from tests.tools import each_row

SCRIPT = """
models:
  worker:
    - text: I start with the tests.
      calls: [{name: run_command, arguments: {command: pytest}}, {name: report, arguments: "{broken"}]
      usage: {prompt: 11, cached: 3}
    - {fail: 429, retry_after: 0.1, headers: {x-request-id: r1}}
    - {fail: context_exceeded}
    - {fail: unsupported_tools}
    - {garbage: html}
    - {body: {odd: true}, status: 202}
    - {text: twice, times: 2, delay: 0.001, pace: 0}
    - It is done.
  judge:
    when_out: repeat_last
    unsupported: [json_schema]
    window: 50
    replies:
      - {text: met, expect: {contains: R1, matches: 'R\\d', tools: false}}
  fast: {prebuilt: true, replies: [now]}
"""


def write(folder: Path, text: str, name: str = "script.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_what_constructors_say(tmp_path: Path) -> None:
    with ScriptedModels(read_script(write(tmp_path, SCRIPT))) as server, Client(server) as client:
        first = client.ask()
        assert [one["function"]["arguments"] for one in first.message["tool_calls"]] == [
            '{"command": "pytest"}',
            "{broken",
        ]
        assert first.json["usage"]["prompt_tokens_details"]["cached_tokens"] == 3
        limited = client.ask()
        assert (limited.status, limited.headers["retry-after"], limited.headers["x-request-id"]) == (429, "0.1", "r1")
        assert client.ask().error["code"] == "context_length_exceeded"
        assert client.ask().error["param"] == "tools"
        assert client.ask().body.startswith(b"<!DOCTYPE")
        odd = client.ask()
        assert (odd.status, odd.json) == (202, {"odd": True})
        assert [client.ask().message["content"] for _ in range(3)] == ["twice", "twice", "It is done."]
        assert client.ask("R1", model="judge").message["content"] == "met"
        assert client.ask("R1", model="judge", response_format={"type": "json_schema"}).status == 400
        assert client.ask("R1 " * 100, model="judge").error["code"] == "context_length_exceeded"
        server.verify()
        assert client.ask("R2", model="judge").status == 500
        assert client.ask(model="fast").message["content"] == "now"


def test_a_json_file_is_the_same(tmp_path: Path) -> None:
    script = read_script(write(tmp_path, '{"models": {"worker": ["Hi"]}}', "s.json"))
    with ScriptedModels(script) as server, Client(server) as client:
        assert client.ask().message["content"] == "Hi"


@each_row(
    "script, told",
    [
        ([], "this should be a mapping with `models`"),
        ({"model": {}}, "unknown key `model`; did you mean `models`?"),
        ({"models": {}}, "write at least one model"),
        ({"models": {"w": [{"txt": "x"}]}}, "unknown key `txt`; did you mean `text`?"),
        ({"models": {"w": [{"delay": 1}]}}, "a reply needs `text`"),
        ({"models": {"w": [{"text": 3}]}}, "`text` should be text"),
        ({"models": {"w": [{"fail": "rate_limted"}]}}, "there is no `rate_limted`; did you mean `rate_limited`?"),
        ({"models": {"w": [{"fail": 429, "text": "x"}]}}, "`text` does not belong to `fail`"),
        ({"models": {"w": [{"garbage": "htm"}]}}, "there is no `htm`; did you mean `html`?"),
        ({"models": {"w": [{"text": "x", "delay": -1}]}}, "`delay` should be a number of at least 0"),
        ({"models": {"w": [{"calls": [{}]}]}}, "`name` is missing"),
        ({"models": {"w": [{"text": "", "expect": {"matches": "("}}]}}, "'(' is not a regular expression"),
        ({"models": {"w": {"replies": ["x"], "when_out": "stop"}}}, "`when_out` is one of `fail`"),
        ({"models": {"w": {"replies": [], "prebuilt": True}}}, "a prebuilt part needs at least one reply"),
        ({"models": {"w": 3}}, "this should be a mapping with `replies`"),
    ],
)
def test_a_script_that_is_wrong_says_where(tmp_path: Path, script: Any, told: str) -> None:
    with pytest.raises(InvalidGoal) as caught:
        read_script(write(tmp_path, json.dumps(script)))
    assert f"script.yaml line 1: {told}" in str(caught.value)


@pytest.mark.parametrize(("name", "text"), [("s.yaml", "models: ["), ("s.json", "{"), ("s.yaml", "models: {}")])
def test_a_file_that_is_wrong_is_named(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InvalidGoal, match=r"^s\.(yaml|json) line 1: "):
        read_script(write(tmp_path, text, name))


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidGoal, match="can't be read"):
        read_script(tmp_path / "none.yaml")


@contextmanager
def program(*arguments: str | Path) -> Iterator[forked.Forked]:
    command = [sys.executable, "-m", "tests.scripted_models", *map(str, arguments), "--until-stdin-closes"]
    pipe = subprocess.PIPE
    with forked.start(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def completed(base_url: str) -> httpx.Response:
    body = {"model": "worker", "messages": [{"role": "user", "content": "Hello"}]}
    return httpx.post(f"{base_url}/chat/completions", json=body, headers={"Authorization": "Bearer sk-1"})


def test_the_program_serves_logs_and_ends_with_its_stdin(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    script = write(tmp_path, "models: {worker: [It is done.]}")
    with program(script, "--log", log, "--log-bodies") as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        assert completed(base_url).status_code == 200
        assert completed(base_url).status_code == 500
        _, complaints = process.communicate(timeout=20)
        assert process.returncode == 1
        assert "the script ran out" in complaints
    first, second = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    assert (first["model"], first["status"], first["messages"], first["number"]) == ("worker", 200, 1, 1)
    assert first["received"] > 100
    assert first["sent"] > 100
    assert first["headers"]["authorization"] == "Bearer sk-1"
    assert first["body"]["model"] == "worker"
    assert "ran out" in second["failure"]


@pytest.mark.skipif(sys.platform == "win32", reason="there, SIGTERM ends a program without asking it")
def test_sigterm_ends_the_program(tmp_path: Path) -> None:
    with program(write(tmp_path, "models: {worker: [It is done.]}")) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.terminate()
        assert process.wait(timeout=20) == 0


def test_the_program_refuses_a_script_that_is_wrong(tmp_path: Path) -> None:
    with program(write(tmp_path, "models: {worker: [{txt: x}]}")) as process:
        _, complaints = process.communicate(timeout=20)
        assert process.returncode == 2
        assert "did you mean `text`?" in complaints
