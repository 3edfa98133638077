"""Each known defect of pygls (docs/upstream.md), held against raw JSON-RPC."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from .rawclient import Process, RawClient

URI = "file:///w/GOAL.md"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/hover", {}),
        ("textDocument/hover", None),
        ("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": "three", "character": 0}}),
        ("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": -1, "character": 0}}),
        ("textDocument/hover", {"textDocument": {"uri": None}, "position": {"line": 3, "character": 0}}),
        ("textDocument/codeLens", [1, 2]),
        ("textDocument/completion", "text"),
    ],
)
def test_bad_params_are_refused_with_a_message_that_names_no_path(
    shared: RawClient, method: str, params: object
) -> None:
    error = shared.error(method, params)
    assert error["code"] == -32602
    assert "/" not in error["message"].replace(method, "")


def test_bad_initialize_params_are_refused_and_can_be_repaired(probe: RawClient) -> None:
    assert probe.error("initialize", {"capabilities": 3})["code"] == -32602
    assert probe.error("initialize")["code"] == -32602
    assert (
        probe.error("initialize", {"capabilities": {}, "initializationOptions": {"trusted": "yes"}})["code"] == -32602
    )
    probe.initialize()
    assert probe.goodbye() == 0


def test_a_custom_request_without_params_is_answered(shared: RawClient) -> None:
    assert shared.result("probe/echo") == {"params": None}
    assert shared.error("probe/unknown")["code"] == -32601


def test_a_nested_jsonrpc_key_survives(shared: RawClient) -> None:
    nested = {"a": {"jsonrpc": "2.0", "id": 4, "result": 1}, "b": [{"jsonrpc": "x"}]}
    assert shared.result("probe/echo", nested) == {"params": nested}


def test_requests_before_initialize_are_refused_and_notifications_dropped(probe: RawClient) -> None:
    probe.notify("textDocument/didOpen", {"nonsense": 1})
    assert probe.error("textDocument/hover", {})["code"] == -32002
    assert probe.error("shutdown")["code"] == -32002
    probe.initialize()
    assert probe.error("initialize", {"capabilities": {}})["code"] == -32600
    assert probe.goodbye() == 0


def test_requests_after_shutdown_are_refused(ready: RawClient) -> None:
    assert ready.result("shutdown") is None
    assert ready.error("probe/echo", {})["code"] == -32600
    assert ready.error("shutdown")["code"] == -32600
    ready.notify("exit")
    assert ready.wait_exit() == 0
    assert not ready.unread()


@pytest.mark.parametrize("initialized", [False, True])
def test_exit_without_shutdown_is_code_1(probe: RawClient, initialized: bool) -> None:
    if initialized:
        probe.initialize()
    probe.notify("exit")
    assert probe.wait_exit() == 1


def test_end_of_input_is_code_1_and_quick(ready: RawClient) -> None:
    begun = ready.begin("probe/slow")
    ready.expect("probe/started")
    started = time.monotonic()
    ready.connection.end_input()
    assert ready.wait_exit() == 1
    assert time.monotonic() - started < 30  # the request alone takes 60
    assert begun


def test_end_of_input_after_shutdown_is_code_0(ready: RawClient) -> None:
    assert ready.result("shutdown") is None
    ready.connection.end_input()
    assert ready.wait_exit() == 0


def test_shutdown_cancels_what_is_in_flight_and_answers_null(ready: RawClient) -> None:
    slow = ready.begin("probe/slow")
    ready.expect("probe/started")
    assert ready.result("shutdown") is None
    ready.expect("probe/cancelled")
    assert ready.response(slow)["error"]["code"] == -32800
    ready.notify("exit")
    assert ready.wait_exit() == 0
    assert not ready.unread()


def test_cancel_request_cancels_the_coroutine(shared: RawClient) -> None:
    slow = shared.begin("probe/slow")
    shared.expect("probe/started")
    shared.notify("$/cancelRequest", {"id": slow})
    shared.expect("probe/cancelled")
    assert shared.response(slow)["error"]["code"] == -32800
    shared.notify("$/cancelRequest", {"id": slow})
    shared.notify("$/cancelRequest", {"id": "never"})
    shared.notify("$/cancelRequest")


def test_a_request_cancelled_before_it_began_is_answered(ready: RawClient) -> None:
    message = b'{"jsonrpc":"2.0","id":"x","method":"probe/slow"}'
    cancel = b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}'
    ready.send_bytes(b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(m), m) for m in (message, cancel)))
    assert ready.response("x")["error"]["code"] == -32800
    ready.ignored = {"probe/started", "probe/cancelled"}
    assert ready.goodbye() == 0


def test_a_silent_client_is_not_waited_for_and_its_late_reply_is_ignored(shared: RawClient) -> None:
    asked = shared.begin("probe/ask", {"timeout": 0.05})
    question = shared.expect("window/showMessageRequest")
    error = shared.response(asked)["error"]
    assert error["code"] == -32803
    assert "did not answer" in error["message"]
    assert shared.expect("$/cancelRequest")["params"] == {"id": question["id"]}
    shared.reply(question, None)
    shared.send({"jsonrpc": "2.0", "id": "never-asked", "result": 1})
    shared.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}})
    assert shared.result("probe/echo", [1]) == {"params": [1]}


@pytest.mark.parametrize("result", [{"title": None}, "text", 7])
def test_a_reply_that_makes_no_sense_is_an_error_of_the_asker_alone(shared: RawClient, result: object) -> None:
    asked = shared.begin("probe/ask", {"timeout": 10})
    shared.reply(shared.expect("window/showMessageRequest"), result)
    assert shared.response(asked)["error"]["code"] == -32803


def test_many_slow_requests_do_not_freeze_the_server(ready: RawClient) -> None:
    slow = [ready.begin("probe/slow") for _ in range(40)]
    for _ in slow:
        ready.expect("probe/started")
    assert ready.result("probe/echo", ["still there"]) == {"params": ["still there"]}
    ready.notify("$/cancelRequest", {"id": slow[20]})
    assert ready.response(slow[20])["error"]["code"] == -32800
    ready.ignored = {"probe/cancelled"}
    assert ready.result("shutdown") is None
    for number in slow[:20] + slow[21:]:
        assert ready.response(number)["error"]["code"] == -32800
    ready.notify("exit")
    assert ready.wait_exit() == 0


@pytest.mark.slow
@pytest.mark.process
def test_a_closed_stdout_ends_the_server_quietly(ready: RawClient) -> None:
    client = ready
    try:
        assert client.process.stdout is not None
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, client.process.stdout.fileno())
        os.close(null)
        for _ in range(50):
            client.begin("probe/echo", ["x" * 1000])
    except BrokenPipeError:
        pass
    assert client.wait_exit() == 1
    assert len(client.stderr) < 2000


def test_a_failing_notification_is_logged_and_does_not_pop_up(shared: RawClient) -> None:
    shared.notify("probe/fail")
    shared.notify("textDocument/didChange", {"textDocument": 3})
    assert shared.result("probe/echo", [1]) == {"params": [1]}
    shared.wait_for_stderr("ZeroDivisionError")
    shared.wait_for_stderr("textDocument/didChange")


def test_internal_errors_carry_neither_trace_nor_path(shared: RawClient) -> None:
    error = shared.error("probe/fail")
    assert set(error) == {"code", "message"}
    assert error["code"] == -32603
    assert "secret" not in error["message"]
    assert ".py" not in error["message"]
    assert shared.error("probe/unwritable")["code"] == -32603
    shared.wait_for_stderr("secret")


@pytest.mark.process
def test_stray_output_does_not_corrupt_the_protocol(ready: RawClient) -> None:
    assert ready.result("probe/print") is None
    ready.wait_for_stderr("stray output")
    assert ready.goodbye() == 0


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"probe/echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"probe/echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"probe/echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"probe/echo"}', -32600),
        (b'{"jsonrpc":"2.0","method":["probe/echo"]}', -32600),
        (b'{"jsonrpc":"2.0","method":null,"params":{}}', -32600),
        (b"{}", -32600),
    ],
)
def test_what_is_no_request_is_refused_and_the_server_lives(shared: RawClient, body: bytes, code: int) -> None:
    shared.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert shared.response(None)["error"]["code"] == code


def test_a_request_of_another_protocol_version_is_refused(shared: RawClient) -> None:
    shared.send({"jsonrpc": "1.0", "id": 90, "method": "probe/echo"})
    shared.send({"id": 91, "method": "probe/echo"})
    shared.send({"jsonrpc": "2.0", "id": 92, "method": 7})
    for number in (90, 91, 92):
        assert shared.response(number)["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("probe/echo", "text"),
        ("probe/echo", 7),
        ("probe/echo", {"goalUri": "file:///a%00b.md"}),
        ("probe/echo", {"uris": ["file:///ok", "file:///%ff"]}),
        ("probe/echo", [{"path": "a\0b"}]),
        ("textDocument/hover", {"textDocument": {"uri": "file:///\0"}, "position": {"line": 0, "character": 0}}),
        ("textDocument/hover", {"textDocument": {"uri": "file:///\ud800"}, "position": {"line": 0, "character": 0}}),
    ],
)
def test_what_no_method_can_take_is_an_error_of_the_protocol(shared: RawClient, method: str, params: object) -> None:
    assert shared.error(method, params)["code"] == -32602


def test_a_wrong_field_is_named_without_pythons_types(shared: RawClient) -> None:
    wrong = {"textDocument": {"uri": "file:///a"}, "position": {"line": "a", "character": 0}}
    for params, field in (wrong, "params.position.line"), (None, "params"):
        said = shared.error("textDocument/hover", params)["message"]
        assert said == f"textDocument/hover: the value of {field} is missing or of the wrong type"


def test_the_server_ends_with_the_process_that_started_it(probe: RawClient) -> None:
    """Although its input stays open, as where a child of an editor that died holds it."""
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        probe.initialize(processId=parent.pid)
        assert probe.result("probe/echo") == {"params": None}
        parent.kill()
        parent.wait()
        assert probe.wait_exit() == 1
    finally:
        parent.kill()
        parent.communicate()


@pytest.mark.slow
def test_the_process_of_the_command_line_is_watched_where_initialize_names_none() -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = RawClient(
        Process([sys.executable, "-m", "donewhen", "serve", "--stdio", f"--clientProcessId={parent.pid}"])
    )
    try:
        client.initialize(processId=None)
        parent.kill()
        parent.wait()
        assert client.wait_exit() == 1
    finally:
        client.close()
        parent.kill()
        parent.communicate()


@pytest.mark.parametrize("pid", ["7", 1.5, True, [7]])
def test_a_process_id_that_is_none_is_refused(probe: RawClient, pid: object) -> None:
    assert probe.error("initialize", {"processId": pid, "capabilities": {}})["code"] == -32602
    probe.initialize(processId=-1)


def test_input_that_is_no_lsp_at_all_ends_the_server_with_a_message(ready: RawClient) -> None:
    ready.send_bytes(b"Content-Length: many\r\n\r\n{}")
    assert ready.wait_exit() == 1
    assert "Content-Length" in ready.stderr
