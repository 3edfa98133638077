"""A run as it will start: what a person says now, then flags and environment, the goal file, workspace and user
settings, defaults (docs/settings.md).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from typing import Any, Literal, TypeVar

from donewhen.core.agents import NOTHING, PRESETS, acp_command, agents_in, held_back, passed_names, variables_of
from donewhen.core.approval import ApprovalRule
from donewhen.core.calls import CallRole
from donewhen.core.commands.simple import SHELL_WORDS, simple
from donewhen.core.commands.wrapped import behind_wrapper, program_name
from donewhen.core.errors import InvalidGoal, NoModel, UsageError
from donewhen.core.events import AgentOptions, JudgeOptions, RunOptions
from donewhen.core.goal import Goal
from donewhen.core.integrity import baseline_warnings
from donewhen.core.summary import start_summary, unkept_budgets, unlimited_warnings
from donewhen.core.verdict import is_editors, panel, same_model
from donewhen.core.work import WEAK_JUDGE, RunWarning
from donewhen.core.workers import GATE, WORKERS, is_program
from donewhen.engine.api import StartOptions
from donewhen.engine.runs import changed_limits
from donewhen.engine.setup import Start
from donewhen.evidence.text import is_sensitive
from donewhen.installation import ModelExtra, how_to_get
from donewhen.ports import Measured, ModelFacts, of_an_editor
from donewhen.settings.kinds import BadValue, refused_choice
from donewhen.settings.loading import Settings, goal_with_settings, user_settings_file
from donewhen.settings.personal import price_example
from donewhen.settings.table import BY_NAME

Facts = Callable[[str, str | None, Mapping[str, ModelFacts]], ModelFacts]


def facts_in(environment: Callable[[], Mapping[str, str]]) -> Facts:
    """The catalogue's facts on a model that is served where this environment and the person say."""

    def facts(model: str, api_base: str | None, prices: Mapping[str, ModelFacts]) -> ModelFacts:
        from donewhen.models.catalogue import facts_of, provider_of  # lazy: it reads a file of prices
        from donewhen.models.keys import find_base

        return facts_of(model, api_base or find_base(provider_of(model), environment()), prices)

    return facts


_here = facts_in(lambda: os.environ)


def _extra_lacked(model: str, api_base: str | None) -> ModelExtra | None:
    from donewhen.models.direct.clients import extra_lacked  # lazy, as above

    return extra_lacked(model, api_base)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """Facts on models that need no request, on the environment, and on rooms. `extra_lacked`: as in
    `models.direct.clients`."""

    extra_lacked: Callable[[str, str | None], ModelExtra | None] = _extra_lacked
    facts: Facts = _here
    environment: Callable[[], Mapping[str, str]] = lambda: os.environ
    hindrance: Callable[[], str] = lambda: "opening a room has not been tried yet"
    """Why the worker's commands can't be contained here; empty if they can."""
    program: Callable[[str], str | None] = lambda name: name
    """Where a program of that name, or at that path from the workspace, is; None if it isn't there."""
    key: Callable[[CallRole, str, RunOptions], str | None] = lambda role, model, options: "not looked for"
    """The key for a call to that model, None if none is set."""
    in_an_editor: bool = True
    """Whether an editor is there, whose own models can be asked."""
    measured: Callable[[str, str | None], Measured | None] = lambda judge, api_base: None
    """How a judge, by its identity and the address where it is served, did in `donewhen bench --quick`."""


@dataclass(frozen=True, slots=True)
class Plugged:
    """What plugins bring to a run that starts now: their names, and the workers and judges that they register.
    `remembered` are the calls that a person allowed in this workspace before."""

    names: tuple[str, ...] = ()
    workers: frozenset[str] = frozenset()
    judges: frozenset[str] = frozenset()
    remembered: tuple[ApprovalRule, ...] = ()


