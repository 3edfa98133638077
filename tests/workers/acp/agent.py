"""A small agent that speaks ACP and behaves as its argument says: well, or in one of many wrong ways.

    python agent.py WAY [PATH]

It uses nothing but the standard library, so that it starts at once.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SESSION = ["s-1"]
NUMBERS = itertools.count(1)
FIXED = "def add(a, b):\n    return a + b\n"
Params = dict[str, Any]


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(name: str, /, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": SESSION[0], "update": {"sessionUpdate": name, **fields}})


def say(text: str, name: str = "agent_message_chunk") -> None:
    update(name, content={"type": "text", "text": text})


def receive() -> Params:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit(0)
    return json.loads(line)


def ask(method: str, **params: Any) -> Params:
    """A request to the client, and its answer; what comes meanwhile is kept for later."""
    number = f"a{next(NUMBERS)}"
    send(id=number, method=method, params={"sessionId": SESSION[0], **params})
    while True:
        message = receive()
        if message.get("id") == number:
            return message
        EARLY.append(message)


EARLY: list[Params] = []


def permission(tool: str, kind: str, raw: Params, **more: Any) -> str:
    options = [
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    call = {"toolCallId": tool, "title": tool, "kind": kind, "rawInput": raw, **more}
    outcome = ask("session/request_permission", toolCall=call, options=options)["result"]["outcome"]
    return outcome.get("optionId", outcome["outcome"])


def report(name: str, value: Any) -> None:
    """What the test looks at afterwards."""
    folder = Path(os.environ["REPORT"])
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(value))


# ---- what it does when it is prompted: each returns the reason why it stops


def good() -> str:
    say("I see. ", "agent_thought_chunk")
    say("A minus.", "agent_thought_chunk")
    update("plan", entries=[
        {"content": "Look", "status": "completed", "priority": "high"},
        {"content": "Repair", "status": "in_progress", "priority": "high"},
    ])  # fmt: skip
    say("I repair ")
    say("the sum.")
    place = str(Path.cwd() / "calc.py")
    update("tool_call", toolCallId="t1", title="Edit calc.py", kind="edit", status="pending", rawInput={})
    update("tool_call_update", toolCallId="t1", rawInput={"path": place}, locations=[{"path": place}])
    Path(place).write_text(FIXED)
    update("tool_call_update", toolCallId="t1", status="completed")
    update("usage_update", used=10, cost={"amount": 0.25, "currency": "USD"})
    say("Done: a plus.")
    return "end_turn"


def lies() -> str:
    say("All tests pass now, everything is proven. The goal is complete.")
    return "end_turn"


def weakens() -> str:
    Path("test_calc.py").write_text("def test_nothing():\n    assert True\n")
    say("All tests pass now.")
    return "end_turn"


def writes() -> str:
    report("write", ask("fs/write_text_file", path=str(Path.cwd() / "calc.py"), content=FIXED))
    say("Written.")
    return "end_turn"


def reads() -> str:
    report("read", ask("fs/read_text_file", path=str(Path.cwd() / "calc.py")))
    return "end_turn"


def wanders() -> str:
    outside = Path.cwd().parent / "outside.txt"
    found = [
        ask("fs/write_text_file", path=str(outside), content="x"),
        ask("fs/write_text_file", path=str(Path.cwd() / ".." / "outside.txt"), content="x"),
        ask("fs/write_text_file", path=str(Path.cwd() / ".git" / "hooks" / "pre-commit"), content="x"),
        ask("fs/write_text_file", path="relative/../../outside.txt", content="x"),
        ask("terminal/create", command="true", cwd="/"),
    ]
    report("wander", found)
    return "end_turn"


def pries() -> str:
    found = [ask("fs/read_text_file", path=place) for place in ("/etc/passwd", str(Path.home() / ".ssh" / "id_rsa"))]
    report("pry", [*found, ask("fs/read_text_file", path=str(Path.cwd() / ".env"))])
    return "end_turn"


def asks() -> str:
    raw = {"command": "make deploy"}
    report("asked", permission("t1", "execute", raw))
    update("tool_call_update", toolCallId="t1", status="completed")
    return "end_turn"


def asks_outside() -> str:
    place = str(Path.cwd().parent / "other.py")
    report("asked", permission("t1", "edit", {"path": place}, locations=[{"path": place}]))
    return "end_turn"


def asks_inside() -> str:
    place = str(Path.cwd() / "calc.py")
    report("asked", permission("t1", "edit", {"path": place}, locations=[{"path": place}]))
    return "end_turn"


def runs() -> str:
    answer = permission("t1", "execute", {"command": "echo one; echo two"})
    made = ask("terminal/create", command="echo one; echo two")
    terminal = made["result"]["terminalId"]
    ended = ask("terminal/wait_for_exit", terminalId=terminal)
    shown = ask("terminal/output", terminalId=terminal)
    ask("terminal/release", terminalId=terminal)
    report("ran", [answer, ended["result"], shown["result"], ask("terminal/output", terminalId=terminal)])
    return "end_turn"


def endless_terminal() -> str:
    ask("terminal/create", command="sleep 600")
    say("It runs.")
    return "end_turn"


def waits() -> str:
    """Until it is cancelled; then it asks once more, and ends as it should."""
    say("Working")
    while True:
        message = receive()
        if message.get("method") == "session/cancel":
            report("after", permission("t9", "execute", {"command": "rm -rf /"}))
            return "cancelled"


def asks_and_waits() -> str:
    report("asked", permission("t1", "execute", {"command": "make deploy"}))
    return "cancelled"


def stubborn() -> str:
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say("Working")
    while True:
        time.sleep(60)


def dies() -> str:
    say("I begin")
    sys.stderr.write("out of cheese\n")
    sys.stderr.flush()
    os._exit(3)


def floods() -> str:
    for number in range(20_000):
        say(f"{number} ")
    for number in range(2_000):
        update("tool_call_update", toolCallId="t1", title="busy", status="in_progress", rawInput={"n": number})
    return "end_turn"


def loud() -> str:
    sys.stderr.write("x" * 300_000)
    sys.stderr.flush()
    say("Heard?")
    return "end_turn"


def out_of_order() -> str:
    update("tool_call_update", toolCallId="t1", status="completed", title="Second first", kind="other")
    update("tool_call", toolCallId="t1", title="First", kind="read", status="pending")
    update("tool_call_update", toolCallId="never-announced", status="failed")
    update("tool_call_update", toolCallId="never-announced", status="failed")
    update("plan", entries="not a list")
    update("no_such_update", anything=[1])
    send(method="session/update", params={"sessionId": "another", "update": {"sessionUpdate": "plan"}})
    send(method="session/update", params=None)
    send(method="no/such/notification", params={})
    report("unknown", ask("no/such/method"))
    report("wrong", ask("fs/read_text_file", path=17))
    say("So it went.")
    return "end_turn"


def huge() -> str:
    say("y" * 3_000_000)
    return "end_turn"


def bursts() -> str:
    sys.stdout.write("z" * (70 * 1024 * 1024))
    sys.stdout.flush()
    time.sleep(60)
    return "end_turn"


def refuses() -> str:
    say("I would rather not.")
    return "refusal"


def blocked() -> str:
    say('There is no key.\n{"donewhen": {"state": "blocked", "text": "no key"}}')
    return "end_turn"


def silent() -> str:
    while True:
        receive()


def answers_twice() -> str:
    send(id=3, result={"stopReason": "end_turn"})
    send(id=3, result={"stopReason": "end_turn"})
    send(id=77, result={})
    send(id=None, result={})
    return "end_turn"


def errs() -> str:
    return "error"


def tires() -> str:
    say("That is all.")
    return "a_reason_of_tomorrow"


def goes_on() -> str:
    say(f"loaded {LOADED}")
    return "end_turn"


LOADED: list[str] = []
WAYS: dict[str, Callable[[], str]] = {
    one.__name__: one
    for one in (
        good, lies, weakens, writes, reads, wanders, pries, asks, asks_outside, asks_inside, runs, endless_terminal,
        waits, asks_and_waits, stubborn, dies, floods, loud, out_of_order, huge, bursts, refuses, blocked, silent,
        answers_twice, errs, tires, goes_on,
    )
}  # fmt: skip


def before(way: str) -> None:
    """What goes wrong before anything is asked."""
    if way == "crashes":
        sys.stderr.write("no such module: left_pad\n")
        raise SystemExit(5)
    if way == "babbles":
        while True:
            sys.stdout.write("welcome to the agent\n" * 1_000)
            sys.stdout.flush()
    if way == "greets":
        sys.stdout.write("Welcome!\n[1, 2]\n\n{not json}\n")
    if way == "mute":
        time.sleep(600)
    if way == "closes":
        os.close(1)
        time.sleep(600)


def main() -> None:
    way = sys.argv[1]
    before(way)
    while True:
        message = EARLY.pop(0) if EARLY else receive()
        method, number = message.get("method"), message.get("id")
        if method == "initialize" and way == "unable":
            send(id=number, error={"code": -32603, "message": "no such setting"})
        elif method == "initialize":
            version = {"newer": 99, "elsewise": "2025-06-18"}.get(way, 1)
            able = {"loadSession": way == "goes_on"}
            send(id=number, result={"protocolVersion": version, "agentCapabilities": able})
        elif method == "session/new" and way == "locked":
            send(id=number, error={"code": -32000, "message": "Authentication required"})
        elif method == "session/new":
            send(id=number, result={"sessionId": "" if way == "nameless" else SESSION[0]})
        elif method == "session/load":
            SESSION[0] = message["params"]["sessionId"]
            LOADED.append(SESSION[0])
            say("what was said before")
            send(id=number, result=None)
        elif method == "session/prompt":
            with Path(os.environ["REPORT"] + ".prompts").open("a") as file:
                file.write(json.dumps(message["params"]["prompt"][0]["text"]) + "\n")
            stop = WAYS[good.__name__ if way == "greets" else way]()
            used = {"inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 5, "totalTokens": 125}
            if stop == "error":
                send(id=number, error={"code": -32603, "message": "Internal error", "data": {"details": "no credit"}})
            else:
                send(id=number, result={"stopReason": stop, "usage": used})


if __name__ == "__main__":
    main()
