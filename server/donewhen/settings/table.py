"""The table of settings: `Choices`, one field and one row for each.

A row says how the value is written, what is so where nobody says anything, where it may be set, what a workspace file
may do with it, and what it is for. All places where settings are made or described read it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, ParamSpec, cast

from donewhen.core.workers import WORKERS
from donewhen.settings import kinds
from donewhen.settings.kinds import UNLIMITED, BadValue, Kind, choice, name, nearest, number, value_text, whole

Unlimited = Literal["unlimited"]
OfWorkspace = Literal["may", "tighten", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row.

    `meaning` completes "It says ...": one line, without the default; `more` is what else a person should know, as
    sentences. `default` is written as a person would; `unlimited`: it may be that. `adds`: what several sources say
    counts together, instead of the nearest alone. `examples` are values worth offering, `also` other words that people
    use for it.

    Where it may be set: `goal_file` says whether in front matter; `own`: in the environment, the person's settings file
    and the editor's settings, which every setting is that is not about one goal alone. `of_workspace` is what a
    settings file of the workspace does: it may set it, may only `tighten` it (choose what stands further right among
    the kind's choices), or never. `commands` take it as an option, in the `group` of their help. `argument` is its name
    in `donewhen.run.start`, `library` where a program gives it. `ceiling`: the person's `[ceiling]` bounds it.
    """

    name: str = ""
    kind: Kind
    meaning: str
    more: str = ""
    default: str = ""
    unlimited: bool = False
    adds: bool = False
    examples: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    goal_file: bool = False
    own: bool = True
    of_workspace: OfWorkspace = "never"
    commands: tuple[str, ...] = ()
    group: str = ""
    argument: str = ""
    library: str = ""
    ceiling: bool = False
    on_page: bool = True
    note: str = ""
    says: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "DONEWHEN_" + self.name.upper()

    @property
    def in_editor(self) -> str:
        """Its name among the settings of an editor: camelCase."""
        return re.sub(r"_([a-z])", lambda found: found[1].upper(), self.name)

    @property
    def expected(self) -> str:
        return self.kind.expected + (", or unlimited" if self.unlimited else "")

    @property
    def sentence(self) -> str:
        """The meaning and the default, in one line."""
        default = f"; `{self.default}` if absent" if self.default else ""
        return f"{self.meaning[0].upper()}{self.meaning[1:]}{default}."

    @property
    def offered(self) -> tuple[str, ...]:
        """Values to complete."""
        return (*(self.examples or self.kind.choices), *((UNLIMITED,) if self.unlimited else ()))

    def read(self, text: str) -> Any:
        """The value of what is written as text, on a command line, in a variable or in a goal file. Raises BadValue."""
        if text.strip() == UNLIMITED and (self.kind.number or self.kind in (kinds.DURATION, kinds.AGE, kinds.SIZE)):
            if self.unlimited:
                return UNLIMITED
            raise BadValue(f"can't be unlimited: give {self.expected}")
        value = self.kind.parse(text) if text.strip() else None
        if value is None:
            raise BadValue(f"must be {self.expected}; it is {value_text(text)}")
        return value

    def read_typed(self, value: object) -> Any:
        """The value of what TOML, JSON or Python gave: a number where a number is meant, a list or one text where a
        list is. Raises BadValue."""
        if isinstance(value, str) and (value == UNLIMITED or not self.kind.number):
            return self.read(value)
        if isinstance(value, bool) and self.kind is kinds.FLAG:
            return value
        # A time without a unit is read, too: that says what is missing.
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        if numeric and (self.kind.number or self.kind is kinds.DURATION):
            return self.read(str(value))
        if isinstance(value, list | tuple) and self.kind.between is not None:
            members = cast("list[object]", value)
            if members and all(isinstance(one, str) for one in members):
                texts = cast("list[str]", members)
                made = self.kind.members
                return made(texts) if made is not None else self.read(self.kind.between.join(texts))
        raise BadValue(f"must be {self.expected}; it is {value_text(cast('object', value))}")


Columns = ParamSpec("Columns")


def _field_with(make: Callable[Columns, Setting]) -> Callable[Columns, Any]:
    """A field of a dataclass that carries its row, with the columns as arguments."""

    def made(*columns: Columns.args, **named: Columns.kwargs) -> Any:
        return field(default=None, metadata={"row": make(*columns, **named)})

    return made


row = _field_with(Setting)


_RUN = ("run",)
_RESUMED = ("run", "resume")
"""A run keeps its worker and how it is judged: other options of `run` are not options of `resume`."""
_ADVISING = ("run", "resume", "init", "preflight")
"""A model that is configured helps with writing a goal, too."""
_JUDGING = ("run", "check", "attempts")
_COLLECTED = ("gc",)