def resolve(
    goal: Goal,
    options: StartOptions,
    settings: Settings,
    known: KnownFacts | None = None,
    plugged: Plugged | None = None,
) -> Start:
    """The goal with its limits resolved and the options frozen. Raises InvalidGoal, and UsageError for what can't start
    here: an unknown worker, a model that lacks something, a dollar budget that can't be enforced."""
    known, plugged = known or KnownFacts(), plugged or Plugged()
    settled, notes = goal_with_settings(goal, settings)
    limits = changed_limits(settled.limits, options.limits)
    given = {one.name for one in fields(options.limits) if getattr(options.limits, one.name) is not None}
    settled = replace(settled, limits=limits, explicit_limits=settled.explicit_limits | given)
    chosen = _chosen(settled, options, settings, plugged, known.environment())
    chosen, uncontained = _contained(chosen, options.sandbox or settings.sandbox, settings, known)
    refuse_unready(settled, chosen, known)
    if settled.limits.budget is not None:
        refuse_unknown_price(settled.limits.budget, chosen, settings, known)
    chosen = replace(chosen, summary=_summary(settled, chosen, settings, known, plugged))
    weak = _weak(chosen, known)
    chosen = replace(chosen, weak_judge=bool(weak) and settings.pick("accept_weak_judge") != "on")
    warnings = [*settings.warnings, *notes]
    said = {warning.code for warning in warnings}
    # `unlimited` is the only way to have no limit, and shows a warning; for worker `human` it is the default.
    unlimited = () if chosen.worker in ("human", GATE, None) else unlimited_warnings(settled.limits)
    warnings += [*baseline_warnings(settled), *(one for one in unlimited if one.code not in said)]
    warnings += [
        *uncontained,
        *_not_independent(chosen),
        *weak,
        *unkept_budgets(settled.limits, chosen),
    ]
    named = options.worker or settings.pick("worker") == chosen.worker
    return Start(settled, chosen, tuple(dict.fromkeys(warnings)), _accepted(chosen, by_a_person=bool(named)))


def relocated(options: RunOptions, settings: Settings) -> RunOptions:
    """The frozen options with the API bases that flags and the environment name now, or an editor for the same models:
    a server may have moved since, but the models stay the same."""
    agent, judging, given, editor = options.agent, options.judging, settings.given, settings.editor
    if agent is not None:
        moved = given.api_base or (editor.api_base if editor.model == agent.model else None)
        agent = replace(agent, api_base=moved or agent.api_base)
    if judging is not None:
        same = panel(editor.judge_model or "") == judging.models
        moved = given.judge_api_base or (editor.judge_api_base if same else None)
        judging = replace(judging, api_base=moved or judging.api_base)
    return replace(options, agent=agent, judging=judging)


def judge_identity(judging: JudgeOptions) -> str:
    """The judge's identity, as shown and kept: `openai/a`, `2*openai/a, openai/b (unanimity)`."""
    members = Counter(judging.models)
    names = ", ".join(model if count == 1 else f"{count}*{model}" for model, count in members.items())
    return names if len(judging.models) == 1 else f"{names} ({judging.rule})"


def judging_of(settings: Settings) -> JudgeOptions | None:
    """The judge that the settings name, for use outside of any run."""
    return _judging(settings.pick("judge_model"), StartOptions(), settings)


# ------------------------------------------------------------------------------------------- choosing


def _chosen(
    goal: Goal, options: StartOptions, settings: Settings, plugged: Plugged, environment: Mapping[str, str]
) -> RunOptions:
    given, configured = settings.given, settings.configured
    # The goal already holds the configured values for what its file leaves out.
    model = options.model or given.model or goal.model
    worker = options.worker or given.worker or goal.worker or ("agent" if model else "human")
    choices = (*BY_NAME["worker"].kind.choices, *sorted(plugged.workers))
    needed = not options.audit and options.worker != GATE  # an audit has no worker, and plugins were not asked
    if needed and worker not in choices:
        raise InvalidGoal(f"worker {refused_choice(worker, choices)}")
    judge = options.judge_model or given.judge_model or goal.judge_model
    judging = _judging(judge, options, settings) if judge not in plugged.judges else None
    command = _worker_command(worker, options, settings)
    passes = is_program(worker) and not options.audit
    approve = options.approve or given.approve or configured.approve or "deny"
    return RunOptions(
        worker=None if options.audit else worker,
        approve=approve,
        askable=options.askable is not False and approve != "deny",
        worker_command=command,
        pass_env=passed_names(command or "", settings.pick("pass_env") or (), environment) if passes else (),
        script=options.script or given.script or configured.script,
        agent=_agent(model, options, settings) if worker == "agent" and not options.audit else None,
        judging=judging,
        judge=judge_identity(judging) if judging is not None else judge,
        plugins=plugged.names,
        rules=settings.rules,
        metered=worker in WORKERS and WORKERS[worker].accounted,
        trials=not options.audit and worker != "human",
        affected_first=settings.affected_first,
        hidden_checks=tuple(one.name for one in settings.hidden_checks),
    )


