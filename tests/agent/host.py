"""One model host for the commands and servers that tests run in this process: litellm takes long to import."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Self

from donewhen.app.engine import engine_setup
from donewhen.app.models import FolderModels
from donewhen.app.services import Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.engine.api import Runs
from donewhen.engine.runs import Supervisor
from donewhen.evidence.text import Masking
from donewhen.models.hosting import ModelHost
from donewhen.models.protocol import Answered, Call
from donewhen.settings.loading import Settings
from donewhen.store.folders import ledger_file, private_folder, state_folder, workspace_folder
from donewhen.store.sqlite import SqliteLedger
from donewhen.workspace.processes.running import SystemProcesses


class SharedHost:
    """A `ModelHost` in a loop of its own, which commands and servers use from theirs; it outlives them."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-host", daemon=True)
        self._thread.start()
        self._host = ModelHost(SystemProcesses(), os.environ)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._host.close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def warm(self, model: str = "", api_base: str | None = None) -> None:
        self._loop.call_soon_threadsafe(self._host.warm)

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
        here = asyncio.get_running_loop()
        failed: asyncio.Future[Answered] = here.create_future()

        def hear(text: str) -> None:
            try:
                if on_text is not None and not failed.done():
                    on_text(text)
            except Exception as error:  # noqa: BLE001 # it ends the call, as it would without a second loop
                failed.set_exception(error)

        def said(text: str) -> None:
            if not here.is_closed():
                here.call_soon_threadsafe(hear, text)

        answer = self._host.ask(call, None if on_text is None else said)
        asked = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(answer, self._loop))
        try:
            await asyncio.wait({asked, failed}, return_when=asyncio.FIRST_COMPLETED)
            return await (failed if failed.done() else asked)
        finally:
            asked.cancel()
            failed.cancel()

    def services(self, environment: dict[str, str] | None = None) -> Services:
        """Those of a front end, with this host for the models of every run, and these variables around them."""

        async def open_runs(
            root: Path, state_dir: Path | None, settings: Settings | Callable[[], Settings], context: WorkspaceContext
        ) -> Runs:
            context = context if environment is None else replace(context, environment=lambda: environment)
            everything = state_folder(state_dir)
            folder = workspace_folder(everything, root)
            mask = Masking(context.environment, context.secrets).mask
            current = settings if callable(settings) else lambda: settings
            models = FolderModels(context.environment, context.secrets, current, mask, folder / "verdicts", host=self)
            ledger = await SqliteLedger.open(ledger_file(folder))
            bytecode = private_folder(everything / "pycache")
            return Supervisor(engine_setup(root, folder, bytecode, ledger, settings, context, models))

        return Services(open_runs=open_runs)