WORK, JUDGE, LIMITS, SAFETY, ROOMS, RECORD = "who works", "who judges", "limits", "safety", "rooms", "the record"
GROUPS = (WORK, JUDGE, LIMITS, SAFETY, ROOMS, RECORD)


@dataclass(frozen=True, slots=True)
class Choices:
    """What one source says of the settings; None is silence. Times are seconds, sizes bytes, money US dollars."""

    worker: str | None = row(
        kind=name(*(one.name for one in WORKERS.values() if one.offered)),
        meaning="who works on the goal",
        more="Plugins may bring more workers. If absent: the agent where a model is set, `command` or `scripted` where"
        " `worker_command` or `script` is given on the command line, else you (`human`).",
        also=("agent",), goal_file=True, of_workspace="may", commands=_RUN, group=WORK, argument="worker",
    )  # fmt: skip
    worker_command: str | None = row(
        kind=kinds.TEXT,
        meaning="the command of the worker `command`",
        more="`{prompt}`, a word of its own, is replaced by what is to be done; without it the prompt is passed on"
        " standard input.",
        commands=_RUN, group=WORK,
    )  # fmt: skip
    agent_command: str | None = row(
        kind=kinds.TEXT,
        meaning="the agent of the worker `acp`: claude, codex, gemini, opencode, openhands, or a command",
        more="It speaks the Agent Client Protocol on its standard input and output; see agents.md.",
        examples=("claude", "codex", "gemini", "opencode", "openhands"), commands=_RUN, group=WORK,
    )  # fmt: skip
    pass_env: tuple[str, ...] | None = row(
        kind=kinds.VARIABLES,
        meaning="a variable that a worker which is a program gets though it holds a key (NAME or NAME_*)",
        more="What known agents log in with is passed without being named; `none` passes nothing. Values are never on"
        " record, and checks get none of them.",
        commands=_RUN, group=WORK,
    )  # fmt: skip
    script: str | None = row(
        kind=kinds.TEXT, meaning="the recording that the worker `scripted` plays (YAML)", commands=_RUN, group=WORK,
        on_page=False,
    )  # fmt: skip
    model: str | None = row(
        kind=kinds.MODEL,
        meaning="the model of the built-in agent, such as anthropic/NAME or openai/NAME",
        more="As litellm names it. With a model, the agent is the worker where no other one is named.",
        goal_file=True, of_workspace="may", commands=_ADVISING, group=WORK, library="AgentConfig.model",
        note="When the first model is set, the extension installs support for models: about 450 MB, from the package"
        " index.",
    )  # fmt: skip
    judge_model: str | None = row(
        kind=kinds.PANEL,
        meaning="the model that judges what no check decides; several: A,B,C or 3*A",
        more="Without one, you are asked about what no check decides.",
        also=("judge",), goal_file=True, of_workspace="may", commands=(*_ADVISING, "check", "attempts"), group=JUDGE,
        library="JudgeConfig.model",
    )  # fmt: skip
    api_base: str | None = row(
        kind=kinds.URL, meaning="where the worker's model is served", more="If absent: at the provider's own address.",
        commands=_ADVISING, group=WORK, library="AgentConfig.api_base",
    )  # fmt: skip
    judge_api_base: str | None = row(
        kind=kinds.URL, meaning="where the judge's model is served", more="If absent: at the provider's own address.",
        commands=(*_ADVISING, "check", "attempts"), group=JUDGE, library="JudgeConfig.api_base",
    )  # fmt: skip
    model_client: Literal["auto", "litellm"] | None = row(
        kind=choice("auto", "litellm"), default="auto",
        meaning="what calls models",
        more="`auto` takes the official clients of OpenAI and Anthropic where they can do it, which start faster, and"
        " litellm for every other provider; `litellm` takes it for all.",
        group=WORK,
    )  # fmt: skip
    model_silence: float | None = row(
        kind=kinds.DURATION, default="5m", examples=("5m", "20m"), meaning="how long a model may send nothing",
        more="Then the call ends, and is tried once more. A reply that comes in pieces may take as long as it likes;"
        " where it comes whole (models of an editor, servers that don't stream), the limit is for all of it. A server"
        " of your own has a second more for each 20 tokens of the prompt.",
        group=WORK,
    )  # fmt: skip
    max_iterations: int | Unlimited | None = row(
        kind=whole(), unlimited=True, default="10", examples=("10", "3", "20"),
        meaning="how many turns the worker gets, at most",
        more="For worker `human` it counts only where it is set.",
        also=("iterations", "max_turns", "turns", "max"), goal_file=True, of_workspace="may", commands=_RESUMED,
        group=LIMITS, argument="maxIterations", library="max_iterations", ceiling=True,
    )  # fmt: skip
    timeout: float | Unlimited | None = row(
        kind=kinds.DURATION, unlimited=True, default="60m", examples=("30m", "60m", "2h"),
        meaning="how long the whole run may take, such as 90s, 30m, 2h",
        more="Waiting for a person doesn't count. For worker `human` it counts only where it is set.",
        also=("time", "time_limit"), goal_file=True, of_workspace="may", commands=_RESUMED, group=LIMITS,
        argument="timeoutSeconds", library="timeout", ceiling=True,
    )  # fmt: skip
    budget: float | Unlimited | None = row(
        kind=kinds.MONEY, unlimited=True, examples=("5.00", "1.00"),
        meaning="what a run may cost, in US dollars",
        more="No limit if absent. The run ends before the call to a model that could pass it; a model of unknown price"
        " is refused.",
        also=("cost", "max_cost", "usd"), goal_file=True, of_workspace="may", commands=_RESUMED, group=LIMITS,
        argument="budgetUsd", library="budget", ceiling=True,
    )  # fmt: skip
    token_budget: int | Unlimited | None = row(
        kind=whole(), unlimited=True, examples=("200000",),
        meaning="how many tokens a run may use",
        more="No limit if absent.",
        also=("tokens", "max_tokens"), goal_file=True, of_workspace="may", commands=_RESUMED, group=LIMITS,
        argument="tokenBudget", library="token_budget", ceiling=True,
    )  # fmt: skip
    approve: Literal["auto", "ask", "deny"] | None = row(
        kind=choice("auto", "ask", "deny"),
        meaning="what happens when a worker needs approval",
        more="If absent: `ask` where a person can be asked, on a terminal and in an editor, else `deny`.",
        says={"auto": "it is given without asking: for disposable machines only", "ask": "you are asked",
              "deny": "it is denied"},
        of_workspace="tighten", commands=_RESUMED, group=SAFETY, library="approve",
    )  # fmt: skip
    affected_first: Literal["on", "off"] | None = row(
        kind=choice("on", "off"), default="on",
        meaning="whether the tests that an edit may affect run before the whole check",
        more="For worker `human` and for a goal on guard, where the whole check takes 2 seconds or more. What fails"
        " there is shown at once; only the whole check proves anything.",
        says={"on": "they do, where the check's command line shows how", "off": "only whole checks run"},
        of_workspace="may", group=WORK,
    )  # fmt: skip
    sandbox: Literal["off", "auto", "on"] | None = row(
        kind=choice("off", "auto", "on"), default="auto",
        meaning="what runs in rooms, where it changes the workspace and reaches nothing else",
        says={"off": "nothing: commands run as you, and need approval",
              "auto": "the built-in agent's commands, where rooms can be opened; other agents run as you",
              "on": "whatever a worker runs; where no room can be opened, no run starts"},
        of_workspace="tighten", commands=_RESUMED, group=ROOMS,
    )  # fmt: skip
    network: Literal["on", "off"] | None = row(
        kind=choice("on", "off"), default="off",
        meaning="whether contained commands reach the network",
        more="Worker `command` does unless `off` is said: an agent asks its model itself.",
        says={"on": "they do: what they read can be sent anywhere, and this machine's own ports can be reached",
              "off": "they don't"},
        of_workspace="tighten", commands=_RUN, group=ROOMS,
    )  # fmt: skip
    sandbox_checks: Literal["off", "on"] | None = row(
        kind=choice("off", "on"), default="off", meaning="whether checks run in rooms as well", group=ROOMS,
        says={"off": "they run as you", "on": "they run in rooms, without the network unless `network` is on"},
    )  # fmt: skip
    room_writes: tuple[str, ...] | None = row(
        kind=kinds.FOLDERS, meaning="more folders that contained commands may change",
        more="`.git` names the history of the workspace, without hooks and configuration.", group=ROOMS,
    )  # fmt: skip
    room_reads: tuple[str, ...] | None = row(
        kind=kinds.FOLDERS, meaning="more folders that contained commands may read", group=ROOMS
    )
    room_processes: int | None = row(
        kind=whole(), default="4096", meaning="processes and threads of a contained command, at most", group=ROOMS
    )
    room_memory: int | None = row(
        kind=kinds.SIZE,
        meaning="memory that a contained command may take",
        more="If absent: three quarters of the machine's.",
        group=ROOMS,
    )
    room_disk: int | None = row(
        kind=kinds.SIZE, default="10GB", meaning="how much a contained command may write to the disk", group=ROOMS
    )
    temperature: float | None = row(
        kind=number(0, 2), meaning="the temperature of the agent's model", more="If absent: the model's own.",
        of_workspace="may", commands=_RUN, group=WORK, library="AgentConfig.temperature",
    )  # fmt: skip
    window: int | None = row(
        kind=whole(4_000), meaning="the context of the agent's model, in tokens", more="If absent: as it is known.",
        of_workspace="may", commands=_RUN, group=WORK, library="AgentConfig.window",
    )  # fmt: skip
    judge_rule: Literal["majority", "unanimity"] | None = row(
        kind=choice("majority", "unanimity"), default="majority", meaning="how many of several judges must agree",
        says={"majority": "more than half of them", "unanimity": "all of them"},
        of_workspace="tighten", commands=_JUDGING, group=JUDGE, library="JudgeConfig.rule",
    )  # fmt: skip
    judge_temperature: float | None = row(
        kind=number(0, 2), meaning="the temperature of the judge's model", more="If absent: the model's own.",
        commands=_JUDGING, group=JUDGE, library="JudgeConfig.temperature",
    )  # fmt: skip
    judge_prompt: str | None = row(
        kind=kinds.PROMPT,
        meaning="the role that the judge is given (its rules stay), or @FILE",
        more="A relative file is looked for beside the settings file, or in the current folder; an editor names its"
        " full path.",
        commands=_JUDGING, group=JUDGE, library="JudgeConfig.system_prompt",
    )  # fmt: skip
    accept_weak_judge: Literal["on", "off"] | None = row(
        kind=choice("on", "off"), default="off",
        meaning="whether the word of a judge that was measured as weak counts as proof",
        more="`donewhen bench --quick` measures a judge.",
        says={"on": "it does, and each summary says that the judge is weak", "off": "a person is asked instead"},
        commands=_JUDGING, group=JUDGE,
    )  # fmt: skip
    judge_calls: int | None = row(
        kind=whole(0), default="8", meaning="how often a judge may look for itself",
        of_workspace="may", commands=_JUDGING, group=JUDGE, library="JudgeConfig.calls", ceiling=True,
    )  # fmt: skip
    judge_tokens: int | None = row(
        kind=whole(2_000), default="24000", meaning="the longest prompt of a judge, in tokens",
        of_workspace="may", commands=_JUDGING, group=JUDGE, library="JudgeConfig.tokens", ceiling=True,
    )  # fmt: skip
    max_tool_calls: int | None = row(
        kind=whole(), default="2000", meaning="tool calls of the agent in one turn, at most", of_workspace="may",
        group=WORK, library="AgentConfig.tool_calls", ceiling=True,
    )  # fmt: skip
    max_turn_tokens: int | None = row(
        kind=whole(), default="50000000", meaning="tokens of the agent in one turn, at most", of_workspace="may",
        group=WORK,
        library="AgentConfig.turn_tokens", ceiling=True,
    )  # fmt: skip
    check_timeout: float | None = row(
        kind=kinds.DURATION, default="10m", examples=("10m", "90s"), meaning="how long one check may take",
        goal_file=True, of_workspace="may", group=LIMITS, library="check_timeout", ceiling=True,
    )  # fmt: skip
    stall_after: int | Unlimited | None = row(
        kind=whole(), unlimited=True, default="3", examples=("3", "5"),
        meaning="iterations without progress that end a run",
        more="For worker `human` it counts only where it is set; in the library it is off if absent.",
        also=("stall",), goal_file=True, of_workspace="may", group=LIMITS, library="stall_after", ceiling=True,
    )  # fmt: skip
    protect: tuple[str, ...] | None = row(
        kind=kinds.GLOBS, adds=True, examples=('["tests/**"]',),
        meaning="files that a worker must not change",
        more="Those that several sources name, such as your settings and a goal, count together.",
        also=("protected", "readonly"), goal_file=True, of_workspace="may", group=SAFETY,
    )  # fmt: skip
    state_dir: Path | None = row(
        kind=kinds.FOLDER, meaning="where runs are recorded", more="If absent: in the platform's place for state.",
        library="state_dir",
    )  # fmt: skip
    keep_runs: int | Unlimited | None = row(
        kind=whole(), unlimited=True, default="100", examples=("100", "20"),
        meaning="how many ended runs, and how many checks, of each goal stay on record",
        more="Older ones are removed after a run; the newest of each goal, what is open, and what you keep never are.",
        group=RECORD, commands=_COLLECTED,
    )  # fmt: skip
    older_than: float | Unlimited | None = row(
        kind=kinds.AGE, unlimited=True, default="90d", examples=("90d", "30d"),
        meaning="the age from which ended runs are removed from the record", group=RECORD, commands=_COLLECTED,
    )  # fmt: skip
    max_size: int | Unlimited | None = row(
        kind=kinds.SIZE, unlimited=True, default="1GB", examples=("1GB", "200MB"),
        meaning="the size of the record of one workspace from which its oldest ended runs are removed",
        group=RECORD, commands=_COLLECTED,
    )  # fmt: skip
    proof: tuple[str, ...] | None = row(
        kind=kinds.GLOBS, examples=('["data/gold/**"]',), own=False, goal_file=True,
        meaning="more files that are proof, besides tests and what configures them",
    )  # fmt: skip
    may_change: tuple[str, ...] | None = row(
        kind=kinds.GLOBS, examples=('["tests/test_api.py"]',), own=False, goal_file=True,
        meaning="tests that the goal wants changed",
    )  # fmt: skip
    guard: bool | None = row(
        kind=kinds.FLAG, default="false", examples=("true", "false"), own=False, goal_file=True,
        meaning="whether it is checked again after each edit, once complete",
    )  # fmt: skip

    def over(self, lower: Choices) -> Choices:
        """These choices, and those of `lower` where these say nothing; what adds up is that of both."""
        values: dict[str, Any] = {}
        for setting in SETTINGS:
            above, below = getattr(self, setting.name), getattr(lower, setting.name)
            if setting.adds:
                values[setting.name] = tuple(dict.fromkeys((*(below or ()), *(above or ())))) or None
            else:
                values[setting.name] = below if above is None else above
        return choices_of(values)


