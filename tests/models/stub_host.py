"""A host that speaks the protocol and knows no model: what its first argument says happens to each call.

echo: answers with the last message; begins: does so but for the first call, whose reply never ends; exit: ends;
silent: never answers; noisy: prints lines that are no JSON first; unusable: tells why it can't work; mute: is never
ready.
"""

import json
import os
import subprocess
import sys
import time


def say(value: dict) -> None:
    print(json.dumps(value), flush=True)


def answer(said: dict) -> None:
    message = {"role": "assistant", "text": said["messages"][-1]["text"]}
    reply = {"message": message, "finish": "stop", "input_tokens": 1, "output_tokens": 1, "cached_tokens": 0}
    say({"id": said["ask"], "reply": reply})


def main() -> None:
    kind, *more = sys.argv[1:]
    if kind == "unusable":
        say({"unusable": more[0]})
        return
    if kind == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print(child.pid, file=sys.stderr, flush=True)
    if kind != "mute":
        say({"ready": 0.0})
    for raw in sys.stdin:
        said = json.loads(raw)
        print(raw[:60].strip(), file=sys.stderr, flush=True)
        if kind == "exit":
            print("the library crashed", file=sys.stderr, flush=True)
            os._exit(7)
        if kind == "noisy":
            print("Give Feedback / Get Help", flush=True)
        if "ask" in said and kind == "begins":
            kind = "echo"
            say({"id": said["ask"], "text": "hel"})
        elif "ask" in said and kind in ("echo", "noisy", "child"):
            answer(said)
    time.sleep(0 if kind != "stays" else 60)


if __name__ == "__main__":
    main()