def _worker_command(worker: str, options: StartOptions, settings: Settings) -> str | None:
    """The command line of a worker that is a program, as the run keeps it."""
    if worker == "acp":
        named = options.agent_command or settings.pick("agent_command")
        return acp_command(named) if named else None
    preset = PRESETS.get(worker)
    if preset is not None and preset.headless is not None:
        return preset.headless.command
    return options.worker_command or settings.pick("worker_command")


def _contained(
    options: RunOptions, sandbox: Literal["auto", "on", "off"], settings: Settings, known: KnownFacts
) -> tuple[RunOptions, list[RunWarning]]:
    """Whether the worker's commands are contained. The built-in agent's commands are contained if rooms can be opened;
    other agents, which bring their own sandboxes and logins, only if a person says so. Raises UsageError if that
    promise can't be kept."""
    worker, promised = options.worker, sandbox == "on"
    kind = WORKERS.get(worker or "")
    rooms = kind.rooms if kind is not None else "asked"
    if worker is None or rooms == "never" or sandbox == "off" or (rooms == "asked" and not promised):
        return options, []
    if kind is None:
        raise UsageError(f"sandbox on: the worker {worker} is a plugin's and runs in Done When itself: set it to auto")
    why = known.hindrance()
    if not why:
        # Other agents ask their models themselves; a person who says that the network is off means it.
        unsaid = settings.pick("network") is None
        return replace(options, contained=True, network=settings.network or (unsaid and kind.program)), []
    if promised:
        raise UsageError(f"sandbox on: no room can be opened here: {why}", typed=". `donewhen doctor` says what to do")
    message = (
        f"commands are not contained, and need approval: no room can be opened here: {why}. `donewhen "
        "doctor` says what to do"
    )
    return options, [RunWarning("not_sandboxed", message)]


def _refuse_unreadable(name: str, text: str) -> None:
    """A caller's text has not been read before: an invalid one is refused here. Raises InvalidGoal."""
    try:
        BY_NAME[name].read(text)
    except BadValue as bad:
        raise InvalidGoal(f"{name} {bad}") from None


def _agent(model: str | None, options: StartOptions, settings: Settings) -> AgentOptions:
    if model is None:
        raise NoModel
    _refuse_unreadable("model", model)
    own = settings.prices.get(model, ModelFacts())
    agent = AgentOptions(model, options.api_base or settings.pick("api_base"), settings.pick("temperature"))
    return _with(
        agent,
        window=settings.pick("window") or own.window,
        tool_calls=settings.pick("max_tool_calls"),
        turn_tokens=settings.pick("max_turn_tokens"),
    )


def _judging(text: str | None, options: StartOptions, settings: Settings) -> JudgeOptions | None:
    if text is None:
        return None
    _refuse_unreadable("judge_model", text)
    return _with(
        JudgeOptions(panel(text) or (), options.judge_api_base or settings.pick("judge_api_base")),
        rule=settings.pick("judge_rule"),
        temperature=settings.pick("judge_temperature"),
        prompt=settings.pick("judge_prompt"),
        calls=settings.pick("judge_calls"),
        tokens=settings.pick("judge_tokens"),
    )


OptionsT = TypeVar("OptionsT", AgentOptions, JudgeOptions)


def _with(options: OptionsT, **values: Any) -> OptionsT:
    """Unset values leave the default."""
    return replace(options, **{name: value for name, value in values.items() if value is not None})


# ------------------------------------------------------------------------------------ the start summary


def _summary(goal: Goal, options: RunOptions, settings: Settings, known: KnownFacts, plugged: Plugged) -> str:
    """The summary to accept; nothing needs to be accepted if only the person works."""
    if options.worker in ("human", None):
        return ""
    environment, command = known.environment(), options.worker_command or ""
    # What agents log in with, and a command that is not a known agent doesn't get.
    withheld: Sequence[str] = ()
    if is_program(options.worker) and settings.pick("pass_env") != (NOTHING,) and not agents_in(command):
        withheld = held_back(options.pass_env, environment, is_sensitive)
    return start_summary(
        goal,
        options,
        remembered=plugged.remembered,
        unpriced=_unpriced(options, settings, known),
        passed=[
            n for n in sorted(variables_of(options.pass_env, environment)) if is_sensitive(n) or n in options.pass_env
        ],
        withheld=withheld,
        contained_checks=settings.contains_checks,
    )