def choices_of(values: Mapping[str, object]) -> Choices:
    """Values are read by kind, so that their types follow from the table."""
    return Choices(**cast("dict[str, Any]", values))


SETTINGS = tuple(replace(cast("Setting", one.metadata["row"]), name=one.name) for one in fields(Choices))
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
OWN: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS if setting.own}
"""The settings of environment, TOML, command line and editor."""
KEYS: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS if setting.goal_file}
"""The keys of a goal file's front matter."""
CEILING: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS if setting.ceiling}
"""What `[ceiling]` of the person's settings may hold."""

TABLES: Mapping[str, str] = {
    "ceiling": "the highest values that goal files and the workspace's settings may set: `[ceiling]`, with the settings"
    " below that it bounds",
    "prices": 'what a model costs, in US dollars per million tokens: `[prices."openai/my-model"]` with `input`,'
    " `output`, `cached` and `window`; see models.md",
    "allow": 'commands that run without asking, as globs of one simple command: `["pytest *"]`',
    "ask": "commands that ask each time",
    "deny": "commands that never run",
    "rules": "the same for other tools: `[[rules]]` with `tool`, `pattern` and `action`",
    "plugins": "plugins to load, `package.module:Attribute` or the full path of a file; see plugins.md",
    "plugins_off": "plugins to leave out, by name",
    "hidden_checks": "checks that workers never see, tried before each run completes (not by `check`): "
    "`[[hidden_checks]]` with `workspace`, `name` and `command`",
}
"""What the person's own settings file holds besides, and no other place."""

