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
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from donewhen.models.protocol import Call, call_in, line
from donewhen.models.silence import limited_silence

SETTINGS = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else litellm fetches its catalogue at import
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # else the first Anthropic call fetches a list
    "LITELLM_MODE": "PRODUCTION",  # else litellm loads the `.env` files that it finds
}


def main() -> None:
    # Private copies of stdin and stdout; what a library prints goes to stderr, and what it reads is empty.
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    os.environ.update(SETTINGS)
    loop = asyncio.new_event_loop()
    host = _Host(answers)

    def read_questions() -> None:
        with os.fdopen(questions, "rb") as file:
            for raw in file:
                loop.call_soon_threadsafe(host.take, raw)
        os._exit(0)  # the server has gone, or wants this process to end: nothing is worth finishing

    # In a thread of its own, since no event loop can wait for every kind of pipe on every platform.
    threading.Thread(target=read_questions, daemon=True).start()
    asyncio.set_event_loop(loop)
    host.load()
    loop.run_forever()


class _Host:
    """The calls in progress."""

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._asking: Any = None

    def load(self) -> None:
        """Imports litellm; if that fails, reports the reason and ends the process."""
        begun = time.monotonic()
        try:
            from donewhen.models.host_calls import Asking

            self._asking = Asking()
        except Exception as error:  # noqa: BLE001 # the server must learn of whatever a third-party import raises
            self._say({"unusable": f"{type(error).__name__}: {error}"})
            os._exit(1)
        self._say({"ready": round(time.monotonic() - begun, 3)})

    def take(self, raw: bytes) -> None:
        """Handles one line from the server."""
        said = json.loads(raw)
        if "ask" in said:
            number = said.pop("ask")
            task = asyncio.get_event_loop().create_task(self._answer(number, call_in(said)))
            self._calls[number] = task
            task.add_done_callback(lambda _: self._calls.pop(number, None))
        elif task := self._calls.get(said["cancel"]):
            task.cancel()

    async def _answer(self, number: int, call: Call) -> None:
        from donewhen.models.described import described

        told_at = 0.0

        def hear_text(text: str) -> None:
            self._say({"id": number, "text": text})

        def say_alive() -> None:
            """Tells the server that a reply goes on, also where it has no text: once a second is enough."""
            nonlocal told_at
            now = time.monotonic()
            if now - told_at >= 1.0:
                told_at = now
                self._say({"id": number, "alive": True})

        try:
            async with limited_silence(call.timeout, call.silence) as heard:
                reply = await self._asking.ask(call, hear_text, lambda: (heard(), say_alive()))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 # litellm raises anything, and each call must get an answer
            self._say({"id": number, "failed": asdict(described(error, call.key))})
        else:
            self._say({"id": number, "reply": asdict(reply)})

    def _say(self, value: Mapping[str, Any]) -> None:
        rest = line(value)
        while rest:
            rest = rest[os.write(self._answers, rest) :]


if __name__ == "__main__":
    main()
