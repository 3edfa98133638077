"""The model host: `python -m donewhen.models.host`, a separate process that runs litellm.

It exchanges lines of JSON (`models/protocol.py`) on its stdin and stdout, runs calls concurrently, and ends at once
when its input ends: it never outlives the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from donewhen.models.protocol import line
from donewhen.models.silence import Silence

SETTINGS = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else litellm fetches its catalogue at import
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # else the first Anthropic call fetches a list
    "LITELLM_MODE": "PRODUCTION",  # else litellm loads the `.env` files that it finds
}


def main() -> None:
    questions, answers = _take_pipes()
    os.environ.update(SETTINGS)
    loop = asyncio.new_event_loop()
    host = _Host(answers)
    threading.Thread(target=_read_questions, args=(questions, loop, host), daemon=True).start()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(host.load())
    loop.run_forever()


def _take_pipes() -> tuple[int, int]:
    """Private copies of stdin and stdout; what a library prints goes to stderr, and what it reads is empty."""
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return questions, answers


def _read_questions(questions: int, loop: asyncio.AbstractEventLoop, host: _Host) -> None:
    """Runs in its own thread, since no event loop can wait for every kind of pipe on every platform."""
    with os.fdopen(questions, "rb") as file:
        for raw in file:
            loop.call_soon_threadsafe(host.take, raw)
    os._exit(0)  # the server has gone, or wants this process to end: nothing is worth finishing


class _Host:
    """The known conversations, and the calls in progress."""

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self._messages: dict[int, Mapping[str, Any]] = {}
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._asking: Any = None

    async def load(self) -> None:
        """Imports litellm and warms it up; if that fails, reports the reason and ends the process."""
        begun = time.monotonic()
        try:
            from donewhen.models.host_calls import Asking

            self._asking = Asking()
            await self._asking.warm_up()
        except Exception as error:  # noqa: BLE001 # the server must learn of whatever a third-party import raises
            self._say({"unusable": f"{type(error).__name__}: {error}"})
            os._exit(1)
        self._say({"ready": round(time.monotonic() - begun, 3)})

    def take(self, raw: bytes) -> None:
        """Handles one line from the server."""
        said = json.loads(raw)
        if "ask" in said:
            self._messages.update({int(number): message for number, message in said["new"].items()})
            self._begin_call(said)
        elif "cancel" in said:
            if task := self._calls.get(said["cancel"]):
                task.cancel()
        else:
            for number in said["forget"]:
                self._messages.pop(number, None)

    def _begin_call(self, said: Mapping[str, Any]) -> None:
        # Resolved at once: a message may be forgotten while the call waits.
        messages = [self._messages[number] for number in said["messages"]]
        task = asyncio.get_event_loop().create_task(self._answer(said, messages))
        self._calls[said["ask"]] = task
        task.add_done_callback(lambda _: self._calls.pop(said["ask"], None))

    async def _answer(self, said: Mapping[str, Any], messages: list[Mapping[str, Any]]) -> None:
        from donewhen.models.described import described

        number = said["ask"]
        try:
            async with Silence(said["timeout"], said["silence"]) as silence:
                alive = _Alive(silence, partial(self._say, {"id": number, "alive": True}))
                reply = await self._asking.ask(said, messages, partial(self._say_text, number), alive.heard)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 # litellm raises anything, and each call must get an answer
            self._say({"id": number, "failed": described(error, said["key"])})
        else:
            self._say({"id": number, "reply": reply})

    def _say_text(self, number: int, text: str) -> None:
        self._say({"id": number, "text": text})

    def _say(self, value: Mapping[str, Any]) -> None:
        rest = line(value)
        while rest:
            rest = rest[os.write(self._answers, rest) :]


class _Alive:
    """Tells the server that a reply goes on, also where it has no text: once a second is enough."""

    def __init__(self, silence: Silence, say: Callable[[], None]) -> None:
        self._silence = silence
        self._say = say
        self._said = 0.0

    def heard(self) -> None:
        self._silence.heard()
        now = time.monotonic()
        if now - self._said >= 1.0:
            self._said = now
            self._say()


if __name__ == "__main__":
    main()