_NOT_HERE = frozenset({
    "api_key", "judge_api_key", "prompt", "prompts", "price", "validators", "server_path", "interpreter", "python",
    "allow_list", "allowlist", "approval", "approvals", "environment", "env", "state_folder", *TABLES,
})  # fmt: skip


def setting_name(word: str) -> str:
    """A setting's name however it is spelled: `max-iterations`, `Max Iterations`."""
    return re.sub(r"[\s-]+", "_", word.strip().casefold())


def out_of_reach(word: str) -> bool:
    """True for what a settings file of the workspace, or an editor's for it, must not say: it would loosen what
    protects the person. Names that never were settings are among them."""
    setting = OWN.get(setting_name(word))
    return setting_name(word) in _NOT_HERE or (setting is not None and setting.of_workspace == "never")


def not_for_goal_files(word: str) -> bool:
    """True for what is a setting, or is taken for one, and is none of a goal file."""
    return setting_name(word) not in KEYS and (setting_name(word) in BY_NAME or setting_name(word) in _NOT_HERE)


def nearest_name(word: str, known: Mapping[str, Setting]) -> str | None:
    """The setting that was probably meant."""
    spelled = setting_name(word)
    named = {other: setting.name for setting in known.values() for other in (setting.name, *setting.also)}
    return named.get(spelled) or nearest(spelled, tuple(known))