def _accepted(options: RunOptions, *, by_a_person: bool) -> Literal["auto", "nobody"] | None:
    """A command or a recording was named by the person, with everything that it does; an agent of which only its name
    is needed may have been named by a goal file."""
    if not options.summary:
        return None
    kind = WORKERS.get(options.worker or "")
    if kind is not None and not kind.asks and (by_a_person or not kind.module):
        return "auto"
    asked: dict[str, Literal["auto", "nobody"] | None] = {"auto": "auto", "deny": "nobody", "ask": None}
    return asked[options.approve]


# ------------------------------------------------------------------------------- refusing and warning


def refuse_unready(goal: Goal, options: RunOptions, known: KnownFacts) -> None:
    """Asks of a start and of a resumption alike whether what it needs is here, before anything is spent. Raises
    UsageError with what it `lacks`."""
    _refuse_missing_program(options, known)
    judged = any(not one.sole_check for one in goal.requirements)
    asked = [one for one in models_asked(options) if one[0] == "worker" or judged]
    editors = [model for _, model, _ in asked if is_editors(model)]
    if editors and not known.in_an_editor:
        raise UsageError(of_an_editor(editors[0]), lacks="model")
    asked = [one for one in asked if not is_editors(one[1])]
    for role, model, api_base in asked:
        refuse_incomplete_name(model)
        if (extra := lacked_extra(model, api_base, known)) is not None:
            who = "worker agent" if role == "worker" else f"the judge {options.judge}"
            instead = ", or work yourself with --worker human" if role == "worker" else ""
            message = f"{who} needs the {extra} extra to call {model}"
            raise UsageError(message, typed=f": {how_to_get(extra)}{instead}", lacks="models")
    for role, model, api_base in asked:
        _refuse_missing_key(role, model, api_base, options, known)


def _refuse_missing_program(options: RunOptions, known: KnownFacts) -> None:
    """Of a command that is more than a program and its arguments the shell finds out."""
    command = (options.worker_command or "").replace("{prompt}", "prompt")
    preset = PRESETS.get(options.worker or "")
    agents = (preset,) if preset is not None else agents_in(command)
    if preset is None and options.worker not in ("acp", "command"):
        return
    if "=" in command.partition(" ")[0]:  # variables before it, which the shell sets as `env` would
        needed = list(_programs(simple(f"env {command}") or ()))[1:]
    else:
        needed = list(_programs((command.split() if preset is not None else simple(command)) or ()))
    word = next((one for one in needed if known.program(one) is None), None)
    if word is None:
        return
    if options.worker == "command" and os.name == "nt":  # it may be cmd's own
        return
    name = " or ".join(one.name for one in agents) or f"`{word}`"
    installs = (one.acp_install if options.worker == "acp" else one.install for one in agents)
    option = "--agent-command" if options.worker == "acp" else "--worker-command"
    how = " or ".join(filter(None, installs)) or f"install it, or correct {option}"
    if "/" in word and not agents:
        raise UsageError(f"the worker's program {word} is not there", typed=f": correct {option}", lacks="worker")
    raise UsageError(f"{name} is not installed", typed=f": {how}", lacks="worker")


_SAME_PATH = frozenset(("env", "nohup", "nice", "ionice", "setsid", "stdbuf", "timeout"))
"""Programs that start another one, which they find as the shell would."""
_LOOKS_ELSEWHERE = ("PATH=", "-S", "-C", "-a", "--chdir", "--split-string", "--argv0")
"""How words begin with which they find it otherwise."""


def _programs(words: Sequence[str]) -> Iterator[str]:
    """What a command needs to be there: its first word, and what that starts."""
    while words and words[0] not in SHELL_WORDS:
        yield words[0]
        name = program_name(words[0])
        looks_elsewhere = any(one.startswith(_LOOKS_ELSEWHERE) for one in words[1:])
        words = behind_wrapper((name, *words[1:])) if name in _SAME_PATH and not looks_elsewhere else ()


