"""Assembles the models of one workspace folder: the ways to them, the agent, the judge, and their costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.app.keys import key_for
from donewhen.app.resolver import relocated
from donewhen.core.calls import CallRole
from donewhen.core.errors import NoModel
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.verdict import is_editors
from donewhen.judges.llm import LlmJudge
from donewhen.judges.panel import PanelJudge
from donewhen.models.catalogue import facts_of, provider_of
from donewhen.models.editor import abilities
from donewhen.models.hosted import SILENCE, Abilities, HostedModel, Transport
from donewhen.models.hosting import ModelHost
from donewhen.models.keys import find_base
from donewhen.models.routing import Routes
from donewhen.ports import AskEditor, Judge, no_editor_to_ask
from donewhen.settings.loading import Settings
from donewhen.store.verdicts import FileVerdicts
from donewhen.workspace.processes.running import SystemProcesses


class FolderModels:
    """The models that runs in one folder use. Nothing is started before a run needs it.

    `environment` is that of whoever started Done When, `secrets` are those from the editor. Verdicts are remembered in
    the folder `verdicts`, if given. If a `host` is given, it outlives these models. `ask_editor` asks the editor's own
    models."""

    def __init__(
        self,
        environment: Callable[[], Mapping[str, str]],
        secrets: Mapping[str, str],
        settings: Callable[[], Settings],
        mask: Callable[[str], str],
        verdicts: Path | None = None,
        host: Transport | None = None,
        ask_editor: AskEditor = no_editor_to_ask,
    ) -> None:
        self._environment = environment
        self._secrets = secrets
        self._settings = settings
        self._mask = mask
        self._verdicts = verdicts
        self._host = host
        self._own: ModelHost | None = None
        self._routes = Routes(self._model_host, lambda: settings().pick("model_client") == "litellm", ask_editor)
        self._abilities: dict[tuple[str, str | None], Abilities] = {}
        """What each model at each address turned out not to take."""

    def warm(self, agent: AgentOptions | None, judging: JudgeOptions | None = None) -> None:
        """Loads in the background what calls to these models need, so that the first one needn't wait."""
        asked = [] if agent is None else [(agent.model, agent.api_base)]
        if judging is not None:
            judged_at = judging.api_base or self._settings().pick("judge_api_base")
            asked += [(name, judged_at) for name in judging.models]
        for name, base in asked:
            self._routes.warm(name, self._base(name, base))

    async def close(self) -> None:
        await self._routes.close()
        if self._own is not None:
            await self._own.close()

    def agents(self, options: RunOptions) -> HostedModel:
        """The model of the built-in agent. Raises NoModel if the options name none."""
        if options.agent is None:
            raise NoModel
        self.warm(options.agent)
        return self._model("worker", options.agent.model, options.agent.api_base, options)

    def judge(self, options: RunOptions) -> Judge | None:
        """The judge or the panel that the frozen options name. None if they name none: then a person is asked about
        whatever no check decides."""
        options = relocated(options, self._settings())
        chosen = options.judging
        if chosen is None:
            return None
        if chosen.api_base is None:
            # A judge that the goal file named during the run is served where the person's judges are.
            chosen = replace(chosen, api_base=self._settings().pick("judge_api_base"))
        cache = FileVerdicts(self._verdicts) if self._verdicts is not None else None
        models = [self._model("judge", name, chosen.api_base, options) for name in chosen.models]
        return self._judging(models, chosen, cache)

    def judge_alone(self, chosen: JudgeOptions) -> Judge:
        """The judge or the panel outside of any run of a workspace; its verdicts are not kept."""
        return self._judging([self.model("judge", name, chosen.api_base) for name in chosen.models], chosen, None)

    def _judging(self, models: Sequence[HostedModel], chosen: JudgeOptions, cache: FileVerdicts | None) -> Judge:
        members = [
            LlmJudge(model, chosen, cache=cache, mask=self._mask, member=number) for number, model in enumerate(models)
        ]
        return members[0] if len(members) == 1 else PanelJudge(members, chosen.rule)

    def model(self, role: CallRole, name: str, api_base: str | None) -> HostedModel:
        """A model outside of any run, with the current settings."""
        settings = self._settings()
        # The worker's key is not the judge's: which key applies depends on both.
        agent = AgentOptions(worker, settings.pick("api_base")) if (worker := settings.pick("model")) else None
        agent = AgentOptions(name, api_base) if role == "worker" else agent
        judging = JudgeOptions((name,), api_base) if role == "judge" else None
        return self._model(role, name, api_base, RunOptions(None, agent=agent, judging=judging))

    def _model(self, role: CallRole, name: str, api_base: str | None, options: RunOptions) -> HostedModel:
        base = self._base(name, api_base)
        settings = self._settings()

        def key() -> str | None:
            return key_for(role, name, options, self._environment(), self._secrets, self._settings().own)

        return HostedModel(
            name,
            self._routes,
            key=key,
            api_base=base,
            facts=facts_of(name, base, settings.prices),
            custom_price=name in settings.prices,
            role=role,
            mask=self._mask,
            abilities=self._abilities.setdefault((name, base), abilities() if is_editors(name) else Abilities()),
            silence=settings.pick("model_silence") or SILENCE,
        )

    def _base(self, name: str, api_base: str | None) -> str | None:
        # An address is never the editor's: it may be set for models of other providers.
        if is_editors(name):
            return None
        return api_base or find_base(provider_of(name), self._environment())

    def _model_host(self) -> Transport:
        if self._host is None:
            self._host = self._own = ModelHost(SystemProcesses(), self._environment(), mask=self._mask)
        return self._host