def refuse_incomplete_name(model: str) -> None:
    """Raises UsageError for a name without a provider that there is, or with nothing behind it."""
    # Lazy: they read a file of prices.
    from donewhen.models.catalogue import is_full_name
    from donewhen.models.failures import names_no_provider

    if not is_full_name(model):
        raise UsageError(names_no_provider(model), lacks="model")


def _refuse_missing_key(
    role: CallRole, model: str, api_base: str | None, options: RunOptions, known: KnownFacts
) -> None:
    # Lazy: they read a file of prices.
    from donewhen.models.catalogue import at_its_provider, provider_of
    from donewhen.models.keys import find_base, missing_key, named_variables, needs_key

    provider = provider_of(model)
    served = api_base or find_base(provider, known.environment())
    if at_its_provider(model, served) and needs_key(provider) and not known.key(role, model, options):
        raise UsageError(missing_key(model), typed=f": set {named_variables(provider, role)}", lacks="key")


def lacked_extra(model: str, api_base: str | None, known: KnownFacts) -> ModelExtra | None:
    """The extra to install before the model can be called; None if what calls it is there."""
    if is_editors(model):
        return None
    from donewhen.models.catalogue import provider_of  # lazy, as above
    from donewhen.models.keys import find_base

    return known.extra_lacked(model, api_base or find_base(provider_of(model), known.environment()))


def refuse_unknown_price(budget: float, options: RunOptions, settings: Settings, known: KnownFacts) -> None:
    """A budget that can't be enforced is not a budget. Raises UsageError."""
    unknown = _unpriced(options, settings, known)
    if unknown:
        lines = "\n".join(price_example(model) for model in unknown)
        catalogue = (
            "" if find_spec("litellm") else f" (the litellm extra knows the usual ones: {how_to_get('litellm')})"
        )
        raise UsageError(
            f"a budget of ${budget:.2f} can't be kept: the price of {', '.join(unknown)} is unknown{catalogue}. "
            f"Set it in {user_settings_file()} (US dollars per million tokens):\n{lines}\n"
            "or limit tokens instead, without a budget in dollars",
            typed=": --token-budget N",
        )


def _unpriced(options: RunOptions, settings: Settings, known: KnownFacts) -> tuple[str, ...]:
    """The models of the run whose price is unknown."""
    asked = models_asked(options)
    unknown = [model for _, model, base in asked if known.facts(model, base, settings.prices).price is None]
    return tuple(dict.fromkeys(unknown))


def models_asked(options: RunOptions) -> list[tuple[CallRole, str, str | None]]:
    """The models of the agent and of the judges, each with its API base."""
    asked: list[tuple[CallRole, str, str | None]] = []
    if options.agent is not None:
        asked.append(("worker", options.agent.model, options.agent.api_base))
    if options.judging is not None:
        asked.extend(("judge", name, options.judging.api_base) for name in dict.fromkeys(options.judging.models))
    return asked


def _not_independent(options: RunOptions) -> list[RunWarning]:
    """Warns if the judge is the worker's own model, which is allowed."""
    if options.agent is None or options.judging is None:
        return []
    worker = options.agent.model
    same = [model for model in dict.fromkeys(options.judging.models) if same_model(worker, model)]
    if not same:
        return []
    message = f"worker and judge are the same model ({same[0]}), which tends to believe itself: set another judge_model"
    return [RunWarning("not_independent", message)]


def _weak(options: RunOptions, known: KnownFacts) -> list[RunWarning]:
    """Warns if the judge failed its measurement. A panel's own measurement counts, else those of its members; one that
    was never measured says nothing."""
    judging = options.judging
    if judging is None:
        return []
    whole = known.measured(judge_identity(judging), judging.api_base)
    if whole is not None:
        found = {judge_identity(judging): whole}
    else:
        each = {model: known.measured(model, judging.api_base) for model in judging.models}
        found = {model: one for model, one in each.items() if one is not None}
    told = [f"{judge} {one}" for judge, one in found.items() if one.weak]
    if not told:
        return []
    message = (
        f"the judge is weak: in `donewhen bench --quick` {'; '.join(told)}. What it takes for met, a person is asked "
        "about, unless accept_weak_judge is on. Bind a check to what it decides, or set another judge_model"
    )
    return [RunWarning(WEAK_JUDGE, message)]
